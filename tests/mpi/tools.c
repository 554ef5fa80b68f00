/* A program that is linked with a profiling tool (tool.c), which sees each of its calls once, and none of the library's own. Calls of
 * requests and windows for tools.sh to find in the library's report. Prints "ok" from rank 0. */
#include "require.h"

int tool_calls(const char *name);

static void messages(void) {
  int got = -1;
  MPI_Request r[2];
  for (int i = 0; i < 3; ++i) {
    OK(MPI_Irecv(&got, 1, MPI_INT, left, 1, MPI_COMM_WORLD, &r[0]));
    OK(MPI_Isend(&me, 1, MPI_INT, right, 1, MPI_COMM_WORLD, &r[1]));
    OK(MPI_Waitall(2, r, MPI_STATUSES_IGNORE));
    REQUIRE(got == left);
  }
  OK(MPI_Waitall(0, NULL, MPI_STATUSES_IGNORE));
  OK(MPI_Waitall(2, r, MPI_STATUSES_IGNORE)); /* null requests */
  OK(MPI_Wait(&r[0], MPI_STATUS_IGNORE));
  OK(MPI_Recv_init(&got, 1, MPI_INT, left, 2, MPI_COMM_WORLD, &r[0]));
  OK(MPI_Send_init(&left, 1, MPI_INT, right, 2, MPI_COMM_WORLD, &r[1]));
  OK(MPI_Startall(2, r));
  OK(MPI_Waitall(2, r, MPI_STATUSES_IGNORE));
  REQUIRE(got == (left + n - 1) % n);
  for (int i = 0; i < 2; ++i) OK(MPI_Request_free(&r[i]));
}

static void collectives(void) {
  int sum = 0, all = 0;
  MPI_Comm made;
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &made));
  OK(MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, made));
  OK(MPI_Allreduce(&sum, &all, 1, MPI_INT, MPI_MAX, made));
  REQUIRE(all == n * (n - 1) / 2);
  OK(MPI_Comm_free(&made));
}

static void windows(void) {
  int *memory, place[2] = {-1, -1};
  MPI_Win w;
  OK(MPI_Win_allocate(sizeof *memory, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &w));
  OK(MPI_Win_fence(0, w));
  OK(MPI_Put(&me, 1, MPI_INT, right, 0, 1, MPI_INT, w));
  OK(MPI_Win_fence(0, w));
  REQUIRE(*memory == left);
  OK(MPI_Win_free(&w));
  OK(MPI_Win_create(place, sizeof place, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &w));
  OK(MPI_Win_fence(0, w));
  OK(MPI_Get(&place[1], 1, MPI_INT, right, 0, 1, MPI_INT, w));
  OK(MPI_Win_fence(0, w));
  OK(MPI_Win_free(&w));
  OK(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &w)); /* which is MPI's alone */
  OK(MPI_Win_fence(0, w));
  OK(MPI_Win_free(&w));
}

int main(int argc, char **argv) {
  static const struct {
    const char *name;
    int calls;
  } seen[] = {{"Init", 1},    {"Comm_size", 1}, {"Irecv", 3},     {"Isend", 3},      {"Waitall", 6},    {"Wait", 1},
              {"Startall", 1}, {"Start", 0},     {"Comm_dup", 1},  {"Allreduce", 2},  {"Iallgather", 0}, {"Win_allocate", 1},
              {"Win_create", 1}, {"Win_fence", 5}, {"Put", 1},     {"Win_free", 3},   {"Finalize", 0}};
  MPI_Init(&argc, &argv);
  find_place();
  messages();
  collectives();
  windows();
  for (size_t i = 0; i < sizeof seen / sizeof *seen; ++i) {
    part = seen[i].name;
    REQUIRE(tool_calls(part) == seen[i].calls);
  }
  MPI_Finalize();
  if (tool_calls("Finalize") != 1) return fprintf(stderr, "rank %d: the tool has not seen MPI_Finalize\n", me), 1;
  if (me == 0) puts("ok");
  return 0;
}

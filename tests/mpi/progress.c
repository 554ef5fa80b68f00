/* What hangs where one of two libraries waits and lets the other stand still: rank 0 has begun a long message, and waits for its neighbour
 * in a call that another library serves; its neighbour comes there once it has the message. Every waiting call is tried with a message of
 * the world, and, where it is one of the world's itself, with one of a communicator that only MPI knows. Plain MPI. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <unistd.h>

#include "require.h"

enum { bytes = 1 << 20 };
static unsigned char *out, *in;
static MPI_Comm apart, ring;
static char file_name[64];

typedef void waits(void);

/* Rank 0 sends to rank 1 and waits in `how`, which rank 1 enters when it has received; the others enter at once. */
static void begun_before(MPI_Comm message_of, waits *how, const char *name) {
  MPI_Request r = MPI_REQUEST_NULL;
  OK(MPI_Barrier(MPI_COMM_WORLD));
  part = name;
  fill(out, bytes, 1);
  if (me == 0) OK(MPI_Isend(out, bytes, MPI_BYTE, 1, 9, message_of, &r));
  if (me == 1) {
    usleep(2000); /* rank 0 waits by now */
    memset(in, 0, bytes);
    OK(MPI_Recv(in, bytes, MPI_BYTE, 0, 9, message_of, MPI_STATUS_IGNORE));
    REQUIRE(filled(in, bytes, 1));
  }
  how();
  OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
}

/* --- calls that MPI serves ------------------------------------------------------------------------------------------------------------------ */

static MPI_Win window;
static int *window_memory;
static MPI_File file;

static void makes_and_fences_a_window(void) {
  MPI_Win w;
  int *memory;
  OK(MPI_Win_allocate(4 * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &w));
  OK(MPI_Win_fence(0, w));
  OK(MPI_Win_free(&w));
}
static void fences(void) { OK(MPI_Win_fence(0, window)); }
static void locks_and_flushes(void) {
  int number = 5;
  OK(MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, window));
  OK(MPI_Put(&number, 1, MPI_INT, 1, 0, 1, MPI_INT, window));
  OK(MPI_Win_flush(1, window));
  OK(MPI_Win_unlock(1, window));
}
static void posts_and_starts(void) {
  MPI_Group all, others;
  OK(MPI_Comm_group(MPI_COMM_WORLD, &all));
  OK(MPI_Group_excl(all, 1, &me, &others));
  OK(MPI_Win_post(others, 0, window));
  OK(MPI_Win_start(others, 0, window));
  OK(MPI_Win_complete(window));
  OK(MPI_Win_wait(window));
  OK(MPI_Group_free(&all));
  OK(MPI_Group_free(&others));
}
static void opens_a_file(void) {
  MPI_File f;
  OK(MPI_File_open(MPI_COMM_WORLD, file_name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &f));
  OK(MPI_File_close(&f));
}
static void writes_a_file(void) {
  unsigned char *const data = calloc(1, 200000);
  OK(MPI_File_set_view(file, me * 1000, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
  OK(MPI_File_write_all(file, data, 1000, MPI_BYTE, MPI_STATUS_IGNORE));
  OK(MPI_File_write_at_all(file, 10, data, 1000, MPI_BYTE, MPI_STATUS_IGNORE));
  OK(MPI_File_read_at_all(file, 10, data, 1000, MPI_BYTE, MPI_STATUS_IGNORE));
  OK(MPI_File_sync(file));
  free(data);
}
static void splits(void) {
  MPI_Comm c;
  OK(MPI_Comm_split(MPI_COMM_WORLD, me / 2, 0, &c));
  OK(MPI_Comm_free(&c));
}
static void duplicates(void) {
  MPI_Comm c;
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &c));
  OK(MPI_Comm_free(&c));
}
static void creates_of_a_group(void) {
  MPI_Comm c = of_mpi_alone();
  OK(MPI_Comm_free(&c));
}
static void creates_between_groups(void) {
  MPI_Comm half, between, both;
  OK(MPI_Comm_split(MPI_COMM_WORLD, me % 2, 0, &half));
  OK(MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - me % 2, 4, &between));
  OK(MPI_Intercomm_merge(between, me % 2, &both));
  OK(MPI_Barrier(both));
  OK(MPI_Comm_free(&both));
  OK(MPI_Comm_free(&between));
  OK(MPI_Comm_free(&half));
}
static void barrier_apart(void) { OK(MPI_Barrier(apart)); }
static void reduction_apart(void) {
  int sum = 0;
  OK(MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, apart));
  REQUIRE(sum == n * (n - 1) / 2);
}
static void neighbours(void) {
  int sent[2] = {me, me}, got[2] = {-1, -1};
  OK(MPI_Neighbor_alltoall(sent, 1, MPI_INT, got, 1, MPI_INT, ring));
  REQUIRE(got[0] == left && got[1] == right);
}

/* Rank 1 tells rank 0 that it was there; the ways in which rank 0 may wait for that. */
static void told(MPI_Comm c, int way) {
  int number = 7, flag = 0, index, count, found[2];
  MPI_Request r[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  MPI_Message m;
  if (me == 1) OK(MPI_Send(&number, 1, MPI_INT, 0, 3, c));
  if (me != 0) return;
  if (way == 1 || way == 2) OK(MPI_Irecv(&number, 1, MPI_INT, 1, 3, c, &r[0]));
  if (way >= 3 && way <= 8) OK(MPI_Irecv(&number, 1, MPI_INT, 1, 3, c, &r[1]));
  switch (way) {
    case 0: OK(MPI_Recv(&number, 1, MPI_INT, 1, 3, c, MPI_STATUS_IGNORE)); break;
    case 1: OK(MPI_Wait(&r[0], MPI_STATUS_IGNORE)); break;
    case 2:
      while (!flag) OK(MPI_Test(&r[0], &flag, MPI_STATUS_IGNORE));
      break;
    case 3: OK(MPI_Waitall(2, r, MPI_STATUSES_IGNORE)); break;
    case 4:
      while (!flag) OK(MPI_Testall(2, r, &flag, MPI_STATUSES_IGNORE));
      break;
    case 5: OK(MPI_Waitany(2, r, &index, MPI_STATUS_IGNORE)); break;
    case 6:
      while (!flag) OK(MPI_Testany(2, r, &index, &flag, MPI_STATUS_IGNORE));
      break;
    case 7: OK(MPI_Waitsome(2, r, &count, found, MPI_STATUSES_IGNORE)); break;
    case 8:
      for (count = 0; count == 0;) OK(MPI_Testsome(2, r, &count, found, MPI_STATUSES_IGNORE));
      break;
    case 9:
      OK(MPI_Probe(1, 3, c, MPI_STATUS_IGNORE));
      OK(MPI_Recv(&number, 1, MPI_INT, 1, 3, c, MPI_STATUS_IGNORE));
      break;
    case 10:
      while (!flag) OK(MPI_Iprobe(MPI_ANY_SOURCE, 3, c, &flag, MPI_STATUS_IGNORE));
      OK(MPI_Recv(&number, 1, MPI_INT, 1, 3, c, MPI_STATUS_IGNORE));
      break;
    case 11:
      OK(MPI_Mprobe(1, 3, c, &m, MPI_STATUS_IGNORE));
      OK(MPI_Mrecv(&number, 1, MPI_INT, &m, MPI_STATUS_IGNORE));
      break;
    case 12:
      while (!flag) OK(MPI_Improbe(1, 3, c, &flag, &m, MPI_STATUS_IGNORE));
      OK(MPI_Mrecv(&number, 1, MPI_INT, &m, MPI_STATUS_IGNORE));
      break;
    case 13:
      OK(MPI_Irecv(&number, 1, MPI_INT, 1, 3, c, &r[0]));
      while (!flag) OK(MPI_Request_get_status(r[0], &flag, MPI_STATUS_IGNORE));
      OK(MPI_Wait(&r[0], MPI_STATUS_IGNORE));
      break;
    default: OK(MPI_Sendrecv(NULL, 0, MPI_INT, MPI_PROC_NULL, 3, &number, 1, MPI_INT, 1, 3, c, MPI_STATUS_IGNORE));
  }
  REQUIRE(r[0] == MPI_REQUEST_NULL && r[1] == MPI_REQUEST_NULL && number == 7);
}
enum { ways_of_telling = 15 };

/* --- calls of the world --------------------------------------------------------------------------------------------------------------------- */

static void barrier(void) { OK(MPI_Barrier(MPI_COMM_WORLD)); }
static void sums(void) {
  int sum = 0;
  OK(MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
  REQUIRE(sum == n * (n - 1) / 2);
}
static void nonblocking_barrier(void) {
  MPI_Request r;
  int flag = 0;
  OK(MPI_Ibarrier(MPI_COMM_WORLD, &r));
  while (!flag) OK(MPI_Test(&r, &flag, MPI_STATUS_IGNORE));
}
static void synchronous_send(void) {
  if (me == 0) OK(MPI_Ssend(NULL, 0, MPI_INT, 1, 5, MPI_COMM_WORLD));
  if (me == 1) OK(MPI_Recv(NULL, 0, MPI_INT, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
}
static void long_send(void) {
  static char data[300000];
  if (me == 0) OK(MPI_Send(data, sizeof data, MPI_BYTE, 1, 5, MPI_COMM_WORLD));
  if (me == 1) OK(MPI_Recv(data, sizeof data, MPI_BYTE, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
}

/* Two ranks, each with a long message to the other: rank 0's by the world, rank 1's by MPI alone; each waits for the other's first. */
static void crosswise(void) {
  MPI_Request r;
  MPI_Comm mine = me % 2 ? apart : MPI_COMM_WORLD, others = me % 2 ? MPI_COMM_WORLD : apart;
  const int peer = me ^ 1;
  if (peer >= n) return;
  for (int i = 0; i < 10; ++i) {
    OK(MPI_Isend(out, bytes, MPI_BYTE, peer, 2, mine, &r));
    OK(MPI_Recv(in, bytes, MPI_BYTE, peer, 2, others, MPI_STATUS_IGNORE));
    OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
  }
}

/* Until somebody ends the job: ranks that receive from each other, or a fence that the last one does not come to. */
static void wait_in_vain(const char *scene) {
  int number;
  OK(MPI_Win_allocate(4 * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &window_memory, &window));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  if (!strcmp(scene, "receive")) MPI_Recv(&number, 1, MPI_INT, right, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (me != n - 1) MPI_Win_fence(0, window);
  sleep(100);
}

int main(int argc, char **argv) {
  int provided;
  MPI_Init_thread(&argc, &argv, argc > 2 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
  find_place();
  if (n < 2) return puts("two ranks at least"), MPI_Finalize(), 1;
  if (argc > 1) wait_in_vain(argv[1]);
  out = malloc(bytes), in = malloc(bytes);
  apart = of_mpi_alone();
  OK(MPI_Cart_create(MPI_COMM_WORLD, 1, &n, (int[]){1}, 0, &ring));
  int number = (int)getpid();
  OK(MPI_Bcast(&number, 1, MPI_INT, 0, MPI_COMM_WORLD));
  snprintf(file_name, sizeof file_name, "/tmp/mpi-progress-%d", number);
  OK(MPI_File_open(MPI_COMM_WORLD, file_name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file));
  OK(MPI_Win_allocate(4 * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &window_memory, &window));
  /* A message of the world, and a wait in MPI; and the same for one of MPI's, which every MPI does by itself. */
  const struct {
    waits *how;
    const char *name;
  } by_mpi[] = {{makes_and_fences_a_window, "MPI_Win_allocate"}, {fences, "MPI_Win_fence"}, {posts_and_starts, "MPI_Win_start"},
                {locks_and_flushes, "MPI_Win_flush"}, {opens_a_file, "MPI_File_open"}, {writes_a_file, "MPI_File_write_all"},
                {splits, "MPI_Comm_split"}, {duplicates, "MPI_Comm_dup"}, {creates_of_a_group, "MPI_Comm_create_group"},
                {creates_between_groups, "MPI_Intercomm_create"}, {barrier_apart, "MPI_Barrier of MPI"},
                {reduction_apart, "MPI_Allreduce of MPI"}, {neighbours, "MPI_Neighbor_alltoall"}},
    of_world[] = {{barrier, "MPI_Barrier"}, {sums, "MPI_Allreduce"}, {nonblocking_barrier, "MPI_Ibarrier"},
                  {synchronous_send, "MPI_Ssend"}, {long_send, "MPI_Send"}};
  const int has_file = 5;
  for (int i = 0; i < (int)(sizeof by_mpi / sizeof *by_mpi); ++i) {
    begun_before(MPI_COMM_WORLD, by_mpi[i].how, by_mpi[i].name);
    begun_before(apart, by_mpi[i].how, by_mpi[i].name);
    if (i == 1) { /* ends the epoch of fences before others begin */
      OK(MPI_Win_free(&window));
      OK(MPI_Win_allocate(4 * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &window_memory, &window));
    }
    if (i == has_file) OK(MPI_File_close(&file));
  }
  for (int i = 0; i < (int)(sizeof of_world / sizeof *of_world); ++i) {
    begun_before(MPI_COMM_WORLD, of_world[i].how, of_world[i].name);
    begun_before(apart, of_world[i].how, of_world[i].name);
  }
  const MPI_Comm two[2] = {MPI_COMM_WORLD, apart};
  for (int way = 0; way < ways_of_telling; ++way)
    for (int pair = 0; pair < 4; ++pair) {
      MPI_Request r = MPI_REQUEST_NULL;
      char name[64];
      OK(MPI_Barrier(MPI_COMM_WORLD));
      snprintf(name, sizeof name, "told in way %d, message by %d, word by %d", way, pair / 2, pair % 2), part = name;
      if (me == 0) OK(MPI_Isend(out, bytes, MPI_BYTE, 1, 9, two[pair / 2], &r));
      if (me == 1) OK(MPI_Recv(in, bytes, MPI_BYTE, 0, 9, two[pair / 2], MPI_STATUS_IGNORE));
      told(two[pair % 2], way);
      OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
    }
  RUN(crosswise);
  part = "end";
  if (me == 0) unlink(file_name);
  OK(MPI_Win_free(&window));
  OK(MPI_Comm_free(&ring));
  OK(MPI_Comm_free(&apart));
  free(out), free(in);
  MPI_Barrier(MPI_COMM_WORLD);
  if (me == 0) puts("ok");
  MPI_Finalize();
  return 0;
}

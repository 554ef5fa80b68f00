/* How a job ends. Usage: endings MODE, one of
 *   exit      every rank ends without MPI_Finalize; half-way through: messages are under way
 *   abort     rank 1 calls MPI_Abort while the others wait: the job ends with 3
 *   killed    rank 1 is killed while the others wait: the launcher ends the job
 *   pending   MPI_Finalize with buffered sends on their way, freed requests and a communicator that was not freed
 *   callbacks the callbacks of MPI_COMM_SELF's attributes run first in MPI_Finalize, and may use all of MPI
 *   refusing  a callback fails
 *   profiled  PMPI_ calls, alone and beside MPI_ ones
 *   single, funneled, serialized, multiple  MPI_Init_thread, and messages
 *   twice     MPI_Initialized, MPI_Finalized, and calls that are good before and after
 * Those that end regularly print ok. Plain MPI. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <signal.h>
#include <unistd.h>

#include "require.h"

enum { bytes = 300000 };
static char out[bytes], in[bytes];

static void exchange(void) {
  MPI_Status s;
  fill(out, bytes, (unsigned)me);
  OK(MPI_Sendrecv(out, bytes, MPI_BYTE, right, 1, in, bytes, MPI_BYTE, left, 1, MPI_COMM_WORLD, &s));
  REQUIRE(status_is(&s, left, 1, bytes) && filled(in, bytes, (unsigned)left));
  int sum = 0;
  OK(MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
  REQUIRE(sum == n * (n - 1) / 2);
}

static void ends_without_finalize(void) {
  MPI_Request r;
  exchange();
  OK(MPI_Isend(out, bytes, MPI_BYTE, right, 2, MPI_COMM_WORLD, &r));
  if (me == 0) puts("ok"), fflush(stdout);
  exit(0);
}
static void aborts(void) {
  exchange();
  if (me == 1) usleep(100000), MPI_Abort(MPI_COMM_WORLD, 3);
  MPI_Recv(in, 1, MPI_BYTE, me, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* of which nobody sends it */
}
static void is_killed(void) {
  exchange();
  if (me == 1) usleep(100000), raise(SIGKILL);
  if (me % 2) MPI_Barrier(MPI_COMM_WORLD);
  MPI_Recv(in, 1, MPI_BYTE, 1, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void leaves_things_pending(void) {
  enum { buffered = 100000 };
  static char buffer[3 * (buffered + MPI_BSEND_OVERHEAD)];
  MPI_Comm dup, apart = of_mpi_alone();
  MPI_Request r;
  exchange();
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &dup));
  OK(MPI_Buffer_attach(buffer, sizeof buffer));
  fill(out, buffered, (unsigned)me + 7);
  OK(MPI_Bsend(out, buffered, MPI_BYTE, right, 4, MPI_COMM_WORLD));
  OK(MPI_Bsend(out, buffered, MPI_BYTE, right, 5, apart)); /* by MPI alone */
  OK(MPI_Isend(out, buffered, MPI_BYTE, right, 6, dup, &r));
  OK(MPI_Request_free(&r));
  OK(MPI_Send_init(out, 1, MPI_BYTE, right, 7, dup, &r)); /* never started, never freed */
  if (me % 2) usleep(50000); /* others are in MPI_Finalize, or wait in it for what comes now */
  OK(MPI_Recv(in, buffered, MPI_BYTE, left, 6, dup, MPI_STATUS_IGNORE));
  OK(MPI_Recv(in, buffered, MPI_BYTE, left, 5, apart, MPI_STATUS_IGNORE));
  OK(MPI_Recv(in, buffered, MPI_BYTE, left, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  REQUIRE(filled(in, buffered, (unsigned)left + 7));
}

static int called, wrong;
static int at_end(MPI_Comm c, int key, void *value, void *extra) {
  int finalized = 1, sum = 0, got = -1;
  (void)c, (void)key, (void)extra;
  ++called;
  MPI_Finalized(&finalized);
  if (finalized || *(int *)value != 10 - called) ++wrong; /* last in, first out */
  if (called != 1) return MPI_SUCCESS;
  MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Sendrecv(&me, 1, MPI_INT, right, 1, &got, 1, MPI_INT, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (sum != n * (n - 1) / 2 || got != left) ++wrong;
  return MPI_SUCCESS;
}
static int values[10];
static MPI_Request kept;
static int frees(MPI_Comm c, int key, void *value, void *extra) {
  (void)c, (void)key, (void)value, (void)extra;
  ++called;
  return MPI_Request_free(&kept); /* as libraries do */
}

/* The last callback of all. What it uses was made before MPI_Finalize, and some of it is made anew. */
enum { flavors = 4 };
static MPI_Win windows[flavors];
static int *window_memory[flavors];
static MPI_Comm made_before;
static MPI_Request persistent[2], received, reduced;
static int got_persistent = -1, got_before = -1, sum_before = -1;
static void make_things_for_the_end(void) {
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &made_before));
  OK(MPI_Win_allocate(8, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &window_memory[0], &windows[0]));
  OK(MPI_Win_allocate_shared(8, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &window_memory[1], &windows[1]));
  window_memory[2] = malloc(8);
  OK(MPI_Win_create(window_memory[2], 8, 4, MPI_INFO_NULL, made_before, &windows[2]));
  OK(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &windows[3]));
  OK(MPI_Win_fence(0, windows[3]));
  OK(MPI_Win_lock_all(0, windows[0])); /* an epoch that the callback ends */
  OK(MPI_Put(&me, 1, MPI_INT, right, 0, 1, MPI_INT, windows[0]));
  OK(MPI_Recv_init(&got_persistent, 1, MPI_INT, left, 2, made_before, &persistent[0]));
  OK(MPI_Send_init(&me, 1, MPI_INT, right, 2, made_before, &persistent[1]));
  OK(MPI_Irecv(&got_before, 1, MPI_INT, left, 3, MPI_COMM_WORLD, &received));
  OK(MPI_Iallreduce(&me, &sum_before, 1, MPI_INT, MPI_SUM, made_before, &reduced));
  OK(MPI_Send(&me, 1, MPI_INT, right, 4, MPI_COMM_WORLD)); /* which the callback matches and receives */
}
static int uses_all(MPI_Comm c, int key, void *value, void *extra) {
  int number = -1, count = -1;
  MPI_Message m;
  MPI_Status s;
  MPI_Comm made, half;
  MPI_Win window;
  (void)c, (void)key, (void)value, (void)extra;
  ++called;
  if (me == 0) usleep(20000); /* the others are there before */
  OK(MPI_Win_unlock_all(windows[0]));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  REQUIRE(window_memory[0][0] == left);
  for (int w = 1; w < 3; ++w) {
    OK(MPI_Win_fence(0, windows[w]));
    OK(MPI_Put(&me, 1, MPI_INT, right, 1, 1, MPI_INT, windows[w]));
    OK(MPI_Win_fence(0, windows[w]));
    REQUIRE(window_memory[w][1] == left);
  }
  for (int w = 0; w < flavors; ++w) OK(MPI_Win_free(&windows[w]));
  OK(MPI_Startall(2, persistent));
  OK(MPI_Waitall(2, persistent, MPI_STATUSES_IGNORE));
  for (int i = 0; i < 2; ++i) OK(MPI_Request_free(&persistent[i]));
  OK(MPI_Send(&me, 1, MPI_INT, right, 3, MPI_COMM_WORLD));
  OK(MPI_Wait(&received, MPI_STATUS_IGNORE));
  OK(MPI_Wait(&reduced, MPI_STATUS_IGNORE));
  REQUIRE(got_persistent == left && got_before == left && sum_before == n * (n - 1) / 2);
  OK(MPI_Mprobe(MPI_ANY_SOURCE, 4, MPI_COMM_WORLD, &m, &s));
  OK(MPI_Get_count(&s, MPI_INT, &count));
  OK(MPI_Mrecv(&number, 1, MPI_INT, &m, &s));
  REQUIRE(count == 1 && number == left);
  OK(MPI_Comm_free(&made_before));
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &made));
  OK(MPI_Comm_split(made, me % 2, me, &half));
  OK(MPI_Allreduce(&me, &number, 1, MPI_INT, MPI_MAX, half));
  REQUIRE(number == (n - 1) - (n - 1 - me) % 2);
  OK(MPI_Win_allocate(4, 4, MPI_INFO_NULL, made, &window_memory[0], &window));
  OK(MPI_Win_fence(0, window));
  OK(MPI_Win_free(&window));
  OK(MPI_Comm_free(&half));
  OK(MPI_Comm_free(&made));
  OK(MPI_Isend(&me, 1, MPI_INT, right, 5, MPI_COMM_WORLD, &received)); /* which goes on by itself */
  OK(MPI_Request_free(&received));
  OK(MPI_Recv(&number, 1, MPI_INT, left, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  REQUIRE(number == left);
  free(window_memory[2]);
  return MPI_SUCCESS;
}

static void callbacks(void) {
  exchange();
  int key;
  make_things_for_the_end();
  OK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, uses_all, &key, NULL));
  OK(MPI_Comm_set_attr(MPI_COMM_SELF, key, NULL)); /* the first, so the last to be deleted */
  OK(MPI_Comm_free_keyval(&key));
  OK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, frees, &key, NULL));
  OK(MPI_Recv_init(in, 1, MPI_BYTE, left, 1, MPI_COMM_WORLD, &kept));
  values[0] = 7;
  OK(MPI_Comm_set_attr(MPI_COMM_SELF, key, &values[0]));
  OK(MPI_Comm_free_keyval(&key));
  for (int i = 8; i < 10; ++i) {
    OK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, at_end, &key, NULL));
    values[i] = i;
    OK(MPI_Comm_set_attr(MPI_COMM_SELF, key, &values[i]));
    OK(MPI_Comm_free_keyval(&key));
  }
}

static int refuses(MPI_Comm c, int key, void *value, void *extra) {
  (void)c, (void)key, (void)value, (void)extra;
  return MPI_ERR_OTHER;
}
static void refusing(void) {
  int key;
  exchange();
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
  OK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, refuses, &key, NULL));
  OK(MPI_Comm_set_attr(MPI_COMM_SELF, key, NULL));
}

static void profiled(void) {
  MPI_Request r[2];
  MPI_Status s[2];
  int got[2] = {-1, -1}, sum = 0, size = 0;
  OK(PMPI_Comm_size(MPI_COMM_WORLD, &size));
  REQUIRE(size == n);
  for (int i = 0; i < 2; ++i) OK(PMPI_Irecv(&got[i], 1, MPI_INT, left, i, MPI_COMM_WORLD, &r[i]));
  for (int i = 0; i < 2; ++i) OK(PMPI_Send(&me, 1, MPI_INT, right, i, MPI_COMM_WORLD));
  OK(PMPI_Waitall(2, r, s));
  REQUIRE(got[0] == left && got[1] == left && status_is(&s[1], left, 1, 4));
  OK(PMPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
  REQUIRE(sum == n * (n - 1) / 2);
  exchange();
  OK(PMPI_Barrier(MPI_COMM_WORLD));
#ifdef OPEN_MPI /* where both names are one function, as Fortran's calls are of the second; a request may be begun by one and ended by the other */
  OK(PMPI_Irecv(&got[0], 1, MPI_INT, left, 9, MPI_COMM_WORLD, &r[0]));
  OK(MPI_Send(&left, 1, MPI_INT, right, 9, MPI_COMM_WORLD));
  OK(MPI_Wait(&r[0], &s[0]));
  REQUIRE(got[0] == (left + n - 1) % n);
#endif
}

int main(int argc, char **argv) {
  static const char *const levels[] = {"single", "funneled", "serialized", "multiple"};
  const int wanted[] = {MPI_THREAD_SINGLE, MPI_THREAD_FUNNELED, MPI_THREAD_SERIALIZED, MPI_THREAD_MULTIPLE};
  const char *const mode = argc > 1 ? argv[1] : "pending";
  int level = -1, provided = -1, flag = -1, version, subversion, length;
  char name[MPI_MAX_LIBRARY_VERSION_STRING];
  for (int i = 0; i < 4; ++i)
    if (strcmp(mode, levels[i]) == 0) level = i;
  MPI_Initialized(&flag);
  if (flag) return 2;
  MPI_Get_version(&version, &subversion);
  MPI_Get_library_version(name, &length);
  if (level >= 0) MPI_Init_thread(&argc, &argv, wanted[level], &provided);
  else MPI_Init(&argc, &argv);
  find_place();
  part = mode;
  MPI_Initialized(&flag);
  REQUIRE(flag);
  MPI_Finalized(&flag);
  REQUIRE(!flag);
  if (level >= 0) {
    int said = -1, is_main = 0;
    MPI_Query_thread(&said);
    MPI_Is_thread_main(&is_main);
    REQUIRE(said == provided && is_main);
    exchange();
  } else if (strcmp(mode, "exit") == 0) {
    ends_without_finalize();
  } else if (strcmp(mode, "abort") == 0) {
    aborts();
  } else if (strcmp(mode, "killed") == 0) {
    is_killed();
  } else if (strcmp(mode, "pending") == 0) {
    leaves_things_pending();
  } else if (strcmp(mode, "callbacks") == 0) {
    callbacks();
  } else if (strcmp(mode, "refusing") == 0) {
    refusing();
  } else if (strcmp(mode, "profiled") == 0) {
    profiled();
  } else {
    exchange();
  }
  MPI_Finalize();
  MPI_Finalized(&flag);
  MPI_Initialized(&version);
  if (!flag || !version) return fprintf(stderr, "rank %d: not finalized\n", me), 1;
  if (strcmp(mode, "callbacks") == 0 && (called != 4 || wrong)) return fprintf(stderr, "rank %d: %d callbacks, %d wrong\n", me, called, wrong), 1;
  if (me == 0) puts("ok");
  return 0;
}

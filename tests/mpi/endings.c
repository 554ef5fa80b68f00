/* How a job ends. Usage: endings MODE, one of
 *   exit      every rank ends without MPI_Finalize; half-way through: messages are under way
 *   abort     rank 1 calls MPI_Abort while the others wait: the job ends with 3
 *   killed    rank 1 is killed while the others wait: the launcher ends the job
 *   pending   MPI_Finalize with buffered sends on their way, freed requests and a communicator that was not freed
 *   callbacks the callbacks of MPI_COMM_SELF's attributes run first in MPI_Finalize, and may communicate
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
static void callbacks(void) {
  exchange();
  int key;
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
  } else if (strcmp(mode, "profiled") == 0) {
    profiled();
  } else {
    exchange();
  }
  MPI_Finalize();
  MPI_Finalized(&flag);
  MPI_Initialized(&version);
  if (!flag || !version) return fprintf(stderr, "rank %d: not finalized\n", me), 1;
  if (strcmp(mode, "callbacks") == 0 && (called != 3 || wrong)) return fprintf(stderr, "rank %d: %d callbacks, %d wrong\n", me, called, wrong), 1;
  if (me == 0) puts("ok");
  return 0;
}

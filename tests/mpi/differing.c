/* Collective calls that are not alike in all members: those who find it get MPI_ERR_TRUNCATE, nobody waits for ever, and the communicator
 * stays of use. Of tutti alone, since not every MPI ends such calls. */
#include "require.h"

static MPI_Comm c;
static int many[512], got[512], counts[64], at[64];

static int is_right(int code) { return code == MPI_SUCCESS || class_of(code) == MPI_ERR_TRUNCATE; }
static int is_right_behind(int code) { return is_right(code) || class_of(code) == MPI_ERR_OTHER; }

/* Someone finds it. */
static void found(int code) {
  int mine, all = 0;
  REQUIRE(is_right(code));
  mine = code != MPI_SUCCESS;
  OK(MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
  REQUIRE(all > 0);
}

static int sum_here(void) {
  int sum = 0;
  OK(MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, c));
  return sum;
}

static void all_work(void) {
  int sum = me, from = -1, first = me + 5;
  MPI_Request r;
  REQUIRE(sum_here() == n * (n - 1) / 2);
  OK(MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, c));
  REQUIRE(sum == n * (n - 1) / 2);
  OK(MPI_Bcast(&first, 1, MPI_INT, n - 1, c));
  REQUIRE(first == n + 4);
  OK(MPI_Allgather(&me, 1, MPI_INT, got, 1, MPI_INT, c));
  REQUIRE(got[n - 1] == n - 1);
  OK(MPI_Iallreduce(&me, &sum, 1, MPI_INT, MPI_MAX, c, &r));
  OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
  REQUIRE(sum == n - 1);
  OK(MPI_Sendrecv(&me, 1, MPI_INT, right, 1, &from, 1, MPI_INT, left, 1, c, MPI_STATUS_IGNORE));
  REQUIRE(from == left);
  OK(MPI_Barrier(c));
}

enum { BCAST, FIRST_BCAST, LONG_BCAST, GATHER, SCATTER, REDUCE, ALLREDUCE, ALLGATHER, ALLTOALL, ALLTOALLV, SCAN, ROOTS, IBCAST, IALLREDUCE, KINDS };

static int differing(int kind) {
  const int odd = me == n - 1 ? 2 : 1;
  MPI_Request r = MPI_REQUEST_NULL;
  int code = MPI_SUCCESS;
  for (int i = 0; i < n; ++i) counts[i] = odd, at[i] = 2 * i;
  switch (kind) {
    case FIRST_BCAST:
    case BCAST: return MPI_Bcast(many, me ? 1 : 2, MPI_INT, 0, c);
    case LONG_BCAST: return MPI_Bcast(many, me ? 1 : 512, MPI_INT, 0, c);
    case GATHER: return MPI_Gather(many, odd, MPI_INT, got, 1, MPI_INT, 0, c);
    case SCATTER: return MPI_Scatter(many, 2, MPI_INT, got, 3 - odd, MPI_INT, 0, c);
    case REDUCE: return MPI_Reduce(many, got, odd, MPI_INT, MPI_SUM, 0, c);
    case ALLREDUCE: return MPI_Allreduce(many, got, odd, MPI_INT, MPI_SUM, c);
    case ALLGATHER: return MPI_Allgather(many, odd, MPI_INT, got, odd, MPI_INT, c);
    case ALLTOALL: return MPI_Alltoall(many, odd, MPI_INT, got, odd, MPI_INT, c);
    case ALLTOALLV: return MPI_Alltoallv(many, counts, at, MPI_INT, got, counts, at, MPI_INT, c);
    case SCAN: return MPI_Scan(many, got, odd, MPI_INT, MPI_SUM, c);
    case ROOTS: return MPI_Bcast(many, 1, MPI_INT, me == 0, c);
    case IBCAST: code = MPI_Ibcast(many, me ? 1 : 2, MPI_INT, 0, c, &r); break;
    case IALLREDUCE: code = MPI_Iallreduce(many, got, odd, MPI_INT, MPI_SUM, c, &r); break;
    default: return me == n - 1 ? MPI_Barrier(c) : MPI_Bcast(many, 2, MPI_INT, n - 1, c);
  }
  OK(code);
  return MPI_Wait(&r, MPI_STATUS_IGNORE);
}

static void then_all_is_well(void) {
  for (int kind = BCAST; kind <= KINDS; ++kind) {
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &c));
    OK(MPI_Comm_set_errhandler(c, MPI_ERRORS_RETURN));
    if (kind != FIRST_BCAST) all_work();
    found(differing(kind));
    all_work();
    OK(MPI_Comm_free(&c));
  }
}

static void refused(int code) { REQUIRE(class_of(code) == MPI_ERR_BUFFER || class_of(code) == MPI_ERR_ARG); }
/* One member's block for itself is not as long as the one that it receives, or all members' are not. */
static int unlike(int kind, int odd) {
  MPI_Request r;
  for (int i = 0; i < n; ++i) counts[i] = 1, at[i] = i;
  if (kind == 6) counts[me] = odd;
  switch (kind) {
    case 0: return MPI_Gather(many, me ? 1 : odd, MPI_INT, got, 1, MPI_INT, 0, c);
    case 1: return MPI_Scatter(many, 1, MPI_INT, got, me ? 1 : odd, MPI_INT, 0, c);
    case 2: return MPI_Allgather(many, odd, MPI_INT, got, 1, MPI_INT, c);
    case 3: return MPI_Alltoall(many, odd, MPI_INT, got, 1, MPI_INT, c);
    case 4: return MPI_Gatherv(many, me ? 1 : odd, MPI_INT, got, counts, at, MPI_INT, 0, c);
    case 5: return MPI_Scatterv(many, counts, at, MPI_INT, got, me ? 1 : odd, MPI_INT, 0, c);
    case 6: return MPI_Allgatherv(many, 1, MPI_INT, got, counts, at, MPI_INT, c);
    case 7: {
      int give[64];
      for (int i = 0; i < n; ++i) give[i] = 1;
      give[me] = odd;
      return MPI_Alltoallv(many, give, at, MPI_INT, got, counts, at, MPI_INT, c);
    }
    default: return MPI_Iallgather(many, odd, MPI_INT, got, 1, MPI_INT, c, &r) ? MPI_ERR_TRUNCATE : MPI_Wait(&r, MPI_STATUS_IGNORE);
  }
}
static void unlike_itself(void) {
  for (int kind = 0; kind <= 8; ++kind) {
    const int by_all = kind % 2;
    int code;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &c));
    OK(MPI_Comm_set_errhandler(c, MPI_ERRORS_RETURN));
    code = unlike(kind, by_all || me == 0 ? 2 : 1);
    if (me == 0) FAILS(code, MPI_ERR_TRUNCATE);
    found(code);
    all_work();
    OK(MPI_Comm_free(&c));
  }
}

/* MPI_IN_PLACE where it means nothing, and under MPICH one buffer for both: MPI's error, and the next call is as if there had been none. */
static void misplaced(void) {
  int b[8] = {0};
  MPI_Comm made;
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &made));
  c = made;
  OK(MPI_Comm_set_errhandler(c, MPI_ERRORS_RETURN));
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN)); /* Open MPI tells that one */
  for (int i = 0; i < n; ++i) counts[i] = 1, at[i] = i;
  refused(MPI_Allreduce(b, MPI_IN_PLACE, 1, MPI_INT, MPI_SUM, c));
  refused(MPI_Scan(b, MPI_IN_PLACE, 1, MPI_INT, MPI_SUM, c));
  refused(MPI_Allgather(b, 1, MPI_INT, MPI_IN_PLACE, 1, MPI_INT, c));
  refused(MPI_Allgatherv(b, 1, MPI_INT, MPI_IN_PLACE, counts, at, MPI_INT, c));
  refused(MPI_Alltoall(MPI_IN_PLACE, 1, MPI_INT, MPI_IN_PLACE, 1, MPI_INT, c));
  refused(MPI_Alltoallv(MPI_IN_PLACE, counts, at, MPI_INT, MPI_IN_PLACE, counts, at, MPI_INT, c));
  if (me == 0) {
    refused(MPI_Reduce(b, MPI_IN_PLACE, 1, MPI_INT, MPI_SUM, 0, c));
    refused(MPI_Reduce(b, b, 1, MPI_INT, MPI_SUM, 0, c));
    refused(MPI_Gather(b, 1, MPI_INT, MPI_IN_PLACE, 1, MPI_INT, 0, c));
    refused(MPI_Scatterv(MPI_IN_PLACE, counts, at, MPI_INT, b, 1, MPI_INT, 0, c));
  }
#ifndef OPEN_MPI
  FAILS(MPI_Allreduce(b, b, 1, MPI_INT, MPI_SUM, c), MPI_ERR_BUFFER);
  FAILS(MPI_Exscan(b, b, 1, MPI_INT, MPI_SUM, c), MPI_ERR_BUFFER);
  FAILS(MPI_Reduce_scatter_block(b, b, 1, MPI_INT, MPI_SUM, c), MPI_ERR_BUFFER);
  FAILS(MPI_Allgather(b + me, 1, MPI_INT, b, 1, MPI_INT, c), MPI_ERR_BUFFER);
  FAILS(MPI_Allgatherv(b + me, 1, MPI_INT, b, counts, at, MPI_INT, c), MPI_ERR_BUFFER);
  FAILS(MPI_Alltoall(b, 1, MPI_INT, b, 1, MPI_INT, c), MPI_ERR_BUFFER);
  FAILS(MPI_Alltoallv(b, counts, at, MPI_INT, b, counts, at, MPI_INT, c), MPI_ERR_BUFFER);
  if (me == 0) {
    FAILS(MPI_Gather(b, 1, MPI_INT, b, 1, MPI_INT, 0, c), MPI_ERR_BUFFER);
    FAILS(MPI_Gatherv(b, 1, MPI_INT, b, counts, at, MPI_INT, 0, c), MPI_ERR_BUFFER);
    FAILS(MPI_Scatter(b, 1, MPI_INT, b, 1, MPI_INT, 0, c), MPI_ERR_BUFFER);
  }
#endif
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
  all_work();
  OK(MPI_Comm_free(&made));
}

/* Those who know of it and those who do not may depend on each other by messages before all come to the same call. */
static void until_all_know(void) {
  MPI_Request r;
  int code, x = 0;
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &c));
  OK(MPI_Comm_set_errhandler(c, MPI_ERRORS_RETURN));
  all_work();
  REQUIRE(is_right(MPI_Bcast(many, me ? 1 : 2, MPI_INT, 0, c)));
  code = MPI_Bcast(many, 1, MPI_INT, 0, c); /* which may go through at the root, and not here */
  REQUIRE(is_right_behind(code));
  code = MPI_Ibarrier(c, &r);
  REQUIRE(is_right_behind(code));
  if (me == 0)
    for (int i = 1; i < n; ++i) OK(MPI_Recv(&x, 1, MPI_INT, i, 3, c, MPI_STATUS_IGNORE));
  else OK(MPI_Send(&me, 1, MPI_INT, 0, 3, c));
  if (code == MPI_SUCCESS) REQUIRE(is_right_behind(MPI_Wait(&r, MPI_STATUS_IGNORE)));
  OK(MPI_Barrier(c));
  all_work();
  OK(MPI_Comm_free(&c));
}

/* What is in place cannot be given to MPI once it was begun: then it fails in all, and the next call is well. */
static void in_place(void) {
  int sum = me, failed, all = 0;
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &c));
  OK(MPI_Comm_set_errhandler(c, MPI_ERRORS_RETURN));
  all_work();
  REQUIRE(is_right(MPI_Bcast(many, me ? 1 : 2, MPI_INT, 0, c)));
  failed = MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, c) != MPI_SUCCESS;
  OK(MPI_Allreduce(&failed, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
  REQUIRE(all == 0 || all == n);
  if (!failed) REQUIRE(sum == n * (n - 1) / 2);
  all_work();
  OK(MPI_Comm_free(&c));
}

static void windows_too(void) {
  MPI_Win w;
  int number = -1;
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &c));
  OK(MPI_Comm_set_errhandler(c, MPI_ERRORS_RETURN));
  all_work();
  REQUIRE(is_right(MPI_Bcast(many, me ? 1 : 2, MPI_INT, 0, c)));
  OK(MPI_Win_create(&number, sizeof number, 1, MPI_INFO_NULL, c, &w));
  OK(MPI_Win_fence(0, w));
  OK(MPI_Put(&me, 1, MPI_INT, right, 0, 1, MPI_INT, w));
  OK(MPI_Win_fence(0, w));
#ifdef OPEN_MPI /* MPICH 4.0.2's own windows show it later */
  REQUIRE(number == left);
#endif
  OK(MPI_Win_free(&w));
  all_work();
  OK(MPI_Comm_free(&c));
}

/* The world goes on, makes communicators, and ends. */
static void the_world(void) {
  MPI_Comm made;
  c = MPI_COMM_WORLD;
  OK(MPI_Comm_set_errhandler(c, MPI_ERRORS_RETURN));
  REQUIRE(is_right(differing(LONG_BCAST)));
  all_work();
  OK(MPI_Comm_dup(c, &made));
  c = made;
  all_work();
  OK(MPI_Comm_free(&c));
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  find_place();
  if (by_tutti()) {
    RUN(then_all_is_well);
    RUN(unlike_itself);
    RUN(misplaced);
    RUN(until_all_know);
    RUN(in_place);
    RUN(windows_too);
    RUN(the_world);
  }
  if (me == 0) puts("ok");
  MPI_Finalize();
  return 0;
}

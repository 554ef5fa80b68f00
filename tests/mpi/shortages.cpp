// Memory runs out inside MPI's functions: of each the k-th allocation by operator new fails, for every k until a call passes untouched. The
// call succeeds, or returns an error of MPI's and has changed nothing: made again, it succeeds. One rank, by messages to itself; of several
// one has no memory, in what they do together: nobody waits for ever, and the next call is well. shortages [STEP [RANK]]: of several, k grows
// by a STEP-th of itself (4; 0: twice itself), and it is that RANK (the last one).
#include <cstddef>
#include <cstdlib>
#include <new>
#include <vector>

#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include "require.h"

namespace {
thread_local long to_fail = 0;  // 0: none
thread_local bool failed = false;

void* allocate(std::size_t bytes, std::size_t alignment) noexcept {
  if (to_fail > 0 && --to_fail == 0) return failed = true, nullptr;
  bytes = (bytes + alignment - 1) / alignment * alignment;
  return std::aligned_alloc(alignment, bytes ? bytes : alignment);
}
void* allocate_or_throw(std::size_t bytes, std::size_t alignment) {
  if (void* p = allocate(bytes, alignment)) return p;
  throw std::bad_alloc();
}
constexpr std::size_t usual = alignof(std::max_align_t);
}  // namespace

#pragma GCC visibility push(default)
void* operator new(std::size_t bytes) { return allocate_or_throw(bytes, usual); }
void* operator new[](std::size_t bytes) { return allocate_or_throw(bytes, usual); }
void* operator new(std::size_t bytes, std::align_val_t a) { return allocate_or_throw(bytes, static_cast<std::size_t>(a)); }
void* operator new[](std::size_t bytes, std::align_val_t a) { return allocate_or_throw(bytes, static_cast<std::size_t>(a)); }
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept { return allocate(bytes, usual); }
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept { return allocate(bytes, usual); }
void operator delete(void* p) noexcept { std::free(p); }
void operator delete[](void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t) noexcept { std::free(p); }
void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete[](void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }
#pragma GCC visibility pop

namespace {

long k = 1, injected = 0;
bool touched = false;

// The call with its k-th allocation failing. True: it succeeded.
template <class Call>
bool tried(Call call) {
  to_fail = n > 1 && touched ? 0 : k, failed = false;  // of several, once on a communicator
  const int code = call();
  to_fail = 0;
  if (failed) touched = true, ++injected;
  if (code == MPI_SUCCESS) return true;
  const int c = class_of(code);
  const bool good = failed && (c == MPI_ERR_NO_MEM || c == MPI_ERR_OTHER);
  if (!good) fprintf(stderr, "k = %ld, class %d, failed %d\n", k, c, failed);
  REQUIRE(good);
  return false;
}
// And made again where it failed.
template <class Call>
void in_the_end(Call call) {
  if (!tried(call)) OK(call());
}

template <class Body>
void each(const char* name, Body body) {
  part = name;
  for (k = 1;; ++k) {
    REQUIRE(k < 2000);
    touched = false;
    MPI_Comm c;
    OK(MPI_Comm_dup(MPI_COMM_SELF, &c));
    MPI_Datatype gaps;  // a fresh one, which tutti has yet to take apart
    OK(MPI_Type_indexed(2, std::vector<int>{1, 2}.data(), std::vector<int>{0, 2}.data(), MPI_INT, &gaps));
    OK(MPI_Type_commit(&gaps));
    body(c, gaps);
    OK(MPI_Type_free(&gaps));
    OK(MPI_Comm_free(&c));
    if (!touched) return;
  }
}

int out[8], in[8];
void prepare() {
  for (int i = 0; i < 8; ++i) out[i] = 10 + i, in[i] = -1;
}
bool arrived() { return in[0] == 10 && in[1] == -1 && in[2] == 12 && in[3] == 13; }

void messages() {
  each("Isend, Irecv, Waitall", [](MPI_Comm c, MPI_Datatype t) {
    prepare();
    MPI_Request r[2];
    in_the_end([&] { return MPI_Irecv(in, 1, t, 0, 1, c, &r[0]); });
    in_the_end([&] { return MPI_Isend(out, 1, t, 0, 1, c, &r[1]); });
    in_the_end([&] { return MPI_Waitall(2, r, MPI_STATUSES_IGNORE); });
    REQUIRE(arrived());
  });
  each("Issend, Waitany", [](MPI_Comm c, MPI_Datatype t) {
    prepare();
    MPI_Request r[2];
    int which;
    in_the_end([&] { return MPI_Issend(out, 1, t, 0, 1, c, &r[0]); });
    in_the_end([&] { return MPI_Irecv(in, 1, t, 0, 1, c, &r[1]); });
    in_the_end([&] { return MPI_Waitany(2, r, &which, MPI_STATUS_IGNORE); });
    in_the_end([&] { return MPI_Waitany(2, r, &which, MPI_STATUS_IGNORE); });
    REQUIRE(arrived() && r[0] == MPI_REQUEST_NULL && r[1] == MPI_REQUEST_NULL);
  });
  each("Send, Recv", [](MPI_Comm c, MPI_Datatype t) {
    prepare();
    in_the_end([&] { return MPI_Send(out, 1, t, 0, 1, c); });
    in_the_end([&] { return MPI_Recv(in, 1, t, 0, 1, c, MPI_STATUS_IGNORE); });
    REQUIRE(arrived());
  });
  each("Ssend", [](MPI_Comm c, MPI_Datatype t) {
    prepare();
    MPI_Request r;
    OK(MPI_Irecv(in, 3, MPI_INT, 0, 1, c, &r));
    in_the_end([&] { return MPI_Ssend(out, 1, t, 0, 1, c); });
    OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
    REQUIRE(in[0] == 10 && in[1] == 12 && in[2] == 13);
  });
  each("Sendrecv", [](MPI_Comm c, MPI_Datatype t) {
    prepare();
    in_the_end([&] { return MPI_Sendrecv(out, 1, t, 0, 1, in, 1, t, 0, 1, c, MPI_STATUS_IGNORE); });
    REQUIRE(arrived());
  });
  each("Sendrecv_replace", [](MPI_Comm c, MPI_Datatype t) {
    prepare();
    in_the_end([&] { return MPI_Sendrecv_replace(out, 1, t, 0, 1, 0, 1, c, MPI_STATUS_IGNORE); });
    REQUIRE(out[0] == 10 && out[2] == 12 && out[3] == 13);
  });
  each("Bsend, Ibsend, Request_free", [](MPI_Comm c, MPI_Datatype t) {
    static char buffer[4096];
    prepare();
    MPI_Request r[2];
    OK(MPI_Buffer_attach(buffer, sizeof buffer));
    in_the_end([&] { return MPI_Bsend(out, 1, t, 0, 1, c); });
    in_the_end([&] { return MPI_Ibsend(out, 1, t, 0, 2, c, &r[0]); });
    OK(MPI_Wait(&r[0], MPI_STATUS_IGNORE));
    OK(MPI_Recv(in, 1, t, 0, 1, c, MPI_STATUS_IGNORE));
    OK(MPI_Irecv(in, 1, t, 0, 2, c, &r[1]));
    in_the_end([&] { return MPI_Request_free(&r[1]); });
    void* at;
    int bytes;
    in_the_end([&] { return MPI_Buffer_detach(&at, &bytes); });
    REQUIRE(arrived());
  });
  each("persistent", [](MPI_Comm c, MPI_Datatype t) {
    prepare();
    MPI_Request r[2];
    in_the_end([&] { return MPI_Recv_init(in, 1, t, 0, 1, c, &r[0]); });
    in_the_end([&] { return MPI_Ssend_init(out, 1, t, 0, 1, c, &r[1]); });
    for (int round = 0; round < 2; ++round) {
      in_the_end([&] { return MPI_Start(&r[0]); });
      in_the_end([&] { return MPI_Start(&r[1]); });
      OK(MPI_Waitall(2, r, MPI_STATUSES_IGNORE));
      REQUIRE(arrived());
    }
    in_the_end([&] { return MPI_Request_free(&r[0]); });
    in_the_end([&] { return MPI_Request_free(&r[1]); });
  });
  each("matched", [](MPI_Comm c, MPI_Datatype t) {
    prepare();
    MPI_Message m[2];
    MPI_Request r;
    int flag = 0;
    OK(MPI_Send(out, 1, t, 0, 1, c));
    OK(MPI_Send(out, 1, t, 0, 2, c));
    in_the_end([&] { return MPI_Mprobe(0, 1, c, &m[0], MPI_STATUS_IGNORE); });
    while (!flag) in_the_end([&] { return MPI_Improbe(0, 2, c, &flag, &m[1], MPI_STATUS_IGNORE); });
    in_the_end([&] { return MPI_Mrecv(in, 1, t, &m[0], MPI_STATUS_IGNORE); });
    REQUIRE(arrived());
    prepare();
    in_the_end([&] { return MPI_Imrecv(in, 1, t, &m[1], &r); });
    OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
    REQUIRE(arrived());
  });
  each("requests of both", [](MPI_Comm c, MPI_Datatype t) {
    prepare();
    MPI_Comm theirs = of_mpi_alone();
    MPI_Request r[4];
    MPI_Status statuses[4];
    int got[2] = {0, 0}, done = 0, all = 0, indices[4];
    OK(MPI_Irecv(in, 1, t, 0, 1, c, &r[0]));
    OK(MPI_Irecv(&got[0], 1, MPI_INT, 0, 1, theirs, &r[1]));
    OK(MPI_Irecv(&got[1], 1, MPI_INT, 0, 2, theirs, &r[2]));
    OK(MPI_Issend(out, 1, t, 0, 1, c, &r[3]));
    OK(MPI_Send(out, 1, MPI_INT, 0, 1, theirs));
    OK(MPI_Send(out, 1, MPI_INT, 0, 2, theirs));
    while (all < 4) {
      in_the_end([&] { return MPI_Waitsome(4, r, &done, indices, statuses); });
      all += done;
    }
    REQUIRE(arrived() && got[0] == 10 && got[1] == 10);
    OK(MPI_Comm_free(&theirs));
  });
}

void add(void* a, void* b, int* count, MPI_Datatype*) {
  for (int i = 0; i < *count; ++i) static_cast<int*>(b)[i] += static_cast<int*>(a)[i];
}

void collectives() {
  each("Bcast", [](MPI_Comm c, MPI_Datatype t) { in_the_end([&] { return MPI_Bcast(out, 1, t, 0, c); }); });
  each("Ibcast", [](MPI_Comm c, MPI_Datatype t) {
    MPI_Request r;
    in_the_end([&] { return MPI_Ibcast(out, 1, t, 0, c, &r); });
    in_the_end([&] { return MPI_Wait(&r, MPI_STATUS_IGNORE); });
  });
  each("Allreduce of pairs", [](MPI_Comm c, MPI_Datatype) {
    struct {
      double value;
      int index;
    } pair[2] = {{1, 2}, {3, 4}};
    in_the_end([&] { return MPI_Allreduce(MPI_IN_PLACE, pair, 2, MPI_DOUBLE_INT, MPI_MAXLOC, c); });
    REQUIRE(pair[1].value == 3 && pair[1].index == 4);
  });
  each("operation of the program's", [](MPI_Comm c, MPI_Datatype) {
    prepare();
    MPI_Op sum;
    MPI_Request r = MPI_REQUEST_NULL;
    OK(MPI_Op_create(add, 1, &sum));
    in_the_end([&] { return MPI_Allreduce(out, in, 4, MPI_INT, sum, c); });
    REQUIRE(in[3] == 13);
    in_the_end([&] { return MPI_Iallreduce(out, in, 4, MPI_INT, sum, c, &r); });
    in_the_end([&] { return MPI_Op_free(&sum); });
    OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
  });
  each("blocks", [](MPI_Comm c, MPI_Datatype t) {
    const int one = 1, none = 0;
    prepare();
    in_the_end([&] { return MPI_Alltoallv(out, &one, &none, t, in, &one, &none, t, c); });
    in_the_end([&] { return MPI_Alltoallw(out, &one, &none, &t, in, &one, &none, &t, c); });
    in_the_end([&] { return MPI_Gatherv(out, 1, t, in, &one, &none, t, 0, c); });
    in_the_end([&] { return MPI_Allgather(out, 1, t, in, 1, t, c); });
    REQUIRE(arrived());
    in_the_end([&] { return MPI_Reduce_scatter(out, in, &one, MPI_INT, MPI_SUM, c); });
    in_the_end([&] { return MPI_Barrier(c); });
  });
}

void communicators() {
  each("Comm_dup", [](MPI_Comm c, MPI_Datatype) {
    MPI_Comm made = MPI_COMM_NULL;
    const bool done = tried([&] { return MPI_Comm_dup(c, &made); });
    if (!done && made == MPI_COMM_NULL) return;
    prepare();
    OK(MPI_Sendrecv(out, 4, MPI_INT, 0, 1, in, 4, MPI_INT, 0, 1, made, MPI_STATUS_IGNORE));
    REQUIRE(in[3] == 13);
    in_the_end([&] { return MPI_Comm_free(&made); });
    REQUIRE(made == MPI_COMM_NULL);
  });
  each("Cart_create", [](MPI_Comm c, MPI_Datatype) {
    const int size = 1, periods = 0;
    MPI_Comm made = MPI_COMM_NULL;
    (void)tried([&] { return MPI_Cart_create(c, 1, &size, &periods, 0, &made); });
    if (made != MPI_COMM_NULL) OK(MPI_Comm_free(&made));
  });
}

void windows() {
  each("transfers", [](MPI_Comm c, MPI_Datatype t) {
    prepare();
    MPI_Win w;
    MPI_Request r;
    OK(MPI_Win_create(in, sizeof in, sizeof(int), MPI_INFO_NULL, c, &w));
    OK(MPI_Win_set_errhandler(w, MPI_ERRORS_RETURN));
    OK(MPI_Win_fence(0, w));
    in_the_end([&] { return MPI_Put(out, 1, t, 0, 0, 1, t, w); });
    OK(MPI_Win_fence(0, w));
    REQUIRE(arrived());
    int back[4] = {0, 0, 0, 0}, old[4] = {0, 0, 0, 0};
    in_the_end([&] { return MPI_Get(back, 1, t, 0, 0, 1, t, w); });
    OK(MPI_Win_fence(0, w));
    REQUIRE(back[3] == 13);
    in_the_end([&] { return MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, w); });
    in_the_end([&] { return MPI_Rput(out, 1, t, 0, 0, 1, t, w, &r); });
    OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
    in_the_end([&] { return MPI_Accumulate(out, 1, t, 0, 0, 1, t, MPI_SUM, w); });
    in_the_end([&] { return MPI_Get_accumulate(out, 1, t, old, 1, t, 0, 0, 1, t, MPI_REPLACE, w); });
    in_the_end([&] { return MPI_Win_unlock(0, w); });
    REQUIRE(old[0] == 20 && old[3] == 26 && arrived());
    OK(MPI_Win_free(&w));
  });
  each("pairs", [](MPI_Comm c, MPI_Datatype) {
    struct {
      double value;
      int index;
    } pair = {1, 2}, given = {3, 4};
    MPI_Win w;
    OK(MPI_Win_create(&pair, sizeof pair, 1, MPI_INFO_NULL, c, &w));
    OK(MPI_Win_set_errhandler(w, MPI_ERRORS_RETURN));
    OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, w));
    in_the_end([&] { return MPI_Accumulate(&given, 1, MPI_DOUBLE_INT, 0, 0, 1, MPI_DOUBLE_INT, MPI_MAXLOC, w); });
    in_the_end([&] { return MPI_Win_unlock(0, w); });
    REQUIRE(pair.value == 3 && pair.index == 4);
    OK(MPI_Win_free(&w));
  });
  each("Win_post and its like", [](MPI_Comm c, MPI_Datatype) {
    MPI_Win w;
    MPI_Group all;
    OK(MPI_Comm_group(c, &all));
    OK(MPI_Win_create(in, sizeof in, 1, MPI_INFO_NULL, c, &w));
    OK(MPI_Win_set_errhandler(w, MPI_ERRORS_RETURN));
    in_the_end([&] { return MPI_Win_post(all, 0, w); });
    in_the_end([&] { return MPI_Win_start(all, 0, w); });
    in_the_end([&] { return MPI_Win_complete(w); });
    in_the_end([&] { return MPI_Win_wait(w); });
    OK(MPI_Win_free(&w));
    OK(MPI_Group_free(&all));
  });
}

long step = 4;
int poor;  // the rank that has no memory

template <class Body>
void together(const char* name, Body body) {
  part = name;
  int fails = 1;
  for (k = 1; fails; k += 1 + (step ? k / step : 2 * k)) {
    REQUIRE(k < 2000);
    touched = false;
    MPI_Comm c;
    int sum = 0;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &c));
    body(c);
    OK(MPI_Barrier(c));
    OK(MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, c));
    REQUIRE(sum == n * (n - 1) / 2);
    OK(MPI_Comm_free(&c));
    fails = touched;
    OK(MPI_Bcast(&fails, 1, MPI_INT, poor, MPI_COMM_WORLD));
  }
}
template <class Call>
bool in_all(Call call) {
  if (me == poor) return tried(call);
  const int code = call(), c = class_of(code);
  if (code != MPI_SUCCESS && c != MPI_ERR_TRUNCATE && c != MPI_ERR_OTHER && c != MPI_ERR_NO_MEM) fprintf(stderr, "k = %ld, class %d\n", k, c);
  REQUIRE(code == MPI_SUCCESS || c == MPI_ERR_TRUNCATE || c == MPI_ERR_OTHER || c == MPI_ERR_NO_MEM);
  return code == MPI_SUCCESS;
}

MPI_Datatype gaps() {
  MPI_Datatype t;
  OK(MPI_Type_indexed(2, std::vector<int>{1, 2}.data(), std::vector<int>{0, 2}.data(), MPI_INT, &t));
  OK(MPI_Type_commit(&t));
  return t;
}

void collectives_together() {
  together("Bcast of several", [](MPI_Comm c) {
    MPI_Datatype t = gaps();
    (void)in_all([&] { return MPI_Bcast(out, 1, t, 0, c); });
    OK(MPI_Type_free(&t));
  });
  together("Allreduce of several", [](MPI_Comm c) {
    int sum[2], given[2] = {me, 1};
    if (in_all([&] { return MPI_Allreduce(given, sum, 2, MPI_INT, MPI_SUM, c); })) REQUIRE(sum[1] == n);
  });
  together("operation of several", [](MPI_Comm c) {
    MPI_Request r;
    MPI_Op op;
    int sum = 0, one = 1;
    OK(MPI_Op_create(add, 1, &op));
    if (in_all([&] { return MPI_Allreduce(&one, &sum, 1, MPI_INT, op, c); })) REQUIRE(sum == n);
    if (in_all([&] { return MPI_Iallreduce(&one, &sum, 1, MPI_INT, op, c, &r); }) && in_all([&] { return MPI_Wait(&r, MPI_STATUS_IGNORE); }))
      REQUIRE(sum == n);
    OK(MPI_Op_free(&op));
  });
  together("Alltoallv of several", [](MPI_Comm c) {
    const int ones[8] = {1, 1, 1, 1, 1, 1, 1, 1}, at[8] = {0, 1, 2, 3, 4, 5, 6, 7};
    (void)in_all([&] { return MPI_Alltoallv(out, ones, at, MPI_INT, in, ones, at, MPI_INT, c); });
  });
}

void communicators_together() {
  const auto works = [](MPI_Comm made) {
    int sum = 0;
    REQUIRE(made != MPI_COMM_NULL);
    OK(MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, made));
    REQUIRE(sum == n * (n - 1) / 2);
    OK(MPI_Comm_free(&made));
  };
  together("Comm_dup of several", [&](MPI_Comm c) {
    MPI_Comm made = MPI_COMM_NULL, reversed = MPI_COMM_NULL;
    (void)in_all([&] { return MPI_Comm_dup(c, &made); });
    works(made);
    (void)in_all([&] { return MPI_Comm_split(c, 0, -me, &reversed); });  // a team of its own
    works(reversed);
  });
  together("Cart_create of several", [&](MPI_Comm c) {
    const int none = 0;
    MPI_Comm made = MPI_COMM_NULL;
    (void)in_all([&] { return MPI_Cart_create(c, 1, &n, &none, 0, &made); });
    (void)in_all([&] { return MPI_Neighbor_alltoall(out, 1, MPI_INT, in, 1, MPI_INT, made); });
    OK(MPI_Barrier(made));
    works(made);
  });
  together("windows of several", [](MPI_Comm c) {
    MPI_Win w = MPI_WIN_NULL;
    int number = -1, *base = &number;
    (void)in_all([&] { return MPI_Win_create(&number, sizeof number, 1, MPI_INFO_NULL, c, &w); });
    REQUIRE(w != MPI_WIN_NULL);
    OK(MPI_Win_free(&w));
    (void)in_all([&] { return MPI_Win_allocate(sizeof number, 1, MPI_INFO_NULL, c, &base, &w); });
    REQUIRE(w != MPI_WIN_NULL);
    OK(MPI_Win_free(&w));
  });
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  find_place();
  if (argc > 1) step = atol(argv[1]);
  poor = argc > 2 ? atoi(argv[2]) : n - 1;
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  if (n == 1) {
    messages();
    collectives();
    communicators();
    windows();
  } else if (by_tutti()) {
    collectives_together();
    communicators_together();
  }
  REQUIRE(me != poor || !by_tutti() || injected > 20);
  printf("ok, %s\n", by_tutti() ? "by tutti" : "by MPI");
  MPI_Finalize();
  return 0;
}

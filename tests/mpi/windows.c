// One-sided communication of MPI: every operation and every way to synchronise, checked against what the standard says. Passes with the
// preloaded library and without. Prints "ok" from rank 0. With the argument "few_files" a process may have 200 files open, which are not
// enough for all of many windows: those that tutti has none for are MPI's alone.
#include <stdint.h>
#include <sys/resource.h>

#include "require.h"

static int next(int by) { return (me + by + 2 * n) % n; }

// MPI_Win_allocate, or MPI_Win_allocate_shared: the ranks are on one node.
static int (*allocate)(MPI_Aint, int, MPI_Info, MPI_Comm, void*, MPI_Win*) = MPI_Win_allocate;

// Bases at odd addresses, and another unit of displacements in every rank.
static void fences(void) {
  char *memory = calloc(4096, 1), *base = memory + me % 3;
  MPI_Win w;
  MPI_Win_create(base, 1024, 1 + me % 2 * 3, MPI_INFO_NULL, MPI_COMM_WORLD, &w);
  MPI_Win_fence(MPI_MODE_NOPRECEDE, w);
  const int to = next(1), from = next(-1), unit_of_right = 1 + to % 2 * 3;
  char out[64], in[64];
  memset(out, 'a' + me % 20, sizeof out);
  MPI_Put(out, 60, MPI_CHAR, to, 12 / unit_of_right, 60, MPI_CHAR, w);
  MPI_Win_fence(0, w);
  for (int i = 0; i < 60; ++i) REQUIRE(base[12 + i] == 'a' + from % 20);
  REQUIRE(base[11] == 0 && base[72] == 0);
  MPI_Get(in, 60, MPI_CHAR, from, 12 / (1 + from % 2 * 3), 60, MPI_CHAR, w);
  MPI_Win_fence(MPI_MODE_NOSUCCEED, w);
  for (int i = 0; i < 60; ++i) REQUIRE(in[i] == 'a' + next(-2) % 20);

  MPI_Win_set_errhandler(w, MPI_ERRORS_RETURN);
  MPI_Win_fence(0, w);
  int class = MPI_SUCCESS, code = MPI_Put(out, 60, MPI_CHAR, to, 1000 / unit_of_right, 60, MPI_CHAR, w);
  if (code != MPI_SUCCESS) MPI_Error_class(code, &class);
  REQUIRE(class == MPI_ERR_RMA_RANGE || code == MPI_SUCCESS);  // MPIs need not look
  if (code != MPI_SUCCESS) {
    code = MPI_Put(out, 1, MPI_CHAR, n, 0, 1, MPI_CHAR, w);
    REQUIRE(code != MPI_SUCCESS);
  }
  MPI_Win_fence(0, w);
  MPI_Win_free(&w);
  REQUIRE(w == MPI_WIN_NULL);
  free(memory);
}

// A column of a matrix to a row of another, on a communicator that is freed before the window.
static void types(void) {
  enum { side = 8 };
  MPI_Comm c;
  MPI_Comm_dup(MPI_COMM_WORLD, &c);
  int* matrix;
  MPI_Win w;
  allocate(side * side * sizeof(int), sizeof(int), MPI_INFO_NULL, c, &matrix, &w);
  MPI_Comm_free(&c);
  memset(matrix, 0, side * side * sizeof(int));
  MPI_Datatype column, gapped, nested;
  MPI_Type_vector(side, 1, side, MPI_INT, &column);
  MPI_Type_commit(&column);
  const int lengths[] = {2, 1}, places[] = {0, 3};
  MPI_Type_indexed(2, lengths, places, MPI_INT, &gapped);
  MPI_Type_create_resized(gapped, 0, 5 * sizeof(int), &nested);
  MPI_Type_commit(&nested);
  int mine[side * side], back[side];
  for (int i = 0; i < side * side; ++i) mine[i] = 1000 * me + i;
  MPI_Win_fence(0, w);
  MPI_Put(mine + 2, 1, column, next(1), 3 * side, side, MPI_INT, w);
  MPI_Win_fence(0, w);
  for (int i = 0; i < side; ++i) REQUIRE(matrix[3 * side + i] == 1000 * next(-1) + i * side + 2);
  MPI_Get(back, side, MPI_INT, next(1), 3 * side, side, MPI_INT, w);
  MPI_Win_fence(0, w);
  for (int i = 0; i < side; ++i) REQUIRE(back[i] == 1000 * me + i * side + 2);
  MPI_Put(mine, 6, MPI_INT, next(1), 4 * side, 2, nested, w);
  MPI_Win_fence(0, w);
  const int at[] = {0, 1, 3, 5, 6, 8};
  for (int i = 0; i < 6; ++i) REQUIRE(matrix[4 * side + at[i]] == 1000 * next(-1) + i);
  REQUIRE(matrix[4 * side + 2] == 0 && matrix[4 * side + 4] == 0);
  // Every second row of a distributed array.
  MPI_Datatype rows;
  const int whole[] = {side, side}, how[] = {MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_NONE}, what[] = {MPI_DISTRIBUTE_DFLT_DARG, MPI_DISTRIBUTE_DFLT_DARG}, grid[] = {2, 1};
  MPI_Type_create_darray(2, 1, 2, whole, how, what, grid, MPI_ORDER_C, MPI_INT, &rows);
  MPI_Type_commit(&rows);
  MPI_Barrier(MPI_COMM_WORLD);
  memset(matrix, 0, side * side * sizeof(int));
  MPI_Win_fence(0, w);
  MPI_Put(mine, 1, rows, next(1), 0, 1, rows, w);
  MPI_Win_fence(0, w);
  MPI_Accumulate(mine, side * side / 2, MPI_INT, next(1), 0, 1, rows, MPI_SUM, w);
  MPI_Win_fence(0, w);
  for (int i = 0; i < side * side; ++i) {
    const int row = i / side, sum = 1000 * next(-1) + i + 1000 * next(-1) + row / 2 * side + i % side;
    REQUIRE(matrix[i] == (row % 2 ? sum : 0));
  }
  int *flavor, found = 0;
  MPI_Win_get_attr(w, MPI_WIN_CREATE_FLAVOR, &flavor, &found);
  REQUIRE(found && *flavor == (allocate == MPI_Win_allocate ? MPI_WIN_FLAVOR_ALLOCATE : MPI_WIN_FLAVOR_SHARED));
  MPI_Type_free(&rows);
  MPI_Type_free(&column), MPI_Type_free(&gapped), MPI_Type_free(&nested);
  MPI_Win_free(&w);
}

struct pair {
  double value;
  int index;
};

static void accumulates(void) {
  struct {
    int sum[4];
    double product;
    struct pair largest;
    int64_t count;
    int bits;
  }* at;
  MPI_Win w;
  allocate(sizeof *at, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &at, &w);
  memset(at, 0, sizeof *at);
  at->product = 1, at->largest.value = -1;
#define PLACE(member) ((MPI_Aint)((char*)&at->member - (char*)at))
  MPI_Win_fence(0, w);
  const int root = n - 1;
  const int ones[4] = {1, 2, me, 1 << me % 16};
  for (int i = 0; i < 5; ++i) MPI_Accumulate(ones, 4, MPI_INT, root, PLACE(sum), 4, MPI_INT, MPI_SUM, w);
  const double two = 2;
  MPI_Accumulate(&two, 1, MPI_DOUBLE, root, PLACE(product), 1, MPI_DOUBLE, MPI_PROD, w);
  const struct pair mine = {me * 7 % 5, me};
  MPI_Accumulate(&mine, 1, MPI_DOUBLE_INT, root, PLACE(largest), 1, MPI_DOUBLE_INT, MPI_MAXLOC, w);
  const int bit = 1 << me;
  MPI_Accumulate(&bit, 1, MPI_INT, root, PLACE(bits), 1, MPI_INT, MPI_BOR, w);
  MPI_Win_fence(0, w);
  if (me == root) {
    struct pair best = {-1, 0};
    int ranks = 0;
    for (int r = 0; r < n; ++r) {
      ranks += r;
      if (r * 7 % 5 > best.value) best.value = r * 7 % 5, best.index = r;
    }
    REQUIRE(at->sum[0] == 5 * n && at->sum[1] == 10 * n && at->sum[2] == 5 * ranks);
    REQUIRE(at->product == 1 << n);
    REQUIRE(at->largest.value == best.value && at->largest.index == best.index);
    REQUIRE(at->bits == (1 << n) - 1);
  }
  MPI_Win_fence(0, w);

  // A counter from which every value is drawn once.
  enum { draws = 50 };
  MPI_Win_lock_all(0, w);
  int64_t last = -1, drawn, sum = 0, all;
  const int64_t one = 1;
  for (int i = 0; i < draws; ++i) {
    MPI_Fetch_and_op(&one, &drawn, MPI_INT64_T, 0, PLACE(count), MPI_SUM, w);
    MPI_Win_flush(0, w);
    REQUIRE(drawn > last);
    last = drawn, sum += drawn;
  }
  MPI_Win_unlock_all(w);
  MPI_Allreduce(&sum, &all, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
  const int64_t total = (int64_t)draws * n;
  REQUIRE(all == total * (total - 1) / 2);

  // Old values: replaced, read without change, and taken into a sum.
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, me, 0, w);
  int old[4], given[4] = {10, 20, 30, 40}, requests = 0;
  MPI_Request r[2];
  MPI_Get_accumulate(given, 4, MPI_INT, old, 4, MPI_INT, me, PLACE(sum), 4, MPI_INT, MPI_REPLACE, w);
  MPI_Win_flush(me, w);
  MPI_Get_accumulate(NULL, 0, MPI_INT, old, 4, MPI_INT, me, PLACE(sum), 4, MPI_INT, MPI_NO_OP, w);
  MPI_Win_flush(me, w);
  REQUIRE(old[0] == 10 && old[3] == 40);
  MPI_Raccumulate(given, 4, MPI_INT, me, PLACE(sum), 4, MPI_INT, MPI_SUM, w, &r[requests++]);
  MPI_Waitall(requests, r, MPI_STATUSES_IGNORE);
  MPI_Win_flush(me, w);
  MPI_Rget_accumulate(given, 4, MPI_INT, old, 4, MPI_INT, me, PLACE(sum), 4, MPI_INT, MPI_SUM, w, &r[0]);
  MPI_Wait(&r[0], MPI_STATUS_IGNORE);
  REQUIRE(old[0] == 20 && old[3] == 80);
  MPI_Win_unlock(me, w);

  // A lock of the program's own, by compare and swap, around a count that is read and written.
  MPI_Barrier(MPI_COMM_WORLD);
  if (me == 0) {
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, w);
    at->count = 0, at->bits = 0;
    MPI_Win_unlock(0, w);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock_all(0, w);
  for (int i = 0; i < 10; ++i) {
    const int free_value = 0, own = me + 1;
    for (int found = -1; found != 0;) {
      MPI_Compare_and_swap(&own, &free_value, &found, MPI_INT, 0, PLACE(bits), w);
      MPI_Win_flush(0, w);
    }
    int64_t value;
    MPI_Get(&value, 1, MPI_INT64_T, 0, PLACE(count), 1, MPI_INT64_T, w);
    MPI_Win_flush(0, w);
    ++value;
    MPI_Put(&value, 1, MPI_INT64_T, 0, PLACE(count), 1, MPI_INT64_T, w);
    MPI_Win_flush(0, w);
    int found;
    MPI_Fetch_and_op(&free_value, &found, MPI_INT, 0, PLACE(bits), MPI_REPLACE, w);
    MPI_Win_flush(0, w);
    REQUIRE(found == own);
  }
  MPI_Win_unlock_all(w);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock(MPI_LOCK_SHARED, me, 0, w);
  if (me == 0) REQUIRE(at->count == 10 * n);
  MPI_Win_unlock(me, w);
  MPI_Win_free(&w);
}

// Post, start, complete, wait, around a ring, many times, with Win_test every other time; .
static void general_epochs(void) {
  int64_t* at;
  MPI_Win w;
  allocate(2 * sizeof *at, sizeof *at, MPI_INFO_NULL, MPI_COMM_WORLD, &at, &w);
  MPI_Group all, of_left, of_right;
  MPI_Win_get_group(w, &all);
  MPI_Group_incl(all, 1, &left, &of_left);
  MPI_Group_incl(all, 1, &right, &of_right);
  for (int turn = 0; turn < 200; ++turn) {
    MPI_Win_post(of_left, 0, w);
    MPI_Win_start(of_right, 0, w);
    const int64_t value = 1000 * turn + me;
    MPI_Put(&value, 1, MPI_INT64_T, right, 0, 1, MPI_INT64_T, w);
    MPI_Win_complete(w);
    if (turn % 2) {
      MPI_Win_wait(w);
    } else {
      for (int done = 0; !done;) MPI_Win_test(w, &done);
    }
    REQUIRE(at[0] == 1000 * turn + left);
  }
  MPI_Group_free(&all), MPI_Group_free(&of_left), MPI_Group_free(&of_right);
  MPI_Win_free(&w);
}

// Reads and writes the count at rank 0 under an exclusive lock.
static void count_up(MPI_Win w) {
  int64_t value;
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, w);
  MPI_Get(&value, 1, MPI_INT64_T, 0, 0, 1, MPI_INT64_T, w);
  MPI_Win_flush(0, w);
  ++value;
  MPI_Put(&value, 1, MPI_INT64_T, 0, 0, 1, MPI_INT64_T, w);
  MPI_Win_unlock(0, w);
}

// Exclusive locks around a count; requests; many bytes.
static void locks(void) {
  int64_t* at;
  MPI_Win w;
  enum { words = 100000 };
  allocate(words * sizeof *at, sizeof *at, MPI_INFO_NULL, MPI_COMM_WORLD, &at, &w);
  memset(at, 0, words * sizeof *at);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < 20; ++i) count_up(w);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, w);
  int64_t value;
  MPI_Get(&value, 1, MPI_INT64_T, 0, 0, 1, MPI_INT64_T, w);
  MPI_Win_unlock(0, w);
  REQUIRE(value == 20 * n);
  MPI_Barrier(MPI_COMM_WORLD);

  int64_t *out = malloc(words * sizeof *out), *in = malloc(words * sizeof *in);
  for (int i = 0; i < words; ++i) out[i] = (int64_t)me * words + i;
  MPI_Request r[2];
  MPI_Win_lock_all(MPI_MODE_NOCHECK, w);
  MPI_Rput(out, words, MPI_INT64_T, next(1), 0, words, MPI_INT64_T, w, &r[0]);
  MPI_Wait(&r[0], MPI_STATUS_IGNORE);
  memset(out, 0, words * sizeof *out);
  MPI_Win_flush_all(w);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Rget(in, words / 2, MPI_INT64_T, next(1), 0, words / 2, MPI_INT64_T, w, &r[0]);
  MPI_Rget(in + words / 2, words / 2, MPI_INT64_T, next(1), words / 2, words / 2, MPI_INT64_T, w, &r[1]);
  MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
  for (int i = 0; i < words; ++i) REQUIRE(in[i] == (int64_t)me * words + i);
  MPI_Win_unlock_all(w);
  MPI_Win_free(&w);
  free(out), free(in);
}

// What is put is there for loads, and what is stored for gets.
static void loads_and_stores(void) {
  enum { words = 1000 };
  int *mine, *theirs, back[words];
  MPI_Win w;
  MPI_Win_allocate_shared(words * sizeof *mine, sizeof *mine, MPI_INFO_NULL, MPI_COMM_WORLD, &mine, &w);
  MPI_Aint bytes = 0;
  int unit = 0;
  MPI_Win_shared_query(w, next(1), &bytes, &unit, &theirs);
  REQUIRE(bytes == words * sizeof *mine && unit == sizeof *mine);
  for (int turn = 0; turn < 20; ++turn) {
    for (int i = 0; i < words; ++i) back[i] = 1000 * turn + 10 * me + i % 10;
    MPI_Win_fence(0, w);
    MPI_Put(back, words, MPI_INT, next(1), 0, words, MPI_INT, w);
    MPI_Win_fence(0, w);
    for (int i = 0; i < words; ++i) REQUIRE(mine[i] == 1000 * turn + 10 * next(-1) + i % 10);
    for (int i = 0; i < words; ++i) REQUIRE(theirs[i] == back[i]);
    MPI_Win_fence(0, w);
    for (int i = 0; i < words; ++i) theirs[i] = -me - i;
    MPI_Win_fence(0, w);
    MPI_Get(back, words, MPI_INT, next(2), 0, words, MPI_INT, w);
    MPI_Win_fence(0, w);
    for (int i = 0; i < words; ++i) REQUIRE(back[i] == -next(1) - i);
  }
  MPI_Win_lock_all(0, w);
  mine[0] = 77 + me;
  MPI_Win_sync(w);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_sync(w);
  REQUIRE(theirs[0] == 77 + next(1));
  MPI_Win_unlock_all(w);
  MPI_Win_free(&w);
}

// MPI_BOTTOM with a type of absolute addresses, at this rank's end of every operation.
static void absolute_addresses(void) {
  int64_t *mine, operand = 5, result = -1;
  const int one = 1;
  MPI_Win w;
  MPI_Aint at[2];
  MPI_Datatype of_operand, of_result;
  MPI_Get_address(&operand, &at[0]), MPI_Get_address(&result, &at[1]);
  MPI_Type_create_hindexed(1, &one, &at[0], MPI_INT64_T, &of_operand), MPI_Type_commit(&of_operand);
  MPI_Type_create_hindexed(1, &one, &at[1], MPI_INT64_T, &of_result), MPI_Type_commit(&of_result);
  allocate(sizeof *mine, sizeof *mine, MPI_INFO_NULL, MPI_COMM_WORLD, &mine, &w);
  *mine = 100 + me;
  MPI_Win_fence(0, w);
  MPI_Get_accumulate(MPI_BOTTOM, 1, of_operand, MPI_BOTTOM, 1, of_result, right, 0, 1, MPI_INT64_T, MPI_SUM, w);
  MPI_Win_fence(0, w);
  REQUIRE(result == 100 + right && *mine == 105 + me);
  MPI_Win_fence(0, w);
  MPI_Get_accumulate(NULL, 0, MPI_INT64_T, MPI_BOTTOM, 1, of_result, right, 0, 1, MPI_INT64_T, MPI_NO_OP, w);
  MPI_Win_fence(0, w);
  REQUIRE(result == 105 + right);
  MPI_Accumulate(MPI_BOTTOM, 1, of_operand, right, 0, 1, MPI_INT64_T, MPI_SUM, w);
  MPI_Win_fence(0, w);
  REQUIRE(*mine == 110 + me);
  MPI_Win_fence(0, w);
  MPI_Put(MPI_BOTTOM, 1, of_operand, right, 0, 1, MPI_INT64_T, w);
  MPI_Win_fence(0, w);
  MPI_Get(MPI_BOTTOM, 1, of_result, right, 0, 1, MPI_INT64_T, w);
  MPI_Win_fence(0, w);
  REQUIRE(result == 5);
  MPI_Win_fence(MPI_MODE_NOSUCCEED, w);
  MPI_Request r;
  result = -1;
  MPI_Win_lock(MPI_LOCK_SHARED, right, 0, w);
  MPI_Rget_accumulate(MPI_BOTTOM, 1, of_operand, MPI_BOTTOM, 1, of_result, right, 0, 1, MPI_INT64_T, MPI_SUM, w, &r);
  MPI_Wait(&r, MPI_STATUS_IGNORE);
  MPI_Win_unlock(right, w);
  REQUIRE(result == 5);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_free(&w);
  MPI_Type_free(&of_operand), MPI_Type_free(&of_result);
}

// A member holds all with MPI_MODE_NOCHECK and waits for what another writes under an exclusive lock: coarray events do so.
static void unchecked_locks(void) {
  int64_t *mine;
  MPI_Win w;
  allocate(sizeof *mine, sizeof *mine, MPI_INFO_NULL, MPI_COMM_WORLD, &mine, &w);
  *mine = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  if (me == 0) {
    const int64_t nothing = 0;
    int64_t seen = 0;
    MPI_Win_lock_all(MPI_MODE_NOCHECK, w);
    while (seen < n - 1) {
      MPI_Fetch_and_op(&nothing, &seen, MPI_INT64_T, 0, 0, MPI_NO_OP, w);
      MPI_Win_flush(0, w);
    }
    MPI_Win_unlock_all(w);
  } else {
    const int64_t one = 1;
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, w);
    MPI_Accumulate(&one, 1, MPI_INT64_T, 0, 0, 1, MPI_INT64_T, MPI_SUM, w);
    MPI_Win_unlock(0, w);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, right, MPI_MODE_NOCHECK, w);
  MPI_Win_unlock(right, w);
  MPI_Win_free(&w);
}

// Members that lock, look and unlock until others have written let these in: a writer among readers of one member and of all, and
// two writers at once.
static void polled_locks(void) {
  if (!by_tutti() || n < 3) return;  // Open MPI 4.1.4 by itself hangs
  int64_t *mine;
  MPI_Win w;
  MPI_Win_allocate(sizeof *mine, sizeof *mine, MPI_INFO_NULL, MPI_COMM_WORLD, &mine, &w);
  for (int writers = 1; writers <= n - 1 && writers <= 2; ++writers)
    for (int all = 0; all < 2; ++all) {
      MPI_Win_lock(MPI_LOCK_EXCLUSIVE, me, 0, w);
      *mine = 0;
      MPI_Win_unlock(me, w);
      MPI_Barrier(MPI_COMM_WORLD);
      if (me >= n - writers) {
        count_up(w);
      } else {
        int64_t seen = 0;
        while (seen < writers) {
          if (all) MPI_Win_lock_all(0, w);
          else MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, w);
          MPI_Get(&seen, 1, MPI_INT64_T, 0, 0, 1, MPI_INT64_T, w);
          if (all) MPI_Win_unlock_all(w);
          else MPI_Win_unlock(0, w);
        }
      }
      MPI_Barrier(MPI_COMM_WORLD);
    }
  MPI_Win_free(&w);
}

// Members that poll by accumulates let in one that accumulates once: each turn of rank 1 is awaited by all others.
static void polled_accumulates(void) {
  const int64_t one = 1;
  int64_t *mine, seen = 0;
  MPI_Win w;
  allocate(sizeof *mine, sizeof *mine, MPI_INFO_NULL, MPI_COMM_WORLD, &mine, &w);
  *mine = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock_all(0, w);
  for (int64_t turn = 1; turn <= 100; ++turn)
    if (me == 1) {
      MPI_Fetch_and_op(&one, &seen, MPI_INT64_T, 0, 0, MPI_SUM, w);
      MPI_Win_flush(0, w);
      REQUIRE(seen == turn - 1);
    } else {
      do {
        MPI_Compare_and_swap(&turn, &turn, &seen, MPI_INT64_T, 0, 0, w);
        MPI_Win_flush(0, w);
      } while (seen < turn);
    }
  MPI_Win_unlock_all(w);
  MPI_Win_free(&w);
}

// Calls that are wrong whatever the other members do, each with MPI's class; the window stays as it was.
static void wrong_locks(void) {
  if (!by_tutti()) return;  // MPIs need not look
  int64_t *mine, value = 0;
  MPI_Win w;
  MPI_Win_allocate(sizeof *mine, sizeof *mine, MPI_INFO_NULL, MPI_COMM_WORLD, &mine, &w);
  MPI_Win_set_errhandler(w, MPI_ERRORS_RETURN);
  FAILS(MPI_Win_lock(4711, right, 0, w), MPI_ERR_LOCKTYPE);
  FAILS(MPI_Win_lock(MPI_LOCK_SHARED, n, 0, w), MPI_ERR_RANK);
  FAILS(MPI_Win_unlock(right, w), MPI_ERR_RMA_SYNC);
  FAILS(MPI_Win_unlock_all(w), MPI_ERR_RMA_SYNC);
  OK(MPI_Win_lock_all(0, w));
  FAILS(MPI_Win_lock_all(0, w), MPI_ERR_RMA_SYNC);
  FAILS(MPI_Win_lock(MPI_LOCK_SHARED, right, 0, w), MPI_ERR_RMA_SYNC);
  FAILS(MPI_Win_unlock(right, w), MPI_ERR_RMA_SYNC);
  FAILS(MPI_Win_flush(99, w), MPI_ERR_RANK);
  FAILS(MPI_Win_flush_local(-7, w), MPI_ERR_RANK);
  FAILS(MPI_Get_accumulate(&value, 1, MPI_INT64_T, &value, 1, MPI_INT, right, 0, 1, MPI_INT64_T, MPI_SUM, w), MPI_ERR_TYPE);
  OK(MPI_Win_unlock_all(w));
  OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, right, 0, w));
  FAILS(MPI_Win_lock_all(0, w), MPI_ERR_RMA_SYNC);
  FAILS(MPI_Win_unlock_all(w), MPI_ERR_RMA_SYNC);
  OK(MPI_Win_unlock(right, w));
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_free(&w);
}

// More than there are files for, some given up early; all are used.
static void many_at_once(void) {
#ifdef OPEN_MPI
  enum { count = 60, allocates = 1 };
#else  // MPICH 4.0.2 by itself puts the values elsewhere where some are allocated
  enum { count = 60, allocates = 0 };
#endif
  static MPI_Win w[count];
  static int* mine[count];
  static int memory[count][16];
  for (int i = 0; i < count; ++i) {
    if (allocates && i % 2) MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &mine[i], &w[i]);
    else MPI_Win_create(mine[i] = memory[i], sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &w[i]);
    *mine[i] = -1;
  }
  for (int round = 0; round < 2; ++round) {
    for (int i = round * 7; i < count; ++i) {
      const int value = 100 * i + me + round;
      MPI_Win_fence(0, w[i]);
      MPI_Put(&value, 1, MPI_INT, right, 0, 1, MPI_INT, w[i]);
      MPI_Win_fence(0, w[i]);
      REQUIRE(*mine[i] == 100 * i + left + round);
    }
    for (int i = round * 7; i < (round ? count : 7); ++i) MPI_Win_free(&w[i]);
  }
}

// The same of epochs: each kind of access is refused beside another one, and its end without a beginning; what goes wrong changes nothing.
static void wrong_epochs(void) {
  if (!by_tutti()) return;
  int64_t *mine, value = 0, other = 0;
  double number = 0;
  MPI_Win w;
  MPI_Group all;
  MPI_Datatype bytes;
  MPI_Request r;
  int done = 0;
  MPI_Win_allocate(2 * sizeof *mine, sizeof *mine, MPI_INFO_NULL, MPI_COMM_WORLD, &mine, &w);
  MPI_Win_set_errhandler(w, MPI_ERRORS_RETURN);
  MPI_Win_get_group(w, &all);
  MPI_Type_contiguous(sizeof value, MPI_BYTE, &bytes);
  MPI_Type_commit(&bytes);
  for (int round = 0; round < 2; ++round) {
    // no epoch at all
    FAILS(MPI_Win_complete(w), MPI_ERR_RMA_SYNC);
    FAILS(MPI_Win_wait(w), MPI_ERR_RMA_SYNC);
    FAILS(MPI_Win_test(w, &done), MPI_ERR_RMA_SYNC);
    FAILS(MPI_Win_flush(right, w), MPI_ERR_RMA_SYNC);
    FAILS(MPI_Win_flush_local_all(w), MPI_ERR_RMA_SYNC);
    FAILS(MPI_Put(&value, 1, MPI_INT64_T, n, 0, 1, MPI_INT64_T, w), MPI_ERR_RANK);
    OK(MPI_Put(&value, 1, MPI_INT64_T, MPI_PROC_NULL, 0, 1, MPI_INT64_T, w));
    FAILS(MPI_Put(&value, 1, MPI_INT64_T, right, 0, 1, MPI_INT64_T, w), MPI_ERR_RMA_SYNC);
    FAILS(MPI_Put(&value, 0, MPI_INT64_T, right, 0, 0, MPI_INT64_T, w), MPI_ERR_RMA_SYNC);
    FAILS(MPI_Get(&value, 1, MPI_INT64_T, me, 0, 1, MPI_INT64_T, w), MPI_ERR_RMA_SYNC);
    FAILS(MPI_Rget(&value, 1, MPI_INT64_T, right, 0, 1, MPI_INT64_T, w, &r), MPI_ERR_RMA_SYNC);
    FAILS(MPI_Accumulate(&value, 1, MPI_INT64_T, right, 0, 1, MPI_INT64_T, MPI_SUM, w), MPI_ERR_RMA_SYNC);
    FAILS(MPI_Fetch_and_op(&value, &other, MPI_INT64_T, right, 0, MPI_SUM, w), MPI_ERR_RMA_SYNC);
    FAILS(MPI_Compare_and_swap(&value, &value, &other, MPI_INT64_T, right, 0, w), MPI_ERR_RMA_SYNC);
    // post and start
    OK(MPI_Win_post(all, 0, w));
    FAILS(MPI_Win_post(all, 0, w), MPI_ERR_RMA_SYNC);
    FAILS(MPI_Put(&value, 1, MPI_INT64_T, right, 0, 1, MPI_INT64_T, w), MPI_ERR_RMA_SYNC);
    FAILS(MPI_Win_lock(MPI_LOCK_SHARED, me, 0, w), MPI_ERR_RMA_SYNC);
    OK(MPI_Win_start(all, 0, w));
    FAILS(MPI_Win_start(all, 0, w), MPI_ERR_RMA_SYNC);
    FAILS(MPI_Win_lock(MPI_LOCK_SHARED, right, 0, w), MPI_ERR_RMA_SYNC);
    FAILS(MPI_Win_lock_all(0, w), MPI_ERR_RMA_SYNC);
    FAILS(MPI_Win_fence(0, w), MPI_ERR_RMA_SYNC);
    FAILS(MPI_Win_free(&w), MPI_ERR_RMA_SYNC);
    value = 10 * me + round;
    OK(MPI_Put(&value, 1, MPI_INT64_T, right, 0, 1, MPI_INT64_T, w));
    OK(MPI_Win_complete(w));
    FAILS(MPI_Win_complete(w), MPI_ERR_RMA_SYNC);
    FAILS(MPI_Put(&value, 1, MPI_INT64_T, right, 0, 1, MPI_INT64_T, w), MPI_ERR_RMA_SYNC);
    FAILS(MPI_Win_fence(0, w), MPI_ERR_RMA_SYNC);
    FAILS(MPI_Win_free(&w), MPI_ERR_RMA_SYNC);
    OK(MPI_Win_wait(w));
    FAILS(MPI_Win_wait(w), MPI_ERR_RMA_SYNC);
    REQUIRE(mine[0] == 10 * left + round);
    // of nobody
    OK(MPI_Win_start(MPI_GROUP_EMPTY, 0, w));
    FAILS(MPI_Put(&value, 1, MPI_INT64_T, right, 0, 1, MPI_INT64_T, w), MPI_ERR_RMA_SYNC);
    OK(MPI_Win_complete(w));
    OK(MPI_Win_post(MPI_GROUP_EMPTY, 0, w));
    OK(MPI_Win_test(w, &done));
    REQUIRE(done);
    // locks
    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPI_Win_lock(MPI_LOCK_SHARED, right, 0, w));
    if (n > 2) FAILS(MPI_Put(&value, 1, MPI_INT64_T, left, 0, 1, MPI_INT64_T, w), MPI_ERR_RMA_SYNC);
    if (n > 1) FAILS(MPI_Win_flush(me, w), MPI_ERR_RMA_SYNC);
    FAILS(MPI_Compare_and_swap(&number, &number, &number, MPI_DOUBLE, right, 0, w), MPI_ERR_TYPE);
    FAILS(MPI_Compare_and_swap(&value, &value, &other, bytes, right, 0, w), MPI_ERR_TYPE);
    FAILS(MPI_Win_start(all, 0, w), MPI_ERR_RMA_SYNC);
    FAILS(MPI_Win_fence(0, w), MPI_ERR_RMA_SYNC);
    FAILS(MPI_Win_free(&w), MPI_ERR_RMA_SYNC);
    OK(MPI_Get(&other, 1, MPI_INT64_T, right, 0, 1, MPI_INT64_T, w));
    OK(MPI_Win_unlock(right, w));
    REQUIRE(other == value);
    MPI_Barrier(MPI_COMM_WORLD);
    // fences; locks between those that nothing has used are right, and nothing is to use them after that
    OK(MPI_Win_fence(0, w));
    OK(MPI_Win_lock(MPI_LOCK_SHARED, right, 0, w));
    OK(MPI_Win_unlock(right, w));
    FAILS(MPI_Get(&other, 1, MPI_INT64_T, right, 0, 1, MPI_INT64_T, w), MPI_ERR_RMA_SYNC);
    OK(MPI_Win_fence(0, w));
    OK(MPI_Get(&other, 1, MPI_INT64_T, right, 0, 1, MPI_INT64_T, w));
    FAILS(MPI_Win_lock(MPI_LOCK_SHARED, right, 0, w), MPI_ERR_RMA_SYNC);
    FAILS(MPI_Win_lock_all(0, w), MPI_ERR_RMA_SYNC);
    FAILS(MPI_Win_start(all, 0, w), MPI_ERR_RMA_SYNC);
    OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, w));
    REQUIRE(other == value);
  }
  MPI_Type_free(&bytes);
  MPI_Group_free(&all);
  MPI_Win_free(&w);
}

int main(int argc, char** argv) {
  const int few = argc > 1 && strcmp(argv[1], "few_files") == 0;
  if (few) setrlimit(RLIMIT_NOFILE, &(struct rlimit){200, 200});
  MPI_Init(&argc, &argv);
  find_place();
  if (few) {
    RUN(many_at_once);
    MPI_Barrier(MPI_COMM_WORLD);
    if (me == 0) puts("ok");
    MPI_Finalize();
    return 0;
  }
  RUN(fences);
  for (int shared = 0; shared < 2; ++shared) {
    allocate = shared ? MPI_Win_allocate_shared : MPI_Win_allocate;
    RUN(types);
    RUN(accumulates);
    RUN(general_epochs);
    RUN(locks);
    RUN(absolute_addresses);
    RUN(unchecked_locks);
    if (n > 1 && by_tutti()) RUN(polled_accumulates);
  }
  RUN(polled_locks);
  RUN(wrong_locks);
  RUN(wrong_epochs);
  RUN(loads_and_stores);
  MPI_Barrier(MPI_COMM_WORLD);
  if (me == 0) puts("ok");
  MPI_Finalize();
  return 0;
}

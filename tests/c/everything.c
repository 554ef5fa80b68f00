/* everything [ROUNDS]: uses every function of the C API as it is meant to be used, at any number of ranks. */
#include "check.h"

enum { words = 64, bytes = 4096, signals = 8 };

static tutti_team_t world;
static uint32_t me, n, left, right;

static void who_and_where(void) {
  CHECK(tutti_version() == TUTTI_VERSION);
  CHECK(!strcmp(tutti_strstatus(TUTTI_OK), "success"));
  CHECK(me < n && tutti_rank(check_ctx) == me);
  CHECK(strlen(tutti_fabric(check_ctx)) > 0);
  CHECK(!strcmp(tutti_setting_value("timeout_s"), "60") || getenv("TUTTI_TIMEOUT_S"));
  CHECK(!strcmp(tutti_error_text(check_ctx), "success"));
  CHECK(tutti_error_peer(check_ctx) == TUTTI_NO_RANK && tutti_error_native(check_ctx) == 0);
  CHECK(!tutti_setting_value("no_such") && strstr(tutti_error_text(NULL), "no_such"));
  CHECK(!tutti_setting_value(NULL));
  tutti_capabilities_t can = {.struct_size = sizeof can};
  OK(tutti_capabilities(check_ctx, &can));
  CHECK(can.struct_size == sizeof can && can.max_bytes >= 1 << 20);
  if (!strcmp(tutti_fabric(check_ctx), "shm"))
    CHECK(!can.target_must_progress && can.native_signals && can.native_atomics && can.maps_node &&
          can.cpu_atomics_agree && can.sleeps && can.multicast && !can.offload);
  if (!strcmp(tutti_fabric(check_ctx), "ofi:tcp") || !strcmp(tutti_fabric(check_ctx), "ucx:tcp"))
    CHECK(can.target_must_progress != can.progress_thread && can.cpu_atomics_agree && !can.maps_node);
  CHECK(tutti_nodes(check_ctx) >= 1 && tutti_nodes(check_ctx) <= n);
  CHECK(tutti_node_of(check_ctx, me) < tutti_nodes(check_ctx));
  CHECK(tutti_node_of(check_ctx, n) == TUTTI_NO_RANK);
  uint32_t on_my_node = 0, before_me = 0;
  for (uint32_t r = 0; r < n; ++r)
    if (tutti_node_of(check_ctx, r) == tutti_node_of(check_ctx, me)) {
      ++on_my_node;
      before_me += r < me;
    }
  CHECK(tutti_local_size(check_ctx) == on_my_node && tutti_local_rank(check_ctx) == before_me);
  CHECK(tutti_team_rank(world) == me && tutti_team_size(world) == n);
}

static void puts_and_gets(tutti_window_t w, unsigned char *mine) {
  unsigned char source[bytes], target[bytes];
  for (int i = 0; i < bytes; ++i) source[i] = (unsigned char)(i * 7 + me);
  memset(mine, 0, bytes);
  OK(tutti_barrier(world));

  tutti_request_t request;
  OK(tutti_put(w, right, 0, source, bytes, &request));
  OK(tutti_wait(&request, -1));
  CHECK(request.slot == NULL);
  OK(tutti_wait(&request, 0)); /* a complete request may be waited for again */
  OK(tutti_flush(w, right, -1));
  OK(tutti_barrier(world));
  for (int i = 0; i < bytes; ++i) CHECK(mine[i] == (unsigned char)(i * 7 + left));

  OK(tutti_get(w, right, 0, target, bytes, NULL));
  OK(tutti_flush(w, TUTTI_ALL, 30));
  CHECK(!memcmp(target, source, bytes)); /* what I put there */
  memset(target, 0, sizeof target);
  OK(tutti_get(w, right, 8, target, 16, &request));
  for (int done = 0; !done;) OK(tutti_test(&request, &done));
  CHECK(!memcmp(target, source + 8, 16) && target[16] == 0);
  OK(tutti_put(w, right, bytes, source, 0, NULL)); /* nothing, at the very end */
  OK(tutti_barrier(world));
  OK(tutti_put(w, me, 0, source, 8, NULL)); /* to myself, now that the others have read it */
  OK(tutti_quiet(check_ctx, -1));
  CHECK(!memcmp(mine, source, 8));
  OK(tutti_barrier(world));
}

static void signalling(tutti_window_t w, tutti_window_t flags, unsigned char *mine, uint64_t *flag) {
  uint64_t word;
  int yes;
  OK(tutti_test_signal(flags, 0, TUTTI_EQUAL, 0, &yes));
  CHECK(yes == 1);
  OK(tutti_barrier(world));
  for (uint64_t round = 1; round <= 100; ++round) {
    uint64_t data[4] = {round, round + me, ~round, 0};
    OK(tutti_put_signal(w, right, 64, data, sizeof data, flags, 0, round, TUTTI_SET, NULL));
    OK(tutti_wait_signal(flags, 0, TUTTI_REACHED, round, left, -1));
    memcpy(data, mine + 64, sizeof data);
    CHECK(data[0] == round && data[1] == round + left && data[2] == ~round);
    /* The neighbour overwrites this only when told that it was read. */
    OK(tutti_signal(flags, left, 8, round, TUTTI_SET));
    OK(tutti_wait_signal(flags, 8, TUTTI_REACHED, round, TUTTI_ANY, 30));
  }
  OK(tutti_load_signal(flags, 0, &word));
  CHECK(word == 100 && flag[0] == 100);
  OK(tutti_test_signal(flags, 0, TUTTI_NOT_EQUAL, 100, &yes));
  CHECK(yes == 0);
  for (uint32_t r = 0; r < n; ++r) OK(tutti_signal(flags, r, 16, 2, TUTTI_ADD | TUTTI_AFTER_ALL));
  OK(tutti_wait_signal(flags, 16, TUTTI_EQUAL, 2 * (uint64_t)n, TUTTI_ANY, -1));
  OK(tutti_barrier(world));
}

static void atomics(tutti_window_t flags, uint64_t *flag) {
  uint64_t old = 77;
  tutti_request_t request;
  flag[4] = 5;
  flag[5] = 100 + me;
  flag[6] = 0;
  OK(tutti_barrier(world));
  OK(tutti_fetch_add(flags, 0, 48, 1, &old, &request)); /* a counter at rank 0 */
  OK(tutti_wait(&request, -1));
  CHECK(old < n);
  OK(tutti_swap(flags, right, 40, 1000 + me, &old, NULL));
  OK(tutti_flush(flags, right, -1));
  CHECK(old == 100 + right);
  OK(tutti_compare_swap(flags, right, 32, 6, 9, &old, &request)); /* not what is there */
  OK(tutti_wait(&request, -1));
  CHECK(old == 5);
  OK(tutti_compare_swap(flags, right, 32, 5, 10 + me, &old, NULL));
  OK(tutti_quiet(check_ctx, 30));
  CHECK(old == 5);
  OK(tutti_barrier(world));
  uint64_t word;
  OK(tutti_load_signal(flags, 32, &word));
  CHECK(word == 10 + left);
  OK(tutti_load_signal(flags, 40, &word));
  CHECK(word == 1000 + left);
  if (me == 0) {
    OK(tutti_load_signal(flags, 48, &word));
    CHECK(word == n);
  }
}

static void barriers(tutti_team_t team) {
  tutti_request_t requests[3];
  for (int i = 0; i < 50; ++i) OK(tutti_barrier(team));
  for (int i = 0; i < 3; ++i) OK(tutti_ibarrier(team, &requests[i]));
  OK(tutti_progress(check_ctx));
  OK(tutti_wait(&requests[1], -1));
  int done = 0;
  OK(tutti_test(&requests[0], &done)); /* they complete in order */
  CHECK(done == 1);
  OK(tutti_wait(&requests[2], 60));
  OK(tutti_barrier(team));
}

/* Sizes on both sides of whatever an algorithm may divide by, from every root, twice. */
static void broadcasts(tutti_team_t team) {
  static const size_t sizes[] = {0, 1, 8, 1391, 1392, 2016, 2017, 4096, 65535, 65537, 200000, 1048577};
  const uint32_t rank = tutti_team_rank(team), size = tutti_team_size(team);
  unsigned char *data = malloc(1048577);
  for (uint32_t turn = 0; turn < 2 * size; ++turn) {
    const uint32_t root = turn % size;
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; ++s) {
      if (sizes[s] > 100000 && turn > 2) continue;
      for (size_t i = 0; i < sizes[s]; ++i) data[i] = (unsigned char)(rank == root ? i * 31 + (i >> 8) + turn + s : 0xee);
      OK(tutti_broadcast(team, root, data, sizes[s]));
      for (size_t i = 0; i < sizes[s]; ++i) CHECK(data[i] == (unsigned char)(i * 31 + (i >> 8) + turn + s));
    }
  }
  /* Without blocking: they complete in order, beside barriers. */
  tutti_request_t requests[4], barrier;
  for (uint32_t k = 0; k < 4; ++k) {
    for (size_t i = 0; i < 5000; ++i) data[k * 5000 + i] = (unsigned char)(rank == k % size ? i * 7 + k : 0xee);
    OK(tutti_ibroadcast(team, k % size, data + k * 5000, 5000, &requests[k]));
  }
  OK(tutti_ibarrier(team, &barrier));
  OK(tutti_wait(&requests[3], -1));
  for (uint32_t k = 0; k < 3; ++k) {
    int done = 0;
    OK(tutti_test(&requests[k], &done));
    CHECK(done == 1);
  }
  OK(tutti_wait(&barrier, -1));
  for (uint32_t k = 0; k < 4; ++k)
    for (size_t i = 0; i < 5000; ++i) CHECK(data[k * 5000 + i] == (unsigned char)(i * 7 + k));
  free(data);
}

/* Of 2x2 matrices modulo 2^64: the order of the ranks shows. */
typedef struct matrix {
  uint64_t a, b, c, d;
} matrix_t;

static void multiply(const void *in, void *inout, size_t count, void *context) {
  const matrix_t *l = in;
  matrix_t *r = inout;
  for (size_t i = 0; i < count; ++i)
    r[i] = (matrix_t){l[i].a * r[i].a + l[i].b * r[i].c, l[i].a * r[i].b + l[i].b * r[i].d,
                      l[i].c * r[i].a + l[i].d * r[i].c, l[i].c * r[i].b + l[i].d * r[i].d};
  (void)context;
}

static matrix_t matrix_of(uint32_t rank) { return (matrix_t){rank + 1, 2, rank % 3, 1}; }

static void reductions(tutti_team_t team) {
  const uint32_t rank = tutti_team_rank(team), size = tutti_team_size(team);
  const size_t counts[] = {1, 3, 1000, 70000, 0};
  double *in = malloc(70000 * sizeof *in), *out = malloc(70000 * sizeof *out);
  for (size_t k = 0; k < sizeof counts / sizeof *counts; ++k) {
    const size_t count = counts[k];
    for (size_t i = 0; i < count; ++i) in[i] = (double)(rank + i), out[i] = -1;
    OK(tutti_allreduce(team, in, out, count, TUTTI_FLOAT64, TUTTI_SUM));
    for (size_t i = 0; i < count; ++i) CHECK(out[i] == (double)size * (double)i + size * (size - 1) / 2);
    OK(tutti_allreduce(team, in, in, count, TUTTI_FLOAT64, TUTTI_MAX)); /* in place */
    for (size_t i = 0; i < count; ++i) CHECK(in[i] == (double)(size - 1 + i));
    for (size_t i = 0; i < count; ++i) in[i] = (double)(rank * i), out[i] = -1;
    OK(tutti_reduce(team, size - 1, in, rank == size - 1 ? out : NULL, count, TUTTI_FLOAT64, TUTTI_MIN));
    for (size_t i = 0; i < count; ++i) CHECK(out[i] == (rank == size - 1 ? 0 : -1));
  }

  tutti_operation_t product, none = 0;
  OK(tutti_operation_create(check_ctx, multiply, sizeof(matrix_t), 0, NULL, &product));
  matrix_t mine = matrix_of(rank), expected = matrix_of(0), got[2];
  for (uint32_t r = 1; r < size; ++r) {
    matrix_t next = matrix_of(r);
    multiply(&expected, &next, 1, NULL);
    expected = next;
  }
  OK(tutti_allreduce(team, &mine, got, 1, TUTTI_BYTES, product));
  CHECK(memcmp(&got[0], &expected, sizeof expected) == 0);
  tutti_request_t request[2];
  OK(tutti_ireduce(team, 0, &mine, got, 1, TUTTI_BYTES, product, &request[0]));
  OK(tutti_iallreduce(team, &mine, got + 1, 1, TUTTI_BYTES, product, &request[1]));
  OK(tutti_operation_free(check_ctx, &product)); /* calls under way go on */
  CHECK(product == 0);
  OK(tutti_operation_free(check_ctx, &none));
  OK(tutti_wait(&request[1], -1));
  OK(tutti_wait(&request[0], -1));
  CHECK(memcmp(&got[1], &expected, sizeof expected) == 0 && (rank > 0 || memcmp(&got[0], &expected, sizeof expected) == 0));
  free(in), free(out);
}

/* Started again and again, all kinds at once. */
static void persistent(tutti_team_t team) {
  const uint32_t rank = tutti_team_rank(team), size = tutti_team_size(team);
  uint64_t sent = 0, mine = 0, least = 0, sum = 0;
  tutti_request_t r[4], copy;
  OK(tutti_barrier_init(team, &r[0]));
  OK(tutti_broadcast_init(team, size - 1, &sent, sizeof sent, &r[1]));
  OK(tutti_reduce_init(team, 0, &mine, rank == 0 ? &least : NULL, 1, TUTTI_UINT64, TUTTI_MIN, &r[2]));
  OK(tutti_allreduce_init(team, &mine, &sum, 1, TUTTI_UINT64, TUTTI_SUM, &r[3]));
  for (int i = 0; i < 4; ++i) OK(tutti_wait(&r[i], 0)); /* not under way */
  for (uint64_t turn = 0; turn < 20; ++turn) {
    sent = rank == size - 1 ? turn : 99;
    mine = rank + turn;
    for (int i = 0; i < 4; ++i) OK(tutti_start(&r[i]));
    for (int i = 3; i >= 0; --i) {
      int done = 0;
      if (turn % 2) {
        while (!done) OK(tutti_test(&r[i], &done));
      } else {
        OK(tutti_wait(&r[i], -1));
      }
    }
    CHECK(sent == turn && sum == size * turn + size * (size - 1) / 2 && (rank > 0 || least == turn));
  }
  OK(tutti_start(&r[0]));
  INVALID(tutti_start(&r[0]), "tutti_start", "under way");
  INVALID(tutti_request_free(&r[0]), "tutti_request_free", "under way");
  OK(tutti_wait(&r[0], -1));
  copy = r[0];
  for (int i = 0; i < 4; ++i) OK(tutti_request_free(&r[i]));
  CHECK(!r[0].slot);
  OK(tutti_request_free(&r[0]));
  INVALID(tutti_start(&copy), "stale copy", "tutti_start");
}

/* Requests of all kinds in one array. */
static void several(tutti_team_t team, tutti_window_t flags) {
  enum { kinds = 6 };
  const uint32_t rank = tutti_team_rank(team), size = tutti_team_size(team);
  uint64_t got = 0, mine, sum, sent;
  tutti_request_t r[kinds];
  size_t index, indices[kinds], done, seen;
  int yes = 0;
  OK(tutti_wait_all(NULL, 0, 0));
  memset(r, 0, sizeof r);
  OK(tutti_barrier_init(team, &r[5]));
  OK(tutti_wait_any(r, kinds, &index, 0));
  CHECK(index == kinds); /* none is under way */
  OK(tutti_test_any(r, kinds, &index, &yes));
  CHECK(index == kinds && yes == 1);
  OK(tutti_wait_some(r, kinds, indices, &done, 0));
  CHECK(done == 0);
  done = kinds;
  OK(tutti_test_some(r, kinds, indices, &done));
  CHECK(done == 0);
  for (int turn = 0; turn < 15; ++turn) {
    mine = rank, sum = 0, sent = rank == 0 ? 7 : 0;
    OK(tutti_get(flags, me, 0, &got, 8, &r[0]));
    OK(tutti_iallreduce(team, &mine, &sum, 1, TUTTI_UINT64, TUTTI_SUM, &r[1]));
    r[2] = (tutti_request_t){0};
    OK(tutti_ibarrier(team, &r[3]));
    OK(tutti_ibroadcast(team, 0, &sent, sizeof sent, &r[4]));
    OK(tutti_start(&r[5]));
    switch (turn % 5) {
      case 0: OK(tutti_wait_all(r, kinds, -1)); break;
      case 1:
        for (yes = 0; !yes;) OK(tutti_test_all(r, kinds, &yes));
        break;
      case 2:
        for (seen = 0; seen < 5; ++seen) {
          OK(tutti_wait_any(r, kinds, &index, 60));
          CHECK(index < kinds && index != 2 && (index == 5 || !r[index].slot));
        }
        OK(tutti_test_any(r, kinds, &index, &yes));
        CHECK(index == kinds && yes);
        break;
      case 3:
        for (seen = 0; seen < 5; seen += done) {
          OK(tutti_wait_some(r, kinds, indices, &done, 60));
          CHECK(done > 0);
        }
        break;
      default:
        for (seen = 0; seen < 5; seen += done) {
          OK(tutti_test_some(r, kinds, indices, &done));
          for (size_t i = 0; i < done; ++i) CHECK(indices[i] < kinds && (i == 0 || indices[i] > indices[i - 1]));
          for (size_t i = 0; i < done; ++i) CHECK(indices[i] != 2 && (indices[i] == 5 || !r[indices[i]].slot));
        }
    }
    for (int i = 0; i < 5; ++i) CHECK(!r[i].slot);
    CHECK(sum == size * (size - 1) / 2 && sent == 7);
  }
  OK(tutti_request_free(&r[5]));
  if (rank == 0 && size > 1) { /* which the others enter later */
    OK(tutti_ibarrier(team, &r[0]));
    REFUSED(tutti_wait_all(r, 1, 0.02), TUTTI_TIMED_OUT, check_ctx, "tutti_wait_all", "deadline");
    CHECK(r[0].slot);
    OK(tutti_test_some(r, 1, indices, &done));
    CHECK(done == (r[0].slot ? 0 : 1));
    OK(tutti_test_all(r, 1, &yes));
    CHECK(!yes || !r[0].slot);
    for (uint32_t to = 1; to < size; ++to) OK(tutti_signal(flags, to, 8 * signals - 8, 99, TUTTI_SET));
    OK(tutti_wait_any(r, 1, &index, -1));
    CHECK(index == (yes ? 1 : 0));
  } else if (size > 1) {
    OK(tutti_wait_signal(flags, 8 * signals - 8, TUTTI_EQUAL, 99, 0, -1));
    OK(tutti_barrier(team));
  }
}

static void teams(void) {
  /* In reverse order, by a list. */
  uint32_t *list = malloc(n * sizeof *list);
  for (uint32_t i = 0; i < n; ++i) list[i] = n - 1 - i;
  tutti_team_t reversed, half, none = world;
  OK(tutti_team_create(world, list, n, &reversed));
  free(list);
  CHECK(tutti_team_size(reversed) == n && tutti_team_rank(reversed) == n - 1 - me);
  uint32_t there;
  OK(tutti_team_translate(world, me, reversed, &there));
  CHECK(there == n - 1 - me);
  barriers(reversed);
  CHECK(strlen(tutti_team_algorithm(reversed, "barrier", 0)) > 0);
  int64_t one = 1, sum = 0;
  OK(tutti_allreduce(reversed, &one, &sum, 1, TUTTI_INT64, TUTTI_SUM));
  CHECK(sum == n && (n == 1 || strlen(tutti_team_algorithm(reversed, "allreduce", 1 << 20)) > 0));
  broadcasts(reversed);
  reductions(reversed);

  /* Even and odd ranks, of the reversed team. */
  OK(tutti_team_split(reversed, (int)(me % 2), 0, &half));
  CHECK(tutti_team_size(half) == (n + (me % 2 == 0)) / 2);
  barriers(half);
  broadcasts(half);
  reductions(half);
  persistent(half);
  OK(tutti_team_translate(half, 0, world, &there));
  CHECK(there % 2 == me % 2);
  if (n > 1) {
    OK(tutti_team_translate(world, me % 2 ? 0 : 1, half, &there));
    CHECK(there == TUTTI_NO_RANK);
  }

  /* A window of a team, given on one half of it and allocated on the other, of different sizes. */
  static uint64_t own[words];
  tutti_window_t w;
  void *base = NULL;
  if (tutti_team_rank(half) == 0) {
    OK(tutti_window_over(half, own, sizeof own, &w));
    CHECK(tutti_window_base(w) == (void *)own);
  } else {
    OK(tutti_window_create(half, 128, &base, &w));
    CHECK(base && tutti_window_base(w) == base);
  }
  CHECK(tutti_window_team(w) == half);
  CHECK(tutti_window_size(w, 0) == sizeof own);
  if (tutti_team_size(half) > 1) CHECK(tutti_window_size(w, 1) == 128);
  const uint64_t value = 42 + tutti_team_rank(half);
  OK(tutti_put(w, 0, 8 * tutti_team_rank(half), &value, 8, NULL));
  OK(tutti_flush(w, 0, -1));
  OK(tutti_barrier(half));
  if (tutti_team_rank(half) == 0)
    for (uint32_t r = 0; r < tutti_team_size(half); ++r) CHECK(own[r] == 42 + r);
  OK(tutti_window_free(&w));
  CHECK(w == NULL);
  OK(tutti_window_free(&w));

  OK(tutti_team_split(world, -1, 0, &none));
  CHECK(none == NULL);
  OK(tutti_team_create(world, NULL, 0, &none));
  CHECK(none == NULL);
  tutti_request_t late;
  OK(tutti_ibarrier(half, &late));
  uint64_t word = me;
  tutti_request_t last, again;
  OK(tutti_barrier_init(half, &again));
  OK(tutti_start(&again));
  OK(tutti_ibroadcast(half, 0, &word, sizeof word, &last));
  OK(tutti_team_free(&half)); /* completes both */
  OK(tutti_wait(&late, 0));
  OK(tutti_wait(&last, 0));
  OK(tutti_wait(&again, 0));
  INVALID(tutti_start(&again), "team", "freed");
  OK(tutti_request_free(&again));
  CHECK(word < n && word % 2 == me % 2);
  OK(tutti_team_free(&reversed));
  CHECK(half == NULL && reversed == NULL);
  OK(tutti_team_free(&none));
}

int main(int argc, char **argv) {
  const int rounds = argc > 1 ? atoi(argv[1]) : 3;
  begin();
  world = tutti_world(check_ctx);
  me = tutti_rank(check_ctx), n = tutti_size(check_ctx), left = (me + n - 1) % n, right = (me + 1) % n;
  who_and_where();
  for (int round = 0; round < rounds; ++round) { /* what was freed can be made again */
    tutti_window_t data, flags, nothing;
    unsigned char *mine;
    uint64_t *flag;
    OK(tutti_window_create(world, bytes, (void **)&mine, &data));
    OK(tutti_window_create(world, 8 * signals, (void **)&flag, &flags));
    for (int i = 0; i < bytes; ++i) CHECK(mine[i] == 0);
    OK(tutti_barrier(world));
    CHECK(tutti_window_size(data, n - 1) == bytes && tutti_window_team(data) == world);
    puts_and_gets(data, mine);
    signalling(data, flags, mine, flag);
    atomics(flags, flag);
    barriers(world);
    several(world, flags);
    teams();
    OK(tutti_window_create(world, me == 0 ? 64 : 0, NULL, &nothing)); /* only rank 0 exposes anything */
    CHECK(tutti_window_size(nothing, 0) == 64 && (me == 0 || tutti_window_base(nothing) == NULL));
    OK(tutti_put(nothing, 0, 8 * (me % 8), &n, 4, NULL));
    OK(tutti_window_free(&nothing)); /* completes what is under way */
    OK(tutti_window_free(&data));
    OK(tutti_window_free(&flags));
  }
  OK(tutti_finalize(&check_ctx));
  CHECK(check_ctx == NULL);
  OK(tutti_finalize(&check_ctx));
  return 0;
}

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
  CHECK(!strcmp(tutti_error_text(check_ctx), "success"));
  CHECK(tutti_error_peer(check_ctx) == TUTTI_NO_RANK && tutti_error_native(check_ctx) == 0);
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
  broadcasts(reversed);

  /* Even and odd ranks, of the reversed team. */
  OK(tutti_team_split(reversed, (int)(me % 2), 0, &half));
  CHECK(tutti_team_size(half) == (n + (me % 2 == 0)) / 2);
  barriers(half);
  broadcasts(half);
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
  tutti_request_t last;
  OK(tutti_ibroadcast(half, 0, &word, sizeof word, &last));
  OK(tutti_team_free(&half)); /* completes both */
  OK(tutti_wait(&late, 0));
  OK(tutti_wait(&last, 0));
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

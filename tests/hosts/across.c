/* What a job over several hosts must do, checked by the ranks themselves: across HOSTS [BARRIER...]
 * HOSTS: how many nodes the job must see. Then everything is done once for each barrier algorithm named, each in a
 * context of its own. Prints "across: fine" from each rank. */
#include <stdbool.h>
#include <unistd.h>

#include "tests/c/check.h"

enum { most_ranks = 16, big = 200000, rounds = 12 };

struct memory {                        /* what each rank exposes */
  _Alignas(64) uint64_t seen[most_ranks]; /* by rank: the round that it has entered */
  uint64_t sum, lock, token;           /* words for atomics */
  uint64_t arrived[most_ranks];        /* by rank: how many messages it has sent here */
  unsigned char data[most_ranks][big]; /* by rank: what it has put here */
};

static tutti_t job;
static tutti_team_t world;
static uint32_t me, n;
static tutti_window_t window;
static struct memory *mine;
static unsigned char *copy;

#define AT(member) offsetof(struct memory, member)

static unsigned char pattern(uint32_t from, uint32_t to, size_t i, unsigned round) {
  return (unsigned char)(from * 151 + to * 31 + i * 7 + (i >> 8) + round * 13 + 1);
}

static void topology(uint32_t hosts) {
  CHECK(tutti_nodes(job) == hosts);
  uint32_t together = 0;
  for (uint32_t r = 0; r < n; ++r) together += tutti_node_of(job, r) == tutti_node_of(job, me);
  CHECK(together == tutti_local_size(job) && together < n);
  CHECK(tutti_node_of(job, n - 1) != tutti_node_of(job, 0));
}

/* Before its barrier each rank tells everyone which round it is in; after it, nobody may be behind, nor two ahead. */
static void barriers(tutti_team_t team, bool split_phase) {
  const uint32_t size = tutti_team_size(team);
  static uint64_t round; /* of this process: over all teams, alike in all ranks */
  for (int i = 0; i < rounds; ++i) {
    ++round;
    for (uint32_t r = 0; r < size; ++r) {
      uint32_t to;
      CHECK(tutti_team_translate(team, r, world, &to) == TUTTI_OK);
      CHECK(tutti_signal(window, to, AT(seen) + 8 * me, round, TUTTI_SET) == TUTTI_OK);
    }
    CHECK(tutti_flush(window, TUTTI_ALL, -1) == TUTTI_OK);
    if (me == (uint32_t)i % n) usleep(300); /* someone is late */
    if (split_phase) {
      tutti_request_t request;
      CHECK(tutti_ibarrier(team, &request) == TUTTI_OK);
      CHECK(tutti_wait(&request, 30) == TUTTI_OK);
    } else {
      CHECK(tutti_barrier(team) == TUTTI_OK);
    }
    for (uint32_t r = 0; r < size; ++r) {
      uint32_t from;
      uint64_t at;
      CHECK(tutti_team_translate(team, r, world, &from) == TUTTI_OK);
      CHECK(tutti_load_signal(window, AT(seen) + 8 * from, &at) == TUTTI_OK);
      CHECK(at == round || at == round + 1);
    }
  }
}

/* To every rank, near or far: a message with its signal, read back by a get, and looked at where it arrived. */
static void messages(void) {
  static const size_t sizes[] = {1, 8, 61, 4096, 65537, big};
  unsigned round = 0;
  for (unsigned s = 0; s < sizeof sizes / sizeof *sizes; ++s) {
    ++round;
    const size_t bytes = sizes[s];
    for (uint32_t step = 0; step < n; ++step) {
      const uint32_t to = (me + step) % n;
      for (size_t i = 0; i < bytes; ++i) copy[i] = pattern(me, to, i, round);
      tutti_request_t request;
      CHECK(tutti_put_signal(window, to, AT(data) + (size_t)me * big, copy, bytes, window, AT(arrived) + 8 * me, 1,
                             TUTTI_ADD, &request) == TUTTI_OK);
      CHECK(tutti_wait(&request, 30) == TUTTI_OK);
    }
    for (uint32_t step = 0; step < n; ++step) {
      const uint32_t from = (me + n - step) % n;
      CHECK(tutti_wait_signal(window, AT(arrived) + 8 * from, TUTTI_REACHED, round, from, 30) == TUTTI_OK);
      for (size_t i = 0; i < bytes; ++i) CHECK(mine->data[from][i] == pattern(from, me, i, round));
      memset(copy, 0, bytes);
      tutti_request_t request;
      CHECK(tutti_flush(window, from, 30) == TUTTI_OK);
      CHECK(tutti_get(window, from, AT(data) + (size_t)me * big, copy, bytes, &request) == TUTTI_OK);
      CHECK(tutti_wait(&request, 30) == TUTTI_OK);
      for (size_t i = 0; i < bytes; ++i) CHECK(copy[i] == pattern(me, from, i, round));
    }
    CHECK(tutti_barrier(world) == TUTTI_OK);
  }
}

/* Every rank's word is changed by ranks of its host and of others at once, on two ways that must agree. */
static void atomics(void) {
  enum { each = 100, turns = 2 };
  uint64_t old;
  tutti_request_t request;
  for (int i = 0; i < each; ++i)
    for (uint32_t r = 0; r < n; ++r) {
      if (i % 2) {
        CHECK(tutti_fetch_add(window, r, AT(sum), me + 1, &old, &request) == TUTTI_OK);
        CHECK(tutti_wait(&request, 30) == TUTTI_OK);
      } else {
        CHECK(tutti_signal(window, r, AT(sum), me + 1, TUTTI_ADD) == TUTTI_OK);
      }
    }
  /* A lock on rank 0 by compare_swap, around a counter that only its holder may write. */
  for (int i = 0; i < turns; ++i) {
    do {
      CHECK(tutti_compare_swap(window, 0, AT(lock), 0, me + 1, &old, &request) == TUTTI_OK);
      CHECK(tutti_wait(&request, 30) == TUTTI_OK);
    } while (old != 0);
    uint64_t count;
    CHECK(tutti_get(window, 0, AT(token), &count, 8, &request) == TUTTI_OK);
    CHECK(tutti_wait(&request, 30) == TUTTI_OK);
    ++count;
    CHECK(tutti_put(window, 0, AT(token), &count, 8, NULL) == TUTTI_OK);
    CHECK(tutti_flush(window, 0, 30) == TUTTI_OK);
    CHECK(tutti_swap(window, 0, AT(lock), 0, &old, &request) == TUTTI_OK);
    CHECK(tutti_wait(&request, 30) == TUTTI_OK);
    CHECK(old == me + 1);
  }
  CHECK(tutti_flush(window, TUTTI_ALL, 30) == TUTTI_OK);
  CHECK(tutti_barrier(world) == TUTTI_OK);
  CHECK(tutti_load_signal(window, AT(sum), &old) == TUTTI_OK);
  CHECK(old == (uint64_t)each * n * (n + 1) / 2);
  if (me == 0) CHECK(tutti_load_signal(window, AT(token), &old) == TUTTI_OK && old == (uint64_t)turns * n);
}

/* Teams with members of all hosts, of one host only, and in another order; two that cross each other at once. */
static void teams(void) {
  const uint32_t node = tutti_node_of(job, me), place = tutti_local_rank(job);
  const struct { int32_t color, key; } kinds[] = {
      {(int32_t)place, (int32_t)me}, {(int32_t)node, 0}, {0, -(int32_t)me}, {(int32_t)(me % 2), -(int32_t)me}};
  tutti_team_t made[4];
  for (int k = 0; k < 4; ++k) CHECK(tutti_team_split(world, kinds[k].color, kinds[k].key, &made[k]) == TUTTI_OK);
  CHECK(tutti_team_size(made[1]) == tutti_local_size(job));
  CHECK(tutti_team_rank(made[2]) == n - 1 - me);
  for (int k = 0; k < 4; ++k) {
    barriers(made[k], false);
    CHECK(tutti_barrier(world) == TUTTI_OK); /* or who is in fewer teams could be more than one round ahead */
  }
  tutti_request_t two[2];
  for (int i = 0; i < rounds; ++i) {
    CHECK(tutti_ibarrier(made[0], &two[0]) == TUTTI_OK && tutti_ibarrier(made[3], &two[1]) == TUTTI_OK);
    CHECK(tutti_wait(&two[i % 2], 30) == TUTTI_OK && tutti_wait(&two[(i + 1) % 2], 30) == TUTTI_OK);
  }
  for (int k = 0; k < 4; ++k) CHECK(tutti_team_free(&made[k]) == TUTTI_OK);
}

static void everything(const char *barrier, uint32_t hosts) {
  const tutti_setting_t setting = {"barrier", barrier};
  const tutti_options_t options = {.struct_size = sizeof options, .settings = &setting, .setting_count = 1};
  if (tutti_init(&options, &job) != TUTTI_OK) {
    fprintf(stderr, "tutti_init with barrier %s: %s\n", barrier, tutti_error_text(NULL));
    exit(1);
  }
  check_ctx = job, world = tutti_world(job), me = tutti_rank(job), n = tutti_size(job);
  CHECK(n <= most_ranks);
  CHECK(tutti_window_create(world, sizeof *mine, (void **)&mine, &window) == TUTTI_OK);
  topology(hosts);
  barriers(world, false);
  barriers(world, true);
  messages();
  atomics();
  teams();
  CHECK(tutti_window_free(&window) == TUTTI_OK);
  CHECK(tutti_finalize(&job) == TUTTI_OK);
}

int main(int argc, char **argv) {
  CHECK(argc >= 3);
  copy = malloc(big);
  for (int i = 2; i < argc; ++i) everything(argv[i], (uint32_t)atoi(argv[1]));
  free(copy);
  printf("across: fine\n");
  return 0;
}

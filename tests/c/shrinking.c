/* Ranks die at any moment, and the others go on: run as some ranks with how many are to die and a seed. A rank that is to die
 * does so after a random time, in the middle of whatever it does. The others agree, compute on the team that is left,
 * and check that each of them saw the same. */
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include "check.h"

static uint32_t me, n, deaths;
static uint64_t random_state;

static uint64_t draw(void) { /* splitmix64 */
  uint64_t z = (random_state += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

static void die(int signal) {
  (void)signal;
  raise(SIGKILL);
}

static void die_in(long us) {
  struct itimerval when = {{0, 0}, {us / 1000000, us % 1000000 + 1}};
  signal(SIGALRM, die);
  setitimer(ITIMER_REAL, &when, NULL);
}

/* Victims are drawn alike in all ranks. */
static void choose_victims(uint64_t seed) {
  char victim[64] = {0};
  random_state = seed;
  for (uint32_t k = 0; k < deaths; ++k) {
    uint32_t v = (uint32_t)(draw() % n);
    while (victim[v]) v = (v + 1) % n;
    victim[v] = 1;
    const long us = (long)(draw() % 20000);
    if (v == me) die_in(us);
  }
}

/* Who is in `now`, as the team before says it. */
static void check_ranks(tutti_team_t before, tutti_team_t now) {
  uint32_t dead[64], rank, next = 0;
  size_t count = 0, found = 0;
  OK(tutti_team_dead(before, dead, 64, &count));
  for (uint32_t r = 0; r < tutti_team_size(before); ++r) {
    OK(tutti_team_translate(before, r, now, &rank));
    if (rank == TUTTI_NO_RANK) CHECK(found < count && dead[found++] == r);
    else CHECK(rank == next++);
  }
  CHECK(found == count && next == tutti_team_size(now));
}

/* A turn of everything that a team can do. Any call may be the one that tells of a death. */
static tutti_status_t work(tutti_team_t team, uint64_t turn) {
  const uint32_t size = tutti_team_size(team), rank = tutti_team_rank(team);
  uint64_t mine = turn, sum = 0, word = rank;
  tutti_status_t s = tutti_barrier(team);
  if (s == TUTTI_OK && (s = tutti_allreduce(team, &mine, &sum, 1, TUTTI_UINT64, TUTTI_SUM)) == TUTTI_OK) CHECK(sum == turn * size);
  if (s == TUTTI_OK && turn % 4 == 0) {
    tutti_window_t w;
    uint64_t *words;
    if ((s = tutti_window_create(team, 64, (void **)&words, &w)) != TUTTI_OK) return s;
    s = tutti_put_signal(w, (rank + 1) % size, 8, &word, 8, w, 0, 1, TUTTI_SET, NULL);
    if (s == TUTTI_OK) s = tutti_wait_signal(w, 0, TUTTI_EQUAL, 1, TUTTI_ANY, -1); /* the one may live, and not come */
    if (s == TUTTI_OK) CHECK(words[1] == (rank + size - 1) % size);
    const tutti_status_t end = tutti_window_free(&w);
    if (s == TUTTI_OK) s = end;
  }
  return s;
}

/* A team that each frees as soon as it has agreed there, also where others have not yet, since a rank died. */
static uint64_t free_at_once(tutti_team_t world) {
  tutti_team_t all = NULL;
  uint64_t made = tutti_team_split(world, 0, 0, &all) == TUTTI_OK, flags = 7;
  const tutti_status_t agreed = tutti_team_agree(world, &made);
  CHECK(agreed == TUTTI_OK || agreed == TUTTI_PEER_DEAD);
  if (made) {
    const tutti_status_t s = tutti_team_agree(all, &flags);
    CHECK((s == TUTTI_OK || s == TUTTI_PEER_DEAD) && flags == 7);
    if (s == TUTTI_PEER_DEAD) flags = 8;
  }
  (void)tutti_team_free(&all);
  return flags * 2 + made;
}

int main(int argc, char **argv) {
  CHECK(argc == 3);
  begin();
  const tutti_team_t world = tutti_world(check_ctx);
  me = tutti_rank(check_ctx), n = tutti_size(check_ctx), deaths = (uint32_t)atoi(argv[1]);
  (void)tutti_barrier(world); /* out of which some may come only when others have died */
  choose_victims((uint64_t)atoi(argv[2]));
  tutti_team_t team = world;
  uint64_t history = 0, turn = 0;
  for (int i = 0; i < 30; ++i) history = history * 31 + free_at_once(world);
  for (;;) {
    const tutti_status_t s = work(team, ++turn);
    CHECK(s == TUTTI_OK || s == TUTTI_PEER_DEAD);
    uint64_t flags = ~(uint64_t)0 << 1 | (s == TUTTI_OK);
    const tutti_status_t agreed = tutti_team_agree(team, &flags);
    CHECK(agreed == TUTTI_OK || agreed == TUTTI_PEER_DEAD);
    CHECK(flags >> 1 == ~(uint64_t)0 >> 1);
    CHECK(s == TUTTI_OK || !(flags & 1));
    CHECK(!(agreed == TUTTI_OK && s != TUTTI_OK));
    history = history * 31 + flags * 7 + (uint64_t)agreed;
    if (agreed == TUTTI_PEER_DEAD || turn % 16 == 0) {
      tutti_team_t next;
      OK(tutti_team_shrink(team, &next));
      check_ranks(team, next);
      if (team != world) (void)tutti_team_free(&team);
      team = next;
    } else if (tutti_team_size(team) == n - deaths && turn >= 40) {
      break;
    }
  }
  uint64_t most = 0, least = 0;
  OK(tutti_allreduce(team, &history, &most, 1, TUTTI_UINT64, TUTTI_MAX));
  OK(tutti_allreduce(team, &history, &least, 1, TUTTI_UINT64, TUTTI_MIN));
  CHECK(most == history && least == history);
  if (team != world) OK(tutti_team_free(&team));
  CHECK(tutti_finalize(&check_ctx) == (deaths ? TUTTI_PEER_DEAD : TUTTI_OK));
  puts("survived");
  return 0;
}

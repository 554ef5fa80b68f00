/* tutti_finalize() from any state, and what it tells: run as 2 or more ranks with the name of a scene. */
#include <malloc.h>
#include <signal.h>
#include <unistd.h>

#include "check.h"

static tutti_team_t world;
static uint32_t me, n;

/* Teams, windows and barriers left lying about. */
static void untidy(void) {
  tutti_team_t half;
  tutti_window_t w, v;
  uint64_t *base, word = 7;
  static uint64_t got;
  tutti_request_t request;
  OK(tutti_team_split(world, (int)(me % 2), 0, &half));
  OK(tutti_window_create(world, 64, (void **)&base, &w));
  OK(tutti_window_create(half, 64, NULL, &v));
  OK(tutti_ibarrier(half, &request));
  OK(tutti_ibarrier(world, &request));
  OK(tutti_put(w, (me + 1) % n, 0, &word, 8, NULL));
  OK(tutti_get(w, (me + 1) % n, 8, &got, 8, &request));
  OK(tutti_finalize(&check_ctx));
}

/* Two of everything: the second context is not disturbed by the end of the first. */
static void again(void) {
  OK(tutti_barrier(world));
  OK(tutti_finalize(&check_ctx));
  OK(tutti_finalize(&check_ctx));
  CHECK(tutti_error_peer(NULL) == TUTTI_NO_RANK);
}

/* The last rank waits until all the others are past the barrier: its end must not catch one of them in it. */
static void last_waits_for_the_others(tutti_window_t w) {
  OK(tutti_barrier(world));
  if (me != n - 1) OK(tutti_signal(w, n - 1, 8, 1, TUTTI_ADD));
  else OK(tutti_wait_signal(w, 8, TUTTI_EQUAL, n - 1, TUTTI_ANY, -1));
}

/* Whom tutti_finalize() names: the one that is gone, or one that has already left because of it. */
static void named_at_the_end(void) {
  CHECK(tutti_error_peer(NULL) < n && tutti_error_peer(NULL) != me);
  CHECK(strstr(tutti_error_text(NULL), "tutti_finalize"));
}

/* The last rank dies: the others are told its name by whatever they do next, and get away. */
static void death(const char *how) {
  tutti_window_t w;
  OK(tutti_window_create(world, 64, NULL, &w));
  last_waits_for_the_others(w);
  const uint32_t last = n - 1;
  if (me == last) {
    raise(SIGKILL);
  } else if (!strcmp(how, "death-barrier")) {
    REFUSED(tutti_barrier(world), TUTTI_PEER_DEAD, check_ctx, "rank", "");
    CHECK(tutti_error_peer(check_ctx) == last);
    REFUSED(tutti_barrier(world), TUTTI_PEER_DEAD, check_ctx, "rank", "");
    tutti_request_t request = {0};
    REFUSED(tutti_ibarrier(world, &request), TUTTI_PEER_DEAD, check_ctx, "rank", "");
    CHECK(request.slot == NULL);
    CHECK(tutti_window_free(&w) == TUTTI_PEER_DEAD && w == NULL);
  } else if (!strcmp(how, "death-ibarrier")) {
    tutti_request_t request;
    OK(tutti_ibarrier(world, &request));
    CHECK(tutti_wait(&request, -1) == TUTTI_PEER_DEAD);
    CHECK(request.slot == NULL && tutti_error_peer(check_ctx) == last);
  } else if (!strcmp(how, "death-signal")) {
    CHECK(tutti_wait_signal(w, 0, TUTTI_REACHED, 1, last, -1) == TUTTI_PEER_DEAD);
    CHECK(tutti_error_peer(check_ctx) == last);
    CHECK(tutti_wait_signal(w, 0, TUTTI_REACHED, 1, TUTTI_ANY, -1) == TUTTI_PEER_DEAD);
    CHECK(tutti_error_peer(check_ctx) == last);
  } else if (!strcmp(how, "death-team")) {
    tutti_team_t half;
    CHECK(tutti_team_split(world, 0, 0, &half) == TUTTI_PEER_DEAD);
    CHECK(tutti_error_peer(check_ctx) == last);
  } /* death-finalize: nothing before it */
  CHECK(tutti_finalize(&check_ctx) == TUTTI_PEER_DEAD);
  CHECK(check_ctx == NULL);
  named_at_the_end();
  puts("survived");
}

/* The last rank gives up: the others learn of it in the midst of a wait, whatever they wait for, and get away. */
static void abandoned(const char *how) {
  tutti_window_t w;
  tutti_team_t rest;
  OK(tutti_window_create(world, 64, NULL, &w));
  OK(tutti_team_split(world, me == n - 1, 0, &rest));
  last_waits_for_the_others(w);
  if (me == n - 1) {
    OK(tutti_abandon(&check_ctx));
    OK(tutti_abandon(&check_ctx));
    CHECK(check_ctx == NULL);
    return;
  }
  if (!strcmp(how, "abandon-barrier")) {
    CHECK(tutti_barrier(world) == TUTTI_PEER_DEAD);
    CHECK(tutti_error_peer(check_ctx) == n - 1);
    OK(tutti_barrier(rest)); /* which it was no member of */
  } else if (!strcmp(how, "abandon-signal")) {
    CHECK(tutti_wait_signal(w, 0, TUTTI_EQUAL, 1, TUTTI_ANY, -1) == TUTTI_PEER_DEAD);
    CHECK(tutti_wait_signal(w, 0, TUTTI_EQUAL, 1, n - 1, -1) == TUTTI_PEER_DEAD);
    CHECK(tutti_error_peer(check_ctx) == n - 1);
  } /* abandon-finalize: nothing before it */
  CHECK(tutti_finalize(&check_ctx) == TUTTI_PEER_DEAD);
  named_at_the_end();
}

/* The last rank ends with status 0 and without tutti_finalize(): nobody says that it died. */
static void without_a_word(void) {
  tutti_window_t w;
  OK(tutti_window_create(world, 64, NULL, &w));
  last_waits_for_the_others(w);
  if (me == n - 1) _exit(0);
  REFUSED(tutti_barrier(world), TUTTI_PEER_DEAD, check_ctx, "tutti_barrier: rank", n == 2 ? "ended without leaving the job" : "");
  CHECK(!strstr(tutti_error_text(check_ctx), "died"));
  CHECK(tutti_error_peer(check_ctx) == n - 1);
  CHECK(tutti_finalize(&check_ctx) == TUTTI_PEER_DEAD);
}

static size_t address_space(void) {
  unsigned long long pages = 0;
  FILE *f = fopen("/proc/self/statm", "r");
  CHECK(f && fscanf(f, "%llu", &pages) == 1);
  fclose(f);
  return (size_t)pages * (size_t)sysconf(_SC_PAGESIZE);
}

static size_t heap(void) {
  const struct mallinfo2 m = mallinfo2();
  return m.uordblks + m.hblkhd;
}

/* Windows and teams that are freed leave nothing, also over libraries that might go on with what peers had begun. */
static void freed(void) {
  enum { bytes = 16 << 20, first = 4, turns = 24 };
  static char block[100000];
  size_t space = 0, used = 0;
  for (int i = 0; i < first + turns; ++i) {
    if (i == first) space = address_space(), used = heap();
    tutti_window_t w;
    tutti_team_t team;
    uint64_t one = 1, sum;
    OK(tutti_window_create(world, bytes, NULL, &w));
    OK(tutti_put(w, (me + 1) % n, 0, block, sizeof block, NULL));
    OK(tutti_put(w, (me + 1) % n, sizeof block, &one, sizeof one, NULL));
    OK(tutti_window_free(&w));
    OK(tutti_team_split(world, 0, 0, &team));
    OK(tutti_allreduce(team, &one, &sum, 1, TUTTI_UINT64, TUTTI_SUM));
    OK(tutti_team_free(&team));
  }
  if (address_space() > space + 4 * bytes || heap() > used + turns * 512) {
    fprintf(stderr, "%d windows and teams left %zu bytes of addresses and %zu of the heap\n", turns, address_space() - space, heap() - used);
    exit(1);
  }
  OK(tutti_finalize(&check_ctx));
}

static int alone(void *context, const void *mine, size_t bytes, void *all, double timeout_s) {
  (void)context, (void)timeout_s;
  memcpy(all, mine, bytes);
  return 0;
}

/* Contexts that are made and ended leave nothing on the heap. (By PMIx they do: libpmix keeps what was published.) */
static void lives(void) {
  enum { first = 10, turns = 100 };
  const tutti_bootstrap_t by_itself = {.job_id = "lives", .size = 1, .allgather = alone};
  size_t used = 0;
  OK(tutti_finalize(&check_ctx));
  for (int i = 0; i < first + turns; ++i) {
    if (i == first) used = heap();
    const tutti_options_t options = {.struct_size = sizeof options, .bootstrap = &by_itself};
    OK(tutti_init(&options, &check_ctx));
    OK(tutti_barrier(tutti_world(check_ctx)));
    OK(tutti_finalize(&check_ctx));
  }
  if (heap() <= used + turns * 64) return;
  fprintf(stderr, "%d contexts left %zu bytes of the heap\n", turns, heap() - used);
  exit(1);
}

int main(int argc, char **argv) {
  const char *scene = argc > 1 ? argv[1] : "untidy";
  begin();
  world = tutti_world(check_ctx), me = tutti_rank(check_ctx), n = tutti_size(check_ctx);
  if (!strcmp(scene, "untidy")) untidy();
  else if (!strcmp(scene, "again")) again();
  else if (!strcmp(scene, "without_a_word")) without_a_word();
  else if (!strcmp(scene, "freed")) freed();
  else if (!strcmp(scene, "lives")) lives();
  else if (!strncmp(scene, "abandon", 7)) abandoned(scene);
  else death(scene);
  return 0;
}

/* One rank ends in the middle of what all ranks do; the others must be told its name within a second, and leave
 * nothing behind. Usage: victim SCENE HOW BOOK RANK
 *   SCENE  barrier (the algorithm by TUTTI_BARRIER), ibarrier, put, wait
 *   HOW    kill, segv, exit
 *   BOOK   a file of 4096 bytes that all ranks map: when the victim ended
 *   RANK   the victim
 * Survivors print "survived" when all is well and exit with status 0. */
#include <signal.h>

#include "tests/c/check.h"
#include "tests/failure/rank.h"

#define LIMIT_NS 1000000000u

/* Shared mappings of memory without a name, which is what windows are made of. */
static int mappings(void) {
  int n = 0;
  char line[512];
  FILE *f = fopen("/proc/self/maps", "r");
  while (fgets(line, sizeof line, f)) n += strstr(line, "memfd:") != NULL || strstr(line, "/dev/shm/") != NULL;
  fclose(f);
  return n;
}

/* What all ranks share: when the victim ended, and how many survivors were told. */
struct book {
  volatile uint64_t ended_at;
  _Atomic unsigned told;
};
static struct book *shared;

static void end(const char *how) {
  shared->ended_at = now();
  if (!strcmp(how, "kill")) raise(SIGKILL);
  if (!strcmp(how, "segv")) {
    leave_no_core();
    signal(SIGSEGV, SIG_DFL);
    raise(SIGSEGV);
  }
  _exit(7);
}

int main(int argc, char **argv) {
  CHECK(argc == 5);
  CHECK((shared = map_book(argv[3], 4096)) != NULL);

  /* The first context pays for what the process keeps for good (the launcher's client, a provider's library). */
  begin();
  const uint32_t me = tutti_rank(check_ctx), n = tutti_size(check_ctx), victim = (uint32_t)atoi(argv[4]);
  CHECK(victim < n);
  const int mapped_before = mappings();
  tutti_t job = NULL;
  CHECK(tutti_init(NULL, &job) == TUTTI_OK);
  const int open_before = descriptors();
  tutti_team_t world = tutti_world(job);
  tutti_window_t w;
  uint64_t *words;
  CHECK(tutti_window_create(world, 4096, (void **)&words, &w) == TUTTI_OK);
  for (int i = 0; i < 20; ++i) CHECK(tutti_barrier(world) == TUTTI_OK);

  tutti_status_t told = TUTTI_OK;
  srand(me + (unsigned)getpid());
  const int last = 100 + rand() % 200;
  uint64_t value = 0;
  for (int i = 0; told == TUTTI_OK; ++i) {
    if (me == victim && i == last) end(argv[2]);
    if (!strcmp(argv[1], "barrier")) {
      told = tutti_barrier(world);
    } else if (!strcmp(argv[1], "ibarrier")) {
      tutti_request_t r;
      told = tutti_ibarrier(world, &r);
      if (told == TUTTI_OK) told = tutti_wait(&r, -1);
    } else if (!strcmp(argv[1], "put")) { /* everyone puts to everyone; the victim's memory goes in the midst of it */
      for (uint32_t r = 0; r < n && told == TUTTI_OK; ++r) {
        told = tutti_put(w, r, 8 * me, &value, 8, NULL);
        if (told == TUTTI_OK) told = tutti_flush(w, r, -1);
      }
    } else if (me == victim) { /* wait: the victim is silent until it ends */
      usleep(100);
    } else {
      told = tutti_wait_signal(w, 0, TUTTI_REACHED, 1, me % 2 ? victim : TUTTI_ANY, -1);
    }
  }
  const uint64_t told_at = now();
  if (told != TUTTI_PEER_DEAD || tutti_error_peer(job) != victim) {
    fprintf(stderr, "rank %u: told %s, peer %u, wanted peer dead, %u: %s\n", me, tutti_strstatus(told),
            tutti_error_peer(job), victim, tutti_error_text(job));
    return 1;
  }
  const double after_ms = 1e-6 * (double)(told_at - shared->ended_at);
  if (told_at - shared->ended_at > LIMIT_NS) {
    fprintf(stderr, "rank %u: told %.0f ms after the end, limit %.0f ms\n", me, after_ms, 1e-6 * LIMIT_NS);
    return 1;
  }
  /* Nobody leaves before all were told, or the late ones might be told of those who left. */
  ++shared->told;
  while (shared->told < n - 1 && now() - shared->ended_at < 5000000000u) {
    (void)tutti_progress(job); /* some fabrics need it for what others still do to this rank's memory */
    usleep(1000);
  }
  (void)tutti_finalize(&job); /* peer dead again, or left: whatever it says, it returns and frees */
  CHECK(job == NULL);
  CHECK(descriptors() <= open_before);
  CHECK(mappings() <= mapped_before);
  (void)tutti_abandon(&check_ctx);
  fprintf(stderr, "rank %u: told after %.0f ms\n", me, after_ms);
  printf("survived\n");
  return 0;
}

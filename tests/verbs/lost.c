/* An adapter is lost, or its port, in the middle of a job: every rank is told of a peer that it cannot reach, none hangs, and
 * all can leave. Usage: lost SCENE SECONDS VICTIM WORDS COMMAND
 *   SCENE    put: everyone puts to everyone; wait: everyone waits for what never comes
 *   SECONDS  within which every rank must be told, counted from the begin of COMMAND
 *   VICTIM   the rank whose adapter it is: the others are told of it by name
 *   WORDS    that the victim is told, upon whatever peer
 *   COMMAND  of the shell, run by rank 0
 * Prints what each rank was told. */
#include <time.h>
#include <unistd.h>

#include "tests/c/check.h"

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int main(int argc, char **argv) {
  CHECK(argc == 6);
  const double limit = atof(argv[2]);
  const uint32_t victim = (uint32_t)atoi(argv[3]);
  begin();
  const uint32_t me = tutti_rank(check_ctx), n = tutti_size(check_ctx);
  tutti_team_t world = tutti_world(check_ctx);
  tutti_window_t w;
  uint64_t *words;
  OK(tutti_window_create(world, 4096, (void **)&words, &w));
  for (int i = 0; i < 20; ++i) OK(tutti_barrier(world));

  uint64_t value = me;
  const double begin_at = now();
  double lost_at = 0;
  tutti_status_t told = TUTTI_OK;
  char text[1024] = "";
  for (int i = 0; told == TUTTI_OK; ++i) {
    if (i == 50) {
      lost_at = now();
      if (me == 0 && fork() == 0) _exit(execl("/bin/sh", "sh", "-c", argv[5], (char *)NULL));
    }
    /* Everyone talks to everyone, so that each notices by itself. */
    if (i > 50 && !strcmp(argv[1], "wait")) told = tutti_wait_signal(w, 512, TUTTI_REACHED, 1, TUTTI_ANY, -1);
    for (uint32_t r = 0; r < n && told == TUTTI_OK; ++r) {
      told = tutti_put(w, r, 8 * me, &value, 8, NULL);
      if (told == TUTTI_OK) told = tutti_flush(w, r, -1);
    }
    CHECK(now() - begin_at < 60);
  }
  const double after = now() - lost_at;
  snprintf(text, sizeof text, "%s", tutti_error_text(check_ctx));
  const uint32_t peer = tutti_error_peer(check_ctx);
  printf("rank %u: %s, peer %u, after %.0f ms: %s\n", me, tutti_strstatus(told), peer, 1e3 * after, text);
  fflush(stdout);
  CHECK(lost_at > 0);
  CHECK(told == TUTTI_PEER_DEAD);
  CHECK(after < limit);
  if (me == victim) CHECK(strstr(text, argv[4]) != NULL);
  else CHECK(peer == victim);
  const double leaving = now();
  (void)tutti_finalize(&check_ctx);
  CHECK(now() - leaving < 5);
  printf("survived\n");
  return 0;
}

/* deaths_in_setup CALL VICTIM LEARNER: what survivors do by the text of tutti_team_agree(), in tutti.h. The victim enters a collective
 * call with the others, gives its part, and dies there. The learner never enters: it finds the death by a put, and turns to the
 * agreement. The others wait for the learner, which lives; they are to hear of the death, and agree. Then the survivors make a team. */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "check.h"

static char blocks[2][100000];

static void *dies(void *unused) {
  usleep(100000);
  raise(SIGKILL);
  return unused;
}

static tutti_status_t call(const char *name, tutti_team_t team, tutti_window_t *window) {
  tutti_team_t made_team;
  tutti_window_t made;
  uint64_t one = 1, sum = 0;
  if (!strcmp(name, "split")) return tutti_team_split(team, 0, 0, &made_team);
  if (!strcmp(name, "window_create")) return tutti_window_create(team, 4096, NULL, &made);
  if (!strcmp(name, "window_free")) return tutti_window_free(window);
  if (!strcmp(name, "broadcast")) return tutti_broadcast(team, 0, blocks[0], sizeof blocks[0]);
  if (!strcmp(name, "allreduce")) return tutti_allreduce(team, &one, &sum, 1, TUTTI_UINT64, TUTTI_SUM);
  if (!strcmp(name, "alltoall")) return tutti_alltoall(team, blocks[0], 1000, blocks[1]);
  if (!strcmp(name, "barrier")) return tutti_barrier(team);
  fprintf(stderr, "no call is named %s\n", name);
  exit(2);
}

int main(int argc, char **argv) {
  (void)argc;
  begin();
  const uint32_t me = tutti_rank(check_ctx), victim = (uint32_t)atoi(argv[2]), learner = (uint32_t)atoi(argv[3]);
  const tutti_team_t world = tutti_world(check_ctx);
  tutti_window_t window;
  uint64_t mine = me, flags = 1;
  tutti_status_t s = TUTTI_OK;
  OK(tutti_window_create(world, 64, NULL, &window));
  OK(tutti_barrier(world));
  pthread_t thread;
  if (me == victim) CHECK(pthread_create(&thread, NULL, dies, NULL) == 0);
  if (me == learner)
    while (s == TUTTI_OK) {
      s = tutti_put(window, victim, 0, &mine, 8, NULL);
      if (s == TUTTI_OK) s = tutti_flush(window, victim, 1);
      usleep(1000);
    }
  else s = call(argv[1], world, &window);
  CHECK(s == TUTTI_PEER_DEAD || (s == TUTTI_OK && me != learner)); /* a broadcast's root may be through before the death */
  REFUSED(tutti_team_agree(world, &flags), TUTTI_PEER_DEAD, check_ctx, "dead are", argv[2]);
  CHECK(flags == 1);
  tutti_team_t survivors;
  OK(tutti_team_shrink(world, &survivors));
  CHECK(tutti_team_size(survivors) == tutti_size(check_ctx) - 1);
  OK(tutti_barrier(survivors));
  puts("survived");
  fflush(stdout);
  REFUSED(tutti_finalize(&check_ctx), TUTTI_PEER_DEAD, NULL, "rank ", argv[2]); /* abandoned, it would be a death in others' barrier */
  return 0;
}

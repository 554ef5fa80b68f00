/* late receive, send, signal, chain or window: ranks wait in vain, for each other or for one that calls nothing.
 * late by: rank 1 comes 1.7 seconds late to a barrier, and again as late to the next one.
 * late pair: rank 0 takes a block from rank 1, which gives it none and ends after a second more. */
#include "check.h"
#include "computing.h"

/* Until the launcher ends the job. */
static void in_vain(const char *scene, tutti_team_t world, uint32_t me) {
  static char many[1 << 20], few[8];
  void *base;
  tutti_window_t window;
  if (!strcmp(scene, "receive")) { /* by the wrong tag */
    if (me == 1) OK(tutti_send(world, 0, 7, few, sizeof few));
    tutti_recv(world, 1 - me, me == 0 ? 8 : 1, TUTTI_WHOLE_TAG, few, sizeof few, NULL);
  } else if (!strcmp(scene, "send")) {
    tutti_send(world, 1 - me, 3, many, sizeof many);
  } else if (!strcmp(scene, "signal")) {
    OK(tutti_window_create(world, 64, &base, &window));
    tutti_wait_signal(window, 16, TUTTI_REACHED, 4, 1 - me, -1);
  } else if (me == 2) {
    const struct timespec long_enough = {60, 0}; /* in no call of tutti, and from the others' cores */
    nanosleep(&long_enough, NULL);
  } else if (!strcmp(scene, "window")) {
    tutti_window_create(world, 64, &base, &window);
  } else {
    tutti_recv(world, me + 1, 5, TUTTI_WHOLE_TAG, few, sizeof few, NULL);
  }
}

int main(int argc, char **argv) {
  CHECK(argc == 2);
  begin();
  tutti_team_t world = tutti_world(check_ctx);
  const uint32_t me = tutti_rank(check_ctx);
  OK(tutti_barrier(world));
  if (strcmp(argv[1], "by") && strcmp(argv[1], "pair")) return in_vain(argv[1], world, me), 1;
  CHECK(tutti_size(check_ctx) == 2);
  if (!strcmp(argv[1], "by")) {
    for (int i = 0; i < 2; ++i) {
      if (me == 1) compute_until(now_ns() + 1700000000);
      OK(tutti_barrier(world));
    }
    OK(tutti_finalize(&check_ctx));
    return 0;
  }
  static char in[16], out[16];
  const size_t all[2] = {8, 8}, none[2] = {0, 8};
  if (me == 0) {
    REFUSED(tutti_alltoallv(world, in, all, NULL, out, all, NULL), TUTTI_PEER_DEAD, check_ctx, "rank 1", "");
    tutti_abandon(&check_ctx);
  } else {
    (void)tutti_alltoallv(world, in, none, NULL, out, none, NULL);
    compute_until(now_ns() + 2700000000u);
    tutti_abandon(&check_ctx);
  }
  return 0;
}

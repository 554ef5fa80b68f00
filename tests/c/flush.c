/* flush slow|dead: tutti_flush() towards one rank is about that rank alone. Three ranks on one host.
 *   slow  rank 2 computes, while a get from it is under way: a flush towards rank 1 does not wait for that.
 *   dead  rank 2 dies, with gets from it under way or begun later: a flush towards rank 1 tells nothing of it, not even
 *         once that error is known here, and one towards rank 2 still does. */
#include <signal.h>

#include "check.h"
#include "computing.h"

enum { at_data = 0, at_end = 64, at_go = 128, bytes = 192 };
static tutti_window_t window;
static char *base;

static void slow(void) {
  tutti_team_t world = tutti_world(check_ctx);
  uint64_t got = 0, sent = 5;
  int64_t end = 0;
  if (tutti_rank(check_ctx) == 2) {
    end = now_ns() + 2000000000;
    compute_until(end);
    OK(tutti_put(window, 0, at_end, &end, sizeof end, NULL));
    OK(tutti_flush(window, 0, 20));
  } else if (tutti_rank(check_ctx) == 0) {
    OK(tutti_get(window, 2, at_data, &got, 8, NULL));
    OK(tutti_put(window, 1, at_data, &sent, 8, NULL));
    OK(tutti_flush(window, 1, 20));
    end = now_ns();
    OK(tutti_flush(window, 2, 20));
    CHECK(got == 102);
  }
  OK(tutti_barrier(world));
  if (tutti_rank(check_ctx) == 0) CHECK(end < *(int64_t *)(void *)(base + at_end));
  if (tutti_rank(check_ctx) == 1) CHECK(*(uint64_t *)(void *)(base + at_data) == 5);
  OK(tutti_window_free(&window));
  OK(tutti_finalize(&check_ctx));
}

static void dead(void) {
  uint64_t got = 0, sent = 5;
  if (tutti_rank(check_ctx) == 2) {
    OK(tutti_wait_signal(window, at_go, TUTTI_EQUAL, 1, 1, 20)); /* the others are past the barrier */
    compute_until(now_ns() + 300000000);
    raise(SIGKILL);
  } else if (tutti_rank(check_ctx) == 1) {
    OK(tutti_signal(window, 2, at_go, 1, TUTTI_SET));
    OK(tutti_wait_signal(window, at_go, TUTTI_EQUAL, 1, 0, -1)); /* of whose signal the window's other words are */
  } else {
    OK(tutti_get(window, 2, at_data, &got, 8, NULL));
    CHECK(tutti_wait_signal(window, at_go, TUTTI_EQUAL, 1, 2, -1) == TUTTI_PEER_DEAD);
    tutti_status_t s = tutti_get(window, 2, at_data, &got, 8, NULL);
    CHECK(s == TUTTI_OK || s == TUTTI_PEER_DEAD);
    for (int i = 0; i < 2; ++i) {
      OK(tutti_put(window, 1, at_data, &sent, 8, NULL));
      OK(tutti_flush(window, 1, -1));
      OK(tutti_get(window, 1, at_data, &got, 8, NULL));
      OK(tutti_flush(window, 1, -1));
      CHECK(got == 5);
    }
    CHECK(tutti_flush(window, 2, -1) == TUTTI_PEER_DEAD);
    CHECK(tutti_error_peer(check_ctx) == 2);
    OK(tutti_flush(window, 1, -1));
    OK(tutti_signal(window, 1, at_go, 1, TUTTI_SET));
    OK(tutti_flush(window, 1, -1));
  }
  CHECK(tutti_finalize(&check_ctx) == TUTTI_PEER_DEAD);
  puts("survived");
}

int main(int argc, char **argv) {
  CHECK(argc == 2);
  begin();
  CHECK(tutti_size(check_ctx) == 3 && tutti_nodes(check_ctx) == 1);
  const uint32_t me = tutti_rank(check_ctx);
  void *memory;
  OK(tutti_window_create(tutti_world(check_ctx), bytes, &memory, &window));
  base = memory;
  *(uint64_t *)memory = 100 + me;
  OK(tutti_barrier(tutti_world(check_ctx)));
  for (uint32_t r = 0; r < 3; ++r) { /* all have met */
    uint64_t got;
    OK(tutti_get(window, r, at_data, &got, 8, NULL));
    OK(tutti_flush(window, r, 20));
    CHECK(got == 100 + r);
  }
  OK(tutti_barrier(tutti_world(check_ctx)));
  strcmp(argv[1], "slow") ? dead() : slow();
  return 0;
}

/* away served|stalled: rank 1 computes for a second, without a call; rank 0 meanwhile gets from its memory, adds to it and
 * signals it. `served`: all of that is done while rank 1 computes. `stalled`: not even the get is, as must be expected
 * where a target's calls make the progress. Both ranks read one clock, so they must be on one host. */
#include "check.h"
#include "computing.h"

enum { bytes = 1 << 20, additions = 20, at_count = bytes, at_word = bytes + 8, at_time = bytes + 16, at_total = bytes + 64 };

static int64_t load(const void *base, size_t at) {
  return __atomic_load_n((const int64_t *)(const void *)((const char *)base + at), __ATOMIC_ACQUIRE);
}

int main(int argc, char **argv) {
  CHECK(argc == 2);
  const int served = strcmp(argv[1], "served") == 0;
  begin();
  tutti_team_t world = tutti_world(check_ctx);
  CHECK(tutti_size(check_ctx) == 2 && tutti_nodes(check_ctx) == 1);
  tutti_window_t window;
  void *base;
  OK(tutti_window_create(world, at_total, &base, &window));
  static char data[bytes];
  tutti_request_t request;
  OK(tutti_get(window, 1 - tutti_rank(check_ctx), 0, data, 8, &request)); /* they have met */
  OK(tutti_wait(&request, 10));
  memset(base, 5, bytes);
  OK(tutti_barrier(world));

  int64_t end;
  if (tutti_rank(check_ctx) == 1) {
    end = now_ns() + 1000000000;
    compute_until(end);
    if (served) {
      CHECK(load(base, at_count) == additions);
      CHECK(load(base, at_word) == 7 && ((char *)base)[100] == 9);
    }
    OK(tutti_put(window, 0, at_time, &end, sizeof end, NULL));
    OK(tutti_flush(window, 0, 10));
    OK(tutti_barrier(world));
  } else {
    compute_until(now_ns() + 100000000);
    OK(tutti_get(window, 1, 0, data, bytes, &request));
    OK(tutti_wait(&request, 20));
    CHECK(data[0] == 5 && data[bytes - 1] == 5);
    end = now_ns();
    for (uint64_t i = 0; i < additions; ++i) {
      uint64_t old;
      OK(tutti_fetch_add(window, 1, at_count, 1, &old, &request));
      OK(tutti_wait(&request, 20));
      CHECK(old == i);
    }
    memset(data, 9, bytes);
    OK(tutti_put_signal(window, 1, 0, data, bytes, window, at_word, 7, 0, NULL));
    OK(tutti_flush(window, 1, 20));
    if (served) end = now_ns();
    OK(tutti_barrier(world));
    if (served) CHECK(end < load(base, at_time));
    else CHECK(end >= load(base, at_time));
  }
  OK(tutti_window_free(&window));
  OK(tutti_finalize(&check_ctx));
  return 0;
}

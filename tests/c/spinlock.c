/* Operations alone keep communication going. Rank 0 wants a lock in its own memory and does nothing but try for it, by
 * compare_swap, which may be complete at once each time; another holds it until rank 0's memory has answered a get,
 * which on some fabrics takes rank 0's progress. */
#include "check.h"

static tutti_window_t locks, data;

static int try_for(uint64_t who) {
  tutti_request_t request;
  uint64_t old;
  OK(tutti_compare_swap(locks, 0, 0, 0, who, &old, &request));
  OK(tutti_wait(&request, 10));
  return old == 0;
}

static void add_one_and_unlock(uint64_t who) {
  tutti_request_t request;
  uint64_t value, old;
  OK(tutti_get(data, 0, 0, &value, sizeof value, &request));
  OK(tutti_wait(&request, 10));
  ++value;
  OK(tutti_put(data, 0, 0, &value, sizeof value, NULL));
  OK(tutti_flush(data, 0, 10));
  OK(tutti_swap(locks, 0, 0, 0, &old, &request));
  OK(tutti_wait(&request, 10));
  CHECK(old == who);
}

int main(void) {
  enum { rounds = 30 };
  begin();
  const uint32_t me = tutti_rank(check_ctx), n = tutti_size(check_ctx);
  tutti_team_t world = tutti_world(check_ctx);
  _Alignas(64) static uint64_t count; /* memory that no fabric chose */
  OK(tutti_window_create(world, 64, NULL, &locks));
  OK(tutti_window_over(world, &count, sizeof count, &data));
  CHECK(n > 1);
  for (uint32_t i = 0; i < rounds; ++i) {
    const uint32_t first = 1 + i % (n - 1);
    if (me == first) CHECK(try_for(me + 1));
    OK(tutti_barrier(world));
    if (me == 0)
      while (!try_for(1)) continue;
    if (me == 0 || me == first) add_one_and_unlock(me + 1);
    OK(tutti_barrier(world));
  }
  if (me == 0) CHECK(count == 2 * rounds);
  OK(tutti_window_free(&locks));
  OK(tutti_window_free(&data));
  OK(tutti_finalize(&check_ctx));
  return 0;
}

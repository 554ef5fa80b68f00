/* late by: rank 1 comes 1.7 seconds late to a barrier, and again as late to the next one.
 * late pair: rank 0 takes a block from rank 1, which gives it none and ends after a second more. */
#include "check.h"
#include "computing.h"

int main(int argc, char **argv) {
  CHECK(argc == 2);
  begin();
  tutti_team_t world = tutti_world(check_ctx);
  CHECK(tutti_size(check_ctx) == 2);
  const uint32_t me = tutti_rank(check_ctx);
  OK(tutti_barrier(world));
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

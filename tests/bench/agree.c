/* What agreement among survivors takes, at rank 1 of a job of three or more: medians of agreements and, interleaved, of barriers;
 * the agreement in which rank 0, which leads it, or the last rank dies; agreements on the broken team; and the team of the survivors.
 *   TUTTI_PROVIDER=ucx:tcp bin/tutti run --keep-going -n 8 bin/agree_bench first|last */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <tutti.h>

enum { rounds = 1001 };

static double us(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return 1e6 * (double)t.tv_sec + 1e-3 * (double)t.tv_nsec;
}

static int by_value(const void *a, const void *b) { return (*(const double *)a > *(const double *)b) - (*(const double *)a < *(const double *)b); }

static double median(double *times) {
  qsort(times, rounds, sizeof *times, by_value);
  return times[rounds / 2];
}

static double agreement(tutti_team_t team) {
  uint64_t flags = 1;
  const double begun = us();
  const tutti_status_t s = tutti_team_agree(team, &flags);
  if (s != TUTTI_OK && s != TUTTI_PEER_DEAD) abort();
  return us() - begun;
}

int main(int argc, char **argv) {
  static double agreements[rounds], barriers[rounds];
  tutti_t ctx;
  if (argc != 2 || tutti_init(NULL, &ctx) != TUTTI_OK) return 2;
  const tutti_team_t world = tutti_world(ctx);
  const uint32_t me = tutti_rank(ctx), n = tutti_size(ctx), victim = strcmp(argv[1], "first") ? n - 1 : 0;
  for (int i = 0; i < rounds; ++i) {
    const double begun = us();
    if (tutti_barrier(world) != TUTTI_OK) return 1;
    barriers[i] = us() - begun;
    agreements[i] = agreement(world);
  }
  if (me == victim) raise(SIGKILL);
  const double at_death = agreement(world);
  static double broken[rounds];
  for (int i = 0; i < rounds; ++i) broken[i] = agreement(world);
  tutti_team_t survivors;
  const double begun = us();
  if (tutti_team_shrink(world, &survivors) != TUTTI_OK) return 1;
  const double shrink = us() - begun;
  static double after[rounds];
  for (int i = 0; i < rounds; ++i) {
    if (tutti_barrier(survivors) != TUTTI_OK) return 1;
    after[i] = agreement(survivors);
  }
  if (me == 1)
    printf("%u ranks over %s, us: barrier %.1f, agree %.1f; rank %u dies: %.0f, then %.1f; shrink %.0f, agree there %.1f\n", n,
           tutti_fabric(ctx), median(barriers), median(agreements), victim, at_death, median(broken), shrink, median(after));
  (void)tutti_finalize(&ctx);
  return 0;
}

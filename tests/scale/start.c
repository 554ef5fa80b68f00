/* Joins, meets everybody once, and leaves: what a job of many ranks on few cores has to do before anything else. Rank 0
 * writes how long each part took. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "tutti.h"

static double seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void must(tutti_status_t status, const char* what) {
  if (status == TUTTI_OK) return;
  fprintf(stderr, "%s: %s\n", what, tutti_error_text(NULL));
  exit(1);
}

int main(void) {
  tutti_t ctx = NULL;
  const double begin = seconds();
  must(tutti_init(NULL, &ctx), "init");
  const uint32_t rank = tutti_rank(ctx);
  const double joined = seconds();
  must(tutti_barrier(tutti_world(ctx)), "barrier");
  const double met = seconds();
  must(tutti_finalize(&ctx), "finalize");
  if (rank == 0)
    printf("init %.3f, barrier %.3f, finalize %.3f s\n", joined - begin, met - joined, seconds() - met);
  return 0;
}

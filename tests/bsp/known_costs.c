/* Supersteps that are each dear in one way, for profile.sh: it looks for their lines. Usage: known_costs [MS [parameters]]: of the
 * longest computation, 20; and what the machine's parameters are. known_costs places: supersteps that end in unlike places. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <bsp.h>
#include <bsp_level1.h>

static void compute(double ms) {
  const double end = bsp_time() + ms * 1e-3;
  while (bsp_time() < end) {
  }
}

static inline __attribute__((always_inline)) void step(void) {
  bsp_sync(); /* inlined */
}

static int places(void) {
  bsp_begin(bsp_nprocs());
  double sum = 0;
  char a[4000] = {0};
  bsp_push_reg(a, sizeof a);
  for (int i = 0; i < 10; ++i) step();
  for (int i = 0; i < 20; ++i) step();
  bsp_put(bsp_pid(), a, a, 0, sizeof a);
  bsp_sync(); /* to itself */
  for (int i = 0; i < 5; ++i) {
    if (bsp_pid() == 0) {
      bsp_sync(); /* process 0 */
      __asm__ volatile("nop"); /* so that the two calls do not become one */
    } else {
      bsp_sync(); /* others */
    }
  }
  for (int i = 0; i < 300; ++i) sum += bsp_sumD(i); /* collective */
  if (bsp_pid() == 0) bsp_push_reg(&sum, sizeof sum); /* for a superstep that does not come */
  bsp_end();
  return sum < 0;
}

int main(int argc, char **argv) {
  if (argc > 1 && strcmp(argv[1], "places") == 0) return places();
  const double ms = argc > 1 ? atof(argv[1]) : 20;
  bsp_begin(bsp_nprocs());
  const int p = bsp_nprocs(), s = bsp_pid(), next = (s + 1) % p;
  enum { words = 1 << 16 };
  double *a = calloc(words, sizeof *a), *b = calloc(words, sizeof *b);
  bsp_push_reg(a, words * sizeof *a);
  bsp_sync();
  for (int i = 0; i < 10; ++i) {
    if (s == 1) compute(ms);
    bsp_sync(); /* imbalance */
  }
  for (int i = 0; i < 20; ++i) {
    bsp_put(next, b, a, 0, words * sizeof *b); /* puts */
    bsp_sync(); /* volume */
  }
  bsp_get(next, a, 0, b, 1000); /* a get */
  bsp_sync(); /* gets */
  if (argc > 2) {
    const double flops = bsp_s(), before = bsp_time();
    for (int i = 0; i < 10; ++i) bsp_sync();
    const double sync = (bsp_time() - before) / 10;
    if (s == 0) printf("l %.4g us, a sync %.4g us, g %.4g ns\n", bsp_l() / flops * 1e6, sync * 1e6, bsp_g() / flops * 1e9);
  }
  bsp_end();
  free(a), free(b);
  return 0;
}

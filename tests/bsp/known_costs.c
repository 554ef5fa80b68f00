/* Supersteps that are each dear in one way, for profile.sh: it looks for their lines. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <bsp.h>

static void compute(double ms) {
  const double end = bsp_time() + ms * 1e-3;
  while (bsp_time() < end) {
  }
}

int main(void) {
  bsp_begin(bsp_nprocs());
  const int p = bsp_nprocs(), s = bsp_pid(), next = (s + 1) % p;
  enum { words = 1 << 16 };
  double *a = calloc(words, sizeof *a), *b = calloc(words, sizeof *b);
  bsp_push_reg(a, words * sizeof *a);
  bsp_sync();
  for (int i = 0; i < 10; ++i) {
    if (s == 1) compute(20);
    bsp_sync(); /* imbalance */
  }
  for (int i = 0; i < 20; ++i) {
    bsp_put(next, b, a, 0, words * sizeof *b);
    bsp_sync(); /* volume */
  }
  bsp_get(next, a, 0, b, 1000);
  bsp_sync(); /* gets */
  bsp_end();
  free(a), free(b);
  return 0;
}

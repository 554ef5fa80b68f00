/* The inner product of two vectors, of n numbers in all, dealt out cyclically: each process sums up its own, puts its
 * sum to all others, and adds up what it got. The first program of Bisseling's "Parallel Scientific Computation".
 *
 *     bspcc -O2 inner_product.c -o inner_product && bsprun -n 4 ./inner_product 1000000 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <bsp.h>

static double inner_product(int p, int s, long n, const double *x, const double *y) {
  double *sums = calloc((size_t)p, sizeof *sums);
  bsp_push_reg(sums, p * (int)sizeof *sums);
  bsp_sync();

  double mine = 0;
  for (long i = 0; s + i * p < n; ++i) mine += x[i] * y[i];
  for (int t = 0; t < p; ++t) bsp_put(t, &mine, sums, s * (int)sizeof mine, (int)sizeof mine);
  bsp_sync();

  double sum = 0;
  for (int t = 0; t < p; ++t) sum += sums[t];
  bsp_pop_reg(sums);
  bsp_sync();
  free(sums);
  return sum;
}

int main(int argc, char **argv) {
  bsp_begin(bsp_nprocs());
  const int p = bsp_nprocs(), s = bsp_pid();
  const long n = argc > 1 ? atol(argv[1]) : 100000;
  const long mine = (n - s + p - 1) / p;
  double *x = malloc(((size_t)mine + 1) * sizeof *x);
  for (long i = 0; i < mine; ++i) x[i] = (double)(s + i * p + 1);

  const double start = bsp_time();
  const double sum = inner_product(p, s, n, x, x);
  const double took = bsp_time() - start;

  const double right = (double)n * ((double)n + 1) * (2 * (double)n + 1) / 6; /* 1 + 4 + 9 + ... */
  if (fabs(sum - right) > 1e-9 * right) bsp_abort("the sum is %.17g, not %.17g\n", sum, right);
  if (s == 0) printf("sum of the first %ld squares: %.15g, right; %d processes, %.3g s\n", n, sum, p, took);
  free(x);
  bsp_end();
  return 0;
}

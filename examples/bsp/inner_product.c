/* The inner product of two vectors, of n numbers in all, dealt out cyclically: each process sums up its own, puts its
 * sum to all others, and adds up what it got. The first program of Bisseling's "Parallel Scientific Computation".
 *
 *     bspcc -O2 inner_product.c -o inner_product -lm && bsprun -n 4 ./inner_product */
#include <math.h>

#include "common.h"

static double inner_product(int p, int s, long n, const double *x, const double *y, double *sums) {
  double mine = 0;
  for (long i = 0; s + i * p < n; ++i) mine += x[i] * y[i];
  for (int t = 0; t < p; ++t) bsp_put(t, &mine, sums, s * (int)sizeof mine, (int)sizeof mine);
  bsp_sync();
  double sum = 0;
  for (int t = 0; t < p; ++t) sum += sums[t];
  return sum;
}

int main(int argc, char **argv) {
  bsp_begin(bsp_nprocs());
  const int p = bsp_nprocs(), s = bsp_pid();
  const long n = argc > 1 ? atol(argv[1]) : 4000000;
  double *sums = room((size_t)p * sizeof *sums), *all = room((size_t)(s == 0 ? n : 0) * sizeof *all);
  double *x = room(((size_t)(n / p) + 1) * sizeof *x);
  for (long i = 0; s + i * p < n; ++i) x[i] = (double)(s + i * p + 1);
  for (long i = 0; s == 0 && i < n; ++i) all[i] = (double)(i + 1);
  bsp_push_reg(sums, p * (int)sizeof *sums);
  bsp_sync();

  double start = bsp_time();
  const double sum = inner_product(p, s, n, x, x, sums);
  const double together = bsp_time() - start;
  const double right = (double)n * ((double)n + 1) * (2 * (double)n + 1) / 6; /* 1 + 4 + 9 + ... */
  if (fabs(sum - right) > 1e-9 * right) bsp_abort("the sum is %.17g, not %.17g\n", sum, right);

  start = bsp_time();
  double check = 0;
  if (s == 0)
    for (long i = 0; i < n; ++i) check += all[i] * all[i];
  const double alone = bsp_time() - start;
  if (s == 0 && fabs(check - right) > 1e-9 * right) bsp_abort("alone the sum is %.17g\n", check);
  report("inner product", alone, together);
  bsp_end();
  free(sums);
  free(all);
  free(x);
  return 0;
}

/* y = A x, again and again, with a sparse matrix of n rows: seven neighbours on a grid a row, and in one row of 64 two
 * of them are far away. Each process has a block of rows and of both vectors. What it needs of x from others it finds out
 * once, and gets in one superstep a product; nothing is sent that is not needed.
 *
 *     bspcc -O2 spmv.c -o spmv -lm && bsprun -n 4 ./spmv */
#include <math.h>
#include <string.h>

#include "common.h"

enum { a_row = 7, products = 10 };

static long width;

/* Column and value of the k-th entry of row i. */
static void entry(long n, long i, int k, long *j, double *value) {
  const long near[a_row] = {0, -width, width, -1, 1, -2, 2};
  *j = k < 5 || i % 64 != 0 ? (i + near[k] + n) % n : (long)(number((uint64_t)(i * 2 + k - 5)) * (double)n);
  *value = number((uint64_t)(n + i * a_row + k)) / a_row;
}

static int compare(const void *a, const void *b) {
  const long x = *(const long *)a, y = *(const long *)b;
  return (x > y) - (x < y);
}

int main(int argc, char **argv) {
  bsp_begin(bsp_nprocs());
  const int p = bsp_nprocs(), s = bsp_pid();
  const long n = argc > 1 ? atol(argv[1]) : 400000;
  width = (long)sqrt((double)n);
  const long first = first_of(n, p, s), mine = first_of(n, p, s + 1) - first;

  /* The columns that I need and do not have, each once, in order: runs of neighbours are got as one. */
  long *far = room((size_t)(mine * a_row + 1) * sizeof *far), fars = 0;
  for (long i = 0; i < mine; ++i)
    for (int k = 0; k < a_row; ++k) {
      long j;
      double v;
      entry(n, first + i, k, &j, &v);
      if (j < first || j >= first + mine) far[fars++] = j;
    }
  qsort(far, (size_t)fars, sizeof *far, compare);
  long distinct = 0;
  for (long i = 0; i < fars; ++i)
    if (i == 0 || far[i] != far[distinct - 1]) far[distinct++] = far[i];
  fars = distinct;

  /* x: my block, and behind it what comes from others. The matrix by rows, its columns numbered as they lie in x. */
  double *x = room((size_t)(mine + fars + 1) * sizeof *x), *y = room((size_t)(mine + 1) * sizeof *y);
  long *column = room((size_t)(mine * a_row + 1) * sizeof *column);
  double *value = room((size_t)(mine * a_row + 1) * sizeof *value);
  for (long i = 0; i < mine; ++i)
    for (int k = 0; k < a_row; ++k) {
      long j;
      entry(n, first + i, k, &j, &value[i * a_row + k]);
      if (j >= first && j < first + mine) {
        column[i * a_row + k] = j - first;
      } else {
        const long *at = bsearch(&j, far, (size_t)fars, sizeof *far, compare);
        column[i * a_row + k] = mine + (at - far);
      }
    }
  for (long i = 0; i < mine; ++i) x[i] = number((uint64_t)(first + i));
  bsp_push_reg(x, (int)(mine * (long)sizeof *x));
  bsp_sync();

  double start = bsp_time();
  for (int product = 0; product < products; ++product) {
    for (long i = 0; i < fars;) {
      const int from = owner_of(n, p, far[i]);
      long run = 1;
      while (i + run < fars && far[i + run] == far[i] + run && far[i + run] < first_of(n, p, from + 1)) ++run;
      bsp_get(from, x, (int)((far[i] - first_of(n, p, from)) * (long)sizeof *x), x + mine + i, (int)(run * (long)sizeof *x));
      i += run;
    }
    bsp_sync();
    for (long i = 0; i < mine; ++i) {
      double sum = 0;
      for (int k = 0; k < a_row; ++k) sum += value[i * a_row + k] * x[column[i * a_row + k]];
      y[i] = sum;
    }
    memcpy(x, y, (size_t)mine * sizeof *x);
  }
  bsp_sync();
  const double together = bsp_time() - start;

  /* Process 0 does the same alone and compares. */
  double *all = room((size_t)(s == 0 ? n : 0) * sizeof *all), alone = 0;
  bsp_push_reg(all, s == 0 ? (int)(n * (long)sizeof *all) : 0);
  bsp_sync();
  bsp_put(0, x, all, (int)(first * (long)sizeof *x), (int)(mine * (long)sizeof *x));
  bsp_sync();
  if (s == 0) {
    double *u = room((size_t)n * sizeof *u), *v = room((size_t)n * sizeof *v);
    long *columns = room((size_t)(n * a_row) * sizeof *columns);
    double *values = room((size_t)(n * a_row) * sizeof *values);
    for (long i = 0; i < n * a_row; ++i) entry(n, i / a_row, (int)(i % a_row), &columns[i], &values[i]);
    for (long i = 0; i < n; ++i) u[i] = number((uint64_t)i);
    start = bsp_time();
    for (int product = 0; product < products; ++product) {
      for (long i = 0; i < n; ++i) {
        double sum = 0;
        for (int k = 0; k < a_row; ++k) sum += values[i * a_row + k] * u[columns[i * a_row + k]];
        v[i] = sum;
      }
      memcpy(u, v, (size_t)n * sizeof *u);
    }
    alone = bsp_time() - start;
    for (long i = 0; i < n; ++i)
      if (fabs(u[i] - all[i]) > 1e-12) bsp_abort("y[%ld] is %.17g, not %.17g\n", i, all[i], u[i]);
    free(u), free(v), free(columns), free(values);
  }
  report("sparse matrix times vector", alone, together);
  bsp_end();
  free(far);
  free(x);
  free(y);
  free(column);
  free(value);
  free(all);
  return 0;
}

/* The discrete Fourier transform of 2^m complex numbers by one transposition: the numbers are a matrix of R x C, by
 * rows, and each process has a block of its columns. Transform the columns; multiply by the roots in between; transpose,
 * which is the only communication; transform what were the rows. For any number of processes up to C.
 *
 *     bspcc -O2 fft.c -o fft -lm && bsprun -n 4 ./fft */
#include <complex.h>
#include <math.h>

#include "common.h"

typedef double complex number_c;
static const double pi = 3.14159265358979323846;

/* In place, radix 2; sign -1 forward, +1 back. `root[k]` is exp(sign 2 pi i k / n). */
static void fft(number_c *x, long n, const number_c *root) {
  for (long i = 1, j = 0; i < n; ++i) { /* bit reversal */
    long bit = n >> 1;
    for (; j & bit; bit >>= 1) j ^= bit;
    j ^= bit;
    if (i < j) {
      const number_c other = x[i];
      x[i] = x[j], x[j] = other;
    }
  }
  for (long half = 1; half < n; half *= 2)
    for (long start = 0; start < n; start += 2 * half)
      for (long k = 0; k < half; ++k) {
        const number_c w = root[k * (n / (2 * half))] * x[start + k + half];
        x[start + k + half] = x[start + k] - w;
        x[start + k] += w;
      }
}

static number_c *roots(long n, int sign) {
  number_c *root = room((size_t)n * sizeof *root);
  for (long k = 0; k < n; ++k) root[k] = cexp(sign * 2 * pi * I * (double)k / (double)n);
  return root;
}

/* x: my columns of the R x C matrix, column after column. On return: my rows of it, transformed, so that number k of the
 * result is in row k mod R at place k / R. `y` is registered, of the same size, and has the result. */
static void transform(int p, int s, long R, long C, number_c *x, number_c *y, const number_c *root_R, const number_c *root_C,
                      const number_c *root_n) {
  const long first = first_of(C, p, s), mine = first_of(C, p, s + 1) - first, n = R * C;
  for (long c = 0; c < mine; ++c) {
    fft(x + c * R, R, root_R);
    for (long r = 0; r < R; ++r) x[c * R + r] *= root_n[r * (first + c) % n];
  }
  /* Row r goes to whoever has rows of its block, where it is put together from the columns of all. */
  for (long r = 0; r < R; ++r) {
    const int to = owner_of(R, p, r);
    const long place = (r - first_of(R, p, to)) * C + first;
    number_c row[mine > 0 ? mine : 1];
    for (long c = 0; c < mine; ++c) row[c] = x[c * R + r];
    bsp_put(to, row, y, (int)(place * (long)sizeof *y), (int)(mine * (long)sizeof *y));
  }
  bsp_sync();
  const long rows = first_of(R, p, s + 1) - first_of(R, p, s);
  for (long r = 0; r < rows; ++r) fft(y + r * C, C, root_C);
}

static number_c input(long i) { return number((uint64_t)(2 * i)) + I * number((uint64_t)(2 * i + 1)) - (0.5 + 0.5 * I); }

int main(int argc, char **argv) {
  bsp_begin(bsp_nprocs());
  const int p = bsp_nprocs(), s = bsp_pid(), m = argc > 1 ? atoi(argv[1]) : 18;
  const long R = 1L << (m / 2), C = 1L << (m - m / 2), n = R * C;
  if (p > R) bsp_abort("%d processes for %ld rows; use a larger exponent\n", p, R);
  const long col = first_of(C, p, s), cols = first_of(C, p, s + 1) - col;
  const long row = first_of(R, p, s), rows = first_of(R, p, s + 1) - row;
  number_c *x = room((size_t)(cols * R) * sizeof *x), *y = room((size_t)(rows * C) * sizeof *y);
  for (long c = 0; c < cols; ++c)
    for (long r = 0; r < R; ++r) x[c * R + r] = input(r * C + col + c);
  number_c *root_R = roots(R, -1), *root_C = roots(C, -1), *root_n = roots(n, -1);
  bsp_push_reg(y, (int)((size_t)(rows * C) * sizeof *y));
  bsp_sync();

  double start = bsp_time();
  transform(p, s, R, C, x, y, root_R, root_C, root_n);
  bsp_sync();
  const double together = bsp_time() - start;

  /* A few numbers of the result against the definition, and the energy of all (Parseval). */
  double energy = 0, before = 0;
  for (long i = 0; i < rows * C; ++i) energy += creal(y[i] * conj(y[i]));
  for (long i = s; i < n; i += p) before += creal(input(i) * conj(input(i)));
  double *sums = room((size_t)(2 * p) * sizeof *sums);
  bsp_push_reg(sums, (int)((size_t)(2 * p) * sizeof *sums));
  bsp_sync();
  const double both[2] = {energy, before};
  for (int to = 0; to < p; ++to) bsp_put(to, both, sums, 2 * s * (int)sizeof *sums, (int)sizeof both);
  bsp_sync();
  energy = before = 0;
  for (int t = 0; t < p; ++t) energy += sums[2 * t], before += sums[2 * t + 1];
  if (fabs(energy / (double)n - before) > 1e-9 * before) bsp_abort("energy %.15g became %.15g\n", before, energy / (double)n);
  for (int k = 0; k < 3 && rows > 0; ++k) {
    const long r = (k * 7919L) % rows, c = (k * 104729L) % C, index = (row + r) + R * c;
    number_c right = 0;
    for (long i = 0; i < n; ++i) right += input(i) * root_n[(int64_t)i * index % n];
    if (cabs(right - y[r * C + c]) > 1e-10 * (double)n) bsp_abort("number %ld is wrong by %g\n", index, cabs(right - y[r * C + c]));
  }

  double alone = 0;
  if (s == 0) {
    number_c *all = room((size_t)n * sizeof *all);
    for (long i = 0; i < n; ++i) all[i] = input(i);
    start = bsp_time();
    fft(all, n, root_n);
    alone = bsp_time() - start;
    free(all);
  }
  report("FFT", alone, together);
  bsp_end();
  free(x), free(y), free(sums);
  free(root_R), free(root_C), free(root_n);
  return 0;
}

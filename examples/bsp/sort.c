/* Sample sort of n numbers, each process with a block (Bisseling 2020, 1.8; Gerbessiotis and Valiant 1994): sort the
 * own block; give regular samples to all; choose splitters among them; send each part to its process; merge.
 *
 *     bspcc -O2 sort.c -o sort && bsprun -n 4 ./sort */
#include <string.h>

#include "common.h"

static int compare(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* Numbers of the input come twice now and then. */
static double input(long i) { return number((uint64_t)(i % 1000 < 10 ? i / 2 : i)); }

static double sum_up(int p, int s, double mine, double *sums) {
  for (int to = 0; to < p; ++to) bsp_put(to, &mine, sums, s * (int)sizeof mine, (int)sizeof mine);
  bsp_sync();
  double sum = 0;
  for (int t = 0; t < p; ++t) sum += sums[t];
  bsp_sync();
  return sum;
}

int main(int argc, char **argv) {
  bsp_begin(bsp_nprocs());
  const int p = bsp_nprocs(), s = bsp_pid();
  const long n = argc > 1 ? atol(argv[1]) : 500000;
  const long first = first_of(n, p, s), mine = first_of(n, p, s + 1) - first;
  double *x = room((size_t)(mine + 1) * sizeof *x);
  for (long i = 0; i < mine; ++i) x[i] = input(first + i);
  double *samples = room((size_t)p * (size_t)p * sizeof *samples), *sums = room((size_t)p * sizeof *sums);
  bsp_push_reg(samples, p * p * (int)sizeof *samples);
  bsp_push_reg(sums, p * (int)sizeof *sums);
  int tag = sizeof(long);
  bsp_set_tagsize(&tag);
  bsp_sync();

  double start = bsp_time();
  qsort(x, (size_t)mine, sizeof *x, compare);
  for (int k = 0; k < p; ++k) {
    const double sample = mine ? x[(long)((int64_t)mine * k / p)] : 0;
    for (int to = 0; to < p; ++to) bsp_put(to, &sample, samples, (s * p + k) * (int)sizeof sample, (int)sizeof sample);
  }
  bsp_sync();
  qsort(samples, (size_t)p * (size_t)p, sizeof *samples, compare);
  /* Process t gets what lies from samples[t p] up to the next splitter. */
  for (long i = 0, t = 0; t < p; ++t) {
    const long begin = i;
    while (i < mine && (t == p - 1 || x[i] < samples[(t + 1) * p])) ++i;
    const long count = i - begin;
    if (count > 0) bsp_send((int)t, &count, x + begin, (int)(count * (long)sizeof *x));
  }
  bsp_sync();
  int parts, bytes;
  bsp_qsize(&parts, &bytes);
  const long have = bytes / (long)sizeof *x;
  double *sorted = room((size_t)bytes);
  for (long at = 0; parts > 0; --parts) {
    long count;
    int size;
    bsp_get_tag(&size, &count);
    if (size != (int)(count * (long)sizeof *x)) bsp_abort("a part of %ld numbers has %d bytes\n", count, size);
    bsp_move(sorted + at, size);
    at += count;
  }
  qsort(sorted, (size_t)have, sizeof *sorted, compare);
  bsp_sync();
  const double together = bsp_time() - start;

  /* In order here, in order with the next process, and nothing lost. */
  for (long i = 1; i < have; ++i)
    if (sorted[i - 1] > sorted[i]) bsp_abort("not in order at %ld\n", i);
  const double low = have ? sorted[0] : 2;
  for (int to = 0; to < p; ++to) bsp_put(to, &low, sums, s * (int)sizeof low, (int)sizeof low);
  bsp_sync();
  for (int t = s + 1; t < p; ++t)
    if (have && sums[t] < sorted[have - 1]) bsp_abort("process %d has smaller numbers\n", t);
  bsp_sync();
  double before = 0, after = 0;
  for (long i = 0; i < mine; ++i) before += input(first + i);
  for (long i = 0; i < have; ++i) after += sorted[i];
  const double count = sum_up(p, s, (double)have, sums);
  before = sum_up(p, s, before, sums), after = sum_up(p, s, after, sums);
  if (count != (double)n) bsp_abort("%.0f of %ld numbers are left\n", count, n);
  if (before - after > 1e-6 || after - before > 1e-6) bsp_abort("their sum was %.12g and is %.12g\n", before, after);

  double alone = 0;
  if (s == 0) {
    double *all = room((size_t)n * sizeof *all);
    for (long i = 0; i < n; ++i) all[i] = input(i);
    start = bsp_time();
    qsort(all, (size_t)n, sizeof *all, compare);
    alone = bsp_time() - start;
    free(all);
  }
  report("sort", alone, together);
  bsp_end();
  free(x);
  free(samples);
  free(sums);
  free(sorted);
  return 0;
}

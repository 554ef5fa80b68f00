/* What the examples share: timing, and numbers that are the same on every machine. */
#ifndef EXAMPLES_BSP_COMMON_H
#define EXAMPLES_BSP_COMMON_H
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <bsp.h>

static inline void *room(size_t bytes) {
  void *p = calloc(bytes ? bytes : 1, 1);
  if (!p) bsp_abort("no memory for %zu bytes\n", bytes);
  return p;
}

/* Numbers in [0, 1) that look random: the k-th of a sequence (splitmix64). */
static inline double number(uint64_t k) {
  uint64_t z = (k + 1) * 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return (double)((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

/* The first of `n` things that belong to process `s` of `p`, if each has a block; those of `s` end where those of s + 1
 * begin. And whose the i-th is. */
static inline long first_of(long n, int p, int s) { return (long)((int64_t)n * s / p); }
static inline int owner_of(long n, int p, long i) {
  int s = (int)((int64_t)i * p / n);
  while (first_of(n, p, s + 1) <= i) ++s;
  while (first_of(n, p, s) > i) --s;
  return s;
}

/* Said by process 0: `alone` is how long one process takes without the others. */
static inline void report(const char *what, double alone, double together) {
  if (bsp_pid() == 0)
    printf("%s: right; %d processes %.3g ms, one alone %.3g ms, speed-up %.2f\n", what, bsp_nprocs(), 1e3 * together,
           1e3 * alone, alone / together);
}
#endif

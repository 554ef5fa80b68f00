/* The collective calls of bsp_level1.h against what one process computes by itself from what all give. */
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bsp.h>
#include <bsp_level1.h>

#define CHECK(condition)                                                        \
  do {                                                                          \
    if (!(condition)) bsp_abort("%s:%d: %s\n", __FILE__, __LINE__, #condition); \
  } while (0)

static int p, s;

/* What process i gives at `at`, the same wherever it is computed. */
static uint32_t mixed(int seed, int i, int at) {
  uint32_t x = (uint32_t)seed * 2654435761u ^ (uint32_t)i * 40503u ^ (uint32_t)at * 97u;
  x ^= x >> 15, x *= 2246822519u, x ^= x >> 13;
  return x;
}
static unsigned char byte_of(int seed, int i, int at) { return (unsigned char)(mixed(seed, i, at) >> 5); }
static int int_of(int seed, int i) { return (int)(mixed(seed, i, 0) % 19) - 9; }
static double double_of(int seed, int i) { return (double)mixed(seed, i, 1) / 4e9 - 0.5; }

static unsigned char *bytes_of(int seed, int i, int n) {
  unsigned char *b = malloc((size_t)n + 1);
  if (!b) bsp_abort("no memory\n");
  for (int k = 0; k < n; ++k) b[k] = byte_of(seed, i, k);
  return b;
}

/* --- data: every root, sizes around those of a line, a slot and a chunk --------------------------------------------- */
static const unsigned sizes[] = {0, 1, 7, 8, 64, 1000, 16384, 65537, 300001};

static void data(void) {
  for (unsigned k = 0; k < sizeof sizes / sizeof *sizes; ++k)
    for (int root = 0; root < p; ++root) {
      const size_t bytes = sizes[k];
      const int n = (int)bytes, seed = (int)k * 100 + root;
      unsigned char *mine = bytes_of(seed, s, n), *all = malloc(bytes * (size_t)p + 1), *got = malloc(bytes + 1);
      CHECK(all && got);

      bsp_bcast(root, s == root ? mine : NULL, got, n);
      for (int i = 0; i < n; ++i) CHECK(got[i] == byte_of(seed, root, i));
      memcpy(got, mine, bytes);
      bsp_bcast(root, got, got, n); /* in place */
      for (int i = 0; i < n; ++i) CHECK(got[i] == byte_of(seed, root, i));

      bsp_gather(root, mine, s == root ? all : NULL, n);
      for (int i = 0; s == root && i < n * p; ++i) CHECK(all[i] == byte_of(seed, i / n, i % n));
      memset(got, 0, bytes);
      bsp_scatter(root, s == root ? all : NULL, got, n);
      CHECK(!memcmp(got, mine, bytes));
      free(mine), free(all), free(got);
    }
}

/* --- operations: an affine map after another, which does not commute, of elements of `n` maps ------------------------- */
struct map {
  uint32_t a, b;
};
static int calls;

static void compose(void *result, void *left, void *right, int *bytes) {
  struct map *r = result;
  const struct map *f = left, *g = right;
  CHECK(result != left && result != right && *bytes % (int)sizeof *r == 0);
  CHECK(((uintptr_t)result | (uintptr_t)left | (uintptr_t)right) % 16 == 0);
  ++calls;
  for (int i = 0; i < *bytes / (int)sizeof *r; ++i) {
    r[i].a = 0;
    r[i].a = f[i].a * g[i].a;
    r[i].b = f[i].a * g[i].b + f[i].b;
  }
  *bytes = 0; /* its own */
}

static void operations(int n) {
  const int bytes = n * (int)sizeof(struct map);
  struct map *mine = malloc((size_t)bytes + 1), *got = malloc((size_t)bytes + 1);
  CHECK(mine && got);
  for (int i = 0; i < n; ++i) mine[i] = (struct map){mixed(n, s, i) | 1, mixed(n + 1, s, i)};
  for (int upto = 0; upto < 2; ++upto) { /* bsp_fold, then bsp_scan */
    calls = 0;
    if (upto) bsp_scan(compose, mine, got, bytes);
    else bsp_fold(compose, mine, got, bytes);
    const int last = upto ? s : p - 1;
    CHECK(calls == (n ? last : 0));
    for (int i = 0; i < n; ++i) {
      struct map all = {mixed(n, 0, i) | 1, mixed(n + 1, 0, i)};
      for (int q = 1; q <= last; ++q) {
        all.b += all.a * mixed(n + 1, q, i);
        all.a *= mixed(n, q, i) | 1;
      }
      CHECK(got[i].a == all.a && got[i].b == all.b);
    }
  }
  memcpy(got, mine, (size_t)bytes);
  bsp_reduce(compose, mine, mine, bytes); /* in place, by its older name */
  bsp_fold(compose, got, got, bytes);
  CHECK(!memcmp(mine, got, (size_t)bytes));
  free(mine), free(got);
}

struct entry {
  int key, from;
};
static int less(void *a, void *b, int *bytes) {
  CHECK(*bytes == (int)sizeof(struct entry));
  return ((struct entry *)a)->key < ((struct entry *)b)->key;
}

static void sorting(int seed) {
  struct entry mine = {int_of(seed, s) / 3, s}, got; /* some are equal */
  bsp_sort(less, &mine, &got, (int)sizeof mine);
  int before = 0, key = int_of(seed, got.from) / 3;
  CHECK(got.key == key);
  for (int i = 0; i < p; ++i) before += int_of(seed, i) / 3 < key || (int_of(seed, i) / 3 == key && i < got.from);
  CHECK(before == s);
  bsp_sort(less, NULL, NULL, 0);

  const int i = bsp_sortI(int_of(seed, s));
  const char c = bsp_sortC((char)('a' + mixed(seed, s, 3) % 26));
  const float r = bsp_sortR((float)double_of(seed, s));
  const double d = bsp_sortD(double_of(seed, s));
  int below[4] = {0}, equal[4] = {0};
  for (int q = 0; q < p; ++q) {
    below[0] += int_of(seed, q) < i, equal[0] += int_of(seed, q) == i;
    below[1] += (char)('a' + mixed(seed, q, 3) % 26) < c, equal[1] += (char)('a' + mixed(seed, q, 3) % 26) == c;
    below[2] += (float)double_of(seed, q) < r, equal[2] += (float)double_of(seed, q) == r;
    below[3] += double_of(seed, q) < d, equal[3] += double_of(seed, q) == d;
  }
  for (int k = 0; k < 4; ++k) CHECK(below[k] <= s && s < below[k] + equal[k]);
}

/* --- numbers: each function over all processes, and over those up to this one ------------------------------------------ */
#define NUMBERS(type, letter, of)                                                             \
  static void numbers_##letter(int seed) {                                                    \
    for (int prefix = 0; prefix < 2; ++prefix) {                                              \
      const type x = (type)of(seed, s);                                                       \
      type sum = (type)of(seed, 0), product = sum, least = sum, greatest = sum;               \
      for (int i = 1; i <= (prefix ? s : p - 1); ++i) {                                       \
        const type y = (type)of(seed, i);                                                     \
        sum = sum + y, product = product * y;                                                 \
        least = y < least ? y : least, greatest = y > greatest ? y : greatest;                \
      }                                                                                       \
      CHECK((prefix ? bsp_sum##letter##_prefix(x) : bsp_sum##letter(x)) == sum);              \
      CHECK((prefix ? bsp_product##letter##_prefix(x) : bsp_product##letter(x)) == product);  \
      CHECK((prefix ? bsp_min##letter##_prefix(x) : bsp_min##letter(x)) == least);            \
      CHECK((prefix ? bsp_max##letter##_prefix(x) : bsp_max##letter(x)) == greatest);         \
    }                                                                                         \
  }
NUMBERS(int, I, int_of)
NUMBERS(float, R, double_of)
NUMBERS(double, D, double_of)

static void truths(void) {
  for (int odd = 0; odd <= p; ++odd) { /* the process that is unlike the others; p: none is */
    CHECK(bsp_all(s == odd ? 0 : 2 + s) == (odd == p));
    CHECK(bsp_any(s == odd ? -4 : 0) == (odd < p));
    CHECK(bsp_constantI(s == odd ? ~7 : 7) == (odd == p || p == 1));
  }
  CHECK(bsp_sumI(INT_MAX) == (int)((unsigned)INT_MAX * (unsigned)p)); /* wraps around */
}

/* --- what else belongs to the superstep that a call ends ---------------------------------------------------------------- */
static void superstep(void) {
  const int right = (s + 1) % p, left = (s + p - 1) % p;
  int here = -1, source = 100 + s, other = 7, got = -1, tag = sizeof(int), messages, bytes, length, from = -1;
  double area[2] = {0, 0};
  bsp_push_reg(&here, sizeof here);
  bsp_push_reg(&source, sizeof source);
  bsp_set_tagsize(&tag);
  CHECK(bsp_sumI(1) == p); /* they take effect */
  bsp_put(right, &s, &here, 0, sizeof here);
  bsp_put(right, &other, &source, 0, sizeof source); /* late: what is given is as it was at the call */
  bsp_get(left, &here, 0, &got, sizeof got);
  bsp_send(right, &s, &s, sizeof s);
  bsp_push_reg(area, sizeof area);
  int brought = -1;
  bsp_bcast(p - 1, &source, &brought, sizeof brought);
  CHECK(brought == 100 + p - 1 && source == 7 && here == left && got == -1);
  bsp_qsize(&messages, &bytes);
  CHECK(messages == 1 && bytes == (int)sizeof s); /* no value is a message of the program's */
  bsp_get_tag(&length, &tag);
  bsp_move(&from, sizeof from);
  CHECK(tag == left && length == (int)sizeof s && from == left);
  const double x = s + 0.5;
  bsp_put(right, &x, area, sizeof x, sizeof x);
  CHECK(bsp_maxD(x) == p - 0.5 && area[1] == left + 0.5);
  bsp_qsize(&messages, &bytes);
  CHECK(messages == 0);
  bsp_pop_reg(&here), bsp_pop_reg(&source), bsp_pop_reg(area);
  tag = 0;
  bsp_set_tagsize(&tag);
  bsp_sync();
}

/* --- the machine: measured once, alike in all, and nothing of the superstep is lost by that --------------------------- */
static void machine(void) {
  const int right = (s + 1) % p, left = (s + p - 1) % p;
  int here = -1, got = -1, messages, bytes;
  bsp_push_reg(&here, sizeof here);
  bsp_sync();
  bsp_put(right, &s, &here, 0, sizeof here);
  bsp_send(right, NULL, &s, sizeof s);
  const double g = bsp_g();
  CHECK(here == left); /* the first call has ended the superstep */
  bsp_qsize(&messages, &bytes);
  CHECK(messages == 1);
  bsp_move(&got, sizeof got);
  CHECK(got == left);
  bsp_put(left, &s, &here, 0, sizeof here);
  const double speed = bsp_s(), l = bsp_l();
  const int half = bsp_nhalf();
  CHECK(here == left && bsp_g() <= g && bsp_g() >= g); /* later ones are local */
  CHECK(speed > 1e6 && speed < 1e13 && l > 0 && l < 10 * speed && g >= 0 && g < speed && half >= 1);
  CHECK(bsp_minD(speed) >= speed && bsp_minD(l) >= l && bsp_minD(g) >= g && bsp_maxI(half) <= half);
  CHECK(here == right);
  bsp_pop_reg(&here);
  bsp_sync();
  if (s == 0) printf("s %.0f Mflop/s, l %.0f flop, g %.2f flop/word, nhalf %d words\n", 1e-6 * speed, l, g, half);
}

int main(void) {
  bsp_begin(bsp_nprocs());
  p = bsp_nprocs(), s = bsp_pid();
  superstep();
  data();
  const int lengths[] = {0, 1, 2, 100, 5000, 40000}; /* maps: to 320000 bytes */
  for (unsigned k = 0; k < sizeof lengths / sizeof *lengths; ++k) operations(lengths[k]);
  for (int seed = 0; seed < 50; ++seed) numbers_I(seed), numbers_R(seed), numbers_D(seed), sorting(seed);
  truths();
  superstep();
  machine();
  superstep();
  if (s == 0) printf("all collective calls are right for %d\n", p);
  bsp_end();
  return 0;
}

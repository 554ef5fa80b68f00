/* A parallel bucket sort of integers, of the kind of the NAS benchmark IS (Bailey et al., RNR-94-007): keys of a bell-shaped
 * distribution, sorted ten times over and then verified. Collectives tell how the buckets are filled and how long what is to come is;
 * messages carry the keys.
 *
 *     cc -O2 integer_sort.c -o integer_sort $(pkg-config --cflags --libs tutti) && tutti run -n 4 ./integer_sort A
 *
 * CLASS: S (2^16 keys below 2^11; the default), W (2^20, 2^16), A (2^23, 2^19), B (2^25, 2^21), C (2^27, 2^23). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <tutti.h>

enum { bucket_bits = 10, buckets = 1 << bucket_bits, iterations = 10 };

typedef uint32_t sort_key;

static tutti_t ctx;
static tutti_team_t world;
static uint32_t me, ranks;
static unsigned shift; /* a key's bucket is key >> shift */

static void fail(const char *what) {
  fprintf(stderr, "rank %u: %s\n", me, what);
  tutti_abandon(&ctx);
  exit(1);
}
static void check(tutti_status_t s) {
  if (s != TUTTI_OK) fail(tutti_error_text(ctx));
}
static void *room(size_t bytes) {
  void *memory = malloc(bytes + 1);
  if (!memory) fail("out of memory");
  return memory;
}
static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Bits that follow from i and from nothing else, so that any number of ranks has the same keys (the finalizer of MurmurHash3). */
static uint64_t mixed(uint64_t i) {
  i ^= i >> 33, i *= UINT64_C(0xff51afd7ed558ccd);
  i ^= i >> 33, i *= UINT64_C(0xc4ceb9fe1a85ec53);
  return i ^ i >> 33;
}
/* The mean of four uniform numbers: most keys lie in the middle of the range. */
static sort_key nth_key(uint64_t i, unsigned key_bits) {
  const uint64_t a = mixed(2 * i + 1), b = mixed(2 * i + 2);
  return (sort_key)(((a >> 32) + (a & UINT32_MAX) + (b >> 32) + (b & UINT32_MAX)) >> (34 - key_bits));
}

struct workspace {
  uint64_t *mine, *all;       /* keys in each bucket: of this rank, of all */
  size_t *begins;             /* of each bucket among this rank's keys; one more for their end */
  uint32_t *first;            /* each rank's first bucket; one more for the end */
  uint64_t *in_keys;          /* keys from each rank */
  uint64_t *out_keys;         /* keys for each rank */
  sort_key *grouped, *got, *sorted; /* by bucket; of this rank's buckets; in order */
  size_t room;                /* for keys in `got` and `sorted` */
  uint32_t *counts;           /* of each key of this rank's buckets */
  tutti_request_t *requests;  /* two for each rank */
};

/* Contiguous buckets for each rank, so that each gets about as many keys. */
static void divide_buckets(struct workspace *w, uint64_t keys) {
  uint32_t rank = 0;
  uint64_t before = 0;
  w->first[0] = 0;
  for (uint32_t b = 0; b < buckets; ++b) {
    while (rank + 1 < ranks && before >= keys * (rank + 1) / ranks) w->first[++rank] = b;
    before += w->all[b];
  }
  while (rank < ranks) w->first[++rank] = buckets;
}

/* Sorts the keys; each rank has its part in w->sorted. Returns the number of its keys. */
static size_t sort(const sort_key *keys, size_t count, uint64_t total, struct workspace *w) {
  memset(w->mine, 0, buckets * sizeof *w->mine);
  for (size_t i = 0; i < count; ++i) ++w->mine[keys[i] >> shift];
  check(tutti_allreduce(world, w->mine, w->all, buckets, TUTTI_UINT64, TUTTI_SUM));
  divide_buckets(w, total);

  w->begins[0] = 0;
  for (uint32_t b = 0; b < buckets; ++b) w->begins[b + 1] = w->begins[b] + w->mine[b];
  for (uint32_t r = 0; r < ranks; ++r) w->out_keys[r] = w->begins[w->first[r + 1]] - w->begins[w->first[r]];
  check(tutti_alltoall(world, w->out_keys, sizeof *w->out_keys, w->in_keys));
  size_t have = 0;
  for (uint32_t r = 0; r < ranks; ++r) have += w->in_keys[r];
  if (have > w->room || !w->got) {
    free(w->got), free(w->sorted);
    w->room = have + have / 8;
    w->got = room(w->room * sizeof *w->got), w->sorted = room(w->room * sizeof *w->sorted);
  }

  /* Receives first, then sends: towards the right neighbour first, so that not all send to one rank at once. */
  size_t at = 0;
  for (uint32_t r = 0; r < ranks; at += w->in_keys[r++])
    check(tutti_irecv(world, r, 0, TUTTI_WHOLE_TAG, w->got + at, w->in_keys[r] * sizeof *w->got, NULL, &w->requests[r]));
  size_t *next = w->begins; /* where the bucket's next key goes; afterwards its end, which is the next one's beginning */
  for (size_t i = 0; i < count; ++i) w->grouped[next[keys[i] >> shift]++] = keys[i];
  for (uint32_t k = 1; k <= ranks; ++k) {
    const uint32_t r = (me + k) % ranks;
    const size_t begin = w->first[r] > 0 ? next[w->first[r] - 1] : 0;
    check(tutti_isend(world, r, 0, w->grouped + begin, w->out_keys[r] * sizeof *w->grouped, &w->requests[ranks + r]));
  }
  check(tutti_wait_all(w->requests, 2 * (size_t)ranks, -1));

  /* Counting sort of what came. */
  const sort_key low = w->first[me] << shift;
  const size_t width = (size_t)(w->first[me + 1] - w->first[me]) << shift;
  memset(w->counts, 0, width * sizeof *w->counts);
  for (size_t i = 0; i < have; ++i) ++w->counts[w->got[i] - low];
  size_t place = 0;
  for (size_t k = 0; k < width; ++k)
    for (uint32_t times = w->counts[k]; times > 0; --times) w->sorted[place++] = low + (sort_key)k;
  return have;
}

/* Their number, sum, and sum of mixed bits: alike before and after, whatever their order. */
static void add_up(const sort_key *keys, size_t count, uint64_t sums[3]) {
  uint64_t mine[3] = {count, 0, 0};
  for (size_t i = 0; i < count; ++i) mine[1] += keys[i], mine[2] += mixed(keys[i] + 1);
  check(tutti_allreduce(world, mine, sums, 3, TUTTI_UINT64, TUTTI_SUM));
}

/* In order here, and after the greatest key of all ranks before. */
static void verify(const sort_key *keys, size_t count, const uint64_t before[3]) {
  uint64_t after[3];
  add_up(keys, count, after);
  if (memcmp(before, after, sizeof after) != 0) fail("keys were lost, or others have come");
  for (size_t i = 1; i < count; ++i)
    if (keys[i - 1] > keys[i]) fail("the keys are not in order");
  const sort_key greatest = count > 0 ? keys[count - 1] : 0;
  sort_key so_far = 0;
  check(tutti_exscan(world, &greatest, &so_far, 1, TUTTI_UINT32, TUTTI_MAX));
  if (me > 0 && count > 0 && so_far > keys[0]) fail("a rank before this one has greater keys");
}

int main(int argc, char **argv) {
  static const struct { char name; unsigned key_count_bits, key_bits; } classes[] = {
      {'S', 16, 11}, {'W', 20, 16}, {'A', 23, 19}, {'B', 25, 21}, {'C', 27, 23}};
  const char name = argc > 1 ? argv[1][0] : 'S';
  size_t c = 0;
  while (c < 5 && classes[c].name != name) ++c;
  if (c == 5 || (argc > 1 && argv[1][1])) return fprintf(stderr, "integer_sort: the class is one of S, W, A, B, C\n"), 2;
  if (tutti_init(NULL, &ctx) != TUTTI_OK) return fprintf(stderr, "%s\n", tutti_error_text(NULL)), 1;
  world = tutti_world(ctx), me = tutti_rank(ctx), ranks = tutti_size(ctx);

  const uint64_t total = UINT64_C(1) << classes[c].key_count_bits;
  const unsigned key_bits = classes[c].key_bits;
  shift = key_bits - bucket_bits;
  const uint64_t first = total * me / ranks;
  const size_t count = (size_t)(total * (me + 1) / ranks - first);
  sort_key *keys = room(count * sizeof *keys);
  for (size_t i = 0; i < count; ++i) keys[i] = nth_key(first + i, key_bits);
  struct workspace w = {.mine = room(buckets * sizeof *w.mine), .all = room(buckets * sizeof *w.all),
                        .begins = room((buckets + 1) * sizeof *w.begins), .first = room((ranks + 1) * sizeof *w.first),
                        .in_keys = room(ranks * sizeof *w.in_keys), .out_keys = room(ranks * sizeof *w.out_keys),
                        .grouped = room(count * sizeof *w.grouped),
                        .counts = room(((size_t)1 << key_bits) * sizeof *w.counts),
                        .requests = room(2 * ranks * sizeof *w.requests)};
  uint64_t sums[3];
  add_up(keys, count, sums);

  sort(keys, count, total, &w); /* connections are made, memory is touched */
  check(tutti_barrier(world));
  const double start = now();
  size_t have = 0;
  for (int i = 0; i < iterations; ++i) have = sort(keys, count, total, &w);
  double mine = now() - start, longest;
  check(tutti_allreduce(world, &mine, &longest, 1, TUTTI_FLOAT64, TUTTI_MAX));
  verify(w.sorted, have, sums);
  if (me == 0)
    printf("class %c: %llu keys below 2^%u, %u ranks over %s: %d sorts in %.4f s, %.2f Mkeys/s, verified\n", name,
           (unsigned long long)total, key_bits, ranks, tutti_fabric(ctx), iterations, longest,
           (double)total * iterations / longest * 1e-6);
  free(w.mine), free(w.all), free(w.begins), free(w.first), free(w.in_keys), free(w.out_keys), free(w.grouped), free(w.got);
  free(w.sorted), free(w.counts), free(w.requests), free(keys);
  if (tutti_finalize(&ctx) != TUTTI_OK) return fprintf(stderr, "%s\n", tutti_error_text(NULL)), 1;
  return 0;
}

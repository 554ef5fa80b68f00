/* blocks: the collectives that have a block for each member, scans and exchanges with neighbors, each in its three forms and in
 * place, and what they refuse; on the world and on its halves. */
#include "check.h"

enum { most = 16, longest = 3000 };

static uint32_t me, n;
static unsigned char in[most * longest], out[most * longest];

/* What member `from` gives member `to`. */
static unsigned char given(uint32_t from, uint32_t to, size_t i) { return (unsigned char)(from * 37 + to * 11 + i * 3 + (i >> 8)); }

static int holds(const unsigned char *at, uint32_t from, uint32_t to, size_t bytes) {
  for (size_t i = 0; i < bytes; ++i)
    if (at[i] != given(from, to, i)) return 0;
  return 1;
}
static void fill(unsigned char *at, uint32_t to, size_t bytes) {
  for (size_t i = 0; i < bytes; ++i) at[i] = given(me, to, i);
}

/* Runs the three forms of a collective, each after `prepare`; `check` must hold after each. */
#define FORMS_AFTER(prepare, check, name, ...)        \
  do {                                                \
    tutti_request_t r;                                \
    prepare;                                          \
    OK(tutti_##name(team, __VA_ARGS__));              \
    CHECK(check);                                     \
    prepare;                                          \
    OK(tutti_i##name(team, __VA_ARGS__, &r));         \
    OK(tutti_wait(&r, -1));                           \
    CHECK(check);                                     \
    OK(tutti_##name##_init(team, __VA_ARGS__, &r));   \
    for (int turn = 0; turn < 3; ++turn) {            \
      prepare;                                        \
      OK(tutti_start(&r));                            \
      OK(tutti_wait(&r, -1));                         \
      CHECK(check);                                   \
    }                                                 \
    OK(tutti_request_free(&r));                       \
  } while (0)

static void clear(void) { memset(out, 0xa5, sizeof out); }
#define FORMS(...) FORMS_AFTER(clear(), __VA_ARGS__)

/* Block m of `out` is what m gave `to`, of lengths[m] bytes; lengths NULL: of `bytes` bytes. */
static int all_hold(uint32_t to, const size_t *lengths, const size_t *offsets, size_t bytes) {
  for (uint32_t m = 0; m < n; ++m)
    if (!holds(out + (offsets ? offsets[m] : m * bytes), m, to, lengths ? lengths[m] : bytes)) return 0;
  return 1;
}

static void alike(tutti_team_t team, size_t bytes) {
  const uint32_t root = (uint32_t)(bytes % n);
  fill(in, 0, bytes);
  FORMS(me != root || all_hold(0, NULL, NULL, bytes), gather, root, in, bytes, me == root ? out : NULL);
  FORMS(all_hold(0, NULL, NULL, bytes), allgather, in, bytes, out);
  for (uint32_t to = 0; to < n; ++to) fill(in + to * bytes, to, bytes);
  FORMS(holds(out, root, me, bytes), scatter, root, me == root ? in : NULL, bytes, out);
  FORMS(all_hold(me, NULL, NULL, bytes), alltoall, in, bytes, out);
  memcpy(out, in, n * bytes); /* in place */
  OK(tutti_alltoall(team, out, bytes, out));
  CHECK(all_hold(me, NULL, NULL, bytes));
  fill(out + me * bytes, 0, bytes);
  OK(tutti_allgather(team, out + me * bytes, bytes, out));
  CHECK(all_hold(0, NULL, NULL, bytes));
}

/* This rank's block, where it lies in place. */
static void put_mine(size_t at, size_t bytes) {
  clear();
  fill(out + at, 0, bytes);
}
/* What the root scatters, and may get its own block of in place. */
static void put_all(const size_t *lengths, const size_t *offsets) {
  clear();
  for (uint32_t m = 0; m < n; ++m) fill(in + offsets[m], m, lengths[m]);
}
static int all_left(const size_t *lengths, const size_t *offsets) {
  for (uint32_t m = 0; m < n; ++m)
    if (!holds(in + offsets[m], me, m, lengths[m])) return 0;
  return 1;
}

static void unlike(tutti_team_t team, size_t unit) {
  const uint32_t root = n - 1;
  size_t gives[most], takes[most], offsets[most], types_in[most], types_out[most], out_at[most], next = 0;
  tutti_datatype_t words[most], halves[most];
  for (uint32_t m = 0; m < n; ++m) takes[m] = m % 3 * unit, offsets[m] = (n - 1 - m) * (2 * unit + 1);
  for (uint32_t m = 0; m < n; ++m) out_at[m] = next, next += takes[m];
  const size_t mine = me % 3 * unit;
  fill(in, 0, mine);
  FORMS(me != root || all_hold(0, takes, offsets, 0), gatherv, root, in, mine, me == root ? out : NULL, me == root ? takes : NULL,
        me == root ? offsets : NULL);
  FORMS_AFTER(put_mine(offsets[me], mine), me != root || all_hold(0, takes, offsets, 0), gatherv, root, out + offsets[me], mine,
              me == root ? out : NULL, me == root ? takes : NULL, me == root ? offsets : NULL);
  FORMS(all_hold(0, takes, out_at, 0), allgatherv, in, mine, out, takes, NULL);
  FORMS(all_hold(0, takes, offsets, 0), allgatherv, in, mine, out, takes, offsets);
  FORMS_AFTER(put_mine(out_at[me], mine), all_hold(0, takes, out_at, 0), allgatherv, out + out_at[me], mine, out, takes, NULL);
  FORMS_AFTER(put_mine(offsets[me], mine), all_hold(0, takes, offsets, 0), allgatherv, out + offsets[me], mine, out, takes, offsets);
  for (uint32_t m = 0; m < n; ++m) fill(in + offsets[m], m, takes[m]);
  FORMS(holds(out, root, me, mine), scatterv, root, me == root ? in : NULL, me == root ? takes : NULL, me == root ? offsets : NULL, out, mine);
  FORMS_AFTER(put_all(takes, offsets), me == root ? all_left(takes, offsets) : holds(out, root, me, mine), scatterv, root, me == root ? in : NULL,
              me == root ? takes : NULL, me == root ? offsets : NULL, me == root ? in + offsets[me] : out, mine);
  for (uint32_t m = 0; m < n; ++m) { /* to m from here, and from m to here */
    gives[m] = (me + 2 * m) % 3 * unit, takes[m] = (m + 2 * me) % 3 * unit;
    types_in[m] = gives[m] / 2, types_out[m] = takes[m], words[m] = TUTTI_INT16, halves[m] = m % 2 ? TUTTI_UINT8 : TUTTI_BYTES;
    fill(in + offsets[m], m, gives[m]);
  }
  FORMS(all_hold(me, takes, offsets, 0), alltoallv, in, gives, offsets, out, takes, offsets);
  if (unit % 2 == 0)
    FORMS(all_hold(me, takes, offsets, 0), alltoallw, in, types_in, offsets, words, out, types_out, offsets, halves);
}

static void neighbors(tutti_team_t team, size_t bytes) {
  const uint32_t around[] = {(me + n - 1) % n, (me + 1) % n};
  const size_t count = n > 2 ? 2 : 1;
  const tutti_neighbors_t ring = {around, count, around, count}, nobody = {NULL, 0, NULL, 0};
  fill(in, 0, bytes);
  FORMS(holds(out, around[0], 0, bytes) && holds(out + (count - 1) * bytes, around[count - 1], 0, bytes), neighbor_allgather, &ring, in, bytes, out);
  for (size_t i = 0; i < count; ++i) fill(in + i * bytes, around[i], bytes);
  FORMS(holds(out, around[0], me, bytes) && holds(out + (count - 1) * bytes, around[count - 1], me, bytes), neighbor_alltoall, &ring, in, bytes,
        out);
  OK(tutti_neighbor_alltoall(team, &nobody, NULL, bytes, NULL));
}

/* sums[i] = ranks * (first + i) + sum, from there on in `out` */
static int sums_at(size_t at, int64_t ranks, int64_t sum, size_t first, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    int64_t got;
    memcpy(&got, out + (at + i) * sizeof got, sizeof got);
    if (got != ranks * (int64_t)(first + i) + sum) return 0;
  }
  return 1;
}

static int sums(int64_t ranks, int64_t sum, size_t first, size_t count) { return sums_at(0, ranks, sum, first, count); }

static void reductions(tutti_team_t team, size_t count) {
  size_t counts[most], first = 0, all = 0;
  for (uint32_t m = 0; m < n; ++m) counts[m] = (m + 1) % 3 * count, first += m < me ? counts[m] : 0, all += counts[m];
  const int64_t below = (int64_t)me * (me - 1) / 2, everyone = (int64_t)n * (n - 1) / 2;
  if (all < n * count) all = n * count;
  for (size_t i = 0; i < all; ++i) {
    const int64_t operand = (int64_t)(me + i);
    memcpy(in + i * sizeof operand, &operand, sizeof operand);
  }
  FORMS(sums(me + 1, below + me, 0, count), scan, in, out, count, TUTTI_INT64, TUTTI_SUM);
  FORMS(me == 0 ? out[0] == 0xa5 : sums(me, below, 0, count), exscan, in, out, count, TUTTI_INT64, TUTTI_SUM);
  FORMS(sums(n, everyone, first, counts[me]), reduce_scatter, in, out, counts, TUTTI_INT64, TUTTI_SUM);
  FORMS_AFTER(memcpy(out, in, sizeof out), sums_at(first, n, everyone, first, counts[me]), reduce_scatter, out, out + first * sizeof below, counts,
              TUTTI_INT64, TUTTI_SUM);
  FORMS(sums(n, everyone, me * count, count), reduce_scatter_block, in, out, count, TUTTI_INT64, TUTTI_SUM);
  FORMS_AFTER(memcpy(out, in, sizeof out), sums_at(me * count, n, everyone, me * count, count), reduce_scatter_block, out,
              out + me * count * sizeof below, count, TUTTI_INT64, TUTTI_SUM);
}

/* Operands and results that overlap, and not as in place; and sizes beyond memory. */
static void what_lies_wrong(tutti_team_t team) {
  const uint32_t other = (me + 1) % n;
  const size_t far = SIZE_MAX - 7;
  size_t sizes[most], huge[most];
  tutti_datatype_t bytes[most], words[most];
  const tutti_neighbors_t self = {&me, 1, &me, 1};
  for (uint32_t m = 0; m < most; ++m) sizes[m] = 8, huge[m] = SIZE_MAX / 4, bytes[m] = TUTTI_BYTES, words[m] = TUTTI_INT64;
#define OVERLAP(call) INVALID(call, "overlap", "tutti_")
  OVERLAP(tutti_gather(team, me, out + me * 8 + 1, 8, out));
  OVERLAP(tutti_scatter(team, me, in, 8, in + me * 8 + 4));
  OVERLAP(tutti_gatherv(team, me, out + 1, 8, out, sizes, NULL));
  OVERLAP(tutti_scatterv(team, me, in, sizes, NULL, in + me * 8 + 4, 8));
  OVERLAP(tutti_allgatherv(team, out + 1, 8, out, sizes, NULL));
  OVERLAP(tutti_alltoallw(team, in, sizes, NULL, bytes, in + 1, sizes, NULL, bytes));
  OVERLAP(tutti_neighbor_allgather(team, &self, in, 8, in + 4));
  OVERLAP(tutti_neighbor_alltoall(team, &self, in, 8, in));
  OVERLAP(tutti_reduce(team, me, in, in + 4, 1, TUTTI_INT64, TUTTI_SUM));
  OVERLAP(tutti_scan(team, in, in + 4, 1, TUTTI_INT64, TUTTI_SUM));
  OVERLAP(tutti_exscan(team, in + 4, in, 1, TUTTI_INT64, TUTTI_SUM));
  OVERLAP(tutti_reduce_scatter(team, in, in + 1, sizes, TUTTI_INT64, TUTTI_SUM));
#define BEYOND(call) INVALID(call, "beyond", "tutti_")
  BEYOND(tutti_broadcast(team, 0, out, far));
  BEYOND(tutti_gather(team, other, in, far, out));
  BEYOND(tutti_scatter(team, other, in, far, out));
  BEYOND(tutti_alltoall(team, in, far, out));
  if (n > 1) BEYOND(tutti_gatherv(team, other, in, far, NULL, NULL, NULL));
  if (n > 1) BEYOND(tutti_scatterv(team, other, NULL, NULL, NULL, out, far));
  for (uint32_t m = 0; m < most; ++m) sizes[m] = far;
  BEYOND(tutti_allgatherv(team, in, far, out, sizes, NULL));
  BEYOND(tutti_alltoallw(team, in, huge, NULL, words, out, huge, NULL, bytes));
  BEYOND(tutti_neighbor_allgather(team, &self, in, far, out));
  BEYOND(tutti_neighbor_alltoall(team, &self, in, far, out));
  BEYOND(tutti_reduce(team, me, in, out, SIZE_MAX / 4, TUTTI_INT64, TUTTI_SUM));
  BEYOND(tutti_scan(team, in, out, SIZE_MAX / 4, TUTTI_INT64, TUTTI_SUM));
  BEYOND(tutti_exscan(team, in, out, SIZE_MAX / 4, TUTTI_INT64, TUTTI_SUM));
  BEYOND(tutti_reduce_scatter_block(team, in, out, SIZE_MAX / 4, TUTTI_INT64, TUTTI_SUM));
}

static void what_is_refused(tutti_team_t team) {
  size_t sizes[most] = {8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8}, huge[most], wrong[most];
  tutti_datatype_t types[most];
  tutti_request_t r;
  for (uint32_t m = 0; m < most; ++m) huge[m] = SIZE_MAX / 2, wrong[m] = 16, types[m] = 99;
  INVALID(tutti_gather(team, n, in, 8, out), "root", "use 0 to");
  INVALID(tutti_gather(team, me, NULL, 8, out), "in", "NULL");
  INVALID(tutti_gather(team, me, in, 8, NULL), "out", "NULL");
  INVALID(tutti_scatter(team, me, NULL, 8, out), "in", "NULL");
  INVALID(tutti_allgather(team, in, SIZE_MAX - 7, out), "beyond", "tutti_allgather");
  INVALID(tutti_allgather(team, out + me * 8 + 1, 8, out), "overlap", "in place");
  INVALID(tutti_alltoall(team, in, 8, in + 4), "overlap", "in place");
  INVALID(tutti_ialltoall(team, in, 8, out, NULL), "request", "NULL");
  INVALID(tutti_alltoallv(team, in, NULL, NULL, out, sizes, NULL), "in_counts", "NULL");
  INVALID(tutti_alltoallv(team, in, sizes, NULL, in, sizes, NULL), "overlap", "no form in place");
  INVALID(tutti_alltoallv(team, in, huge, huge, out, sizes, NULL), "beyond", "member 0");
  wrong[me] = 9;
  INVALID(tutti_alltoallv(team, in, sizes, NULL, out, wrong, NULL), "gives itself 8", "takes 9");
  INVALID(tutti_alltoallw(team, in, sizes, NULL, types, out, sizes, NULL, types), "type 99", "unknown");
  INVALID(tutti_alltoallw(team, in, sizes, NULL, NULL, out, sizes, NULL, types), "in_types", "NULL");
  INVALID(tutti_allgatherv(team, in, 9, out, sizes, NULL), "gives itself 9", "takes 8");
  INVALID(tutti_gatherv(team, me, in, 8, out, NULL, NULL), "out_bytes", "NULL");
  INVALID(tutti_gatherv_init(team, me, in, 9, out, sizes, NULL, &r), "gives itself 9", "takes 8");
  INVALID(tutti_scatterv(team, me, in, sizes, NULL, out, 9), "gives itself 8", "takes 9");
  INVALID(tutti_reduce_scatter(team, in, out, NULL, TUTTI_INT64, TUTTI_SUM), "counts", "NULL");
  INVALID(tutti_reduce_scatter(team, in, out, huge, TUTTI_INT64, TUTTI_SUM), "count", "beyond");
  INVALID(tutti_reduce_scatter_block(team, in, in + 1, 1, TUTTI_INT64, TUTTI_SUM), "overlap", "in place");
  INVALID(tutti_scan(team, in, out, 1, TUTTI_FLOAT64, TUTTI_BITWISE_AND), "bitwise_and", "float64");
  INVALID(tutti_exscan(team, in, NULL, 1, TUTTI_FLOAT64, TUTTI_SUM), "out", "NULL");
  const uint32_t twice[] = {0, 0}, outside[] = {n};
  const tutti_neighbors_t doubled = {twice, 2, twice, 2}, far = {outside, 1, outside, 1}, none = {NULL, 1, NULL, 0};
  INVALID(tutti_neighbor_allgather(team, &doubled, in, 8, out), "member 0", "twice");
  INVALID(tutti_neighbor_alltoall(team, &far, in, 8, out), "use 0 to", "destinations");
  INVALID(tutti_neighbor_alltoall(team, &none, in, 8, out), "sources", "NULL");
  INVALID(tutti_neighbor_alltoall(team, NULL, in, 8, out), "neighbors", "NULL");
}

static void everything_on(tutti_team_t team) {
  me = tutti_team_rank(team), n = tutti_team_size(team);
  const size_t lengths[] = {8, 1, 0, 48, 49, 1400};
  for (size_t k = 0; k < sizeof lengths / sizeof *lengths; ++k) {
    alike(team, lengths[k]);
    unlike(team, lengths[k]);
    neighbors(team, lengths[k]);
    reductions(team, lengths[k] / 8);
  }
  what_is_refused(team);
  what_lies_wrong(team);
}

int main(void) {
  begin();
  tutti_team_t world = tutti_world(check_ctx), half;
  if (tutti_size(check_ctx) > most) return fprintf(stderr, "at most %d ranks\n", most), 1;
  everything_on(world);
  OK(tutti_team_split(world, (int32_t)(tutti_rank(check_ctx) % 2), 0, &half));
  everything_on(half);
  everything_on(world);
  OK(tutti_team_free(&half));
  OK(tutti_finalize(&check_ctx));
  return 0;
}

/* Heat spreads through a periodic block of cells, which the ranks share among them. In each step every rank puts the six faces of
 * its part straight into its neighbours' halos: a layout says where the cells of a face lie, so nothing is packed by hand.
 * At the end the part is compared with what this rank alone computes for the whole block. Run it with: tutti run -n 4 ./halo_exchange */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <tutti.h>

enum { SIDE = 24, STEPS = 30, PADDED = SIDE + 2, CELLS = PADDED * PADDED * PADDED };

/* What a rank exposes: two grids, one for even steps and one for odd ones, and a word for each of the six halos. */
typedef struct {
  uint64_t arrived[8];
  double grid[2][CELLS];
} part_t;

static const size_t step_of[3] = {PADDED * PADDED, PADDED, 1}; /* cells from one to the next, along each axis */

static size_t cell(size_t x, size_t y, size_t z) { return x * step_of[0] + y * step_of[1] + z; }
static double begins_at(size_t x, size_t y, size_t z) { return (double)((x * 7 + y * 11 + z * 13) % 101); }
static double relax(double old, double a, double b, double c, double d, double e, double f) {
  return 0.4 * old + 0.1 * (((a + b) + (c + d)) + (e + f));
}

/* How many ranks along each axis: as near to a cube as the number of ranks allows. */
static void divide(uint32_t n, uint32_t along[3]) {
  along[0] = along[1] = along[2] = 1;
  for (uint32_t p = 2; n > 1; ++p)
    for (; n % p == 0; n /= p) {
      int least = 0;
      for (int a = 1; a < 3; ++a)
        if (along[a] < along[least]) least = a;
      along[least] *= p;
    }
}

static uint32_t rank_at(const uint32_t at[3], const uint32_t along[3]) { return (at[0] * along[1] + at[1]) * along[2] + at[2]; }

/* The whole block after all steps, by one rank. */
static double *alone(const uint32_t along[3]) {
  const size_t nx = along[0] * SIDE, ny = along[1] * SIDE, nz = along[2] * SIDE, all = nx * ny * nz;
  double *now = malloc(all * sizeof *now), *next = malloc(all * sizeof *next);
  if (!now || !next) return free(now), free(next), NULL;
#define AT(x, y, z) now[(((x) % nx) * ny + (y) % ny) * nz + (z) % nz]
  for (size_t x = 0; x < nx; ++x)
    for (size_t y = 0; y < ny; ++y)
      for (size_t z = 0; z < nz; ++z) AT(x, y, z) = begins_at(x, y, z);
  for (int step = 0; step < STEPS; ++step) {
    for (size_t x = 0; x < nx; ++x)
      for (size_t y = 0; y < ny; ++y)
        for (size_t z = 0; z < nz; ++z)
          next[(x * ny + y) * nz + z] = relax(AT(x, y, z), AT(x + nx - 1, y, z), AT(x + 1, y, z), AT(x, y + ny - 1, z),
                                              AT(x, y + 1, z), AT(x, y, z + nz - 1), AT(x, y, z + 1));
    double *const last = now;
    now = next, next = last;
  }
  free(next);
  return now;
}

int main(void) {
  tutti_t ctx;
  if (tutti_init(NULL, &ctx) != TUTTI_OK) return fprintf(stderr, "%s\n", tutti_error_text(NULL)), 1;
  const uint32_t me = tutti_rank(ctx);
  uint32_t along[3];
  divide(tutti_size(ctx), along);
  const uint32_t at[3] = {me / (along[1] * along[2]), me / along[2] % along[1], me % along[2]};

  part_t *mine;
  tutti_window_t window;
  if (tutti_window_create(tutti_world(ctx), sizeof *mine, (void **)&mine, &window) != TUTTI_OK) goto failed;
  for (size_t x = 0; x < SIDE; ++x)
    for (size_t y = 0; y < SIDE; ++y)
      for (size_t z = 0; z < SIDE; ++z)
        mine->grid[0][cell(x + 1, y + 1, z + 1)] = begins_at(at[0] * SIDE + x, at[1] * SIDE + y, at[2] * SIDE + z);
  if (tutti_barrier(tutti_world(ctx)) != TUTTI_OK) goto failed;

  for (uint64_t step = 0; step < STEPS; ++step) {
    double *const now = mine->grid[step % 2], *const next = mine->grid[(step + 1) % 2];
    /* A neighbour is at most one step ahead, for it needs this rank's faces: so what it puts goes to the other grid's halo, and
     * never to one that is still read here. */
    for (int axis = 0; axis < 3; ++axis) {
      const int a = axis == 0, b = axis == 2 ? 1 : 2; /* the other two axes */
      const size_t counts[2] = {SIDE, SIDE};
      const ptrdiff_t strides[2] = {(ptrdiff_t)(step_of[a] * sizeof *now), (ptrdiff_t)(step_of[b] * sizeof *now)};
      const tutti_layout_t face = {.kind = TUTTI_STRIDED, .block_bytes = sizeof *now, .count = 2, .counts = counts, .strides = strides};
      const size_t corner = step_of[a] + step_of[b];
      for (int up = 0; up < 2; ++up) {
        uint32_t to[3] = {at[0], at[1], at[2]};
        to[axis] = (at[axis] + (up ? 1 : along[axis] - 1)) % along[axis];
        const uint32_t neighbour = rank_at(to, along);
        const size_t from = corner + (up ? SIDE : 1) * step_of[axis], halo = corner + (up ? 0 : SIDE + 1) * step_of[axis];
        const uint64_t offset = offsetof(part_t, grid) + (step % 2 * CELLS + halo) * sizeof *now;
        if (tutti_put_layout(window, neighbour, offset, &face, now + from, &face, NULL) != TUTTI_OK) goto failed;
        const uint64_t word = offsetof(part_t, arrived) + (size_t)(2 * axis + up) * sizeof(uint64_t);
        if (tutti_signal(window, neighbour, word, step + 1, TUTTI_SET | TUTTI_AFTER_ALL) != TUTTI_OK) goto failed;
      }
    }
    for (uint64_t side = 0; side < 6; ++side)
      if (tutti_wait_signal(window, side * sizeof(uint64_t), TUTTI_REACHED, step + 1, TUTTI_ANY, -1) != TUTTI_OK) goto failed;
    for (size_t x = 1; x <= SIDE; ++x)
      for (size_t y = 1; y <= SIDE; ++y)
        for (size_t z = 1; z <= SIDE; ++z) {
          const double *const c = now + cell(x, y, z);
          next[cell(x, y, z)] = relax(c[0], *(c - step_of[0]), c[step_of[0]], *(c - step_of[1]), c[step_of[1]], c[-1], c[1]);
        }
    if (tutti_flush(window, TUTTI_ALL, -1) != TUTTI_OK) goto failed; /* the next step writes to what was put */
  }

  double *const whole = alone(along);
  if (!whole) { fprintf(stderr, "rank %u: no memory for the comparison\n", me); goto abandon; }
  const size_t ny = along[1] * SIDE, nz = along[2] * SIDE;
  double worst = 0;
  for (size_t x = 0; x < SIDE; ++x)
    for (size_t y = 0; y < SIDE; ++y)
      for (size_t z = 0; z < SIDE; ++z) {
        const double wanted = whole[((at[0] * SIDE + x) * ny + at[1] * SIDE + y) * nz + at[2] * SIDE + z];
        worst = fmax(worst, fabs(mine->grid[STEPS % 2][cell(x + 1, y + 1, z + 1)] - wanted));
      }
  free(whole);
  if (worst > 1e-9) { fprintf(stderr, "rank %u: a cell is off by %g\n", me, worst); goto abandon; }
  if (me == 0) printf("%u x %u x %u ranks, %d steps: every cell as computed by one rank\n", along[0], along[1], along[2], STEPS);
  if (tutti_finalize(&ctx) == TUTTI_OK) return 0;

failed:
  fprintf(stderr, "rank %u: %s\n", me, tutti_error_text(ctx));
abandon:
  tutti_abandon(&ctx);
  return 1;
}

/* LU decomposition with partial pivoting of an n x n matrix, dealt out cyclically over a grid of M x N processes: row i
 * lies on the processes of grid row i mod M, column j on those of grid column j mod N (Bisseling 2004, chapter 2).
 * Column by column: find the pivot, swap rows, divide, send the pivot's column and row to where they are needed, update.
 *
 *     bspcc -O2 lu.c -o lu -lm && bsprun -n 4 ./lu */
#include <math.h>
#include <string.h>

#include "common.h"

typedef struct {
  int M, N, s, t;    /* the grid, and my place in it */
  long n, rows, cols; /* the matrix, and how many rows and columns of it are mine */
  double *a;         /* mine, by rows */
  double *best;      /* what each process of my grid column offers as a pivot: M values and M row numbers */
  double pivot[2];   /* the winner: value, row number */
  double *swap;      /* the row that comes to me: from the other place of a swap */
  double *l, *u;     /* the parts of the pivot's column and row that meet my rows and columns */
} matrix;

static int process(const matrix *m, int s, int t) { return s * m->N + t; }
static long share(long n, int parts, int part) { return (n - part + parts - 1) / parts; }
static int bytes(long doubles) { return (int)(doubles * (long)sizeof(double)); }

static void make(matrix *m, long n) {
  const int p = bsp_nprocs();
  m->M = (int)sqrt((double)p);
  while (p % m->M) --m->M;
  m->N = p / m->M;
  m->s = bsp_pid() / m->N, m->t = bsp_pid() % m->N;
  m->n = n, m->rows = share(n, m->M, m->s), m->cols = share(n, m->N, m->t);
  m->a = room((size_t)(m->rows * m->cols) * sizeof(double));
  m->best = room((size_t)(2 * m->M) * sizeof(double));
  m->swap = room((size_t)m->cols * sizeof(double));
  m->l = room((size_t)m->rows * sizeof(double));
  m->u = room((size_t)m->cols * sizeof(double));
  bsp_push_reg(m->best, bytes(2 * m->M));
  bsp_push_reg(m->pivot, bytes(2));
  bsp_push_reg(m->swap, bytes(m->cols));
  bsp_push_reg(m->l, bytes(m->rows));
  bsp_push_reg(m->u, bytes(m->cols));
  bsp_sync();
}

/* pi[i]: the row of the original that is row i of the result. */
static void decompose(matrix *m, long *pi) {
  const int M = m->M, N = m->N, s = m->s, t = m->t;
  for (long i = 0; i < m->n; ++i) pi[i] = i;
  for (long k = 0; k < m->n; ++k) {
    const long row = share(k, M, s), col = share(k, N, t); /* my first row and column from k on */
    const int has_row = k % M == s, has_col = k % N == t;

    if (has_col) { /* my best pivot, to my grid column */
      double mine[2] = {0, -1};
      for (long i = row; i < m->rows; ++i)
        if (fabs(m->a[i * m->cols + col]) > fabs(mine[0]) || mine[1] < 0)
          mine[0] = m->a[i * m->cols + col], mine[1] = (double)(i * M + s);
      for (int to = 0; to < M; ++to) bsp_put(process(m, to, t), mine, m->best, bytes(2 * s), bytes(2));
    }
    bsp_sync();

    if (has_col) { /* the best of all, to my grid row */
      int winner = -1;
      for (int from = 0; from < M; ++from)
        if (m->best[2 * from + 1] >= 0 && (winner < 0 || fabs(m->best[2 * from]) > fabs(m->best[2 * winner]))) winner = from;
      for (int to = 0; to < N; ++to) bsp_put(process(m, s, to), &m->best[2 * winner], m->pivot, 0, bytes(2));
    }
    bsp_sync();

    const long r = (long)m->pivot[1];
    const int has_r = r % M == s;
    if (r != k) {
      if (has_row) bsp_put(process(m, (int)(r % M), t), &m->a[k / M * m->cols], m->swap, 0, bytes(m->cols));
      if (has_r) bsp_put(process(m, (int)(k % M), t), &m->a[r / M * m->cols], has_row ? m->u : m->swap, 0, bytes(m->cols));
      const long other = pi[k];
      pi[k] = pi[r], pi[r] = other;
      bsp_sync(); /* the same everywhere: all know r */
      if (has_r) memcpy(&m->a[r / M * m->cols], m->swap, (size_t)bytes(m->cols));
      if (has_row) memcpy(&m->a[k / M * m->cols], has_r ? m->u : m->swap, (size_t)bytes(m->cols));
    }

    const long below = share(k + 1, M, s), beside = share(k + 1, N, t);
    if (has_col) {
      for (long i = below; i < m->rows; ++i) {
        m->a[i * m->cols + col] /= m->pivot[0];
        m->l[i] = m->a[i * m->cols + col];
      }
      for (int to = 0; to < N; ++to)
        bsp_put(process(m, s, to), &m->l[below], m->l, bytes(below), bytes(m->rows - below));
    }
    if (has_row)
      for (int to = 0; to < M; ++to)
        bsp_put(process(m, to, t), &m->a[row * m->cols + beside], m->u, bytes(beside), bytes(m->cols - beside));
    bsp_sync();

    for (long i = below; i < m->rows; ++i)
      for (long j = beside; j < m->cols; ++j) m->a[i * m->cols + j] -= m->l[i] * m->u[j];
  }
}

static double element(long n, long i, long j) { return number((uint64_t)(i * n + j)) - 0.5; }

/* All of the result at process 0, which multiplies L by U and compares with the rows of the original. */
static void check(matrix *m, const long *pi) {
  const long n = m->n;
  double *all = room(bsp_pid() == 0 ? (size_t)(n * n) * sizeof(double) : 0);
  bsp_push_reg(all, bsp_pid() == 0 ? bytes(n * n) : 0);
  bsp_sync();
  for (long i = 0; i < m->rows; ++i)
    for (long j = 0; j < m->cols; ++j)
      bsp_put(0, &m->a[i * m->cols + j], all, bytes((i * m->M + m->s) * n + j * m->N + m->t), bytes(1));
  bsp_pop_reg(all);
  bsp_sync();
  double worst = 0;
  double *row = room((size_t)n * sizeof *row); /* of L times U */
  if (bsp_pid() == 0)
    for (long i = 0; i < n; ++i) {
      for (long j = 0; j < n; ++j) row[j] = i <= j ? all[i * n + j] : 0;
      for (long k = 0; k < i; ++k)
        for (long j = k; j < n; ++j) row[j] += all[i * n + k] * all[k * n + j];
      for (long j = 0; j < n; ++j) {
        const double error = fabs(row[j] - element(n, pi[i], j));
        if (error > worst) worst = error;
      }
    }
  if (worst > 1e-12 * (double)n) bsp_abort("LU differs from the matrix by %g\n", worst);
  free(all), free(row);
}

/* The same by one process. */
static void decompose_alone(double *a, long n) {
  for (long k = 0; k < n; ++k) {
    long r = k;
    for (long i = k; i < n; ++i)
      if (fabs(a[i * n + k]) > fabs(a[r * n + k])) r = i;
    for (long j = 0; r != k && j < n; ++j) {
      const double other = a[k * n + j];
      a[k * n + j] = a[r * n + j], a[r * n + j] = other;
    }
    for (long i = k + 1; i < n; ++i) {
      const double l = a[i * n + k] /= a[k * n + k];
      for (long j = k + 1; j < n; ++j) a[i * n + j] -= l * a[k * n + j];
    }
  }
}

int main(int argc, char **argv) {
  bsp_begin(bsp_nprocs());
  const long n = argc > 1 ? atol(argv[1]) : 1000;
  matrix m;
  make(&m, n);
  long *pi = room((size_t)n * sizeof *pi);
  for (long i = 0; i < m.rows; ++i)
    for (long j = 0; j < m.cols; ++j) m.a[i * m.cols + j] = element(n, i * m.M + m.s, j * m.N + m.t);
  bsp_sync();
  double start = bsp_time();
  decompose(&m, pi);
  const double together = bsp_time() - start;
  check(&m, pi);
  double alone = 0;
  if (bsp_pid() == 0) {
    double *a = room((size_t)(n * n) * sizeof *a);
    for (long i = 0; i < n * n; ++i) a[i] = element(n, i / n, i % n);
    start = bsp_time();
    decompose_alone(a, n);
    alone = bsp_time() - start;
    free(a);
  }
  report("LU", alone, together);
  bsp_end();
  free(m.a), free(m.best), free(m.swap), free(m.l), free(m.u);
  free(pi);
  return 0;
}

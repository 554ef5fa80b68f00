/* Every collective of MPI 3.1 on communicators and between groups, with every predefined type and operation, operations of the program,
 * derived types of every kind, blocking and not, in place and not, from every root. Prints a digest of what each rank received, gaps in
 * the buffers included, for each section: the output does not depend on who carries the data, so that a run with and one without a
 * preloaded library can be compared. Numbers are small integers, also in floating point, so that sums are exact in any order.
 *
 * Left out is what the MPIs themselves get wrong: MPICH 4.0.2 crashes in MPI_Reduce in place, and Open MPI 4.1.4 hangs in nonblocking
 * exchanges in place. */
#include <mpi.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int world_rank, world_size;

/* --- digests ------------------------------------------------------------------------------------------------------------------------- */

static uint64_t digest = 0xCBF29CE484222325u; /* FNV-1a */
static void hash(const void *data, size_t bytes) {
  const unsigned char *p = data;
  for (size_t i = 0; i < bytes; ++i) digest = (digest ^ p[i]) * 0x100000001B3u;
}
static void hash_int(int x) { hash(&x, sizeof x); }

static void section_ends(const char *name) {
  uint64_t of = digest;
  digest = 0xCBF29CE484222325u;
  if (world_rank != 0) {
    MPI_Send(&of, 1, MPI_UINT64_T, 0, 1, MPI_COMM_WORLD);
    return;
  }
  for (int r = 0; r < world_size; ++r) {
    if (r > 0) MPI_Recv(&of, 1, MPI_UINT64_T, r, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    printf("%-24s rank %d  %016llx\n", name, r, (unsigned long long)of);
  }
  fflush(stdout);
}

/* Waits for a call that may have been a nonblocking one. */
static MPI_Request request = MPI_REQUEST_NULL;
static void end(void) { MPI_Wait(&request, MPI_STATUS_IGNORE); }
#define CALL(nonblocking, Name, lower, ...)                       \
  do {                                                            \
    if (nonblocking) MPI_I##lower(__VA_ARGS__, &request), end();  \
    else MPI_##Name(__VA_ARGS__);                                 \
  } while (0)

static unsigned char *buffer(size_t bytes, int fill) {
  unsigned char *b = malloc(bytes + 64);
  if (!b) MPI_Abort(MPI_COMM_WORLD, 1);
  for (size_t i = 0; i < bytes + 64; ++i) b[i] = (unsigned char)(fill + 13 * (int)i);
  return b;
}

/* --- reductions of predefined types ----------------------------------------------------------------------------------------------------- */

enum kind { INTEGER, REAL, COMPLEX, LOGICAL, BYTES, PAIR, REAL_PAIR };
typedef struct {
  const char *name;
  MPI_Datatype type;
  enum kind kind;
  int extended; /* of long double */
} predefined;

static int known_types(predefined *t) {
  int n = 0;
#define TYPE(x, k) t[n++] = (predefined){#x, x, k, 0}
#define LONG_TYPE(x, k) t[n++] = (predefined){#x, x, k, 1}
  TYPE(MPI_SIGNED_CHAR, INTEGER), TYPE(MPI_UNSIGNED_CHAR, INTEGER), TYPE(MPI_SHORT, INTEGER), TYPE(MPI_UNSIGNED_SHORT, INTEGER), TYPE(MPI_INT, INTEGER);
  TYPE(MPI_UNSIGNED, INTEGER), TYPE(MPI_LONG, INTEGER), TYPE(MPI_UNSIGNED_LONG, INTEGER), TYPE(MPI_LONG_LONG, INTEGER), TYPE(MPI_UNSIGNED_LONG_LONG, INTEGER);
  TYPE(MPI_INT8_T, INTEGER), TYPE(MPI_INT16_T, INTEGER), TYPE(MPI_INT32_T, INTEGER), TYPE(MPI_INT64_T, INTEGER);
  TYPE(MPI_UINT8_T, INTEGER), TYPE(MPI_UINT16_T, INTEGER), TYPE(MPI_UINT32_T, INTEGER), TYPE(MPI_UINT64_T, INTEGER);
  TYPE(MPI_AINT, INTEGER), TYPE(MPI_OFFSET, INTEGER), TYPE(MPI_COUNT, INTEGER);
  TYPE(MPI_INTEGER, INTEGER), TYPE(MPI_INTEGER1, INTEGER), TYPE(MPI_INTEGER2, INTEGER), TYPE(MPI_INTEGER4, INTEGER), TYPE(MPI_INTEGER8, INTEGER);
  TYPE(MPI_FLOAT, REAL), TYPE(MPI_DOUBLE, REAL), LONG_TYPE(MPI_LONG_DOUBLE, REAL);
  TYPE(MPI_REAL, REAL), TYPE(MPI_REAL4, REAL), TYPE(MPI_REAL8, REAL), TYPE(MPI_DOUBLE_PRECISION, REAL);
  TYPE(MPI_C_FLOAT_COMPLEX, COMPLEX), TYPE(MPI_C_DOUBLE_COMPLEX, COMPLEX), LONG_TYPE(MPI_C_LONG_DOUBLE_COMPLEX, COMPLEX);
  TYPE(MPI_COMPLEX, COMPLEX), TYPE(MPI_DOUBLE_COMPLEX, COMPLEX), TYPE(MPI_COMPLEX8, COMPLEX), TYPE(MPI_COMPLEX16, COMPLEX);
  TYPE(MPI_C_BOOL, LOGICAL), TYPE(MPI_LOGICAL, LOGICAL), TYPE(MPI_BYTE, BYTES);
  TYPE(MPI_FLOAT_INT, PAIR), TYPE(MPI_DOUBLE_INT, PAIR), TYPE(MPI_LONG_INT, PAIR), TYPE(MPI_2INT, PAIR), TYPE(MPI_SHORT_INT, PAIR);
  LONG_TYPE(MPI_LONG_DOUBLE_INT, PAIR), TYPE(MPI_2REAL, REAL_PAIR), TYPE(MPI_2DOUBLE_PRECISION, REAL_PAIR), TYPE(MPI_2INTEGER, PAIR);
  return n;
}

static void store_real(unsigned char *to, long v, size_t bytes) {
  if (bytes == 4) memcpy(to, &(float){(float)v}, 4);
  else if (bytes == 8) memcpy(to, &(double){(double)v}, 8);
  else memcpy(to, &(long double){(long double)v}, 10); /* the rest of it is nothing */
}
/* What stands first in a pair, and its bytes; the index comes behind. */
static size_t value_of_pair(const predefined *t, size_t *index) {
#define FOR(x, T) if (t->type == x) return *index = offsetof(struct { T v; int i; }, i), sizeof(T)
  FOR(MPI_FLOAT_INT, float);
  FOR(MPI_DOUBLE_INT, double);
  FOR(MPI_LONG_INT, long);
  FOR(MPI_SHORT_INT, short);
  FOR(MPI_LONG_DOUBLE_INT, long double);
  return *index = sizeof(int), sizeof(int);
}
static int pair_is_real(const predefined *t) { return t->type == MPI_FLOAT_INT || t->type == MPI_DOUBLE_INT || t->type == MPI_LONG_DOUBLE_INT; }

static void store(const predefined *t, unsigned char *to, size_t size, long v, long w) {
  size_t index, bytes;
  switch (t->kind) {
    case REAL: store_real(to, v, size); return;
    case COMPLEX:
    case REAL_PAIR:
      store_real(to, v, size / 2);
      store_real(to + size / 2, w, size / 2);
      return;
    case PAIR:
      bytes = value_of_pair(t, &index);
      if (pair_is_real(t)) store_real(to, v, bytes);
      else memcpy(to, &v, bytes);
      memcpy(to + index, &(int){(int)w}, sizeof(int));
      return;
    case LOGICAL:
      v = v & 1; /* fall through */
    default: memcpy(to, &v, size);
  }
}
/* Elements, without the bytes of a long double that mean nothing. */
static void hash_elements(const predefined *t, const unsigned char *b, MPI_Aint extent, long count) {
  if (!t->extended) hash(b, (size_t)(count * extent));
  else
    for (long i = 0; i < count; ++i)
      for (MPI_Aint at = 0; at < extent; at += 16) hash(b + i * extent + at, t->kind == PAIR && at > 0 ? sizeof(int) : 10);
}

typedef struct {
  const char *name;
  MPI_Op op;
  unsigned kinds;
} operation;
static int known_operations(operation *o) {
  const unsigned numbers = 1 << INTEGER | 1 << REAL | 1 << COMPLEX, ordered = 1 << INTEGER | 1 << REAL, truths = 1 << INTEGER | 1 << LOGICAL;
  const unsigned bits = 1 << INTEGER | 1 << BYTES, pairs = 1 << PAIR | 1 << REAL_PAIR;
  int n = 0;
#define OP(x, k) o[n++] = (operation){#x, x, k}
  OP(MPI_SUM, numbers), OP(MPI_PROD, numbers), OP(MPI_MAX, ordered), OP(MPI_MIN, ordered), OP(MPI_LAND, truths), OP(MPI_LOR, truths), OP(MPI_LXOR, truths);
  OP(MPI_BAND, bits), OP(MPI_BOR, bits), OP(MPI_BXOR, bits), OP(MPI_MINLOC, pairs), OP(MPI_MAXLOC, pairs);
  return n;
}

/* All reductions of one operation on one type, with `count` elements a member (reduce_scatter: a block). `fill` makes elements;
 * `received` hashes them. */
typedef struct {
  MPI_Datatype type;
  MPI_Op op;
  MPI_Aint extent, low, spare; /* bytes before the address, and bytes behind the last extent */
  int scatters;                /* MPI itself can reduce and scatter these */
  const void *of;
  void (*fill)(const void *of, unsigned char *to, int rank, long count);
  void (*received)(const void *of, const unsigned char *b, long count);
} reduction;

static unsigned char *operands(const reduction *r, int rank, long count, int filled) {
  unsigned char *b = buffer((size_t)(count * r->extent + r->low + r->spare), filled ? 3 : 101);
  if (filled) r->fill(r->of, b + r->low, rank, count);
  return b;
}
static void results(const reduction *r, unsigned char *b, long count, int matter) {
  if (matter) r->received(r->of, b, count);
  free(b);
}

static void reductions(const reduction *r, int count, MPI_Comm comm, unsigned forms) {
  int rank, size, *counts;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  counts = malloc((size_t)size * sizeof *counts);
  for (int form = 0; form < 4; ++form) {
    if (!(forms >> form & 1)) continue;
    const int nonblocking = form & 1, in_place = form >> 1;
    unsigned char *in = operands(r, rank, count, 1), *out;
#define IN(b) (in_place ? MPI_IN_PLACE : (void *)((b) + r->low))
    for (int root = 0; root < size; ++root) {
      out = operands(r, rank, count, 0);
      CALL(nonblocking, Reduce, reduce, in + r->low, rank == root ? out + r->low : NULL, count, r->type, r->op, root, comm);
      results(r, out, count, 1);
    }
    out = operands(r, rank, count, in_place);
    CALL(nonblocking, Allreduce, allreduce, IN(in), out + r->low, count, r->type, r->op, comm);
    results(r, out, count, 1);
    out = operands(r, rank, count, in_place);
    CALL(nonblocking, Scan, scan, IN(in), out + r->low, count, r->type, r->op, comm);
    results(r, out, count, 1);
    out = operands(r, rank, count, in_place);
    CALL(nonblocking, Exscan, exscan, IN(in), out + r->low, count, r->type, r->op, comm);
    results(r, out, count, rank > 0);
    free(in);
    if (!r->scatters) continue;
    in = operands(r, rank, (long)count * size, 1);
    out = operands(r, rank, (long)count * (in_place ? size : 1), in_place);
    CALL(nonblocking, Reduce_scatter_block, reduce_scatter_block, IN(in), out + r->low, count, r->type, r->op, comm);
    results(r, out, count, 1);
    free(in);
    long all = 0;
    for (int m = 0; m < size; ++m) all += counts[m] = m % 3 == 1 ? 0 : count + m;
    in = operands(r, rank, all, 1);
    out = operands(r, rank, in_place ? all : counts[rank], in_place);
    CALL(nonblocking, Reduce_scatter, reduce_scatter, IN(in), out + r->low, counts, r->type, r->op, comm);
    results(r, out, counts[rank], 1);
    free(in);
  }
  free(counts);
}

typedef struct {
  predefined type;
  size_t size;
  MPI_Aint extent;
  int product;
} of_predefined;
static void fill_predefined(const void *of, unsigned char *to, int rank, long count) {
  const of_predefined *p = of;
  for (long i = 0; i < count; ++i) {
    const long v = p->product ? 1 + (rank + i) % 2 : (rank * 7 + i * 3) % 11;
    store(&p->type, to + i * p->extent, p->size, v, p->product ? 0 : (rank * 5 + i) % 9);
  }
}
static void received_predefined(const void *of, const unsigned char *b, long count) {
  const of_predefined *p = of;
  hash_elements(&p->type, b, p->extent, count);
}

/* By MPI_Reduce_local, which is MPI's own in any case. */
static int mpi_can(MPI_Datatype type, MPI_Op op) {
  unsigned char a[64] = {0}, b[64] = {0};
  return MPI_Reduce_local(a, b, 1, type, op) == MPI_SUCCESS;
}

static void predefined_reductions(void) {
  predefined types[64];
  operation operations[16];
  const int kinds = known_types(types), n = known_operations(operations);
  unsigned turn = 0;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  for (int t = 0; t < kinds; ++t) {
    int size = 0, used = 0;
    MPI_Aint lower, extent;
    char name[32];
    if (types[t].type == MPI_DATATYPE_NULL || MPI_Type_size(types[t].type, &size) != MPI_SUCCESS || size <= 0) continue;
    MPI_Type_get_extent(types[t].type, &lower, &extent);
    for (int o = 0; o < n; ++o) {
      if (!(operations[o].kinds >> types[t].kind & 1) || !mpi_can(types[t].type, operations[o].op)) continue;
      const of_predefined of = {types[t], (size_t)size, extent, operations[o].op == MPI_PROD};
      const reduction r = {types[t].type, operations[o].op, extent, 0, 0, 1, &of, fill_predefined, received_predefined};
      reductions(&r, 7, MPI_COMM_WORLD, turn % 2 ? 9 : 6); /* each call in two of its four forms */
      reductions(&r, turn % 2 ? 0 : 1, MPI_COMM_WORLD, 1u << turn % 4);
      reductions(&r, 1000, MPI_COMM_WORLD, 1u << turn / 2 % 4);
      ++turn, ++used;
    }
    if (used == 0) continue;
    snprintf(name, sizeof name, "%s", types[t].name + 4);
    section_ends(name);
  }
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  for (int t = 0; t < kinds; ++t) {
    if (types[t].type != MPI_INT && types[t].type != MPI_DOUBLE) continue;
    const of_predefined of = {types[t], t == 4 ? sizeof(int) : sizeof(double), t == 4 ? sizeof(int) : sizeof(double), 0};
    const reduction r = {types[t].type, MPI_SUM, of.extent, 0, 0, 1, &of, fill_predefined, received_predefined};
    reductions(&r, 40000, MPI_COMM_WORLD, 15);
  }
  section_ends("40000 numbers");
}

/* --- operations of the program ---------------------------------------------------------------------------------------------------------- */

/* Elements with two or four numbers somewhere. */
typedef struct {
  int numbers, product;
  MPI_Aint at[4], extent;
  size_t gap;
} element;
enum { PRIME = 10007 };

static void combine(const element *e, const unsigned char *in, unsigned char *inout, int count) {
  for (int i = 0; i < count; ++i, in += e->extent, inout += e->extent) {
    uint32_t x[4], y[4], z[4];
    for (int k = 0; k < e->numbers; ++k) memcpy(&x[k], in + e->at[k], 4), memcpy(&y[k], inout + e->at[k], 4);
    if (!e->product)
      for (int k = 0; k < e->numbers; ++k) z[k] = (x[k] + y[k]) % PRIME;
    else if (e->numbers == 4) /* matrices */
      for (int k = 0; k < 4; ++k) z[k] = (x[k / 2 * 2] * y[k % 2] + x[k / 2 * 2 + 1] * y[2 + k % 2]) % PRIME;
    else /* v -> a v + b */
      z[0] = x[0] * y[0] % PRIME, z[1] = (y[0] * x[1] + y[1]) % PRIME;
    for (int k = 0; k < e->numbers; ++k) memcpy(inout + e->at[k], &z[k], 4);
  }
}
static const element elements[] = {
    {4, 1, {0, 4, 8, 12}, 16, 0},  /* a matrix */
    {2, 1, {0, 4}, 8, 0},          /* a pair */
    {2, 1, {0, 8}, 16, 0},         /* with gaps */
    {2, 1, {12, 0}, 20, 0},        /* from behind, and with a larger extent */
    {2, 0, {0, 12}, 24, 0},        /* commutes */
    {4, 0, {0, 4, 8, 12}, 16, 0},  /* commutes, without gaps */
};
enum { ELEMENTS = sizeof elements / sizeof elements[0] };
#define COMBINES(n) \
  static void combine_##n(void *in, void *inout, int *count, MPI_Datatype *t) { (void)t, combine(&elements[n], in, inout, *count); }
COMBINES(0) COMBINES(1) COMBINES(2) COMBINES(3) COMBINES(4) COMBINES(5)

static void fill_element(const void *of, unsigned char *to, int rank, long count) {
  const element *e = of;
  for (long i = 0; i < count; ++i)
    for (int k = 0; k < e->numbers; ++k) memcpy(to + i * e->extent + e->at[k], &(uint32_t){(uint32_t)(1 + (rank * 31 + i * 7 + k * 3) % 97)}, 4);
}
static void received_element(const void *of, const unsigned char *b, long count) {
  const element *e = of;
  hash(b, (size_t)(count * e->extent));
}

static MPI_Datatype element_type(const element *e) {
  const int one[] = {1, 1, 1, 1};
  const MPI_Datatype of[] = {MPI_UNSIGNED, MPI_UNSIGNED, MPI_UNSIGNED, MPI_UNSIGNED};
  MPI_Datatype bare, t;
  MPI_Type_create_struct(e->numbers, one, e->at, of, &bare);
  MPI_Type_create_resized(bare, 0, e->extent, &t);
  MPI_Type_free(&bare);
  MPI_Type_commit(&t);
  return t;
}

static void own_operations(void) {
  MPI_User_function *const functions[] = {combine_0, combine_1, combine_2, combine_3, combine_4, combine_5};
  for (int k = 0; k < ELEMENTS; ++k) {
    const element *e = &elements[k];
    MPI_Datatype type = element_type(e);
    MPI_Op op;
    MPI_Op_create(functions[k], !e->product, &op);
    /* MPICH's memory is too short for operands with gaps that do not commute. */
    const int scatters = e->at[0] == 0 && e->extent == 4 * e->numbers;
    const reduction r = {type, op, e->extent, 0, 0, scatters, e, fill_element, received_element};
    reductions(&r, 0, MPI_COMM_WORLD, 1);
    reductions(&r, 1, MPI_COMM_WORLD, 15);
    reductions(&r, 7, MPI_COMM_WORLD, 15);
    reductions(&r, 1000, MPI_COMM_WORLD, 3);
    reductions(&r, 40000, MPI_COMM_WORLD, k % 2 ? 1 : 2);
    MPI_Op_free(&op);
    MPI_Type_free(&type);
  }
  section_ends("own operations");
}

/* --- derived types ------------------------------------------------------------------------------------------------------------------------ */

typedef struct {
  MPI_Datatype type;
  int n; /* ints in an element */
  MPI_Aint extent, low, high;
} derived;
enum { MOST_DERIVED = 32 };
static derived kinds[MOST_DERIVED];
static int kinds_count;

static void add_kind(MPI_Datatype t) {
  derived *d = &kinds[kinds_count++];
  int size;
  MPI_Aint lower, extent, length;
  MPI_Type_commit(&t);
  MPI_Type_size(t, &size);
  MPI_Type_get_extent(t, &lower, &extent);
  MPI_Type_get_true_extent(t, &lower, &length);
  *d = (derived){t, size / (int)sizeof(int), extent, lower, lower + length};
}

static void make_kinds(void) {
  MPI_Datatype t, u, v;
  const int lengths[] = {2, 0, 1}, places[] = {3, 2, 0}, sizes[] = {4, 5, 3}, parts[] = {2, 3, 2}, starts[] = {1, 1, 0};
  const MPI_Aint far[] = {16, 4, 0};
  const MPI_Datatype ints[] = {MPI_INT, MPI_INT, MPI_INT};
  kinds_count = 0;
  MPI_Type_dup(MPI_INT, &t), add_kind(t);
  MPI_Type_contiguous(3, MPI_INT, &t), add_kind(t);
  MPI_Type_vector(3, 2, 4, MPI_INT, &t), add_kind(t);
  MPI_Type_create_hvector(2, 1, 12, MPI_INT, &t), add_kind(t);
  MPI_Type_indexed(3, lengths, places, MPI_INT, &t), add_kind(t);
  MPI_Type_create_hindexed(3, lengths, far, MPI_INT, &t), add_kind(t);
  MPI_Type_create_indexed_block(3, 1, places, MPI_INT, &t), add_kind(t);
  MPI_Type_create_hindexed_block(2, 1, far, MPI_INT, &t), add_kind(t);
  MPI_Type_create_struct(3, lengths, far, ints, &t), add_kind(t);
  MPI_Type_create_subarray(3, sizes, parts, starts, MPI_ORDER_C, MPI_INT, &t), add_kind(t);
  MPI_Type_create_subarray(3, sizes, parts, starts, MPI_ORDER_FORTRAN, MPI_INT, &t), add_kind(t);
  {
    const int whole[] = {4, 6}, how[] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC}, what[] = {MPI_DISTRIBUTE_DFLT_DARG, 2}, grid[] = {2, 1};
    MPI_Type_create_darray(2, world_rank % 2, 2, whole, how, what, grid, MPI_ORDER_C, MPI_INT, &t), add_kind(t);
    MPI_Type_create_darray(2, world_rank % 2, 2, whole, how, what, grid, MPI_ORDER_FORTRAN, MPI_INT, &t), add_kind(t);
  }
  MPI_Type_create_resized(MPI_INT, 0, 12, &t), add_kind(t);
  MPI_Type_create_resized(MPI_INT, -8, 16, &t), add_kind(t); /* a lower bound below 0 */
  MPI_Type_vector(2, 1, 2, MPI_INT, &t); /* three deep */
  MPI_Type_create_resized(t, 0, 24, &u);
  MPI_Type_contiguous(2, u, &v), add_kind(v);
  MPI_Type_create_indexed_block(2, 1, places, u, &v), add_kind(v);
  MPI_Type_free(&t), MPI_Type_free(&u);
}
static void free_kinds(void) {
  for (int k = 0; k < kinds_count; ++k) MPI_Type_free(&kinds[k].type);
}

/* Memory for `count` elements of a kind, with the address to pass. */
typedef struct {
  unsigned char *memory, *at;
  size_t bytes;
} room;
static room make_room(const derived *d, long count, int fill) {
  const MPI_Aint before = d->low < 0 ? -d->low : 0, behind = d->high > d->extent ? d->high - d->extent : 0;
  room r = {NULL, NULL, (size_t)(before + count * d->extent + behind)};
  r.memory = buffer(r.bytes, fill), r.at = r.memory + before;
  return r;
}
/* Numbers that tell who made them. */
static void put(const derived *d, unsigned char *at, int count, int first) {
  int n = count * d->n, place = 0, *numbers = malloc(sizeof(int) * (size_t)(n + 1));
  for (int i = 0; i < n; ++i) numbers[i] = first + i;
  if (n > 0) MPI_Unpack(numbers, n * (int)sizeof(int), &place, at, count, d->type, MPI_COMM_SELF);
  free(numbers);
}
static void take(room r) {
  hash(r.memory, r.bytes + 64);
  free(r.memory);
}

/* `m` elements of `from` for each member, and as many ints as elements of `to`. */
static void exchange(const derived *from, const derived *to, int m, MPI_Comm comm, int nonblocking, int in_place) {
  int rank, size;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  const int sent = m * to->n, taken = m * from->n;
  const int mine = 1000 * (rank + 1);
  room in, out;
  if (nonblocking) in_place = 0;
  for (int root = 0; root < size; ++root) {
    const derived *d = rank == root ? from : to;
    out = make_room(d, rank == root ? sent : taken, 40);
    if (rank == root) put(d, out.at, sent, mine);
    CALL(nonblocking, Bcast, bcast, out.at, rank == root ? sent : taken, d->type, root, comm);
    take(out);

    in = make_room(from, sent, 1), out = make_room(to, (long)taken * size, 41);
    put(from, in.at, sent, mine);
    if (in_place && rank == root) put(to, out.at + (MPI_Aint)rank * taken * to->extent, taken, mine);
    CALL(nonblocking, Gather, gather, in_place && rank == root ? MPI_IN_PLACE : in.at, sent, from->type, out.at, taken, to->type, root, comm);
    take(out), free(in.memory);

    in = make_room(from, (long)sent * size, 2), out = make_room(to, taken, 42);
    put(from, in.at, sent * size, mine);
    CALL(nonblocking, Scatter, scatter, in.at, sent, from->type, in_place && rank == root ? MPI_IN_PLACE : out.at, taken, to->type, root, comm);
    take(out), take(in);
  }

  in = make_room(from, sent, 3), out = make_room(to, (long)taken * size, 43);
  put(from, in.at, sent, mine);
  if (in_place) put(to, out.at + (MPI_Aint)rank * taken * to->extent, taken, mine);
  CALL(nonblocking, Allgather, allgather, in_place ? MPI_IN_PLACE : in.at, sent, from->type, out.at, taken, to->type, comm);
  take(out), free(in.memory);

  in = make_room(from, (long)sent * size, 4), out = make_room(to, (long)taken * size, 44);
  put(from, in.at, sent * size, mine);
  if (in_place) put(to, out.at, taken * size, mine);
  CALL(nonblocking, Alltoall, alltoall, in_place ? MPI_IN_PLACE : in.at, sent, from->type, out.at, taken, to->type, comm);
  take(out), free(in.memory);
}

/* Blocks of unlike lengths: member k has k % 3 units, and between i and j go (i + j) % 3; they lie backwards, with gaps. */
static void unlike_exchange(const derived *from, const derived *to, int m, MPI_Comm comm, int nonblocking, int in_place) {
  int rank, size;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  int topology; /* with one, Open MPI 4.1.4 crashes in MPI_Ialltoallw */
  MPI_Topo_test(comm, &topology);
  const size_t n = (size_t)size;
  const int per_from = m * to->n, per_to = m * from->n, mine = 1000 * (rank + 1), gap = 10;
  int *sent = malloc(n * sizeof(int)), *taken = malloc(n * sizeof(int)), *from_at = malloc(n * sizeof(int)), *to_at = malloc(n * sizeof(int));
  MPI_Datatype *from_types = malloc(n * sizeof *from_types), *to_types = malloc(n * sizeof *to_types);
  if (nonblocking) in_place = 0;
  const long from_all = (long)(2 * per_from + gap) * size, to_all = (long)(2 * per_to + gap) * size;
  for (int k = 0; k < size; ++k) {
    sent[k] = k % 3 * per_from, taken[k] = k % 3 * per_to;
    from_at[k] = (2 * per_from + gap) * (size - 1 - k), to_at[k] = (2 * per_to + gap) * (size - 1 - k);
    from_types[k] = from->type, to_types[k] = to->type;
  }
  room in, out;
  for (int root = 0; root < size; ++root) {
    in = make_room(from, sent[rank], 5), out = make_room(to, to_all, 45);
    put(from, in.at, sent[rank], mine);
    if (in_place && rank == root) put(to, out.at + to_at[rank] * to->extent, taken[rank], mine);
    CALL(nonblocking, Gatherv, gatherv, in_place && rank == root ? MPI_IN_PLACE : in.at, sent[rank], from->type, out.at, taken, to_at, to->type, root, comm);
    take(out), free(in.memory);

    in = make_room(from, from_all, 6), out = make_room(to, taken[rank], 46);
    for (int k = 0; k < size; ++k) put(from, in.at + from_at[k] * from->extent, sent[k], mine + 100 * k);
    CALL(nonblocking, Scatterv, scatterv, in.at, sent, from_at, from->type, in_place && rank == root ? MPI_IN_PLACE : out.at, taken[rank], to->type, root, comm);
    take(out), take(in);
  }
  if (size > 1) { /* of one member, MPICH 4.0.2 gathers to no displacement */
    in = make_room(from, sent[rank], 7), out = make_room(to, to_all, 47);
    put(from, in.at, sent[rank], mine);
    if (in_place) put(to, out.at + to_at[rank] * to->extent, taken[rank], mine);
    CALL(nonblocking, Allgatherv, allgatherv, in_place ? MPI_IN_PLACE : in.at, sent[rank], from->type, out.at, taken, to_at, to->type, comm);
    take(out), free(in.memory);
  }
  for (int k = 0; k < size; ++k) sent[k] = (rank + k) % 3 * per_from, taken[k] = (rank + k) % 3 * per_to;
  for (int with_types = 0; with_types < 2; ++with_types) {
    in = make_room(from, from_all, 8), out = make_room(to, to_all, 48);
    for (int k = 0; k < size; ++k) {
      put(from, in.at + from_at[k] * (with_types ? 1 : from->extent), sent[k], mine + 100 * k);
      if (in_place) put(to, out.at + to_at[k] * (with_types ? 1 : to->extent), taken[k], mine + 100 * k);
    }
    if (!with_types) CALL(nonblocking, Alltoallv, alltoallv, in_place ? MPI_IN_PLACE : in.at, sent, from_at, from->type, out.at, taken, to_at, to->type, comm);
    else CALL(nonblocking && topology == MPI_UNDEFINED, Alltoallw, alltoallw, in_place ? MPI_IN_PLACE : in.at, sent, from_at, from_types, out.at, taken, to_at, to_types, comm);
    take(out), free(in.memory);
    for (int k = 0; k < size; ++k) from_at[k] *= (int)from->extent, to_at[k] *= (int)to->extent; /* from here in bytes */
  }
  free(sent), free(taken), free(from_at), free(to_at), free(from_types), free(to_types);
}

static void derived_types(void) {
  static const char *const names[] = {"dup", "contiguous", "vector", "hvector", "indexed", "hindexed", "indexed_block", "hindexed_block", "struct", "subarray",
                                      "subarray (Fortran)", "darray", "darray (Fortran)", "resized", "resized below 0", "three deep", "three deep, indexed"};
  make_kinds();
  for (int k = 0; k < kinds_count; ++k) {
    const derived *const others[] = {&kinds[k], &kinds[0], &kinds[(k + 5) % kinds_count]};
    for (int o = 0; o < 3; ++o)
      for (int form = 0; form < 3; ++form) { /* blocking, nonblocking, in place */
        exchange(&kinds[k], others[o], 1, MPI_COMM_WORLD, form == 1, form == 2);
        exchange(others[o], &kinds[k], form, MPI_COMM_WORLD, form == 1, form == 2);
        unlike_exchange(&kinds[k], others[o], 1, MPI_COMM_WORLD, form == 1, form == 2);
      }
    section_ends(names[k]);
  }
  exchange(&kinds[0], &kinds[1], 1000, MPI_COMM_WORLD, 0, 0);
  exchange(&kinds[2], &kinds[0], 1000, MPI_COMM_WORLD, 1, 0);
  exchange(&kinds[0], &kinds[0], 40000, MPI_COMM_WORLD, 0, 1);
  section_ends("long blocks");
  free_kinds();

  /* Unlike basic types in one, and pairs with gaps. */
  typedef struct {
    char c;
    double d;
    int i[3];
    short s;
  } mixed;
  const int lengths[] = {1, 1, 2, 1};
  const MPI_Aint at[] = {offsetof(mixed, c), offsetof(mixed, d), offsetof(mixed, i), offsetof(mixed, s)};
  const MPI_Datatype types[] = {MPI_CHAR, MPI_DOUBLE, MPI_INT, MPI_SHORT}, pairs[] = {MPI_DOUBLE_INT, MPI_SHORT_INT, MPI_LONG_INT, MPI_FLOAT_INT, MPI_LONG_DOUBLE_INT};
  MPI_Datatype bare, t;
  MPI_Type_create_struct(4, lengths, at, types, &bare);
  MPI_Type_create_resized(bare, 0, sizeof(mixed), &t);
  MPI_Type_commit(&t);
  for (int k = 0; k < 6; ++k) {
    MPI_Aint lower, extent;
    MPI_Datatype moved = k < 5 ? pairs[k] : t;
    MPI_Type_get_extent(moved, &lower, &extent);
    unsigned char *in = buffer((size_t)(7 * extent), 9 + world_rank), *out = buffer((size_t)(7 * world_size * extent), 77);
    MPI_Allgather(in, 7, moved, out, 7, moved, MPI_COMM_WORLD);
    MPI_Bcast(in, 7, moved, world_size - 1, MPI_COMM_WORLD);
    hash(in, (size_t)(7 * extent)), hash(out, (size_t)(7 * world_size * extent));
    free(in), free(out);
  }
  MPI_Type_free(&bare), MPI_Type_free(&t);
  section_ends("mixed and pairs");
}

/* --- communicators ------------------------------------------------------------------------------------------------------------------------ */

static void use(MPI_Comm comm) {
  int rank, size;
  if (comm == MPI_COMM_NULL) {
    hash_int(-1);
    return;
  }
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  hash_int(rank), hash_int(size);
  MPI_Barrier(comm);
  CALL(1, Barrier, barrier, comm);
  make_kinds();
  exchange(&kinds[2], &kinds[0], 2, comm, 0, 0);
  unlike_exchange(&kinds[0], &kinds[0], 2, comm, 1, 0);
  free_kinds();
  MPI_Datatype type = element_type(&elements[0]);
  MPI_Op op;
  MPI_Op_create(combine_0, 0, &op);
  const reduction r = {type, op, 16, 0, 0, 1, &elements[0], fill_element, received_element};
  reductions(&r, 5, comm, 3);
  MPI_Op_free(&op);
  MPI_Type_free(&type);
}
static void use_once(MPI_Comm comm) {
  use(comm);
  if (comm != MPI_COMM_NULL) MPI_Comm_free(&comm);
}

static void communicators(void) {
  MPI_Comm c, d;
  MPI_Group all, some;
  use(MPI_COMM_WORLD);
  use(MPI_COMM_SELF);
  MPI_Comm_dup(MPI_COMM_WORLD, &c), use_once(c);
  MPI_Comm_dup_with_info(MPI_COMM_WORLD, MPI_INFO_NULL, &c), use_once(c);
  MPI_Comm_idup(MPI_COMM_WORLD, &c, &request), end(), use_once(c);
  section_ends("dup");

  MPI_Comm_split(MPI_COMM_WORLD, 0, -world_rank, &c);
  MPI_Comm_split(c, world_rank % 2, 0, &d);
  MPI_Comm_free(&c);
  use_once(d);
  MPI_Comm_split(MPI_COMM_WORLD, world_rank % 3 == 1 ? MPI_UNDEFINED : world_rank % 3, 7, &c), use_once(c);
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, -world_rank, MPI_INFO_NULL, &c), use_once(c);
  MPI_Comm_split_type(MPI_COMM_WORLD, world_rank == 0 ? MPI_UNDEFINED : MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &c), use_once(c);
  section_ends("split");

  int *ranks = malloc(sizeof(int) * (size_t)world_size), n = 0;
  for (int k = world_size - 1; k >= 0; k -= 2) ranks[n++] = k;
  MPI_Comm_group(MPI_COMM_WORLD, &all);
  MPI_Group_incl(all, n, ranks, &some);
  MPI_Comm_create(MPI_COMM_WORLD, some, &c), use_once(c);
  c = MPI_COMM_NULL;
  int within;
  MPI_Group_rank(some, &within);
  if (within != MPI_UNDEFINED) MPI_Comm_create_group(MPI_COMM_WORLD, some, 5, &c);
  use_once(c);
  MPI_Group_free(&all), MPI_Group_free(&some);
  free(ranks);
  section_ends("create");

  const int sizes[] = {world_size >= 4 ? 2 : 1, world_size >= 4 ? world_size / 2 : world_size}, periods[] = {0, 1}, remain[] = {0, 1}, other[] = {1, 0};
  MPI_Cart_create(MPI_COMM_WORLD, 2, sizes, periods, 0, &c);
  use(c);
  if (c != MPI_COMM_NULL) {
    MPI_Cart_sub(c, remain, &d), use_once(d);
    MPI_Cart_sub(c, other, &d), use_once(d);
    MPI_Comm_free(&c);
  }
  int *index = malloc(sizeof(int) * (size_t)world_size), *edges = malloc(sizeof(int) * (size_t)world_size);
  for (int k = 0; k < world_size; ++k) index[k] = k + 1, edges[k] = (k + 1) % world_size;
  MPI_Graph_create(MPI_COMM_WORLD, world_size, index, edges, 0, &c), use_once(c);
  int unweighted[1] = {1};
  const int right = (world_rank + 1) % world_size, left = (world_rank + world_size - 1) % world_size, one = 1;
  MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &world_rank, &one, &right, unweighted, MPI_INFO_NULL, 0, &c), use_once(c);
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &left, unweighted, 1, &right, unweighted, MPI_INFO_NULL, 0, &c);
  use_once(c);
  free(index), free(edges);
  section_ends("topologies");
}

/* --- neighbours ---------------------------------------------------------------------------------------------------------------------- */

enum { EACH = 3, GAP = 2 };
/* Of `sources` and `destinations`, of which MPI_PROC_NULL gives and takes nothing. */
static void of_neighbors(MPI_Comm c, int in_degree, const int *sources, int out_degree, const int *destinations) {
  MPI_Datatype spread;
  MPI_Type_vector(EACH, 1, GAP, MPI_INT, &spread);
  MPI_Type_commit(&spread);
  const size_t ints = (size_t)(in_degree + out_degree + 1) * EACH * GAP * 4;
  int *in = malloc(ints * sizeof(int)), *out = malloc(ints * sizeof(int)), lists[4][32];
  MPI_Aint far[2][32];
  MPI_Datatype types[2][32];
  for (int nonblocking = 0; nonblocking < 2; ++nonblocking) {
#define AGAIN()                                                                                             \
  do {                                                                                                      \
    hash(out, ints * sizeof(int));                                                                          \
    for (size_t i = 0; i < ints; ++i) in[i] = 1000 * world_rank + (int)i, out[i] = -7 - (int)i;             \
  } while (0)
    for (size_t i = 0; i < ints; ++i) out[i] = 0;
    AGAIN();
    CALL(nonblocking, Neighbor_allgather, neighbor_allgather, in, EACH, MPI_INT, out, EACH, MPI_INT, c);
    AGAIN();
    CALL(nonblocking, Neighbor_allgather, neighbor_allgather, in, 1, spread, out, EACH, MPI_INT, c);
    AGAIN();
    CALL(nonblocking, Neighbor_alltoall, neighbor_alltoall, in, EACH, MPI_INT, out, EACH, MPI_INT, c);
    AGAIN();
    CALL(nonblocking, Neighbor_alltoall, neighbor_alltoall, in, EACH, MPI_INT, out, 1, spread, c);
    AGAIN();
    /* From the last to the first; as many as the ranks' numbers together tell. */
    for (int i = 0; i < in_degree; ++i) lists[0][i] = sources[i] < 0 ? 1 : (sources[i] + world_rank) % (EACH + 1), lists[1][i] = (in_degree - 1 - i) * EACH;
    for (int i = 0; i < out_degree; ++i) lists[2][i] = destinations[i] < 0 ? 1 : (destinations[i] + world_rank) % (EACH + 1), lists[3][i] = (out_degree - 1 - i) * EACH;
    CALL(nonblocking, Neighbor_alltoallv, neighbor_alltoallv, in, lists[2], lists[3], MPI_INT, out, lists[0], lists[1], MPI_INT, c);
    AGAIN();
    for (int i = 0; i < in_degree; ++i) lists[0][i] = sources[i] < 0 ? 1 : sources[i] % EACH;
    CALL(nonblocking, Neighbor_allgatherv, neighbor_allgatherv, in, world_rank % EACH, MPI_INT, out, lists[0], lists[1], MPI_INT, c);
    AGAIN();
    /* As a halo is exchanged: every other block of one array goes, and the ones between are filled. */
    for (int i = 0; i < in_degree; ++i) lists[0][i] = i % 2 ? EACH : 1, far[0][i] = (2 * i + 1) * (MPI_Aint)sizeof(int) * EACH * GAP, types[0][i] = i % 2 ? MPI_INT : spread;
    for (int i = 0; i < out_degree; ++i) lists[2][i] = EACH, far[1][i] = 2 * i * (MPI_Aint)sizeof(int) * EACH * GAP, types[1][i] = MPI_INT;
    CALL(nonblocking, Neighbor_alltoallw, neighbor_alltoallw, in, lists[2], far[1], types[1], in, lists[0], far[0], types[0], c);
    hash(in, ints * sizeof(int));
#undef AGAIN
  }
  free(in), free(out);
  MPI_Type_free(&spread);
}

static void neighborhoods(void) {
  MPI_Comm c;
  int sources[32], destinations[32], unweighted[32];
  for (int i = 0; i < 32; ++i) unweighted[i] = 1;
  for (int dimensions = 1; dimensions <= 2; ++dimensions)
    for (int periodic = 0; periodic < 2; ++periodic) {
      int sizes[2] = {0, 0}, periods[2] = {periodic, 0};
      MPI_Dims_create(world_size, dimensions, sizes);
      /* A block that a rank sends itself, or two between the same two ranks: which is which the MPIs do not agree on. */
      if (periodic && sizes[0] < 3) continue;
      MPI_Cart_create(MPI_COMM_WORLD, dimensions, sizes, periods, 0, &c);
      for (int d = 0; d < dimensions; ++d) MPI_Cart_shift(c, d, 1, &sources[2 * d], &sources[2 * d + 1]);
      of_neighbors(c, 2 * dimensions, sources, 2 * dimensions, sources);
      MPI_Comm_free(&c);
    }
  /* Each gives to some that follow it, itself among them, others than give to it. */
  for (int most = 0; most < 4; ++most) {
    int in = 0, out = 0;
    for (int r = 0; r < world_size; ++r) {
      const int ahead = (r - world_rank + world_size) % world_size, behind = (world_rank - r + world_size) % world_size;
      if (ahead < (world_rank + most) % 3) destinations[out++] = r;
      if (behind < (r + most) % 3) sources[in++] = r;
    }
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, in, sources, unweighted, out, destinations, unweighted, MPI_INFO_NULL, 0, &c);
    of_neighbors(c, in, sources, out, destinations);
    MPI_Comm_free(&c);
  }
  if (world_size > 2) {
    int *index = malloc(sizeof(int) * (size_t)world_size), *edges = malloc(2 * sizeof(int) * (size_t)world_size);
    for (int k = 0; k < world_size; ++k) index[k] = 2 * (k + 1), edges[2 * k] = (k + 1) % world_size, edges[2 * k + 1] = (k + world_size - 1) % world_size;
    MPI_Graph_create(MPI_COMM_WORLD, world_size, index, edges, 0, &c);
    of_neighbors(c, 2, &edges[2 * world_rank], 2, &edges[2 * world_rank]);
    MPI_Comm_free(&c);
    free(index), free(edges);
  }
  section_ends("neighbours");
}

/* Between the ranks of even and of odd numbers. */
static void between_groups(void) {
  MPI_Comm half, c, merged;
  if (world_size < 2) return;
  const int odd = world_rank % 2;
  int rank, others;
  MPI_Comm_split(MPI_COMM_WORLD, odd, 0, &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, odd ? 0 : 1, 9, &c);
  MPI_Comm_rank(c, &rank);
  MPI_Comm_remote_size(c, &others);
  const int root = !odd ? (rank == 0 ? MPI_ROOT : MPI_PROC_NULL) : 0;
  int *in = malloc(sizeof(int) * 4 * (size_t)(others + 1)), *out = malloc(sizeof(int) * 4 * (size_t)(others + 1));
  for (int nonblocking = 0; nonblocking < 2; ++nonblocking) {
#define AGAIN()                                                                                \
  do {                                                                                         \
    hash(out, sizeof(int) * 4 * (size_t)(others + 1));                                         \
    for (int i = 0; i < 4 * (others + 1); ++i) in[i] = 100 * world_rank + i, out[i] = -7 - i;  \
  } while (0)
    for (int i = 0; i < 4 * (others + 1); ++i) out[i] = 0;
    AGAIN();
    CALL(nonblocking, Barrier, barrier, c);
    CALL(nonblocking, Bcast, bcast, odd ? out : in, 4, MPI_INT, root, c);
    AGAIN();
    CALL(nonblocking, Allreduce, allreduce, in, out, 4, MPI_INT, MPI_SUM, c);
    AGAIN();
    CALL(nonblocking, Reduce, reduce, in, out, 4, MPI_INT, MPI_MAX, root, c);
    AGAIN();
    CALL(nonblocking, Gather, gather, in, 4, MPI_INT, out, 4, MPI_INT, root, c);
    AGAIN();
    CALL(nonblocking, Scatter, scatter, in, 4, MPI_INT, out, 4, MPI_INT, root, c);
    AGAIN();
    CALL(nonblocking, Allgather, allgather, in, 4, MPI_INT, out, 4, MPI_INT, c);
    AGAIN();
    CALL(nonblocking, Alltoall, alltoall, in, 4, MPI_INT, out, 4, MPI_INT, c);
    AGAIN();
  }
  MPI_Intercomm_merge(c, odd, &merged);
  use_once(merged);
  MPI_Comm_free(&c);
  MPI_Comm_free(&half);
  free(in), free(out);
  section_ends("between groups");
}

/* --- several under way ---------------------------------------------------------------------------------------------------------------------- */

static void several_under_way(void) {
  enum { CALLS = 12, COUNT = 500 };
  MPI_Comm c[3];
  MPI_Comm_dup(MPI_COMM_WORLD, &c[0]);
  MPI_Comm_split(MPI_COMM_WORLD, 0, -world_rank, &c[1]);
  MPI_Comm_split(MPI_COMM_WORLD, world_rank % 2, 0, &c[2]);
  for (int round = 0; round < 10; ++round) {
    MPI_Request r[CALLS];
    MPI_Status statuses[CALLS];
    int *in[CALLS], *out[CALLS], size[CALLS];
    for (int k = 0; k < CALLS; ++k) {
      MPI_Comm on = c[k % 3];
      int rank;
      MPI_Comm_size(on, &size[k]);
      MPI_Comm_rank(on, &rank);
      in[k] = malloc(sizeof(int) * COUNT * (size_t)size[k]), out[k] = malloc(sizeof(int) * COUNT * (size_t)size[k]);
      for (int i = 0; i < COUNT * size[k]; ++i) in[k][i] = world_rank * 1000 + i * (k + 1), out[k][i] = -1;
      switch (k % 8) {
        case 0: MPI_Iallreduce(in[k], out[k], COUNT, MPI_INT, MPI_SUM, on, &r[k]); break;
        case 1: MPI_Ialltoall(in[k], COUNT, MPI_INT, out[k], COUNT, MPI_INT, on, &r[k]); break;
        case 2: MPI_Ibcast(rank == round % size[k] ? in[k] : out[k], COUNT, MPI_INT, round % size[k], on, &r[k]); break;
        case 3: MPI_Iscan(in[k], out[k], COUNT, MPI_INT, MPI_MAX, on, &r[k]); break;
        case 4: MPI_Iallgather(in[k], COUNT, MPI_INT, out[k], COUNT, MPI_INT, on, &r[k]); break;
        case 5: MPI_Igather(in[k], COUNT, MPI_INT, out[k], COUNT, MPI_INT, (round + 1) % size[k], on, &r[k]); break;
        case 6: MPI_Ireduce(in[k], out[k], COUNT, MPI_INT, MPI_MIN, 0, on, &r[k]); break;
        default: MPI_Ibarrier(on, &r[k]);
      }
      if (k == 6) MPI_Barrier(on); /* a blocking one among them */
    }
    if ((round + world_rank) % 3 == 0) {
      MPI_Waitall(CALLS, r, statuses);
    } else if ((round + world_rank) % 3 == 1) {
      for (int left = CALLS, k; left > 0; --left) MPI_Waitany(CALLS, r, &k, MPI_STATUS_IGNORE);
    } else {
      for (int k = CALLS - 1; k >= 0; --k)
        for (int done = 0; !done;) MPI_Test(&r[k], &done, MPI_STATUS_IGNORE);
    }
    for (int k = 0; k < CALLS; ++k) {
      hash(out[k], sizeof(int) * COUNT * (size_t)size[k]);
      hash_int(r[k] == MPI_REQUEST_NULL);
      free(in[k]), free(out[k]);
    }
  }
  for (int k = 0; k < 3; ++k) MPI_Comm_free(&c[k]);
  section_ends("several under way");
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &world_size);
  predefined_reductions();
  own_operations();
  derived_types();
  communicators();
  neighborhoods();
  between_groups();
  several_under_way();
  MPI_Finalize();
  return 0;
}

/* Collectives at random, each compared with a sequential model. Usage: random_collectives [SEED [STEPS]].
 *
 * All ranks draw the same calls from the seed: the communicator, the function, blocking or not, in place or not, root, lengths and
 * types. What a member sends follows from the step and its rank, so each rank knows what it is to receive, and makes an image of its
 * receive buffer, gaps included. Several nonblocking calls may be under way; each rank ends them in an order of its own. Types are
 * nested at random, and sender and receiver may use different types of the same signature. Floating-point numbers are small integers, so
 * that sums are exact in any order. */
#include <dlfcn.h>
#include <mpi.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_RANKS = 64, MOST_UNDER_WAY = 8, FAMILIES = 7, SHAPES = 14, MOST_ENTRIES = 24 };

static int world_rank, world_size;
static unsigned long long seed = 1;
static long step;
static const char *doing = "MPI_Init";
static int ignored_count, usable_shapes;
static MPI_Datatype ignored_type;
static int by_tutti; /* a few calls fail in MPI itself, and are made only where tutti takes them */

static void die(const char *what) {
  fprintf(stderr, "random_collectives: seed %llu, %d ranks, rank %d, step %ld, %s: %s\n", seed, world_size, world_rank, step, doing, what);
  fflush(stderr);
  MPI_Abort(MPI_COMM_WORLD, 1);
  exit(1);
}

static void on_error(MPI_Comm *comm, int *code, ...) {
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  (void)comm;
  MPI_Error_string(*code, text, &length);
  die(text);
}

static void *allocate(size_t bytes) {
  void *p = malloc(bytes ? bytes : 1);
  if (!p) die("out of memory");
  return p;
}

/* --- numbers at random ------------------------------------------------------------------------------------------------------------- */

static uint64_t mix(uint64_t x) {
  x += 0x9E3779B97F4A7C15u;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

typedef struct {
  uint64_t state;
} source;
static source alike, own; /* the same in all ranks; this rank's */

static int draw(source *s, int below) {
  s->state += 0x9E3779B97F4A7C15u;
  return (int)(mix(s->state) % (uint64_t)below);
}

/* --- types --------------------------------------------------------------------------------------------------------------------------- */

/* A type of `n` equal basic elements, and where they lie. */
typedef struct {
  MPI_Datatype type;
  int n;
  ptrdiff_t at[MOST_ENTRIES];
  ptrdiff_t extent, low, high; /* the elements lie in [low, high) */
} shape;

static const size_t base_bytes[] = {1, 2, 4, 8};
enum { BASES = 4 };
static shape shapes[BASES][SHAPES];

static MPI_Datatype base_type(int base) {
  const MPI_Datatype t[] = {MPI_BYTE, MPI_SHORT, MPI_INT, MPI_DOUBLE};
  return t[base];
}

static void add_elements(shape *to, const shape *of, ptrdiff_t offset, int count) {
  for (int i = 0; i < count; ++i)
    for (int e = 0; e < of->n; ++e) {
      if (to->n < MOST_ENTRIES) to->at[to->n] = offset + i * of->extent + of->at[e];
      ++to->n;
    }
}

/* Do elements overlap, within one or between those that follow each other? */
static int overlaps(const shape *s, size_t bytes) {
  int copies = (int)((s->high - s->low) / s->extent) + 2;
  for (int c = 0; c < copies; ++c)
    for (int a = 0; a < s->n; ++a)
      for (int b = c == 0 ? a + 1 : 0; b < s->n; ++b) {
        ptrdiff_t d = s->at[a] - (s->at[b] + c * s->extent);
        if (d < (ptrdiff_t)bytes && d > -(ptrdiff_t)bytes) return 1;
      }
  return 0;
}

/* Completes what a constructor made. 0: not fit for use, and freed. */
static int accept_shape(shape *s, size_t bytes) {
  MPI_Aint lower, extent;
  MPI_Type_get_extent(s->type, &lower, &extent);
  s->extent = extent;
  int good = s->n > 0 && s->n <= MOST_ENTRIES && extent > 0 && extent < 4096;
  if (good) {
    s->low = s->high = s->at[0];
    for (int e = 0; e < s->n; ++e) {
      if (s->at[e] < s->low) s->low = s->at[e];
      if (s->at[e] + (ptrdiff_t)bytes > s->high) s->high = s->at[e] + (ptrdiff_t)bytes;
    }
    good = (s->high - s->low) / extent < 16 && !overlaps(s, bytes);
  }
  if (!good) MPI_Type_free(&s->type);
  return good;
}

static void make_array(shape *s, const shape *of) {
  int sizes[3], parts[3], starts[3], dimensions = 1 + draw(&alike, 3), c_order = draw(&alike, 2), stride[3], index[3];
  for (int d = 0; d < dimensions; ++d) sizes[d] = 1 + draw(&alike, 3), parts[d] = 1 + draw(&alike, sizes[d]), starts[d] = draw(&alike, sizes[d] - parts[d] + 1);
  MPI_Type_create_subarray(dimensions, sizes, parts, starts, c_order ? MPI_ORDER_C : MPI_ORDER_FORTRAN, of->type, &s->type);
  for (int k = 0, all = 1; k < dimensions; ++k) {
    int d = c_order ? dimensions - 1 - k : k;
    stride[d] = all, all *= sizes[d], index[d] = 0;
  }
  for (;;) {
    int at = 0, k = 0;
    for (int d = 0; d < dimensions; ++d) at += (starts[d] + index[d]) * stride[d];
    add_elements(s, of, at * of->extent, 1);
    for (; k < dimensions; ++k) {
      int d = c_order ? dimensions - 1 - k : k;
      if (++index[d] < parts[d]) break;
      index[d] = 0;
    }
    if (k == dimensions) return;
  }
}

/* Rows of a matrix in blocks or in turn. */
static void make_distributed(shape *s, const shape *of) {
  int columns = 1 + draw(&alike, 2), sizes[] = {4, columns}, processes[] = {2, 1}, rank = draw(&alike, 2), in_turn = draw(&alike, 2);
  int kinds[] = {in_turn ? MPI_DISTRIBUTE_CYCLIC : MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_NONE};
  int arguments[] = {MPI_DISTRIBUTE_DFLT_DARG, MPI_DISTRIBUTE_DFLT_DARG};
  MPI_Type_create_darray(2, rank, 2, sizes, kinds, arguments, processes, MPI_ORDER_C, of->type, &s->type);
  for (int row = 0; row < 4; ++row)
    if (in_turn ? row % 2 == rank : row / 2 == rank) add_elements(s, of, row * columns * of->extent, columns);
}

/* A constructor at random, upon `of`. */
static void construct(shape *s, const shape *of, size_t bytes) {
  int lengths[3], places[3], n = 1 + draw(&alike, 3), block = 1 + draw(&alike, 2), stride = block + draw(&alike, 3);
  MPI_Aint far[3];
  MPI_Datatype types[3];
  ptrdiff_t gap = (ptrdiff_t)bytes * draw(&alike, 3), x = of->extent;
  s->n = 0;
  for (int i = 0; i < n; ++i) {
    lengths[i] = draw(&alike, 3);
    places[i] = 4 * ((i + 1) % n) + draw(&alike, 2);
    far[i] = places[i] * x + gap;
    types[i] = of->type;
  }
  switch (draw(&alike, 12)) {
    case 0:
      MPI_Type_contiguous(n, of->type, &s->type);
      add_elements(s, of, 0, n);
      break;
    case 1:
      if (draw(&alike, 4) == 0) stride = -stride;
      MPI_Type_vector(n, block, stride, of->type, &s->type);
      for (int i = 0; i < n; ++i) add_elements(s, of, i * stride * x, block);
      break;
    case 2:
      MPI_Type_create_hvector(n, block, stride * x + gap, of->type, &s->type);
      for (int i = 0; i < n; ++i) add_elements(s, of, i * (stride * x + gap), block);
      break;
    case 3:
      MPI_Type_indexed(n, lengths, places, of->type, &s->type);
      for (int i = 0; i < n; ++i) add_elements(s, of, places[i] * x, lengths[i]);
      break;
    case 4:
      MPI_Type_create_hindexed(n, lengths, far, of->type, &s->type);
      for (int i = 0; i < n; ++i) add_elements(s, of, far[i], lengths[i]);
      break;
    case 5:
      MPI_Type_create_indexed_block(n, block, places, of->type, &s->type);
      for (int i = 0; i < n; ++i) add_elements(s, of, places[i] * x, block);
      break;
    case 6:
      MPI_Type_create_hindexed_block(n, block, far, of->type, &s->type);
      for (int i = 0; i < n; ++i) add_elements(s, of, far[i], block);
      break;
    case 7:
      MPI_Type_create_struct(n, lengths, far, types, &s->type);
      for (int i = 0; i < n; ++i) add_elements(s, of, far[i], lengths[i]);
      break;
    case 8: make_array(s, of); break;
    case 9: make_distributed(s, of); break;
    case 10: {
      MPI_Aint lower = -(MPI_Aint)bytes * draw(&alike, 3);
      MPI_Type_create_resized(of->type, lower, x + (ptrdiff_t)bytes * draw(&alike, 4), &s->type);
      add_elements(s, of, 0, 1);
      break;
    }
    default:
      MPI_Type_dup(of->type, &s->type);
      add_elements(s, of, 0, 1);
  }
}

/* Does MPI itself move the type rightly? Some that MPICH 4.0 is given it does not; tutti shares none of its code for them. */
static int mpi_moves(shape *s, size_t bytes) {
  enum { COUNT = 5, SPAN = 4096 * (COUNT + 20) };
  unsigned char *from = allocate(2 * SPAN), *to = allocate(2 * SPAN), *packed = allocate(COUNT * MOST_ENTRIES * 8 + 64);
  int place = 0, good = 1;
  for (size_t i = 0; i < 2 * SPAN; ++i) from[i] = (unsigned char)(mix(i) >> 7), to[i] = 0;
  MPI_Type_commit(&s->type);
  MPI_Pack(from + SPAN, COUNT, s->type, packed, COUNT * MOST_ENTRIES * 8 + 64, &place, MPI_COMM_SELF);
  good = place == COUNT * s->n * (int)bytes;
  for (int i = 0; i < COUNT * s->n && good; ++i)
    good = memcmp(packed + i * (int)bytes, from + SPAN + i / s->n * s->extent + s->at[i % s->n], bytes) == 0;
  const int length = place;
  place = 0;
  MPI_Unpack(packed, length, &place, to + SPAN, COUNT, s->type, MPI_COMM_SELF);
  for (int i = 0; i < COUNT * s->n && good; ++i) {
    unsigned char *const element = to + SPAN + i / s->n * s->extent + s->at[i % s->n];
    good = memcmp(packed + i * (int)bytes, element, bytes) == 0;
    memset(element, 0, bytes);
  }
  for (size_t i = 0; i < 2 * SPAN && good; ++i) good = to[i] == 0;
  free(from), free(to), free(packed);
  return good;
}

static void make_shapes(void) {
  for (int base = 0; base < BASES; ++base) {
    const size_t bytes = base_bytes[base];
    const shape basic = {base_type(base), 1, {0}, (ptrdiff_t)bytes, 0, (ptrdiff_t)bytes};
    shapes[base][0] = basic;
    for (int i = 1; i < SHAPES; ++i) {
      shape s = basic;
      int levels = 1 + draw(&alike, 4);
      for (int level = 0, tries = 0; level < levels && tries < 100; ++tries) {
        shape next;
        construct(&next, &s, bytes);
        if (!accept_shape(&next, bytes)) continue;
        if (level++ > 0) MPI_Type_free(&s.type); /* what was made of it stays */
        s = next;
      }
      if (!mpi_moves(&s, bytes)) {
        MPI_Type_free(&s.type);
        --i;
        continue;
      }
      shapes[base][i] = s;
    }
  }
}

static void free_shapes(void) {
  for (int base = 0; base < BASES; ++base)
    for (int i = 1; i < SHAPES; ++i) MPI_Type_free(&shapes[base][i].type);
}

/* --- buffers ------------------------------------------------------------------------------------------------------------------------- */

typedef struct {
  unsigned char *memory, *image; /* what is there, and what is to be there in the end */
  unsigned char *skip;           /* bytes that may be anything, or null */
  size_t bytes;
  ptrdiff_t base; /* where in memory the address lies that MPI is given */
} buffer;

static buffer make_buffer(ptrdiff_t low, ptrdiff_t high) {
  if (low > 0) low = 0;
  if (high < 0) high = 0;
  buffer b = {NULL, NULL, NULL, (size_t)(high - low) + 32, 16 + (-low + 15) / 16 * 16};
  b.bytes += 16;
  b.memory = allocate(b.bytes), b.image = allocate(b.bytes);
  static unsigned fill; /* gaps of one buffer are unlike those of another */
  const unsigned first = fill += 41;
  for (size_t i = 0; i < b.bytes; ++i) b.memory[i] = b.image[i] = (unsigned char)(first + 7 * i);
  return b;
}
static buffer make_buffer_of(const shape *s, ptrdiff_t count) {
  return make_buffer(s->low < 0 ? s->low : 0, count * s->extent + (s->high > s->extent ? s->high - s->extent : 0));
}
static void *address(buffer *b) { return b->memory ? b->memory + b->base : NULL; }

/* Basic element i of what member `from` has for member `to`. */
static uint64_t element(int from, int to, size_t i) { return mix((uint64_t)step << 32 ^ (uint64_t)from << 48 ^ (uint64_t)to << 56 ^ seed << 20 ^ i); }

/* The first `count` elements of a type, from where a block lies. Written to the image, and also to memory if the program puts it there. */
static void put(buffer *b, const shape *s, size_t bytes, ptrdiff_t offset, int count, int from, int to, int now) {
  size_t i = 0;
  for (int c = 0; c < count; ++c)
    for (int e = 0; e < s->n; ++e, ++i) {
      uint64_t v = element(from, to, i);
      ptrdiff_t at = b->base + offset + c * s->extent + s->at[e];
      memcpy(b->image + at, &v, bytes);
      if (now) memcpy(b->memory + at, &v, bytes);
    }
}

static void check(buffer *b, const char *which) {
  if (!b->memory) return;
  for (size_t i = 0; i < b->bytes; ++i)
    if (b->memory[i] != b->image[i] && !(b->skip && b->skip[i])) {
      char text[160];
      size_t wrong = 0;
      for (size_t k = i; k < b->bytes; ++k) wrong += b->memory[k] != b->image[k] && !(b->skip && b->skip[k]);
      snprintf(text, sizeof text, "%s: byte %td of %zu is %u instead of %u (%zu wrong bytes)", which, (ptrdiff_t)i - b->base, b->bytes, b->memory[i], b->image[i], wrong);
      die(text);
    }
}
static void free_buffer(buffer *b) { free(b->memory), free(b->image), free(b->skip); }

/* --- communicators ------------------------------------------------------------------------------------------------------------------- */

/* Communicators of one call, in which each rank has at most one. */
typedef struct {
  MPI_Comm comm;
  int rank, size;
  uint64_t color; /* alike in its members */
} family;
static family families[FAMILIES];

static void set_family(int f, MPI_Comm comm, uint64_t color) {
  families[f].comm = comm, families[f].color = color;
  if (comm != MPI_COMM_NULL) MPI_Comm_rank(comm, &families[f].rank), MPI_Comm_size(comm, &families[f].size);
}

static void make_family(int f) {
  MPI_Comm c;
  int from = f == 0 ? 0 : draw(&alike, f), kind = draw(&alike, 5), pieces = 1 + draw(&alike, 3);
  family *parent = &families[from];
  uint64_t color = mix(parent->color + (uint64_t)f);
  doing = "making communicators";
  if (f == 0) {
    MPI_Comm_dup(MPI_COMM_WORLD, &c);
    set_family(f, c, 0);
  } else if (parent->comm == MPI_COMM_NULL) {
    set_family(f, MPI_COMM_NULL, 0);
  } else if (kind == 0) {
    MPI_Comm_dup(parent->comm, &c);
    set_family(f, c, color);
  } else if (kind == 1) { /* from the last to the first */
    MPI_Comm_split(parent->comm, 0, -parent->rank, &c);
    set_family(f, c, color);
  } else if (kind == 2) { /* all but one */
    MPI_Group all, some;
    const int out = (int)(mix(color) % (uint64_t)parent->size);
    MPI_Comm_group(parent->comm, &all);
    MPI_Group_excl(all, 1, &out, &some);
    MPI_Comm_create(parent->comm, some, &c);
    MPI_Group_free(&all), MPI_Group_free(&some);
    set_family(f, c, color);
  } else { /* in several */
    int mine = (int)(mix(color ^ (uint64_t)parent->rank << 8) % (uint64_t)pieces);
    MPI_Comm_split(parent->comm, kind == 3 && mine == 1 ? MPI_UNDEFINED : mine, (int)(mix(color ^ (uint64_t)parent->rank) % 5), &c);
    set_family(f, c, mix(color + 1 + (uint64_t)mine));
  }
}

static void free_family(int f) {
  if (families[f].comm != MPI_COMM_NULL) MPI_Comm_free(&families[f].comm);
}

/* --- reductions ---------------------------------------------------------------------------------------------------------------------- */

/* Operands are pairs of numbers, of which most types have the first alone. */
typedef struct {
  int64_t a, b;
} operand;
typedef enum { SUM, PROD, MAX, MIN, LAND, LOR, LXOR, BAND, BOR, BXOR, MINLOC, MAXLOC, COMPOSE } action;
enum { NUMBERS = 1 << SUM | 1 << PROD | 1 << MAX | 1 << MIN, BITS = 1 << BAND | 1 << BOR | 1 << BXOR, TRUTHS = 1 << LAND | 1 << LOR | 1 << LXOR, PLACES = 1 << MINLOC | 1 << MAXLOC };

typedef enum { I8, U8, I16, I32, U32, I64, U64, F32, F64, C32, C64, F64_INT, I16_INT, INT_INT, PAIR, PAIR_WITH_GAP, PAIR_APART } format;
/* How operands lie: for PAIR..., of the function below. */
typedef struct {
  format as;
  unsigned actions;
  size_t extent, a, a_bytes, b, b_bytes; /* places in the element, and lengths */
} reduced;
static const reduced reduced_types[] = {
    {I8, NUMBERS | BITS | TRUTHS, 1, 0, 1, 0, 0}, {U8, NUMBERS | BITS | TRUTHS, 1, 0, 1, 0, 0}, {I16, NUMBERS | BITS | TRUTHS, 2, 0, 2, 0, 0},
    {I32, NUMBERS | BITS | TRUTHS, 4, 0, 4, 0, 0}, {U32, NUMBERS | BITS | TRUTHS, 4, 0, 4, 0, 0}, {I64, NUMBERS | BITS | TRUTHS, 8, 0, 8, 0, 0},
    {U64, NUMBERS | BITS | TRUTHS, 8, 0, 8, 0, 0}, {F32, NUMBERS, 4, 0, 4, 0, 0}, {F64, NUMBERS, 8, 0, 8, 0, 0},
    {C32, 1 << SUM, 8, 0, 4, 4, 4}, {C64, 1 << SUM, 16, 0, 8, 8, 8},
    {F64_INT, PLACES, sizeof(struct { double d; int i; }), 0, 8, 8, 4}, {I16_INT, PLACES, sizeof(struct { short s; int i; }), 0, 2, 4, 4},
    {INT_INT, PLACES, 8, 0, 4, 4, 4},
    {PAIR, 1 << COMPOSE, 8, 0, 4, 4, 4}, {PAIR_WITH_GAP, 1 << COMPOSE, 16, 0, 4, 8, 4}, {PAIR_APART, 1 << COMPOSE, 20, 12, 4, 4, 4}};
enum { REDUCED = sizeof reduced_types / sizeof reduced_types[0], MODULUS = 32749 };

static MPI_Datatype pair_types[3];
static MPI_Op pair_operations[3];

static MPI_Datatype reduced_type(format f) {
  switch (f) {
    case I8: return MPI_SIGNED_CHAR;
    case U8: return MPI_UNSIGNED_CHAR;
    case I16: return MPI_SHORT;
    case I32: return MPI_INT;
    case U32: return MPI_UNSIGNED;
    case I64: return MPI_LONG;
    case U64: return MPI_UINT64_T;
    case F32: return MPI_FLOAT;
    case F64: return MPI_DOUBLE;
    case C32: return MPI_C_FLOAT_COMPLEX;
    case C64: return MPI_C_DOUBLE_COMPLEX;
    case F64_INT: return MPI_DOUBLE_INT;
    case I16_INT: return MPI_SHORT_INT;
    case INT_INT: return MPI_2INT;
    default: return pair_types[f - PAIR];
  }
}
static MPI_Op operation(action a, format f) {
  const MPI_Op o[] = {MPI_SUM, MPI_PROD, MPI_MAX, MPI_MIN, MPI_LAND, MPI_LOR, MPI_LXOR, MPI_BAND, MPI_BOR, MPI_BXOR, MPI_MINLOC, MPI_MAXLOC};
  return a == COMPOSE ? pair_operations[f - PAIR] : o[a];
}

/* x -> a x + b, first that of lower ranks: not commutative. */
static operand compose(operand x, operand y) { return (operand){x.a * y.a % MODULUS, (y.a * x.b + y.b) % MODULUS}; }
static void compose_all(const unsigned char *in, unsigned char *inout, int count, const reduced *r) {
  for (int i = 0; i < count; ++i, in += r->extent, inout += r->extent) {
    uint32_t a, b, c, d;
    memcpy(&a, in + r->a, 4), memcpy(&b, in + r->b, 4), memcpy(&c, inout + r->a, 4), memcpy(&d, inout + r->b, 4);
    const operand o = compose((operand){a, b}, (operand){c, d});
    a = (uint32_t)o.a, b = (uint32_t)o.b;
    memcpy(inout + r->a, &a, 4), memcpy(inout + r->b, &b, 4);
  }
}
static void compose_0(void *in, void *inout, int *n, MPI_Datatype *t) { (void)t, compose_all(in, inout, *n, &reduced_types[REDUCED - 3]); }
static void compose_1(void *in, void *inout, int *n, MPI_Datatype *t) { (void)t, compose_all(in, inout, *n, &reduced_types[REDUCED - 2]); }
static void compose_2(void *in, void *inout, int *n, MPI_Datatype *t) { (void)t, compose_all(in, inout, *n, &reduced_types[REDUCED - 1]); }

static void make_operations(void) {
  MPI_User_function *const functions[] = {compose_0, compose_1, compose_2};
  for (int i = 0; i < 3; ++i) {
    const reduced *r = &reduced_types[REDUCED - 3 + i];
    const int one[] = {1, 1};
    const MPI_Aint at[] = {(MPI_Aint)r->a, (MPI_Aint)r->b};
    const MPI_Datatype of[] = {MPI_UNSIGNED, MPI_UNSIGNED};
    MPI_Datatype bare;
    MPI_Type_create_struct(2, one, at, of, &bare);
    MPI_Type_create_resized(bare, 0, (MPI_Aint)r->extent, &pair_types[i]);
    MPI_Type_free(&bare);
    MPI_Type_commit(&pair_types[i]);
    MPI_Op_create(functions[i], 0, &pair_operations[i]);
  }
}
static void free_operations(void) {
  for (int i = 0; i < 3; ++i) MPI_Type_free(&pair_types[i]), MPI_Op_free(&pair_operations[i]);
}

static operand give(int rank, size_t i, action a) {
  uint64_t x = element(rank, 0, i);
  switch (a) {
    case PROD: return (operand){1 + (int64_t)(x % 2), 0};
    case LAND:
    case LOR:
    case LXOR: return (operand){(int64_t)(x % 3 == 0 ? 0 : x % 7), 0};
    case BAND:
    case BOR:
    case BXOR: return (operand){(int64_t)(x % 128), 0};
    case MINLOC:
    case MAXLOC: return (operand){(int64_t)(x % 3), (int64_t)(x / 7 % 100)};
    case COMPOSE: return (operand){1 + (int64_t)(x % (MODULUS - 1)), (int64_t)(x / MODULUS % MODULUS)};
    default: return (operand){(int64_t)(x % 15), (int64_t)(x / 15 % 15)};
  }
}

static operand act(operand x, operand y, action a) {
  switch (a) {
    case SUM: return (operand){x.a + y.a, x.b + y.b};
    case PROD: return (operand){x.a * y.a, 0};
    case MAX: return x.a > y.a ? x : y;
    case MIN: return x.a < y.a ? x : y;
    case LAND: return (operand){x.a && y.a, 0};
    case LOR: return (operand){x.a || y.a, 0};
    case LXOR: return (operand){!x.a != !y.a, 0};
    case BAND: return (operand){x.a & y.a, 0};
    case BOR: return (operand){x.a | y.a, 0};
    case BXOR: return (operand){x.a ^ y.a, 0};
    case MINLOC: return x.a < y.a || (x.a == y.a && x.b < y.b) ? x : y;
    case MAXLOC: return x.a > y.a || (x.a == y.a && x.b < y.b) ? x : y;
    default: return compose(x, y);
  }
}

static void write_part(unsigned char *to, int64_t v, size_t bytes, int floating) {
  float f = (float)v;
  double d = (double)v;
  if (floating) memcpy(to, bytes == 4 ? (void *)&f : (void *)&d, bytes);
  else memcpy(to, &v, bytes); /* the low bytes come first */
}
static void write_operand(unsigned char *to, operand o, const reduced *r) {
  int floating = r->as >= F32 && r->as <= F64_INT;
  write_part(to + r->a, o.a, r->a_bytes, floating);
  if (r->b_bytes) write_part(to + r->b, o.b, r->b_bytes, floating && r->as != F64_INT);
}

static void put_operands(buffer *b, const reduced *r, size_t count, int rank, action a) {
  for (size_t i = 0; i < count; ++i) {
    const ptrdiff_t at = b->base + (ptrdiff_t)(i * r->extent);
    write_operand(b->memory + at, give(rank, i, a), r);
    write_operand(b->image + at, give(rank, i, a), r);
  }
}
/* Of members first to last, elements from `start` on. */
static void expect_results(buffer *b, const reduced *r, size_t start, size_t count, int first, int last, action a) {
  for (size_t i = 0; i < count; ++i) {
    operand o = give(first, start + i, a);
    for (int m = first + 1; m <= last; ++m) o = act(o, give(m, start + i, a), a);
    if (first == last && (a == LAND || a == LOR || a == LXOR)) { /* one operand alone: MPI may leave it as it is */
      if (!b->skip) b->skip = calloc(b->bytes, 1);
      memset(b->skip + b->base + (ptrdiff_t)(i * r->extent), 1, r->extent);
    }
    write_operand(b->image + b->base + (ptrdiff_t)(i * r->extent), o, r);
  }
}
static void skip_all(buffer *b, ptrdiff_t from, ptrdiff_t to) {
  if (!b->memory) return;
  if (!b->skip) b->skip = calloc(b->bytes, 1);
  memset(b->skip + b->base + from, 1, (size_t)(to - from));
}

/* --- calls under way ------------------------------------------------------------------------------------------------------------------ */

typedef struct {
  MPI_Request request;
  buffer in, out;
  long step;
  const char *call;
  /* Lists that MPI may read until the end. */
  int counts[2][MOST_RANKS], places[2][MOST_RANKS];
  MPI_Datatype types[2][MOST_RANKS];
} call;
static call calls[MOST_UNDER_WAY];
static int under_way;

static void finish(int i) {
  long now = step;
  const char *then = doing;
  step = calls[i].step, doing = calls[i].call;
  check(&calls[i].in, "send buffer");
  check(&calls[i].out, "receive buffer");
  step = now, doing = then;
  free_buffer(&calls[i].in), free_buffer(&calls[i].out);
  calls[i] = calls[--under_way];
}

/* In one of many ways. `all`: until none is left. */
static void complete(int all) {
  MPI_Request r[MOST_UNDER_WAY];
  MPI_Status statuses[MOST_UNDER_WAY];
  while (under_way > 0) {
    int index = 0, done = 0, n = under_way, indices[MOST_UNDER_WAY];
    for (int i = 0; i < n; ++i) r[i] = calls[i].request;
    switch (draw(&own, 6)) {
      case 0:
        MPI_Waitall(n, r, statuses);
        while (under_way > 0) finish(0);
        return;
      case 1:
        index = draw(&own, n);
        while (!done) MPI_Test(&r[index], &done, MPI_STATUS_IGNORE);
        break;
      case 2: MPI_Waitany(n, r, &index, MPI_STATUS_IGNORE); break;
      case 3:
        while (!done) MPI_Testany(n, r, &index, &done, MPI_STATUS_IGNORE);
        break;
      case 4: {
        MPI_Waitsome(n, r, &done, indices, statuses);
        for (int i = 0; i < n; ++i) calls[i].request = r[i];
        for (int i = n - 1; i >= 0; --i)
          if (r[i] == MPI_REQUEST_NULL) finish(i);
        index = -1;
        break;
      }
      default:
        index = draw(&own, n);
        MPI_Wait(&r[index], MPI_STATUS_IGNORE);
    }
    if (index >= 0) {
      if (r[index] != MPI_REQUEST_NULL) die("a complete request is not null");
      finish(index);
    }
    if (!all) return;
  }
}

/* --- steps ---------------------------------------------------------------------------------------------------------------------------- */

static int gcd(int a, int b) { return b == 0 ? a : gcd(b, a % b); }

/* Two types of one base and the numbers of elements of each that make `unit` basic elements. */
typedef struct {
  int base;
  size_t bytes;
  const shape *from, *to;
  int unit;
} types;
static int draw_shape(void) {
  return draw(&alike, SHAPES) % usable_shapes;
}
static types draw_types(void) {
  types t;
  t.base = draw(&alike, BASES), t.bytes = base_bytes[t.base];
  t.from = &shapes[t.base][draw_shape()], t.to = draw(&alike, 2) ? t.from : &shapes[t.base][draw_shape()];
  t.unit = t.from->n / gcd(t.from->n, t.to->n) * t.to->n;
  return t;
}
static int draw_length(void) {
  switch (draw(&alike, 12)) {
    case 0: return 0;
    case 1: return 200 + draw(&alike, 1000);
    case 2: return 1;
    default: return draw(&alike, 20);
  }
}

/* Lays out blocks in an order of chance and with gaps: places in elements, for one type. The buffer's length, in elements. */
static int lay_out(const shape *s, const int counts[], int places[], int n, uint64_t chance) {
  int order[MOST_RANKS], at = (int)(chance % 3), reach = (int)((s->high - s->low) / s->extent) + 1;
  if (n == 1 && !by_tutti) at = 0; /* MPICH 4.0.2 takes the block of one member to begin there */
  for (int m = 0; m < n; ++m) order[m] = m;
  for (int m = n - 1; m > 0; --m) {
    chance = mix(chance);
    int k = (int)(chance % (uint64_t)(m + 1)), other = order[m];
    order[m] = order[k], order[k] = other;
  }
  for (int m = 0; m < n; ++m) {
    places[order[m]] = at;
    chance = mix(chance);
    at += counts[order[m]] + (chance % 2 ? reach - 1 : reach + 1);
    if (counts[order[m]] > 0 && reach > 1) at += reach;
  }
  return at + reach;
}

#define MAY_BLOCK(Name, lower, ...)                                    \
  do {                                                                 \
    doing = c->call = blocks ? "MPI_" #Name : "MPI_I" #lower;          \
    if (blocks) MPI_##Name(__VA_ARGS__, f->comm);                      \
    else MPI_I##lower(__VA_ARGS__, f->comm, &c->request);              \
  } while (0)

static const buffer none = {NULL, NULL, NULL, 0, 0};

static void equal_blocks(int which, const family *f, call *c, int blocks, int in_place, int root) {
  const types t = draw_types();
  const int m = draw_length(), n = f->size, me = f->rank, is_root = me == root;
  const int sent = m * t.unit / t.from->n, taken = m * t.unit / t.to->n;
  buffer *in = &c->in, *out = &c->out;
  switch (which) {
    case 0: { /* the root has one type, the others another */
      const shape *s = is_root ? t.from : t.to;
      const int count = is_root ? sent : taken;
      *out = make_buffer_of(s, count);
      put(out, s, t.bytes, 0, count, root, 0, is_root);
      MAY_BLOCK(Bcast, bcast, address(out), count, s->type, root);
      return;
    }
    case 1:
      in_place = in_place && is_root;
      if (!in_place) *in = make_buffer_of(t.from, sent), put(in, t.from, t.bytes, 0, sent, me, 0, 1);
      if (is_root) {
        *out = make_buffer_of(t.to, (ptrdiff_t)taken * n);
        for (int k = 0; k < n; ++k) put(out, t.to, t.bytes, (ptrdiff_t)k * taken * t.to->extent, taken, k, 0, in_place && k == me);
      }
      MAY_BLOCK(Gather, gather, in_place ? MPI_IN_PLACE : address(in), in_place ? 0 : sent, in_place ? ignored_type : t.from->type, address(out),
                is_root ? taken : ignored_count, is_root ? t.to->type : ignored_type, root);
      return;
    case 2:
      in_place = in_place && is_root;
      if (is_root) {
        *in = make_buffer_of(t.from, (ptrdiff_t)sent * n);
        for (int k = 0; k < n; ++k) put(in, t.from, t.bytes, (ptrdiff_t)k * sent * t.from->extent, sent, root, k, 1);
      }
      if (!in_place) *out = make_buffer_of(t.to, taken), put(out, t.to, t.bytes, 0, taken, root, me, 0);
      MAY_BLOCK(Scatter, scatter, address(in), is_root ? sent : ignored_count, is_root ? t.from->type : ignored_type, in_place ? MPI_IN_PLACE : address(out),
                in_place ? 0 : taken, in_place ? ignored_type : t.to->type, root);
      return;
    case 3:
      if (!in_place) *in = make_buffer_of(t.from, sent), put(in, t.from, t.bytes, 0, sent, me, 0, 1);
      *out = make_buffer_of(t.to, (ptrdiff_t)taken * n);
      for (int k = 0; k < n; ++k) put(out, t.to, t.bytes, (ptrdiff_t)k * taken * t.to->extent, taken, k, 0, in_place && k == me);
      MAY_BLOCK(Allgather, allgather, in_place ? MPI_IN_PLACE : address(in), in_place ? 0 : sent, in_place ? ignored_type : t.from->type, address(out), taken,
                t.to->type);
      return;
    default:
      *out = make_buffer_of(t.to, (ptrdiff_t)taken * n);
      if (!in_place) {
        *in = make_buffer_of(t.from, (ptrdiff_t)sent * n);
        for (int k = 0; k < n; ++k) put(in, t.from, t.bytes, (ptrdiff_t)k * sent * t.from->extent, sent, me, k, 1);
      } else {
        for (int k = 0; k < n; ++k) put(out, t.to, t.bytes, (ptrdiff_t)k * taken * t.to->extent, taken, me, k, 1);
      }
      for (int k = 0; k < n; ++k) put(out, t.to, t.bytes, (ptrdiff_t)k * taken * t.to->extent, taken, k, me, 0);
      MAY_BLOCK(Alltoall, alltoall, in_place ? MPI_IN_PLACE : address(in), in_place ? 0 : sent, in_place ? ignored_type : t.from->type, address(out), taken,
                t.to->type);
  }
}

/* What goes from one member to another, in units; many are empty. */
static int length_between(int from, int to) {
  uint64_t x = mix(element(from, to, 0) + 17);
  return x % 3 == 0 ? 0 : x % 50 == 1 ? 300 : (int)(x / 3 % 8);
}

static void unlike_blocks(int which, const family *f, call *c, int blocks, int in_place, int root) {
  const types t = draw_types();
  const int n = f->size, me = f->rank, is_root = me == root;
  const int per_from = t.unit / t.from->n, per_to = t.unit / t.to->n;
  int *sent = c->counts[0], *taken = c->counts[1], *from_at = c->places[0], *to_at = c->places[1];
  buffer *in = &c->in, *out = &c->out;
  switch (which) {
    case 0:   /* gatherv */
    case 2: { /* allgatherv */
      const int to_all = which == 2, collects = to_all || is_root, mine = length_between(me, 0) * per_from;
      in_place = in_place && collects;
      for (int k = 0; k < n; ++k) taken[k] = length_between(k, 0) * per_to;
      if (collects) {
        *out = make_buffer_of(t.to, lay_out(t.to, taken, to_at, n, element(me, 1, 1)));
        for (int k = 0; k < n; ++k) put(out, t.to, t.bytes, to_at[k] * t.to->extent, taken[k], k, 0, in_place && k == me);
      }
      if (!in_place) *in = make_buffer_of(t.from, mine), put(in, t.from, t.bytes, 0, mine, me, 0, 1);
      if (to_all)
        MAY_BLOCK(Allgatherv, allgatherv, in_place ? MPI_IN_PLACE : address(in), in_place ? 0 : mine, in_place ? ignored_type : t.from->type, address(out), taken,
                  to_at, t.to->type);
      else
        MAY_BLOCK(Gatherv, gatherv, in_place ? MPI_IN_PLACE : address(in), in_place ? 0 : mine, in_place ? ignored_type : t.from->type, address(out),
                  is_root ? taken : NULL, is_root ? to_at : NULL, is_root ? t.to->type : ignored_type, root);
      return;
    }
    case 1: { /* scatterv */
      const int mine = length_between(root, me) * per_to;
      in_place = in_place && is_root;
      if (is_root) {
        for (int k = 0; k < n; ++k) sent[k] = length_between(root, k) * per_from;
        *in = make_buffer_of(t.from, lay_out(t.from, sent, from_at, n, element(me, 1, 1)));
        for (int k = 0; k < n; ++k) put(in, t.from, t.bytes, from_at[k] * t.from->extent, sent[k], root, k, 1);
      }
      if (!in_place) *out = make_buffer_of(t.to, mine), put(out, t.to, t.bytes, 0, mine, root, me, 0);
      MAY_BLOCK(Scatterv, scatterv, address(in), is_root ? sent : NULL, is_root ? from_at : NULL, is_root ? t.from->type : ignored_type,
                in_place ? MPI_IN_PLACE : address(out), in_place ? 0 : mine, in_place ? ignored_type : t.to->type, root);
      return;
    }
    case 3: /* alltoallv; in place both ways are equally long */
      for (int k = 0; k < n; ++k) {
        sent[k] = length_between(me, k) * per_from;
        taken[k] = (in_place ? length_between(me < k ? me : k, me < k ? k : me) : length_between(k, me)) * per_to;
      }
      *out = make_buffer_of(t.to, lay_out(t.to, taken, to_at, n, element(me, 1, 1)));
      if (!in_place) {
        *in = make_buffer_of(t.from, lay_out(t.from, sent, from_at, n, element(me, 1, 2)));
        for (int k = 0; k < n; ++k) put(in, t.from, t.bytes, from_at[k] * t.from->extent, sent[k], me, k, 1);
      } else {
        for (int k = 0; k < n; ++k) put(out, t.to, t.bytes, to_at[k] * t.to->extent, taken[k], me, k, 1);
      }
      for (int k = 0; k < n; ++k) put(out, t.to, t.bytes, to_at[k] * t.to->extent, taken[k], k, me, 0);
      MAY_BLOCK(Alltoallv, alltoallv, in_place ? MPI_IN_PLACE : address(in), in_place ? NULL : sent, in_place ? NULL : from_at,
                in_place ? ignored_type : t.from->type, address(out), taken, to_at, t.to->type);
      return;
    default: { /* alltoallw: a type for each pair, by its lower and its higher rank */
      const shape *from[MOST_RANKS], *to[MOST_RANKS];
      ptrdiff_t low[2] = {0, 0}, at[2] = {0, 0};
      for (int k = 0; k < n; ++k) {
        uint64_t s = in_place ? element(me < k ? me : k, me < k ? k : me, 5) : element(me, k, 5), r = in_place ? s : element(k, me, 5);
        from[k] = &shapes[t.base][s % (uint64_t)usable_shapes], to[k] = &shapes[t.base][r % (uint64_t)usable_shapes];
        /* Of the sender's type; the receiver takes the same signature, here or there by another type. */
        sent[k] = length_between(me, k), taken[k] = in_place ? length_between(me < k ? me : k, me < k ? k : me) : length_between(k, me);
        c->types[0][k] = from[k]->type, c->types[1][k] = to[k]->type;
        if (!in_place && to[k]->n > 0 && r / SHAPES % 2) taken[k] *= to[k]->n, to[k] = &shapes[t.base][0], c->types[1][k] = to[k]->type;
        if (from[k]->low < low[0]) low[0] = from[k]->low;
        if (to[k]->low < low[1]) low[1] = to[k]->low;
      }
      for (int k = n - 1; k >= 0; --k) {
        from_at[k] = (int)(at[0] - (from[k]->low < 0 ? from[k]->low : 0)), at[0] = (from_at[k] + sent[k] * from[k]->extent + from[k]->high + 23) / 8 * 8;
        to_at[k] = (int)(at[1] - (to[k]->low < 0 ? to[k]->low : 0)), at[1] = (to_at[k] + taken[k] * to[k]->extent + to[k]->high + 23) / 8 * 8;
        from_at[k] = (from_at[k] + 7) / 8 * 8, to_at[k] = (to_at[k] + 7) / 8 * 8;
      }
      if (n == 1 && !by_tutti) from_at[0] = to_at[0] = 0;
      *out = make_buffer(low[1], at[1]);
      if (!in_place) {
        *in = make_buffer(low[0], at[0]);
        for (int k = 0; k < n; ++k) put(in, from[k], t.bytes, from_at[k], sent[k], me, k, 1);
      } else {
        for (int k = 0; k < n; ++k) put(out, to[k], t.bytes, to_at[k], taken[k], me, k, 1);
      }
      for (int k = 0; k < n; ++k) put(out, to[k], t.bytes, to_at[k], taken[k], k, me, 0);
      MAY_BLOCK(Alltoallw, alltoallw, in_place ? MPI_IN_PLACE : address(in), in_place ? NULL : sent, in_place ? NULL : from_at, in_place ? NULL : c->types[0],
                address(out), taken, to_at, c->types[1]);
    }
  }
}

static void reductions(int which, const family *f, call *c, int blocks, int in_place, int root) {
  const reduced *r = &reduced_types[draw(&alike, REDUCED)];
  action a;
  do a = (action)draw(&alike, COMPOSE + 1);
  while (!(r->actions >> a & 1));
  const int by_mpi = !by_tutti || (a == COMPOSE && !blocks); /* tutti calls no operation of the program's then */
  if (by_mpi && (!blocks || which == 0)) in_place = 0;       /* Open MPI 4.1.4 hangs in the former, MPICH 4.0.2 crashes in the latter */
#ifdef MPICH_VERSION /* 4.0.2: its memory for these is too short where elements have gaps */
  if (by_mpi && which >= 4 && a == COMPOSE) r = &reduced_types[REDUCED - 3];
#endif
  const MPI_Datatype type = reduced_type(r->as);
  const MPI_Op op = operation(a, r->as);
  const int n = f->size, me = f->rank, is_root = me == root;
  const int length = draw(&alike, 25) == 0 ? 20000 : draw_length();
  const ptrdiff_t x = (ptrdiff_t)r->extent;
  buffer *in = &c->in, *out = &c->out;
  size_t all = (size_t)length, mine = all, start = 0;
  int first = 0, last = n - 1, *counts = c->counts[0];
  if (which == 0) in_place = in_place && is_root;
  if (which >= 4) {
    all = 0;
    for (int k = 0; k < n; ++k) {
      counts[k] = which == 4 ? length_between(0, k) * (length % 4 + 1) : length % 1000;
      if (k == me) start = all, mine = (size_t)counts[k];
      all += (size_t)counts[k];
    }
  }
  if (which == 2) last = me;
  if (which == 3) last = me - 1;
  if (!in_place) *in = make_buffer(0, (ptrdiff_t)all * x), put_operands(in, r, all, me, a);
  if (which != 0 || is_root) {
    *out = make_buffer(0, (ptrdiff_t)(in_place ? all : mine) * x);
    if (in_place) put_operands(out, r, all, me, a);
    if (last >= first) expect_results(out, r, start, mine, first, last, a);
    else skip_all(out, 0, (ptrdiff_t)all * x);
    if (which >= 4 && in_place) skip_all(out, (ptrdiff_t)mine * x, (ptrdiff_t)all * x);
  }
  void *from = in_place ? MPI_IN_PLACE : address(in), *to = address(out);
  switch (which) {
    case 0: MAY_BLOCK(Reduce, reduce, from, to, length, type, op, root); return;
    case 1: MAY_BLOCK(Allreduce, allreduce, from, to, length, type, op); return;
    case 2: MAY_BLOCK(Scan, scan, from, to, length, type, op); return;
    case 3: MAY_BLOCK(Exscan, exscan, from, to, length, type, op); return;
    case 4: MAY_BLOCK(Reduce_scatter, reduce_scatter, from, to, counts, type, op); return;
    default: MAY_BLOCK(Reduce_scatter_block, reduce_scatter_block, from, to, length % 1000, type, op);
  }
}

static void one_step(void) {
  const int which = draw(&alike, 17), blocks = draw(&alike, 2);
  int in_place = draw(&alike, 3) == 0;
  if (!by_tutti && !blocks) in_place = 0; /* Open MPI 4.1.4 hangs */
  const family *f = &families[draw(&alike, FAMILIES)];
  const source before = alike;
  alike.state = mix(before.state + f->color); /* members of one communicator agree on the rest */
  if (f->comm != MPI_COMM_NULL) {
    if (under_way == MOST_UNDER_WAY) complete(0);
    call *c = &calls[under_way];
    c->request = MPI_REQUEST_NULL, c->step = step, c->in = c->out = none;
    const int root = draw(&alike, f->size);
    if (which < 5) equal_blocks(which, f, c, blocks, in_place, root);
    else if (which < 10) unlike_blocks(which - 5, f, c, blocks, in_place, root);
    else if (which < 16) reductions(which - 10, f, c, blocks, in_place, root);
    else if (blocks) doing = c->call = "MPI_Barrier", MPI_Barrier(f->comm);
    else doing = c->call = "MPI_Ibarrier", MPI_Ibarrier(f->comm, &c->request);
    ++under_way;
    if (blocks) finish(under_way - 1);
    while (under_way > 0 && draw(&own, 3) == 0) complete(0);
  }
  alike = before;
  draw(&alike, 2);
}

int main(int argc, char **argv) {
  MPI_Errhandler handler;
  long steps = 3000;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &world_size);
  MPI_Comm_create_errhandler(on_error, &handler);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler); /* other communicators have it from this one */
  MPI_Errhandler_free(&handler);
  by_tutti = dlsym(dlopen(NULL, RTLD_LAZY), "tutti_init") != NULL;
  ignored_count = by_tutti ? -1 : 0;
  usable_shapes = SHAPES;
#ifdef OPEN_MPI /* 4.1.4 hangs and crashes with nested types */
  if (!by_tutti) usable_shapes = 1;
#endif
  ignored_type = by_tutti ? MPI_DATATYPE_NULL : MPI_BYTE; /* Open MPI 4.1.4 looks at it now and then */
  if (argc > 1) seed = strtoull(argv[1], NULL, 0);
  if (argc > 2) steps = strtol(argv[2], NULL, 0);
  if (world_size > MOST_RANKS) die("too many ranks");
  alike.state = mix(seed), own.state = mix(seed ^ (uint64_t)(world_rank + 1) << 32);
  doing = "making types";
  make_shapes();
  make_operations();
  for (int f = 0; f < FAMILIES; ++f) make_family(f);
  for (step = 1; step <= steps; ++step) {
    one_step();
    if (step % 500 == 0) { /* other communicators from here; those that others were made of may go first */
      complete(1);
      for (int f = 0; f < FAMILIES; ++f) free_family(f);
      for (int f = 0; f < FAMILIES; ++f) make_family(f);
    }
  }
  complete(1);
  doing = "the end";
  for (int f = 0; f < FAMILIES; ++f) free_family(f);
  free_operations();
  free_shapes();
  if (world_rank == 0) printf("random_collectives: seed %llu, %ld steps: ok\n", seed, steps);
  MPI_Finalize();
  return 0;
}

/* Messages of derived types: every constructor, types at one end only, absolute addresses, partial receives, types that are freed
 * while they are in use, types of millions of blocks, and types that were not committed. Plain MPI. */
#include <stddef.h>

#include "require.h"

/* Sends `count` of `type` at `from` to the right as `type`, which receives it as bytes; and the other way round. The bytes are those of
 * MPI_Pack, and between them nothing is written. `span`: the bytes from `low` on that the elements lie in. */
static void goes_both_ways(const void *base, void *room_base, unsigned char *low, unsigned char *room_low, size_t span, int count, MPI_Datatype type) {
  int size, place = 0, packed_bytes;
  MPI_Type_size(type, &size);
  packed_bytes = size * count;
  unsigned char *const packed = malloc((size_t)packed_bytes + 1), *const got = malloc((size_t)packed_bytes + 1), *const other = malloc(span);
  MPI_Request r;
  MPI_Status s;
  for (size_t i = 0; i < span; ++i) low[i] = (unsigned char)(i * 11 + (unsigned)me * 5 + 1);
  OK(MPI_Pack(base, count, type, packed, packed_bytes, &place, MPI_COMM_WORLD));
  REQUIRE(place == packed_bytes);
  OK(MPI_Sendrecv(packed, packed_bytes, MPI_BYTE, left, 1, got, packed_bytes, MPI_BYTE, right, 1, MPI_COMM_WORLD, &s)); /* what right packs */
  OK(MPI_Sendrecv(got, packed_bytes, MPI_BYTE, right, 2, packed, packed_bytes, MPI_BYTE, left, 2, MPI_COMM_WORLD, &s));
  /* Ours is in `packed` again. A typed send that arrives as bytes. */
  OK(MPI_Isend(base, count, type, right, 3, MPI_COMM_WORLD, &r));
  memset(got, 0, (size_t)packed_bytes);
  OK(MPI_Recv(got, packed_bytes, MPI_BYTE, left, 3, MPI_COMM_WORLD, &s));
  REQUIRE(status_is(&s, left, 3, packed_bytes));
  OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
  unsigned char *const of_left = malloc((size_t)packed_bytes + 1);
  OK(MPI_Sendrecv(packed, packed_bytes, MPI_BYTE, right, 4, of_left, packed_bytes, MPI_BYTE, left, 4, MPI_COMM_WORLD, &s));
  REQUIRE(memcmp(of_left, got, (size_t)packed_bytes) == 0);
  /* Bytes that arrive as elements; and elements as elements, in all ways of receiving. */
  memset(other, 0xEE, span);
  place = 0;
  memset(room_low, 0xEE, span);
  OK(MPI_Unpack(of_left, packed_bytes, &place, room_base, count, type, MPI_COMM_WORLD));
  memcpy(other, room_low, span); /* what is to come */
  for (int way = 0; way < 5; ++way) {
    MPI_Message m;
    MPI_Request q = MPI_REQUEST_NULL;
    int elements = -1, received = -1;
    memset(room_low, 0xEE, span);
    if (way == 1) OK(MPI_Irecv(room_base, count, type, left, 5, MPI_COMM_WORLD, &q));
    if (way % 2) OK(MPI_Isend(base, count, type, right, 5, MPI_COMM_WORLD, &r));
    else OK(MPI_Issend(packed, packed_bytes, MPI_BYTE, right, 5, MPI_COMM_WORLD, &r));
    if (way == 0 || way == 4) OK(MPI_Recv(room_base, count, type, left, 5, MPI_COMM_WORLD, &s));
    if (way == 1) OK(MPI_Wait(&q, &s));
    if (way == 2 || way == 3) {
      OK(MPI_Mprobe(left, 5, MPI_COMM_WORLD, &m, &s));
      if (way == 2) OK(MPI_Mrecv(room_base, count, type, &m, &s));
      else OK(MPI_Imrecv(room_base, count, type, &m, &q));
      if (way == 3) OK(MPI_Wait(&q, &s));
    }
    OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
    REQUIRE(memcmp(room_low, other, span) == 0);
    REQUIRE(status_is(&s, left, 5, packed_bytes));
    OK(MPI_Get_count(&s, type, &received));
    REQUIRE(received == count || size == 0);
    OK(MPI_Get_elements(&s, type, &elements));
    REQUIRE(elements >= received);
  }
  free(packed), free(got), free(other), free(of_left);
}

struct record {
  char letter;
  double number;
  int pair[2];
  short half;
};

static void constructors(void) {
  enum { types = 14, span = 400000 };
  MPI_Datatype t[types], inner;
  const int lengths[3] = {2, 0, 3}, places[3] = {5, 1, 1}, sizes[3] = {5, 6, 7}, parts[3] = {2, 3, 4}, starts[3] = {1, 2, 3};
  const MPI_Aint bytes[3] = {40, 0, 3};
  OK(MPI_Type_contiguous(7, MPI_INT, &t[0]));
  OK(MPI_Type_vector(9, 2, 5, MPI_SHORT, &t[1]));
  OK(MPI_Type_vector(4, 1, -3, MPI_INT, &t[2]));
  OK(MPI_Type_create_hvector(6, 3, 13, MPI_CHAR, &t[3]));
  OK(MPI_Type_indexed(3, lengths, places, MPI_DOUBLE, &t[4]));
  OK(MPI_Type_create_hindexed(3, lengths, bytes, MPI_SHORT, &t[5]));
  OK(MPI_Type_create_indexed_block(3, 1, places + 0, MPI_LONG, &t[6]));
  OK(MPI_Type_create_hindexed_block(2, 2, (MPI_Aint[]){64, 3}, MPI_INT, &t[7]));
  OK(MPI_Type_create_struct(3, (int[]){1, 2, 1}, (MPI_Aint[]){offsetof(struct record, number), offsetof(struct record, pair), 0},
                            (MPI_Datatype[]){MPI_DOUBLE, MPI_INT, MPI_CHAR}, &inner));
  OK(MPI_Type_create_resized(inner, 0, sizeof(struct record), &t[8]));
  OK(MPI_Type_create_subarray(3, sizes, parts, starts, MPI_ORDER_C, MPI_INT, &t[9]));
  OK(MPI_Type_create_subarray(3, sizes, parts, starts, MPI_ORDER_FORTRAN, t[1], &t[10]));
  OK(MPI_Type_vector(3, 2, 4, t[8], &t[11]));
  OK(MPI_Type_dup(t[4], &t[12]));
  OK(MPI_Type_create_darray(4, 1, 2, (int[]){20, 12}, (int[]){MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_BLOCK},
                            (int[]){3, MPI_DISTRIBUTE_DFLT_DARG}, (int[]){2, 2}, MPI_ORDER_C, MPI_FLOAT, &t[13]));
  unsigned char *const a = malloc(span), *const b = malloc(span);
  for (int i = 0; i < types; ++i) {
    MPI_Aint low, extent, true_low, true_extent;
    OK(MPI_Type_commit(&t[i]));
    OK(MPI_Type_get_extent(t[i], &low, &extent));
    OK(MPI_Type_get_true_extent(t[i], &true_low, &true_extent));
    for (int count = 1; count <= 130; count = count * 5 + 1) {
      const MPI_Aint first = true_low < low ? true_low : low; /* may lie before the address that is given */
      const size_t length = (size_t)(extent * count + true_extent + 64);
      if (length > span) continue;
      goes_both_ways(a - first, b - first, a, b, length, count, t[i]);
    }
  }
  for (int i = 0; i < types; ++i) OK(MPI_Type_free(&t[i]));
  OK(MPI_Type_free(&inner));
  free(a), free(b);
}

/* Many pieces in a long message. */
static void long_ones(void) {
  enum { rows = 600, columns = 500 };
  int(*table)[columns] = malloc(sizeof(int[rows][columns])), (*got)[rows] = calloc(columns, sizeof *got);
  MPI_Datatype column, transposed;
  OK(MPI_Type_vector(rows, 1, columns, MPI_INT, &column));
  OK(MPI_Type_create_resized(column, 0, sizeof(int), &transposed));
  OK(MPI_Type_commit(&transposed));
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < columns; ++j) table[i][j] = me * 1000000 + i * columns + j;
  MPI_Request r;
  OK(MPI_Isend(table, columns, transposed, right, 1, MPI_COMM_WORLD, &r));
  OK(MPI_Recv(got, rows * columns, MPI_INT, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < columns; ++j) REQUIRE(got[j][i] == left * 1000000 + i * columns + j);
  OK(MPI_Isend(got, rows * columns, MPI_INT, left, 2, MPI_COMM_WORLD, &r)); /* back, into the table */
  memset(table, 0, sizeof(int[rows][columns]));
  OK(MPI_Recv(table, columns, transposed, right, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < columns; ++j) REQUIRE(table[i][j] == me * 1000000 + i * columns + j);
  OK(MPI_Type_free(&column));
  OK(MPI_Type_free(&transposed));
  free(table), free(got);
}

static void absolute_addresses(void) {
  int *const a = malloc(40 * sizeof *a), *const b = malloc(40 * sizeof *b), plain[9];
  double c = 0.5 + me, d = -1;
  MPI_Aint places[3];
  MPI_Datatype out, in, one, single;
  MPI_Request r;
  MPI_Status s;
  for (int i = 0; i < 40; ++i) a[i] = 100 * me + i, b[i] = -1;
  OK(MPI_Get_address(a + 3, &places[0]));
  OK(MPI_Get_address(a + 20, &places[1]));
  OK(MPI_Get_address(&c, &places[2]));
  OK(MPI_Type_create_struct(3, (int[]){4, 3, 1}, places, (MPI_Datatype[]){MPI_INT, MPI_INT, MPI_DOUBLE}, &out));
  OK(MPI_Get_address(b + 30, &places[0]));
  OK(MPI_Get_address(b, &places[1]));
  OK(MPI_Get_address(&d, &places[2]));
  OK(MPI_Type_create_struct(3, (int[]){4, 3, 1}, places, (MPI_Datatype[]){MPI_INT, MPI_INT, MPI_DOUBLE}, &in));
  OK(MPI_Type_create_hindexed(1, (int[]){1}, &places[2], MPI_DOUBLE, &one)); /* one piece */
  OK(MPI_Type_create_struct(1, (int[]){9}, (MPI_Aint[]){(MPI_Aint)plain}, (MPI_Datatype[]){MPI_INT}, &single));
  OK(MPI_Type_commit(&out));
  OK(MPI_Type_commit(&in));
  OK(MPI_Type_commit(&one));
  OK(MPI_Type_commit(&single));
  OK(MPI_Isend(MPI_BOTTOM, 1, out, right, 1, MPI_COMM_WORLD, &r));
  OK(MPI_Recv(MPI_BOTTOM, 1, in, left, 1, MPI_COMM_WORLD, &s));
  OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
  for (int i = 0; i < 4; ++i) REQUIRE(b[30 + i] == 100 * left + 3 + i);
  for (int i = 0; i < 3; ++i) REQUIRE(b[i] == 100 * left + 20 + i);
  REQUIRE(d == 0.5 + left && b[3] == -1 && b[29] == -1 && status_is(&s, left, 1, 36));
  OK(MPI_Sendrecv(&c, 1, MPI_DOUBLE, right, 2, MPI_BOTTOM, 1, one, left, 2, MPI_COMM_WORLD, &s));
  REQUIRE(d == 0.5 + left);
  for (int i = 0; i < 9; ++i) plain[i] = 10 * me + i;
  OK(MPI_Sendrecv_replace(MPI_BOTTOM, 1, single, right, 3, left, 3, MPI_COMM_WORLD, &s));
  for (int i = 0; i < 9; ++i) REQUIRE(plain[i] == 10 * left + i);
  OK(MPI_Sendrecv_replace(MPI_BOTTOM, 1, out, right, 4, left, 4, MPI_COMM_WORLD, &s));
  REQUIRE(a[3] == 100 * left + 3 && c == 0.5 + left);
  MPI_Message m;
  OK(MPI_Isend(MPI_BOTTOM, 1, single, right, 5, MPI_COMM_WORLD, &r));
  memset(b, 0, 40 * sizeof *b);
  OK(MPI_Mprobe(left, 5, MPI_COMM_WORLD, &m, &s));
  OK(MPI_Mrecv(MPI_BOTTOM, 1, in, &m, &s)); /* nine ints into seven and a double: 36 bytes */
  REQUIRE(b[30] == 10 * ((left + n - 1) % n) && b[2] == 10 * ((left + n - 1) % n) + 6);
  OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
  OK(MPI_Type_free(&out));
  OK(MPI_Type_free(&in));
  OK(MPI_Type_free(&one));
  OK(MPI_Type_free(&single));
  /* Of collectives: each member's block is one piece, where its type says. */
  MPI_Datatype from[64], to[64];
  int ones[64], zeros[64] = {0};
  REQUIRE(n <= 40);
  for (int i = 0; i < n; ++i) {
    ones[i] = 1, a[i] = 100 * me + i, b[i] = -1;
    OK(MPI_Type_create_hindexed(1, (int[]){1}, (MPI_Aint[]){(MPI_Aint)(a + i)}, MPI_INT, &from[i]));
    OK(MPI_Type_create_hindexed(1, (int[]){1}, (MPI_Aint[]){(MPI_Aint)(b + n - 1 - i)}, MPI_INT, &to[i]));
    OK(MPI_Type_commit(&from[i]));
    OK(MPI_Type_commit(&to[i]));
  }
  OK(MPI_Alltoallw(MPI_BOTTOM, ones, zeros, from, MPI_BOTTOM, ones, zeros, to, MPI_COMM_WORLD));
  for (int i = 0; i < n; ++i) REQUIRE(b[n - 1 - i] == 100 * i + me);
  for (int i = 0; i < n; ++i) {
    OK(MPI_Type_free(&from[i]));
    OK(MPI_Type_free(&to[i]));
  }
  free(a), free(b);
}

static void partial_receives(void) {
  MPI_Datatype pair, gap; /* an int and a double; two ints of three */
  OK(MPI_Type_create_struct(2, (int[]){1, 1}, (MPI_Aint[]){0, 8}, (MPI_Datatype[]){MPI_INT, MPI_DOUBLE}, &pair));
  OK(MPI_Type_commit(&pair));
  OK(MPI_Type_vector(2, 1, 2, MPI_INT, &gap));
  OK(MPI_Type_commit(&gap));
  const struct {
    int bytes, count, elements;
  } of_pairs[] = {{0, 0, 0}, {4, MPI_UNDEFINED, 1}, {12, 1, 2}, {16, MPI_UNDEFINED, 3}, {24, 2, 4}, {36, 3, 6}, {40, MPI_UNDEFINED, 7}};
  unsigned char out[64], in[128];
  for (int i = 0; i < 7; ++i)
    for (int way = 0; way < 2; ++way) {
      MPI_Status s;
      MPI_Request r;
      int count = -1, elements = -1;
      fill(out, sizeof out, (unsigned)me);
      memset(in, 0xEE, sizeof in);
      OK(MPI_Isend(out, of_pairs[i].bytes, MPI_BYTE, right, 1, MPI_COMM_WORLD, &r));
      if (way) OK(MPI_Probe(left, 1, MPI_COMM_WORLD, &s));
      else OK(MPI_Recv(in, 5, pair, left, 1, MPI_COMM_WORLD, &s));
      OK(MPI_Get_count(&s, pair, &count));
      OK(MPI_Get_elements(&s, pair, &elements));
      REQUIRE(count == of_pairs[i].count && elements == of_pairs[i].elements);
      MPI_Count long_elements = -1;
      OK(MPI_Get_elements_x(&s, pair, &long_elements));
      REQUIRE(long_elements == elements);
      OK(MPI_Get_count(&s, MPI_INT, &count));
      REQUIRE(count == of_pairs[i].bytes / 4);
      if (way) OK(MPI_Recv(in, 5, pair, left, 1, MPI_COMM_WORLD, &s));
      OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
      for (int b = 0; b < of_pairs[i].bytes; ++b) {
        const int at = b / 12 * 16 + (b % 12 < 4 ? b % 12 : b % 12 + 4);
        unsigned char whole[64];
        fill(whole, sizeof whole, (unsigned)left);
        REQUIRE(in[at] == whole[b]);
      }
      for (int e = 0; e < 5; ++e) REQUIRE(all_are(in + 16 * e + 4, 4, 0xEE));
    }
  int numbers[6] = {0}, three[3] = {1, 2, 3};
  MPI_Status s;
  int count, elements;
  OK(MPI_Sendrecv(three, 3, MPI_INT, right, 2, numbers, 2, gap, left, 2, MPI_COMM_WORLD, &s));
  OK(MPI_Get_count(&s, gap, &count));
  OK(MPI_Get_elements(&s, gap, &elements));
  REQUIRE(count == MPI_UNDEFINED && elements == 3 && numbers[0] == 1 && numbers[1] == 0 && numbers[2] == 2 && numbers[3] == 3);
  OK(MPI_Type_free(&pair));
  OK(MPI_Type_free(&gap));
}

/* Elements of 2 GiB and more, of few bytes of memory: a block again and again, which MPI allows for what is only read. */
static void huge_elements(void) {
  enum { block = 1 << 20, blocks = 2049 };
  unsigned char *const sent = malloc(block), *const got = calloc(block, 1);
  MPI_Datatype repeated, small, inner;
  MPI_Status s;
  MPI_Count size = 0, elements = 0;
  int count = 0;
  OK(MPI_Type_create_hvector(blocks, block, 0, MPI_BYTE, &repeated));
  OK(MPI_Type_commit(&repeated));
  OK(MPI_Type_contiguous(block, MPI_BYTE, &inner));
  OK(MPI_Type_create_resized(inner, 0, 0, &small));
  OK(MPI_Type_commit(&small));
  OK(MPI_Type_size_x(repeated, &size));
  REQUIRE(size == (MPI_Count)block * blocks);
  fill(sent, block, 3);
  if (me == 0) {
    OK(MPI_Send(sent, 1, repeated, 1, 1, MPI_COMM_WORLD));
    OK(MPI_Send(sent, blocks, small, 1, 2, MPI_COMM_WORLD));
  }
  if (me == 1) { /* what is received overlaps, which MPI does not allow, and is alike here */
    OK(MPI_Recv(got, blocks, small, 0, 1, MPI_COMM_WORLD, &s));
    OK(MPI_Get_count(&s, small, &count));
    REQUIRE(count == blocks && filled(got, block, 3));
    memset(got, 0, block);
    OK(MPI_Recv(got, 1, repeated, 0, 2, MPI_COMM_WORLD, &s));
    OK(MPI_Get_elements_x(&s, repeated, &elements));
    REQUIRE(elements == size && filled(got, block, 3));
    memset(got, 0, block);
  }
  OK(MPI_Bcast(me == 0 ? sent : got, me == 1 ? blocks : 1, me == 1 ? small : repeated, 0, MPI_COMM_WORLD));
  REQUIRE(me == 0 || filled(got, block, 3));
  OK(MPI_Type_free(&repeated));
  OK(MPI_Type_free(&small));
  OK(MPI_Type_free(&inner));
  free(sent), free(got);
}

static long peak_mib(void) {
  FILE *const f = fopen("/proc/self/status", "r");
  char line[200];
  long kib = 0;
  while (f && fgets(line, sizeof line, f))
    if (!strncmp(line, "VmHWM:", 6)) kib = atol(line + 6);
  if (f) fclose(f);
  return kib / 1024;
}

/* Millions of blocks of few bytes, of types that few numbers describe: memory is by the data and by the description. */
static void many_blocks(void) {
  enum { rows = 4000, columns = 5000, row = 2 * columns + 1, span = rows * row, records = span / 24 };
  MPI_Datatype line, lattice, record, spaced, list;
  OK(MPI_Type_vector(columns, 1, 2, MPI_BYTE, &line)); /* 20 million bytes: every other one of rows of an odd length */
  OK(MPI_Type_create_hvector(rows, 1, row, line, &lattice));
  OK(MPI_Type_create_hindexed(2, (int[]){1, 2}, (MPI_Aint[]){0, 3}, MPI_BYTE, &record)); /* twice as many blocks as records */
  OK(MPI_Type_create_resized(record, 0, 6, &spaced));
  OK(MPI_Type_contiguous(records, spaced, &list));
  unsigned char *const from = malloc(span), *const to = malloc(span), *window, *touched = calloc(span, 1);
  MPI_Win win;
  OK(MPI_Win_allocate(span, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window, &win));
  for (size_t i = 0; i < span; ++i) from[i] = (unsigned char)(i * 7 + i / 251 + (size_t)me);
  memset(to, 0xEE, span), memset(window, 0xEE, span);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  const long before = peak_mib();
  for (int kind = 0; kind < 2; ++kind) {
    MPI_Datatype type = kind == 0 ? lattice : list;
    const size_t used = kind == 0 ? span : 6 * (size_t)records;
    MPI_Request r;
    OK(MPI_Type_commit(&type));
    for (size_t i = 0; i < used; ++i) {
      const size_t in_row = i % row, in_record = i % 6;
      if (kind == 0) touched[i] = in_row % 2 == 0 && in_row < 2 * columns;
      else touched[i] = in_record == 0 || in_record == 3 || in_record == 4;
    }
    OK(MPI_Isend(from, 1, type, right, 1, MPI_COMM_WORLD, &r));
    OK(MPI_Recv(to, 1, type, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
    OK(MPI_Win_fence(0, win));
    OK(MPI_Put(from, 1, type, right, 0, 1, type, win));
    OK(MPI_Win_fence(0, win));
    for (size_t i = 0; i < used; ++i) {
      const unsigned char is = touched[i] ? (unsigned char)(i * 7 + i / 251 + (size_t)left) : 0xEE;
      REQUIRE(to[i] == is && window[i] == is);
    }
    OK(MPI_Win_fence(0, win));
    OK(MPI_Accumulate(from, 1, type, right, 0, 1, type, MPI_BXOR, win)); /* to zeros */
    OK(MPI_Win_fence(0, win));
    OK(MPI_Get(to, 1, type, right, 0, 1, type, win));
    OK(MPI_Win_fence(0, win));
    for (size_t i = 0; i < used; ++i) REQUIRE(to[i] == (touched[i] ? 0 : 0xEE) && window[i] == to[i]);
    OK(MPI_Bcast(me == 0 ? from : to, 1, type, 0, MPI_COMM_WORLD));
    for (size_t i = 0; i < used; ++i) REQUIRE(me == 0 || to[i] == (touched[i] ? (unsigned char)(i * 7 + i / 251) : 0xEE));
    memset(to, 0xEE, span), memset(window, 0xEE, span);
    OK(MPI_Barrier(MPI_COMM_WORLD));
  }
  const long grown = peak_mib() - before;
  if (by_tutti() && grown >= 200) fprintf(stderr, "rank %d: %ld MiB more\n", me, grown);
  REQUIRE(!by_tutti() || grown < 200); /* for 20 MiB: packed, in queues between the ranks, and of accumulates both operands */
  OK(MPI_Win_free(&win));
  OK(MPI_Type_free(&line));
  OK(MPI_Type_free(&lattice));
  OK(MPI_Type_free(&record));
  OK(MPI_Type_free(&spaced));
  OK(MPI_Type_free(&list));
  free(from), free(to), free(touched);
}

/* MPI_Type_free leaves alone what is under way, and handles come again. */
static void freed_in_use(void) {
  for (int round = 0; round < 20; ++round) {
    enum { count = 4000 };
    static float out[2 * count], in[2 * count];
    MPI_Datatype type, other;
    MPI_Request r[2];
    for (int i = 0; i < 2 * count; ++i) out[i] = (float)(me * 10 + i + round), in[i] = -1;
    if (round % 2) OK(MPI_Type_vector(count, 1, 2, MPI_FLOAT, &type));
    else
      OK(MPI_Type_create_darray(2, 0, 1, (int[]){2 * count}, (int[]){MPI_DISTRIBUTE_CYCLIC}, (int[]){MPI_DISTRIBUTE_DFLT_DARG}, (int[]){2},
                                MPI_ORDER_C, MPI_FLOAT, &type)); /* every second, as well */
    OK(MPI_Type_commit(&type));
    OK(MPI_Irecv(in, 1, type, left, 1, MPI_COMM_WORLD, &r[0]));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Isend(out, 1, type, right, 1, MPI_COMM_WORLD, &r[1]));
    OK(MPI_Type_free(&type));
    OK(MPI_Type_contiguous(3, MPI_CHAR, &other));
    OK(MPI_Type_commit(&other));
    char letters[3] = {'a', 'b', (char)('c' + me)}, got[3];
    OK(MPI_Sendrecv(letters, 1, other, right, 2, got, 1, other, left, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    REQUIRE(got[1] == 'b' && got[2] == 'c' + left);
    OK(MPI_Waitall(2, r, MPI_STATUSES_IGNORE));
    for (int i = 0; i < 2 * count; ++i) REQUIRE(in[i] == (i % 2 ? -1 : (float)(left * 10 + i + round)));
    OK(MPI_Type_free(&other));
  }
}

/* Refused by all that moves data, with MPI's class, until it is committed. */
static void uncommitted(void) {
  int out[4] = {me, me, me, me}, in[4 * 8] = {0}, *memory;
  MPI_Datatype type, made_of;
  MPI_Request r;
  MPI_Win w;
  OK(MPI_Type_vector(2, 1, 2, MPI_INT, &made_of)); /* which need not be committed itself */
  OK(MPI_Type_contiguous(1, made_of, &type));
  OK(MPI_Win_allocate(sizeof out, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &w));
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  OK(MPI_Win_set_errhandler(w, MPI_ERRORS_RETURN));
  for (int is_committed = 0; is_committed < 2; ++is_committed) {
#define REFUSED(call) FAILS(call, is_committed ? MPI_SUCCESS : MPI_ERR_TYPE)
    REFUSED(MPI_Sendrecv(out, 1, type, me, 1, in, 1, type, me, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    REFUSED(MPI_Isend(out, 1, type, me, 2, MPI_COMM_WORLD, &r));
    REFUSED(MPI_Recv(in, 1, type, me, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    if (is_committed) OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
    REFUSED(MPI_Send_init(out, 1, type, me, 3, MPI_COMM_WORLD, &r));
    if (is_committed) OK(MPI_Request_free(&r));
    REFUSED(MPI_Bcast(out, 1, type, 0, MPI_COMM_WORLD));
    REFUSED(MPI_Allgather(out, 1, type, in, 1, type, MPI_COMM_WORLD));
    OK(MPI_Win_fence(0, w));
    REFUSED(MPI_Put(out, 1, type, right, 0, 1, type, w));
    OK(MPI_Win_fence(0, w));
    REFUSED(MPI_Get(in, 1, type, right, 0, 2, MPI_INT, w));
    OK(MPI_Win_fence(0, w));
    REFUSED(MPI_Accumulate(out, 2, MPI_INT, right, 0, 1, type, MPI_SUM, w));
    OK(MPI_Win_fence(0, w));
    if (!is_committed) OK(MPI_Type_commit(&type));
  }
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
  OK(MPI_Type_free(&type));
  OK(MPI_Type_free(&made_of));
  OK(MPI_Win_free(&w));
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  find_place();
  RUN(constructors);
  RUN(long_ones);
  RUN(absolute_addresses);
  RUN(partial_receives);
#ifdef OPEN_MPI
  const int often = 1;
#else
  const int often = getenv("TEST_LIST") && strcmp(getenv("TEST_LIST"), "whole") == 0; /* tutti's part is the same, and MPICH's ranks spin */
#endif
  if (by_tutti() && often) RUN(huge_elements);
  RUN(freed_in_use);
  RUN(uncommitted);
  RUN(many_blocks);
  MPI_Barrier(MPI_COMM_WORLD);
  if (me == 0) puts("ok");
  MPI_Finalize();
  return 0;
}

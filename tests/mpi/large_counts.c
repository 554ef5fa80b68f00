/* Functions of MPI 4: those with counts of any size (MPI_Send_c and its like), beside those with ints, and MPI_Isendrecv. Plain MPI. */
#include "require.h"

enum { most = 70000 };
static int out[most], in[most];

static void sets(unsigned salt) { fill(out, sizeof out, salt + (unsigned)me), memset(in, 0, sizeof in); }
static int came(unsigned salt, int from, MPI_Count count) { return filled(in, (size_t)count * sizeof(int), salt + (unsigned)from); }

static void sends_of_one_kind_meet_receives_of_the_other(void) {
  const int counts[] = {0, 1, 100, 5000, most};
  MPI_Request r[2];
  MPI_Status s;
  MPI_Message m;
  for (int c = 0; c < 5; ++c) {
    const int count = counts[c];
    int got = -1;
    MPI_Count got_large = -1;
    sets(1);
    OK(MPI_Irecv(in, count, MPI_INT, left, 1, MPI_COMM_WORLD, &r[0]));
    OK(MPI_Send_c(out, count, MPI_INT, right, 1, MPI_COMM_WORLD));
    OK(MPI_Wait(&r[0], &s));
    OK(MPI_Get_count(&s, MPI_INT, &got));
    REQUIRE(came(1, left, count) && got == count && s.MPI_SOURCE == left);
    sets(2);
    OK(MPI_Irecv_c(in, count, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &r[0]));
    OK(MPI_Ssend(out, count, MPI_INT, right, 2, MPI_COMM_WORLD));
    OK(MPI_Wait(&r[0], &s));
    OK(MPI_Get_count_c(&s, MPI_INT, &got_large));
    REQUIRE(came(2, left, count) && got_large == count && s.MPI_TAG == 2);
    sets(3);
    OK(MPI_Isend_c(out, count, MPI_INT, right, 3, MPI_COMM_WORLD, &r[0]));
    OK(MPI_Recv(in, count, MPI_INT, left, 3, MPI_COMM_WORLD, &s));
    OK(MPI_Wait(&r[0], MPI_STATUS_IGNORE));
    REQUIRE(came(3, left, count));
    sets(4);
    OK(MPI_Issend_c(out, count, MPI_INT, right, 4, MPI_COMM_WORLD, &r[0]));
    OK(MPI_Recv_c(in, count, MPI_INT, left, 4, MPI_COMM_WORLD, &s));
    OK(MPI_Wait(&r[0], MPI_STATUS_IGNORE));
    REQUIRE(came(4, left, count));
    sets(5);
    OK(MPI_Isend(out, count, MPI_INT, right, 5, MPI_COMM_WORLD, &r[0]));
    OK(MPI_Mprobe(left, 5, MPI_COMM_WORLD, &m, &s));
    if (c % 2) OK(MPI_Mrecv_c(in, count, MPI_INT, &m, &s));
    else {
      OK(MPI_Imrecv_c(in, count, MPI_INT, &m, &r[1]));
      OK(MPI_Wait(&r[1], &s));
    }
    OK(MPI_Wait(&r[0], MPI_STATUS_IGNORE));
    REQUIRE(came(5, left, count) && m == MPI_MESSAGE_NULL);
    sets(6);
    OK(MPI_Irecv_c(in, count, MPI_INT, left, 6, MPI_COMM_WORLD, &r[0]));
    MPI_Barrier(MPI_COMM_WORLD);
    r[1] = MPI_REQUEST_NULL;
    if (c % 2) OK(MPI_Rsend_c(out, count, MPI_INT, right, 6, MPI_COMM_WORLD));
    else OK(MPI_Irsend_c(out, count, MPI_INT, right, 6, MPI_COMM_WORLD, &r[1]));
    OK(MPI_Waitall(2, r, MPI_STATUSES_IGNORE));
    REQUIRE(came(6, left, count));
  }
}

static void copies_and_prepared_ones(void) {
  static char room[8 * sizeof out + 1000];
  MPI_Request r[5];
  void *was;
  MPI_Count size = 0;
  OK(MPI_Buffer_attach_c(room, sizeof room));
  sets(1);
  OK(MPI_Bsend_c(out, most, MPI_INT, right, 1, MPI_COMM_WORLD));
  OK(MPI_Ibsend_c(out, 10, MPI_INT, right, 2, MPI_COMM_WORLD, &r[0]));
  OK(MPI_Wait(&r[0], MPI_STATUS_IGNORE));
  OK(MPI_Recv(in, most, MPI_INT, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  REQUIRE(came(1, left, most));
  OK(MPI_Recv(in, most, MPI_INT, left, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  OK(MPI_Send_init_c(out, 1000, MPI_INT, right, 3, MPI_COMM_WORLD, &r[0]));
  OK(MPI_Ssend_init_c(out, 2000, MPI_INT, right, 4, MPI_COMM_WORLD, &r[1]));
  OK(MPI_Bsend_init_c(out, 3000, MPI_INT, right, 5, MPI_COMM_WORLD, &r[2]));
  OK(MPI_Recv_init_c(in, 1000, MPI_INT, left, 3, MPI_COMM_WORLD, &r[3]));
  OK(MPI_Recv_init(in + 10000, 3000, MPI_INT, left, 5, MPI_COMM_WORLD, &r[4]));
  for (unsigned turn = 0; turn < 3; ++turn) {
    sets(turn);
    OK(MPI_Startall(5, r));
    OK(MPI_Recv(in + 20000, 2000, MPI_INT, left, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    OK(MPI_Waitall(5, r, MPI_STATUSES_IGNORE));
    REQUIRE(came(turn, left, 1000) && memcmp(in + 10000, in, 4000) == 0 && memcmp(in + 20000, in, 4000) == 0);
  }
  for (int i = 0; i < 5; ++i) OK(MPI_Request_free(&r[i]));
  OK(MPI_Buffer_detach_c(&was, &size));
  REQUIRE(was == room && size == sizeof room);
}

static void exchanges(void) {
  MPI_Request r;
  MPI_Status s;
  for (int count = 1; count <= most; count = count * 9 + 3) {
    sets(1);
    OK(MPI_Sendrecv_c(out, count, MPI_INT, right, 1, in, count, MPI_INT, left, 1, MPI_COMM_WORLD, &s));
    REQUIRE(came(1, left, count));
    fill(in, sizeof in, 2 + (unsigned)me);
    OK(MPI_Sendrecv_replace_c(in, count, MPI_INT, right, 2, left, 2, MPI_COMM_WORLD, &s));
    REQUIRE(came(2, left, count));
    sets(3);
    OK(MPI_Isendrecv(out, count, MPI_INT, right, 3, in, count, MPI_INT, left, 3, MPI_COMM_WORLD, &r));
    OK(MPI_Wait(&r, &s));
    REQUIRE(came(3, left, count) && (!by_tutti() || status_is(&s, left, 3, 4 * count))); /* MPICH 4.0.2 gives an empty one */
    if (!by_tutti()) continue; /* MPICH 4.0.2 by itself does not get through */
    sets(4); /* with messages of other kinds */
    OK(MPI_Isendrecv_c(out, count, MPI_INT, right, 4, in, count, MPI_INT, left, 5, MPI_COMM_WORLD, &r));
    OK(MPI_Send(out, count, MPI_INT, right, 5, MPI_COMM_WORLD));
    OK(MPI_Wait(&r, &s));
    REQUIRE(came(4, left, count));
    OK(MPI_Recv(in, count, MPI_INT, left, 4, MPI_COMM_WORLD, &s));
    REQUIRE(came(4, left, count));
    fill(in, sizeof in, 6 + (unsigned)me);
    if (count % 2) OK(MPI_Isendrecv_replace(in, count, MPI_INT, right, 6, left, 6, MPI_COMM_WORLD, &r));
    else OK(MPI_Isendrecv_replace_c(in, count, MPI_INT, right, 6, left, 6, MPI_COMM_WORLD, &r));
    OK(MPI_Wait(&r, &s));
    REQUIRE(came(6, left, count));
  }
  if (!by_tutti()) return; /* MPICH 4.0.2 crashes where half of it is with nobody */
  /* What is sent may be written again, and half of it may be with nobody. */
  sets(7);
  OK(MPI_Isendrecv(out, most, MPI_INT, right, 7, in, 0, MPI_INT, MPI_PROC_NULL, 7, MPI_COMM_WORLD, &r));
  OK(MPI_Wait(&r, &s));
  memset(out, 0, sizeof out);
  OK(MPI_Isendrecv(out, most, MPI_INT, MPI_PROC_NULL, 7, in, most, MPI_INT, left, 7, MPI_COMM_WORLD, &r));
  OK(MPI_Wait(&r, &s));
  REQUIRE(came(7, left, most) && s.MPI_SOURCE == left);
  OK(MPI_Isendrecv(out, 1, MPI_INT, MPI_PROC_NULL, 7, in, 1, MPI_INT, MPI_PROC_NULL, 7, MPI_COMM_WORLD, &r));
  OK(MPI_Wait(&r, &s));
}

/* An element of the type goes as it would be packed, and comes as it would be unpacked. */
static int goes_as_packed(MPI_Datatype type) {
  static unsigned char from[20000], packed[20000], got[20000], back[20000], expected[20000];
  MPI_Count size = 0;
  int place = 0, back_place = 0;
  OK(MPI_Type_commit(&type));
  OK(MPI_Type_size_c(type, &size));
  for (size_t i = 0; i < sizeof from; ++i) from[i] = (unsigned char)(i * 11 + (i >> 7)); /* alike in all ranks */
  OK(MPI_Pack(from + 4000, 1, type, packed, sizeof packed, &place, MPI_COMM_WORLD));
  REQUIRE(place == size && size > 0);
  memset(got, 0, sizeof got), memset(back, 9, sizeof back), memset(expected, 9, sizeof expected);
  OK(MPI_Sendrecv(from + 4000, 1, type, right, 8, got, (int)size, MPI_BYTE, left, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  REQUIRE(memcmp(got, packed, (size_t)size) == 0);
  OK(MPI_Unpack(packed, place, &back_place, expected + 4000, 1, type, MPI_COMM_WORLD));
  OK(MPI_Sendrecv_c(packed, size, MPI_BYTE, right, 9, back + 4000, 1, type, left, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  OK(MPI_Type_free(&type));
  return memcmp(back, expected, sizeof back) == 0;
}

static void types_of_large_counts(void) {
  const MPI_Count lengths[] = {3, 1, 5}, places[] = {10, 2, 20}, bytes[] = {100, 8, 400};
  const MPI_Datatype mixed[] = {MPI_INT, MPI_DOUBLE, MPI_CHAR};
  const MPI_Count sizes[] = {7, 9, 5}, parts[] = {3, 4, 2}, starts[] = {2, 5, 1}, full[] = {10, 9};
  const int distributed[] = {MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_BLOCK}, given[] = {2, MPI_DISTRIBUTE_DFLT_DARG}, grid[] = {2, 2};
  MPI_Datatype t;
#define MADE(call) REQUIRE((call) == MPI_SUCCESS && goes_as_packed(t))
  MADE(MPI_Type_contiguous_c(17, MPI_INT, &t));
  MADE(MPI_Type_vector_c(5, 3, 7, MPI_INT, &t));
  MADE(MPI_Type_create_hvector_c(5, 3, 50, MPI_SHORT, &t));
  MADE(MPI_Type_indexed_c(3, lengths, places, MPI_INT, &t));
  MADE(MPI_Type_create_hindexed_c(3, lengths, bytes, MPI_INT, &t));
  MADE(MPI_Type_create_indexed_block_c(3, 2, places, MPI_INT, &t));
  MADE(MPI_Type_create_hindexed_block_c(3, 2, bytes, MPI_INT, &t));
  MADE(MPI_Type_create_struct_c(3, lengths, bytes, mixed, &t));
  MADE(MPI_Type_create_subarray_c(3, sizes, parts, starts, MPI_ORDER_C, MPI_INT, &t));
  MADE(MPI_Type_create_subarray_c(3, sizes, parts, starts, MPI_ORDER_FORTRAN, MPI_INT, &t));
  for (int rank = 0; rank < 4; ++rank)
    MADE(MPI_Type_create_darray_c(4, rank, 2, full, distributed, given, grid, MPI_ORDER_C, MPI_INT, &t));
  MPI_Datatype inner;
  OK(MPI_Type_vector_c(2, 1, 3, MPI_INT, &inner));
  OK(MPI_Type_create_resized_c(inner, 0, 24, &t));
  OK(MPI_Type_free(&inner));
  inner = t;
  MADE(MPI_Type_contiguous(4, inner, &t));
  OK(MPI_Type_free(&inner));
}

static void collectives_of_large_counts(void) {
  MPI_Count counts[64];
  MPI_Aint places[64];
  MPI_Datatype types[64];
  MPI_Request r;
  const MPI_Count each = 300;
  for (int m = 0; m < n; ++m) counts[m] = each - m, places[m] = m * each;
  for (int later = 0; later < 2; ++later) {
#define DO(name, lower, ...) (later ? (MPI_I##lower##_c(__VA_ARGS__, MPI_COMM_WORLD, &r) != MPI_SUCCESS ? 1 : MPI_Wait(&r, MPI_STATUS_IGNORE)) : MPI_##name##_c(__VA_ARGS__, MPI_COMM_WORLD))
    sets(1);
    memcpy(in, out, sizeof in);
    OK(DO(Bcast, bcast, in, most, MPI_INT, 1));
    REQUIRE(came(1, 1, most));
    for (int i = 0; i < most; ++i) out[i] = me + i;
    OK(DO(Allreduce, allreduce, out, in, most, MPI_INT, MPI_SUM));
    for (int i = 0; i < most; ++i) REQUIRE(in[i] == n * (n - 1) / 2 + n * i);
    OK(DO(Reduce, reduce, out, in, 500, MPI_INT, MPI_MAX, n - 1));
    REQUIRE(me != n - 1 || in[499] == n - 1 + 499);
    OK(DO(Scan, scan, out, in, 500, MPI_INT, MPI_SUM));
    REQUIRE(in[7] == me * (me + 1) / 2 + 7 * (me + 1));
    OK(DO(Exscan, exscan, out, in, 500, MPI_INT, MPI_SUM));
    REQUIRE(me == 0 || in[7] == me * (me - 1) / 2 + 7 * me);
    OK(DO(Reduce_scatter_block, reduce_scatter_block, out, in, each, MPI_INT, MPI_SUM));
    REQUIRE(in[5] == n * (n - 1) / 2 + n * (int)(me * each + 5));
    OK(DO(Reduce_scatter, reduce_scatter, out, in, counts, MPI_INT, MPI_MIN));
    int before = 0;
    for (int m = 0; m < me; ++m) before += (int)counts[m];
    REQUIRE(in[0] == before && in[counts[me] - 1] == before + (int)counts[me] - 1);
    sets(2);
    OK(DO(Allgather, allgather, out, each, MPI_INT, in, each, MPI_INT));
    for (int m = 0; m < n; ++m) REQUIRE(filled(in + m * each, (size_t)each * 4, 2 + (unsigned)m));
    sets(3);
    OK(DO(Allgatherv, allgatherv, out, counts[me], MPI_INT, in, counts, places, MPI_INT));
    for (int m = 0; m < n; ++m) REQUIRE(filled(in + places[m], (size_t)counts[m] * 4, 3 + (unsigned)m));
    sets(4);
    OK(DO(Gather, gather, out, each, MPI_INT, in, each, MPI_INT, 0));
    for (int m = 0; me == 0 && m < n; ++m) REQUIRE(filled(in + m * each, (size_t)each * 4, 4 + (unsigned)m));
    OK(DO(Gatherv, gatherv, out, counts[me], MPI_INT, in, counts, places, MPI_INT, 0));
    for (int m = 0; me == 0 && m < n; ++m) REQUIRE(filled(in + places[m], (size_t)counts[m] * 4, 4 + (unsigned)m));
    for (int i = 0; i < most; ++i) out[i] = 100000 * me + i;
    OK(DO(Scatter, scatter, out, each, MPI_INT, in, each, MPI_INT, 1));
    REQUIRE(in[0] == 100000 + me * each && in[each - 1] == 100000 + (me + 1) * each - 1);
    OK(DO(Scatterv, scatterv, out, counts, places, MPI_INT, in, counts[me], MPI_INT, 1));
    REQUIRE(in[counts[me] - 1] == 100000 + places[me] + counts[me] - 1);
    OK(DO(Alltoall, alltoall, out, each, MPI_INT, in, each, MPI_INT));
    for (int m = 0; m < n; ++m) REQUIRE(in[m * each + 7] == 100000 * m + me * each + 7);
    MPI_Count all_alike[64];
    for (int m = 0; m < n; ++m) all_alike[m] = each, types[m] = MPI_INT;
    memset(in, 0, sizeof in);
    OK(DO(Alltoallv, alltoallv, out, all_alike, places, MPI_INT, in, all_alike, places, MPI_INT));
    for (int m = 0; m < n; ++m) REQUIRE(in[m * each + 7] == 100000 * m + me * each + 7);
    MPI_Aint at[64];
    for (int m = 0; m < n; ++m) at[m] = places[m] * 4;
    memset(in, 0, sizeof in);
    OK(DO(Alltoallw, alltoallw, out, all_alike, at, types, in, all_alike, at, types));
    for (int m = 0; m < n; ++m) REQUIRE(in[m * each + 7] == 100000 * m + me * each + 7);
  }
}

static void neighbors_of_large_counts(void) {
  const int sources[] = {left}, destinations[] = {right};
  const MPI_Count counts[] = {20};
  const MPI_Aint places[] = {0};
  const MPI_Datatype types[] = {MPI_INT};
  MPI_Comm ring;
  MPI_Request r;
  OK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, sources, MPI_UNWEIGHTED, 1, destinations, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &ring));
#define FROM_LEFT(...) (sets(5), (__VA_ARGS__) == MPI_SUCCESS && came(5, left, 20))
  REQUIRE(FROM_LEFT(MPI_Neighbor_allgather_c(out, 20, MPI_INT, in, 20, MPI_INT, ring)));
  REQUIRE(FROM_LEFT(MPI_Neighbor_allgatherv_c(out, 20, MPI_INT, in, counts, places, MPI_INT, ring)));
  REQUIRE(FROM_LEFT(MPI_Neighbor_alltoall_c(out, 20, MPI_INT, in, 20, MPI_INT, ring)));
  REQUIRE(FROM_LEFT(MPI_Neighbor_alltoallv_c(out, counts, places, MPI_INT, in, counts, places, MPI_INT, ring)));
  REQUIRE(FROM_LEFT(MPI_Neighbor_alltoallw_c(out, counts, places, types, in, counts, places, types, ring)));
  sets(6);
  OK(MPI_Ineighbor_alltoall_c(out, 20, MPI_INT, in, 20, MPI_INT, ring, &r));
  OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
  REQUIRE(came(6, left, 20));
  OK(MPI_Comm_free(&ring));
}

static void windows_of_large_counts(void) {
  static int part_of_window[4000];
  for (int kind = 0; kind < 3; ++kind) {
    int *base = part_of_window, got[100], old[100];
    MPI_Win w;
    MPI_Request r;
    if (kind == 0) OK(MPI_Win_create_c(base, sizeof part_of_window, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &w));
    if (kind == 1) OK(MPI_Win_allocate_c(sizeof part_of_window, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &base, &w));
    if (kind == 2) OK(MPI_Win_allocate_shared_c(sizeof part_of_window, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &base, &w));
    sets(7);
    OK(MPI_Win_fence(0, w));
    memset(base, 0, sizeof part_of_window);
    OK(MPI_Win_fence(0, w));
    OK(MPI_Put_c(out, 100, MPI_INT, right, 10, 100, MPI_INT, w));
    OK(MPI_Win_fence(0, w));
    REQUIRE(filled(base + 10, 400, 7 + (unsigned)left));
    OK(MPI_Get_c(got, 100, MPI_INT, left, 10, 100, MPI_INT, w));
    OK(MPI_Win_fence(0, w));
    REQUIRE(filled(got, 400, 7 + (unsigned)((left + n - 1) % n)));
    for (int i = 0; i < 100; ++i) got[i] = i;
    OK(MPI_Accumulate_c(got, 100, MPI_INT, 0, 1000, 100, MPI_INT, MPI_SUM, w));
    OK(MPI_Win_fence(0, w));
    REQUIRE(me != 0 || base[1099] == 99 * n);
    OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, w));
    OK(MPI_Win_lock(MPI_LOCK_SHARED, right, 0, w));
    OK(MPI_Rput_c(out + 100, 50, MPI_INT, right, 2000, 50, MPI_INT, w, &r));
    OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
    OK(MPI_Win_flush(right, w));
    OK(MPI_Rget_c(got, 50, MPI_INT, right, 2000, 50, MPI_INT, w, &r));
    OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
    REQUIRE(memcmp(got, out + 100, 200) == 0);
    for (int i = 0; i < 50; ++i) got[i] = 2;
    OK(MPI_Raccumulate_c(got, 50, MPI_INT, right, 3000, 50, MPI_INT, MPI_SUM, w, &r));
    OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
    OK(MPI_Win_flush(right, w));
    OK(MPI_Get_accumulate_c(got, 50, MPI_INT, old, 50, MPI_INT, right, 3000, 50, MPI_INT, MPI_SUM, w));
    OK(MPI_Win_flush(right, w));
    REQUIRE(old[0] == 2 && old[49] == 2);
    OK(MPI_Rget_accumulate_c(got, 50, MPI_INT, old, 50, MPI_INT, right, 3000, 50, MPI_INT, MPI_NO_OP, w, &r));
    OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
    OK(MPI_Win_unlock(right, w));
    REQUIRE(old[0] == 4 && old[49] == 4);
    OK(MPI_Win_free(&w));
  }
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  find_place();
  RUN(sends_of_one_kind_meet_receives_of_the_other);
  RUN(copies_and_prepared_ones);
  RUN(exchanges);
  RUN(types_of_large_counts);
  RUN(collectives_of_large_counts);
  RUN(neighbors_of_large_counts);
  RUN(windows_of_large_counts);
  MPI_Finalize();
  return 0;
}

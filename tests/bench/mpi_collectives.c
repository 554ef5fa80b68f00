// The collectives of an MPI library: for each one asked for a line with its name, its bytes and the median over chunks, in
// microseconds, printed by rank 0 alone. Built by `tutti perf --peers` with each MPI's own compiler; what is called and how it is
// timed is the same as in tools/perf/collectives.cpp, which tells why. For `tutti perf mpi` also rings and a sort, of messages and
// collectives: Huang 2005, figures 9 and 10.
// Usage: mpi_collectives SECONDS [threads] NAME:BYTES...       SECONDS for each; names as tutti has them, others are left out
// threads: with MPI_THREAD_MULTIPLE
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, ranks, calls;  // calls: made so far
static size_t bytes;            // of the whole data, or of a block for each rank
static char *in, *out;
static int *counts, *begins;
static MPI_Comm upwards, downwards;  // by rank, and by rank from the last

static int doubles(void) { return (int)(bytes / sizeof(double)); }
static int root(void) { return ranks - 1 - calls % ranks; }
static MPI_Comm in_turn(void) { return calls % 2 ? downwards : upwards; }

static void barrier(void) { MPI_Barrier(upwards); }
static void broadcast(void) { MPI_Bcast(out, doubles(), MPI_DOUBLE, root(), upwards); }
static void reduce(void) { MPI_Reduce(in, out, doubles(), MPI_DOUBLE, MPI_SUM, root(), upwards); }
static void allreduce(void) { MPI_Allreduce(in, out, doubles(), MPI_DOUBLE, MPI_SUM, upwards); }
static void gather(void) { MPI_Gather(in, doubles(), MPI_DOUBLE, out, doubles(), MPI_DOUBLE, root(), upwards); }
static void scatter(void) { MPI_Scatter(in, doubles(), MPI_DOUBLE, out, doubles(), MPI_DOUBLE, root(), upwards); }
static void allgather(void) { MPI_Allgather(in, doubles(), MPI_DOUBLE, out, doubles(), MPI_DOUBLE, upwards); }
static void alltoall(void) { MPI_Alltoall(in, doubles(), MPI_DOUBLE, out, doubles(), MPI_DOUBLE, upwards); }
static void alltoallv(void) { MPI_Alltoallv(in, counts, begins, MPI_DOUBLE, out, counts, begins, MPI_DOUBLE, upwards); }
static void reduce_scatter(void) { MPI_Reduce_scatter_block(in, out, doubles(), MPI_DOUBLE, MPI_SUM, upwards); }
static void scan(void) { MPI_Scan(in, out, doubles(), MPI_DOUBLE, MPI_SUM, in_turn()); }
static void exscan(void) { MPI_Exscan(in, out, doubles(), MPI_DOUBLE, MPI_SUM, in_turn()); }

// Every rank exchanges messages with both neighbours of a ring, as HPC Challenge does: the ranks in their order, or in one of several
// random orders in turn.
static int place_in_ring(int* order, unsigned seed) {
  int mine = 0;
  for (int i = 0; i < ranks; ++i) order[i] = i;
  for (int i = ranks - 1; i > 0; --i) {
    seed = seed * 1103515245u + 12345u;
    const int other = (int)(seed >> 16) % (i + 1), kept = order[i];
    order[i] = order[other], order[other] = kept;
  }
  for (int i = 0; i < ranks; ++i)
    if (order[i] == rank) mine = i;
  return mine;
}
static void exchange_in_ring(int left, int right) {
  MPI_Request r[4];
  char* const from_right = out + bytes;
  MPI_Irecv(out, (int)bytes, MPI_BYTE, left, 1, upwards, &r[0]);
  MPI_Irecv(from_right, (int)bytes, MPI_BYTE, right, 2, upwards, &r[1]);
  MPI_Isend(in, (int)bytes, MPI_BYTE, right, 1, upwards, &r[2]);
  MPI_Isend(in, (int)bytes, MPI_BYTE, left, 2, upwards, &r[3]);
  MPI_Waitall(4, r, MPI_STATUSES_IGNORE);
}
static void ring(void) { exchange_in_ring((rank + ranks - 1) % ranks, (rank + 1) % ranks); }
static void random_ring(void) {
  int order[64];
  const int at = place_in_ring(order, (unsigned)(calls / 16));
  exchange_in_ring(order[(at + ranks - 1) % ranks], order[(at + 1) % ranks]);
}

// Ranks the keys of all, as the kernel IS of the NAS parallel benchmarks does: a histogram of all keys says which rank gets which buckets,
// the keys go there, and each rank counts its own.
enum { buckets = 1024, key_bits = 19 };
static void integer_sort(void) {
  static int *keys, *ordered, *got, *count, had = -1;
  static int local[buckets], global[buckets], at[buckets], first[65], send[64], send_at[64], take[64], take_at[64];
  const int n = (int)(bytes / sizeof(int)), shift = key_bits - 10;
  if (had != n) {
    unsigned seed = 1u + (unsigned)rank;
    keys = realloc(keys, bytes), ordered = realloc(ordered, bytes), got = realloc(got, bytes * (size_t)ranks), count = realloc(count, sizeof(int) << key_bits);
    if (!keys || !ordered || !got || !count) MPI_Abort(MPI_COMM_WORLD, 1);
    for (int i = 0; i < n; ++i) seed = seed * 1664525u + 1013904223u, keys[i] = (int)(seed >> (32 - key_bits));
    had = n;
  }
  memset(local, 0, sizeof local), memset(send, 0, sizeof send);
  for (int i = 0; i < n; ++i) ++local[keys[i] >> shift];
  MPI_Allreduce(local, global, buckets, MPI_INT, MPI_SUM, upwards);
  double before = 0;  // keys in the buckets of the ranks so far, n a rank or a few more
  for (int r = 0, b = 0; r < ranks; first[++r] = b)
    for (; b < buckets && (r == ranks - 1 || before < (double)n * (r + 1)); ++b) before += global[b];
  for (int b = 0, sum = 0; b < buckets; ++b) at[b] = sum, sum += local[b];
  for (int r = 0; r < ranks; ++r) {
    send_at[r] = first[r] < buckets ? at[first[r]] : n;
    for (int b = first[r]; b < first[r + 1]; ++b) send[r] += local[b];
  }
  for (int i = 0; i < n; ++i) ordered[at[keys[i] >> shift]++] = keys[i];
  MPI_Alltoall(send, 1, MPI_INT, take, 1, MPI_INT, upwards);
  int all_of_mine = 0;
  for (int r = 0; r < ranks; ++r) take_at[r] = all_of_mine, all_of_mine += take[r];
  MPI_Alltoallv(ordered, send, send_at, MPI_INT, got, take, take_at, MPI_INT, upwards);
  const int low = first[rank] << shift, high = first[rank + 1] << shift;
  memset(count + low, 0, (size_t)(high - low) * sizeof(int));
  for (int i = 0; i < all_of_mine; ++i) {
    if (got[i] < low || got[i] >= high) MPI_Abort(MPI_COMM_WORLD, 2);
    ++count[got[i]];
  }
  for (int k = low + 1; k < high; ++k) count[k] += count[k - 1];
}

static const struct {
  const char* name;
  void (*call)(void);
} all[] = {{"barrier", barrier},     {"broadcast", broadcast}, {"reduce", reduce},       {"allreduce", allreduce},
           {"gather", gather},       {"scatter", scatter},     {"allgather", allgather}, {"alltoall", alltoall},
           {"alltoallv", alltoallv}, {"reduce_scatter", reduce_scatter}, {"scan", scan}, {"exscan", exscan},
           {"ring", ring},           {"random_ring", random_ring}, {"integer_sort", integer_sort}};

// Seconds until the last rank is through, the same in all ranks.
static double chunk(void (*call)(void), int iterations) {
  MPI_Barrier(upwards);
  const double start = MPI_Wtime();
  for (int i = 0; i < iterations; ++i, ++calls) call();
  double mine = MPI_Wtime() - start, longest;
  MPI_Allreduce(&mine, &longest, 1, MPI_DOUBLE, MPI_MAX, upwards);
  return longest;
}

static int by_value(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

static double median(void (*call)(void), double seconds) {
  enum { most_chunks = 10000, most_iterations = 20000 };
  const double chunk_seconds = 4e-3;
  static double us[most_chunks];
  int iterations = 1, chunks = 0;
  chunk(call, 1);
  for (double took; (took = chunk(call, iterations)) < chunk_seconds / 4 && iterations < most_iterations;)
    iterations = 4 * iterations < most_iterations ? 4 * iterations : most_iterations;
  for (double past = 0; chunks < 3 || (past < seconds && chunks < most_chunks); ++chunks) {
    const double took = chunk(call, iterations);
    us[chunks] = took / iterations * 1e6;
    past += took;
  }
  qsort(us, (size_t)chunks, sizeof *us, by_value);
  return us[chunks / 2];
}

int main(int argc, char** argv) {
  int level;
  MPI_Init_thread(&argc, &argv, argc > 2 && strcmp(argv[2], "threads") == 0 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Comm_dup(MPI_COMM_WORLD, &upwards);
  MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &downwards);
  size_t most = 0;
  for (int i = 2; i < argc; ++i) {
    const size_t n = strchr(argv[i], ':') ? strtoull(strchr(argv[i], ':') + 1, NULL, 10) : 0;
    most = n > most ? n : most;
  }
  if (ranks > 64) MPI_Abort(MPI_COMM_WORLD, 1);  // arrays of rings and sorts
  const size_t room = most * (size_t)(ranks > 2 ? ranks : 2) + 64;
  in = malloc(room), out = malloc(room);
  counts = malloc((size_t)ranks * sizeof *counts), begins = malloc((size_t)ranks * sizeof *begins);
  if (!in || !out || !counts || !begins) MPI_Abort(MPI_COMM_WORLD, 1);
  memset(in, 0, room), memset(out, 0, room);
  for (int i = 2; i < argc; ++i) {
    const size_t length = strcspn(argv[i], ":");
    bytes = argv[i][length] ? strtoull(argv[i] + length + 1, NULL, 10) : 0;
    for (int r = 0; r < ranks; ++r) counts[r] = doubles(), begins[r] = r * doubles();
    for (size_t k = 0; k < sizeof all / sizeof *all; ++k)
      if (strlen(all[k].name) == length && strncmp(all[k].name, argv[i], length) == 0) {
        const double us = median(all[k].call, atof(argv[1]));
        if (rank == 0) printf("%s %zu %.4f\n", all[k].name, bytes, us), fflush(stdout);
      }
  }
  MPI_Finalize();
  return 0;
}

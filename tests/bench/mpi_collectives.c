// The collectives of an MPI library: for each one asked for a line with its name, its bytes and the median over chunks, in
// microseconds, printed by rank 0 alone. Built by `tutti perf --peers` with each MPI's own compiler; what is called and how it is
// timed is the same as in tools/perf/collectives.cpp, which tells why.
// Usage: mpi_collectives SECONDS NAME:BYTES...       SECONDS for each; names as tutti has them, others are left out
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

static const struct {
  const char* name;
  void (*call)(void);
} all[] = {{"barrier", barrier},     {"broadcast", broadcast}, {"reduce", reduce},       {"allreduce", allreduce},
           {"gather", gather},       {"scatter", scatter},     {"allgather", allgather}, {"alltoall", alltoall},
           {"alltoallv", alltoallv}, {"reduce_scatter", reduce_scatter}, {"scan", scan}, {"exscan", exscan}};

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
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Comm_dup(MPI_COMM_WORLD, &upwards);
  MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &downwards);
  size_t most = 0;
  for (int i = 2; i < argc; ++i) {
    const size_t n = strchr(argv[i], ':') ? strtoull(strchr(argv[i], ':') + 1, NULL, 10) : 0;
    most = n > most ? n : most;
  }
  const size_t room = most * (size_t)ranks + 64;
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

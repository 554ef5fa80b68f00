// MPI_Barrier as an MPI library does it: the median over chunks, in microseconds, printed by rank 0 alone.
// Built by `tutti perf --peers` with each MPI's own compiler; measured as tools/perf/session.cpp measures.
// Usage: mpi_barrier SECONDS
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int by_value(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

int main(int argc, char** argv) {
  enum { most_chunks = 100000 };
  const double seconds = argc > 1 ? atof(argv[1]) : 2.0, chunk_seconds = 4e-3;
  int rank, chunks = 0, iterations = 1, go = 1;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  double* us = malloc(most_chunks * sizeof *us);
  const double begin = MPI_Wtime();
  while (go && chunks < most_chunks) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = MPI_Wtime();
    for (int i = 0; i < iterations; ++i) MPI_Barrier(MPI_COMM_WORLD);
    const double took = MPI_Wtime() - start;
    if (took > chunk_seconds / 4) us[chunks++] = took / iterations * 1e6;
    int next = (int)(iterations * chunk_seconds / (took > 1e-7 ? took : 1e-7));
    next = next < 1 ? 1 : next > iterations * 4 ? iterations * 4 : next;
    int decision[2] = {next > 20000 ? 20000 : next, MPI_Wtime() - begin < seconds || chunks < 3};
    MPI_Bcast(decision, 2, MPI_INT, 0, MPI_COMM_WORLD);
    iterations = decision[0], go = decision[1];
  }
  if (rank == 0) {
    qsort(us, (size_t)chunks, sizeof *us, by_value);
    printf("%.4f\n", us[chunks / 2]);
  }
  MPI_Finalize();
  free(us);
  return 0;
}

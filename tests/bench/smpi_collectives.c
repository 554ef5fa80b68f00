// A collective on SimGrid's simulated machine: the virtual time of one call of several in a row, until the last rank has left, in
// microseconds, printed by rank 0. Built by `tutti sim --simgrid` with smpicc.
// Usage: smpi_collectives barrier|allreduce CALLS BYTES
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (argc != 4) MPI_Abort(MPI_COMM_WORLD, 2);
  const int barrier = strcmp(argv[1], "barrier") == 0, calls = atoi(argv[2]), count = atoi(argv[3]) / (int)sizeof(long);
  long* const in = calloc((size_t)count + 1, sizeof *in);
  long* const out = calloc((size_t)count + 1, sizeof *out);
  if (!in || !out) MPI_Abort(MPI_COMM_WORLD, 1);
  int rank;
  double start = 0, mine, longest;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = -2; i < calls; ++i) {
    if (i == 0) {
      MPI_Barrier(MPI_COMM_WORLD);
      start = MPI_Wtime();
    }
    if (barrier) MPI_Barrier(MPI_COMM_WORLD);
    else MPI_Allreduce(in, out, count, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  }
  mine = MPI_Wtime() - start;
  MPI_Reduce(&mine, &longest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("%.6f\n", longest / calls * 1e6);
  free(in), free(out);
  MPI_Finalize();
}

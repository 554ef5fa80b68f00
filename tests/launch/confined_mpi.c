/* A little of everything by MPI, in a process that is confined: confined.sh. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv) {
  static char block[2][100000];
  int me, n, one = 1, sum = 0, *memory;
  MPI_Win window;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_size(MPI_COMM_WORLD, &n);
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  const int right = (me + 1) % n, left = (me + n - 1) % n;
  MPI_Sendrecv(block[0], sizeof block[0], MPI_BYTE, right, 1, block[1], sizeof block[1], MPI_BYTE, left, 1, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  MPI_Win_allocate(4096, sizeof one, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
  *memory = 0;
  MPI_Win_fence(0, window);
  MPI_Put(&one, 1, MPI_INT, right, 0, 1, MPI_INT, window);
  MPI_Win_fence(0, window);
  if (*memory != 1) sum = -1;
  MPI_Win_free(&window);
  if (me == 0 && sum == n) printf("fine: %d\n", n);
  MPI_Finalize();
  return sum != n;
}

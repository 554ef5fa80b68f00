#!/bin/sh
# fortran.sh MPI LIBRARY SOURCE...: Fortran programs by mpif.h, mpi and mpi_f08, with the library preloaded and without: each says the same.
# So does the profiling tool that they are linked with, of how often it was called.
set -eu
mpi=$1 library=$2
shift 2
here=$(dirname "$0")
command -v "mpif90.$mpi" > /dev/null && command -v gfortran > /dev/null || { echo "gfortran is not installed" >&2; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
root=
[ "$(id -u)" != 0 ] || root=--allow-run-as-root
cat > tool.c <<'C'
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
static int fortran, c;
#define COUNTED(lower, parameters, arguments) \
  void pmpi_##lower##_ parameters;            \
  void mpi_##lower##_ parameters { ++fortran, pmpi_##lower##_ arguments; }
COUNTED(wait, (MPI_Fint *r, MPI_Fint *s, MPI_Fint *e), (r, s, e))
COUNTED(waitall, (MPI_Fint *n, MPI_Fint *r, MPI_Fint *s, MPI_Fint *e), (n, r, s, e))
COUNTED(startall, (MPI_Fint *n, MPI_Fint *r, MPI_Fint *e), (n, r, e))
COUNTED(allreduce, (void *d, void *a, MPI_Fint *n, MPI_Fint *t, MPI_Fint *o, MPI_Fint *w, MPI_Fint *e), (d, a, n, t, o, w, e))
int MPI_Wait(MPI_Request *r, MPI_Status *s) { return ++c, PMPI_Wait(r, s); }
int MPI_Start(MPI_Request *r) { return ++c, PMPI_Start(r); }
int MPI_Startall(int n, MPI_Request *r) { return ++c, PMPI_Startall(n, r); }
__attribute__((destructor)) static void say(void) {
  const char *mine = getenv("OMPI_COMM_WORLD_RANK");
  if (!mine) mine = getenv("PMI_RANK");
  if (mine && atoi(mine) == 0) printf("the tool saw %d calls of Fortran's and %d of C's\n", fortran, c);
}
C
"mpicc.$mpi" -shared -fPIC tool.c -o libtool.so
for source; do for module in 1 2 3; do
  "mpif90.$mpi" -cpp -DMODULE=$module -fallow-argument-mismatch "$source" -Wl,--no-as-needed "$PWD/libtool.so" -Wl,--as-needed -o heat
  case $mpi in
    openmpi) timeout 60 mpirun.openmpi $root --oversubscribe --bind-to none --mca mpi_yield_when_idle 1 -n 3 ./heat > alone ;;
    mpich) timeout 60 mpiexec.mpich -n 3 ./heat > alone ;;
  esac
  "$here/run.sh" "$mpi" "$library" 3 ./heat > by_tutti
  diff alone by_tutti
  grep -q total by_tutti
done; done

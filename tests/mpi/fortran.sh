#!/bin/sh
# fortran.sh MPI LIBRARY SOURCE...: Fortran programs by mpif.h, mpi and mpi_f08, with the library preloaded and without: each says the same.
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
for source; do for module in 1 2 3; do
  "mpif90.$mpi" -cpp -DMODULE=$module -fallow-argument-mismatch "$source" -o heat
  case $mpi in
    openmpi) timeout 60 mpirun.openmpi $root --oversubscribe --bind-to none --mca mpi_yield_when_idle 1 -n 3 ./heat > alone ;;
    mpich) timeout 60 mpiexec.mpich -n 3 ./heat > alone ;;
  esac
  "$here/run.sh" "$mpi" "$library" 3 ./heat > by_tutti
  diff alone by_tutti
  grep -q total by_tutti
done; done

#!/bin/sh
# run.sh MPI LIBRARY RANKS PROGRAM [ARGUMENT...]: an MPI program with the library preloaded, by its MPI's launcher. Fails where the
# program does, and where nothing went by tutti. MPI: openmpi or mpich. Settings come from the environment. COMPARED=1: the
# program must print the same without the library. UNREPORTED=1: the program ends before a report.
# STATUS: what the launcher ends with, 0 if not given.
set -eu
mpi=$1 library=$2 ranks=$3
shift 3
said=$(mktemp) printed=$(mktemp)
trap 'rm -f "$said" "$printed"' EXIT
export TUTTI_MPI_REPORT=1
case $mpi in
  openmpi)
    words="--oversubscribe --bind-to none --mca mpi_yield_when_idle 1 --mca osc pt2pt,sm"
    [ "$(id -u)" != 0 ] || words="--allow-run-as-root $words"
    for name in $(env | sed -n 's/^\(TUTTI_[A-Z_]*\)=.*/\1/p'); do words="$words -x $name"; done
    # shellcheck disable=SC2086
    set -- mpirun.openmpi $words -n "$ranks" -x LD_PRELOAD="$library" "$@" ;;
  mpich) set -- mpiexec.mpich -n "$ranks" -genv LD_PRELOAD "$library" "$@" ;;
esac
ended=0
timeout -k 5 "${TUTTI_TEST_SECONDS:-100}" "$@" > "$printed" 2> "$said" || ended=$?
cat "$printed"
cat "$said" >&2
[ $ended != 77 ] || exit 77
[ $ended = "${STATUS:-0}" ] || { echo "run.sh: status $ended" >&2; exit 1; }
[ -n "${UNREPORTED:-}" ] || grep -q 'by tutti over' "$said" || { echo "run.sh: there is no report of tutti's" >&2; exit 1; }
[ -z "${COMPARED:-}" ] || TUTTI_MPI=off timeout -k 5 "${TUTTI_TEST_SECONDS:-100}" "$@" 2> /dev/null | diff "$printed" - ||
  { echo "run.sh: with tutti (<) and without (>) the program prints otherwise" >&2; exit 1; }

#!/bin/sh
# tools.sh MPI LIBRARY TOOL PROGRAM: a program that is linked with a profiling tool, by 3 ranks, with the library before the tool and
# behind it. The tool sees the program's calls, the library takes them, and its report tells of them.
set -eu
mpi=$1 library=$2 tool=$3 program=$4
here=$(dirname "$0")
said=$(mktemp)
trap 'rm -f "$said"' EXIT
has() { grep -Eq "^$1" "$said" || { cat "$said" >&2; echo "tools.sh: LD_PRELOAD=$order: the report has no line $1" >&2; exit 1; }; }
for order in "$library" "$tool:$library"; do
  [ "$("$here/run.sh" "$mpi" "$order" 3 "$program" 2> "$said")" = ok ] || { cat "$said" >&2; exit 1; }
  has 'MPI_Isend +9 +36 '
  has 'MPI_Waitall +12 .* 6 +[0-9.]+  no request 6$'
  has 'MPI_Wait +0 .* 3 +[0-9.]+  no request 3$'
  has 'MPI_Allreduce +6 '
  has 'MPI_Win_allocate +3 '
  has 'MPI_Win_create +3 '
  has "MPI_Win_create_dynamic +0 .* 3 +[0-9.]+  MPI's window 3\$"
  has "MPI_Win_fence +12 .* 3 +[0-9.]+  MPI's window 3\$"
  has 'MPI_Put +3 +12 '
  has 'MPI_Get +3 +12 '
  has "MPI_Win_free +6 .* 3 +[0-9.]+  MPI's window 3\$"
done

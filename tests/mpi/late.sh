#!/bin/sh
# late.sh MPI LIBRARY PROGRESS: ranks of an MPI program that wait in vain are told whom for, again and again, on standard error; and not
# where that is switched off.
set -eu
ulimit -c 0
here=$(dirname "$0") mpi=$1 library=$2 progress=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export UNREPORTED=1
job() { # job NAME RANKS NOTICE_S SCENE...: until its time is over
  name=$1 ranks=$2 notice=$3
  shift 3
  TUTTI_NOTICE_S=$notice "$here/run.sh" "$mpi" "$library" "$ranks" "$progress" "$@" > "$work/$name" 2>&1 || true
}
told() { # told NAME PATTERN: by two ranks, and one of them again
  [ "$(grep -c "^tutti: rank [0-9] waited [1-9][0-9]* s in $2" "$work/$1")" -ge 3 ]
}
receive='a receive of tag 8 from rank [01]; no other message is here; rank [01] waits in a receive of tag 8 .*; so they wait for each other$'
for seconds in 6 30; do # the longer where the machine is slow to start them
  export TUTTI_TEST_SECONDS=$seconds
  job silent 2 0 receive &
  job receive 2 1 receive &
  job threads 2 1 receive threads &
  job fence 3 1 fence &
  wait
  told receive "$receive" && told threads "$receive" && told fence 'a barrier, call [0-9]* of a team of 3.* rank 2' && said=all && break
done
[ "${said:-}" = all ] && ! grep '^tutti:' "$work/silent" || { cat "$work"/*; exit 1; }

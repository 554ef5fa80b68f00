#!/bin/sh
# late.sh TUTTI LATE: who waits for long is told on standard error, once, and not where that is switched off or nobody is that late.
set -eu
tutti=$1 late=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for job in 0.by 1.by 5.by 1.pair; do  # TUTTI_NOTICE_S and the scene
  TUTTI_NOTICE_S=${job%.*} "$tutti" run --timeout 30 -n 2 "$late" "${job#*.}" > "$work/$job" 2>&1 &
done
wait
one_line() { # one_line JOB PATTERN
  [ "$(grep -c "$2" "$work/$1")" -eq 1 ] || { echo "$1 has not one line like '$2': $(cat "$work/$1")"; exit 1; }
}
one_line 1.by '^tutti: '
# (Where starting alone takes a second, that is told, and the next wait after two.)
one_line 1.by '^tutti: rank 0 waited 1 s in a barrier, call [12] of a team of 2, for rank 1, which \(has made 1 there\|is in no call\)'
one_line 1.pair '^tutti: rank 0 waited [12] s in an alltoallv, call 2 of a team of 2, for rank 1, which '
for job in 0.by 5.by; do
  [ ! -s "$work/$job" ] || { echo "$job: $(cat "$work/$job")"; exit 1; }
done

#!/bin/sh
# survivors.sh TUTTI RANKS PROGRAM SCENE: all ranks but the one that is killed, or KILLED of them, end well, each saying so.
set -eu
tutti=$1 ranks=$2
shift 2
status=0
said=$("$tutti" run --keep-going --timeout 30 -n "$ranks" "$@") || status=$?
[ $status -eq 137 ] || { echo "exit status $status, wanted that of the killed rank, 137"; exit 1; }
survived=$(echo "$said" | grep -c '^survived$') || :
[ "$survived" -eq $((ranks - ${KILLED:-1})) ] || { echo "$survived survived of $((ranks - 1))"; exit 1; }

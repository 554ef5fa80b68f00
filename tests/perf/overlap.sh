#!/bin/bash
# overlap.sh TUTTI: every part of `tutti perf overlap` comes to its end with figures in all columns, on a provider without
# and on one with offload.
set -eu
out=$(TUTTI_PROVIDER=shm timeout -k 5 60 "$1" perf overlap -n 2 --parts loop --seconds 0.1)
grep -q 'runs no barrier by itself' <<<"$out" || { echo "FAILED: shm offloads?"; echo "$out"; exit 1; }
# Where strangers have the cores, no computation that was tried may be long enough.
grep -Eq '^  0.50( +([0-9.]+|> 16384)){3}$' <<<"$out" || { echo "FAILED: no efficiency"; echo "$out"; exit 1; }
TUTTI_PROVIDER=ofi:sockets "$1" info | grep -q 'ofi:sockets .* offload,' || { echo "no provider that offloads"; exit 0; }
out=$(TUTTI_PROVIDER=ofi:sockets timeout -k 5 100 "$1" perf overlap -n 2 --parts applications --seconds 0.1)
grep -Eq '^  360 us in 8 steps( +[0-9]+){5}$' <<<"$out" || { echo "FAILED: no application"; echo "$out"; exit 1; }

#!/bin/bash
# reductions.sh TUTTI: `tutti perf reductions` has a rate of each operation that makes sense for a type, and its share of a copy's; what
# makes none, or is no type at all, ends it with the reason.
set -eu
fail() { echo "FAILED: $*"; exit 1; }
out=$("$1" perf reductions --types float64,float16,float32_int32 --operations sum,bitwise_and,minloc --milliseconds 0.05)
[ "$(grep -cE '^  (float64 sum|float16 sum|float32_int32 minloc) +([0-9.]+ +[0-9.]+ *){3}$' <<<"$out")" = 3 ] || fail "not three lines: $out"
! grep -qE 'bitwise_and| 0\.0 ' <<<"$out" || fail "what cannot be: $out"
copies=$(sed -nE 's/^  memcpy +([0-9.]+) +([0-9.]+) +([0-9.]+) *$/\1 \2 \3/p' <<<"$out")
[ -n "$copies" ] || fail "no copy beside them: $out"
# The share is what it says it is.
read -r rate share < <(sed -nE 's/^  float64 sum +([0-9.]+) +([0-9.]+).*/\1 \2/p' <<<"$out")
awk -v r="$rate" -v s="$share" -v c="${copies%% *}" 'BEGIN { x = r / c; exit !(x > s - 0.02 && x < s + 0.02) }' || fail "$rate of ${copies%% *} is not $share"
if "$1" perf reductions --types float64 --operations bitwise_or > /dev/null 2> err.txt; then fail "bitwise_or of float64"; fi
grep -q 'makes sense' err.txt || fail "no reason: $(cat err.txt)"
if "$1" perf reductions --types float63 > /dev/null 2>&1; then fail "a type that is none"; fi
rm err.txt

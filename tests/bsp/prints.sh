#!/bin/bash
# prints.sh TUTTI PROGRAM: what processes of prints.cpp print is seen, in its order, however the program ends.
set -u
tutti=$1 program=$2
out=$(mktemp)
trap 'rm -f "$out"' EXIT
ulimit -c 0
fail() { echo "FAILED: $*"; sed 's/^/    /' "$out"; exit 1; }
for apart in '' apart; do
  for _ in 1 2 3; do
    timeout -k 2 60 "$tutti" run -n 3 "$program" turns $apart >"$out" 2>&1 || fail "turns $apart: status $?"
    for turn in $(seq 0 49); do for s in 0 1 2; do echo "$turn $s"; done; done | cmp - "$out" || fail "turns $apart: out of order"
  done
  for how in abort error crash exit; do
    timeout -k 2 60 "$tutti" run -n 3 "$program" $how $apart >"$out" 2>&1 && fail "$how $apart: status 0"
    for s in 0 1 2; do
      grep -qx "process $s came" "$out" && grep -qx "process $s saw" "$out" || fail "$how $apart: what process $s printed is lost"
    done
    grep -qx 'process 2 ends' "$out" || fail "$how $apart: the last line is lost"
    [ "$how$apart" = crashapart ] || grep -qx 'process 2 ended' "$out" || fail "$how $apart: the last line of std::cout is lost"
  done
done
# A program's own choice prevails: what it keeps itself goes with it.
timeout -k 2 60 "$tutti" run -n 3 "$program" chosen >"$out" 2>&1 && fail "chosen: status 0"
grep -q 'process 2' <(grep -v '^tutti run' "$out") && fail "the program's own buffer is not kept"
# The launcher that ends a program which hangs says where its processes are, first the one that the others wait for.
timeout -k 2 60 "$tutti" run --timeout 5 --grace 1 -n 3 "$program" hang >"$out" 2>&1 && fail "hang: status 0"
grep '^tutti run: rank' "$out" | sed -n 1p | grep -qx 'tutti run: rank 2 waits in no call of tutti' || fail "hang: not the late one first"
[ "$(grep -c '^tutti run: rank [01] waits in bsp_sync, superstep 2$' "$out")" = 2 ] || fail "hang: not where the others wait"
echo "prints: right"

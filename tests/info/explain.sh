#!/bin/bash
# explain.sh TUTTI: without --ranks-per-core, what is explained is a job of so many ranks on the cores that may be used here,
# which is said; with it, what was asked for.
set -eu
tutti=$1
fail() { echo "FAILED: $*"; exit 1; }
core=$(taskset -pc $$ | sed 's/.*: *\([0-9]*\).*/\1/')
for topic in barrier broadcast; do
  out=$(taskset -c "$core" "$tutti" info --explain $topic --ranks 8)
  grep -q '^ranks per core: 8, as 8 ranks of a node have on the 1 core here' <<<"$out" || fail "$topic: $out"
  grep -q '8\.00 ranks a core' <<<"$out" || fail "$topic is not explained for 8 ranks a core: $out"
  out=$(taskset -c "$core" "$tutti" info --explain $topic --ranks 8 --ranks-per-node 2)
  grep -q '2\.00 ranks a core' <<<"$out" || fail "$topic, 2 ranks a node: $out"
  out=$("$tutti" info --explain $topic --ranks 8 --ranks-per-core 1)
  grep -q '1\.00 ranks a core' <<<"$out" && ! grep -q 'ranks per core' <<<"$out" || fail "$topic, as asked: $out"
done

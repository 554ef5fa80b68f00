#!/bin/bash
# startup.sh TUTTI: `tutti perf startup` has both times of each provider, the job's no shorter than its start; a provider that
# there is none of ends it with the reason.
set -eu
out=$(timeout -k 5 90 "$1" perf startup -n 2 --rounds 1 --providers shm)
read -r barrier whole < <(sed -nE 's/^shm +([0-9]+) \([0-9]+ to [0-9]+\) +([0-9]+) \([0-9]+ to [0-9]+\)$/\1 \2/p' <<<"$out") ||
  { echo "FAILED: no times: $out"; exit 1; }
[ "$whole" -ge "$barrier" ] || { echo "FAILED: the whole takes $whole ms, its beginning $barrier"; exit 1; }
if out=$(timeout -k 5 60 "$1" perf startup -n 2 --rounds 1 --providers shn 2>&1); then echo "FAILED: started over shn: $out"; exit 1; fi
grep -q 'did you mean "shm"' <<<"$out" || { echo "FAILED: no reason: $out"; exit 1; }

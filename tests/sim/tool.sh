#!/bin/sh
# tool.sh TUTTI: `tutti sim` measures each algorithm, and refuses bad values in one line that says what to write.
set -eu
tutti=$1
out=$("$tutti" sim --ranks 300 --ranks-per-node 8 --epochs 2 --loss 0.1 --jitter 1)
for name in dissemination pairwise nway tree flat counter multicast hierarchical; do
  echo "$out" | grep -q "^$name" || { echo "no line of $name in: $out"; exit 1; }
done
# The two that grow with the ranks are left out where they would not fit, with the reason.
"$tutti" sim --ranks 2000 --epochs 1 | grep -q '^flat *left out: .*fewer ranks'
"$tutti" sim --regret --ranks 4 --collective barrier | grep -q '^1 choices: geometric mean of the regret'
"$tutti" sim --ranks 40 --barrier rds --kill 7@5 | grep -q '39 survivors ended with an error that names the dead'
refused() {  # PATTERN OPTIONS...
  pattern=$1; shift
  if said=$("$tutti" sim "$@" 2>&1); then echo "accepted: $*"; exit 1; fi
  [ "$(echo "$said" | wc -l)" = 1 ] && echo "$said" | grep -q -e "$pattern" || { echo "$*: $said"; exit 1; }
}
# Whatever is measured: several numbers of ranks, with files of the results; a machine by name, and options that go before it.
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
"$tutti" sim --machine ndr-infiniband --ranks 2..8,100 --barrier dissemination --json "$scratch/a.json" --html "$scratch/a.html" > "$scratch/out"
[ "$(grep -c '^dissemination' "$scratch/out")" = 4 ]
grep -q '"name": "ndr-infiniband"' "$scratch/a.json" && [ "$(grep -c '"of": "barrier"' "$scratch/a.json")" = 4 ]
grep -q '<svg' "$scratch/a.html" && grep -q 'QM9700' "$scratch/a.html"
"$tutti" sim --collective allreduce --ranks 8 --bytes 8,64KiB --latency 3 | grep -q 'L 3 us'
"$tutti" sim --traffic mirror --ranks 64 --topology fat-tree --fat-tree-down 8 --fat-tree-up 2 --bytes 4KiB | grep -q 'busiest link'
for name in "$(dirname "$0")"/../../docs/machines/*.json; do
  "$tutti" sim --machine "$name" --ranks 64 --barrier dissemination --epochs 2 > "$scratch/out" || { cat "$scratch/out"; echo "$name"; exit 1; }
done
# What `tutti tune` measures is a machine, and what the simulator says of it stands beside it.
"$tutti" tune --quiet --ranks 2 --providers shm --collectives barrier,allreduce --bytes 8 --minutes 0.03 --output "$scratch/t.json"
"$tutti" sim --machine "$scratch/t.json" --ranks 4 --barrier dissemination | grep -q '^dissemination'
"$tutti" sim --validate "$scratch/t.json" --details --json "$scratch/v.json" --html "$scratch/v.html" > "$scratch/out"
grep -q '^shm, allreduce: .*typically off by a factor of' "$scratch/out" || { cat "$scratch/out"; exit 1; }
grep -q '"simulated_us"' "$scratch/v.json" && grep -q '<svg' "$scratch/v.html"
refused 'no fabric "verbs" whose links were measured: name one of shm' --machine "$scratch/t.json" --fabric verbs
refused 'cannot read the tuning table' --validate "$scratch/none.json"
refused "name the table by --machine or --validate" --fabric shm
refused "has no row of scan that can be simulated over shm" --validate "$scratch/t.json" --fabric shm --collective scan
refused 'no fabric "verbs" whose links were measured' --validate "$scratch/t.json" --fabric verbs
if command -v smpicc > /dev/null; then
  "$tutti" sim --simgrid --ranks 8 --bytes 8 > "$scratch/out"
  [ "$(grep -cE '^(barrier|allreduce) ' "$scratch/out")" = 2 ] || { cat "$scratch/out"; exit 1; }
fi
refused 'takes a flat network' --simgrid --ranks-per-node 2
refused 'did you mean "slingshot-11"' --machine slingshot-10
echo '{"tutti_machine": 1, "network": {"latency_us": -1}}' > "$scratch/bad.json"
refused 'network.latency_us is -1: expected is 0 to' --machine "$scratch/bad.json"
refused 'at most' --ranks 100000 --topology dragonfly --dragonfly-globals 1
refused 'write 10000, or 2,4,8' --ranks 5..2
refused 'known: dissemination' --barrier foo
refused 'fewer ranks' --barrier flat --ranks 5000
refused 'takes no radix' --barrier rds --radix 3 --ranks 8
refused 'write RANK@US' --kill 7 --ranks 8
refused 'the ranks are 0..7' --kill 8@1 --ranks 8
refused '--ranks' --ranks 0
refused '--loss' --loss 2
refused '"-1" is no size' --collective allreduce --ranks 4 --bytes -1
refused '"99999999999999999999" is no size' --collective allreduce --ranks 4 --bytes 99999999999999999999
refused 'too much to simulate' --collective allgather --ranks 4 --bytes 4EiB
"$tutti" sim --collective alltoall --ranks 4 --bytes 0 | grep -q '^nothing to move'

#!/bin/bash
# messages.sh TUTTI: `tutti perf messages` has a line for each cell; its comparisons have a figure of tutti's for each, ratios that
# follow from the times, and go on without the libraries that are missing; what makes no sense is refused.
set -u
tutti=$1
out=$(mktemp) work=$(mktemp -d)
trap 'rm -rf "$out" "$work"' EXIT
failed=0
fail() { echo "FAILED: $*"; sed 's/^/    /' "$out"; failed=1; }
figure='[0-9]+\.[0-9]{4}'
has_all() { # NAME BYTES...
  while [ $# -gt 0 ]; do grep -Eqx "$1 $2 $figure" "$out" || fail "no line for $1 of $2 bytes"; shift 2; done
}
export TUTTI_PROVIDER=shm
perf() { timeout -k 2 "$1" "$tutti" perf messages "${@:2}" >"$out" 2>&1; }

perf 60 --cells latency:8,latency:64k,bandwidth:1k,rate:8,active:8,put:8,mixed:4k --seconds 0.005 || fail "status $?"
has_all latency 8 latency 65536 bandwidth 1024 rate 8 active 8 put 8 mixed 4096
perf 60 --cells put:8,put:64k,mixed:64,mixed:64k --one-sided-by-messages --seconds 0.005 || fail "by messages: status $?"
has_all put 8 put 65536 mixed 64 mixed 65536
perf 60 -n 3 --cells rings:8 --seconds 0.005 || fail "rings: status $?"
has_all pairs-min 8 pairs-avg 8 pairs-max 8 ring-natural 8 ring-random 8
awk '{ us[$1] = $3 } END { exit !(us["pairs-min"] <= us["pairs-avg"] && us["pairs-avg"] <= us["pairs-max"]) }' "$out" || fail "the mean of the pairs lies outside"

for wrong in '-n 1' '--cells latency' '--cells latency:0' '--cells latency:8x' '--cells lateness:8' '--cells latency:65M' '--peers --rings' \
             '--peers --cells rings:8' '--rings --cells latency:8' '--json x' '--providers shm' '-n 2,3'; do
  # shellcheck disable=SC2086 # several words
  if perf 20 $wrong; then fail "$wrong is taken"; fi
done

# Beside the libraries that are here.
unset TUTTI_PROVIDER
perf 100 --peers --providers shm --cells latency:8,bandwidth:64k,rate:8 --seconds 10 --json "$work/peers.json" || fail "--peers: status $?"
for line in '^latency, us +8 B( +[0-9.]+)+' '^bandwidth, GB/s +64 KiB( +[0-9.]+)+' '^rate, millions/s +8 B +-( +[0-9.]+)+' '^8 B: -?[0-9]+ ns over a bare flag'; do
  grep -Eq "$line" "$out" || fail "no line like $line"
done
python3 - "$work/peers.json" <<'PYTHON' || fail "the JSON is wrong"
import json, math, sys
contest, = json.load(open(sys.argv[1]))['contests']
cells = contest['cells']
assert [(c['what'], c['bytes'], c['ranks']) for c in cells] == [('latency', 8, 2), ('bandwidth', 65536, 2), ('rate', 8, 2)], cells
middle = lambda v: sorted(v)[int((len(v) - 1) * 0.5 + 0.5)]
for c in cells:
    assert c['times']['tutti'], c
    assert (c['what'] == 'rate') == ('floor' not in c), c
    peers = {name: middle(t) for name, t in c['times'].items() if name != 'tutti'}
    if not peers:
        continue
    assert peers[c['best peer']] == min(peers.values()), c
    ours, theirs = c['times']['tutti'], c['times'][c['best peer']]
    if len(ours) == len(theirs):
        assert math.isclose(c['ratio'], middle([a / b for a, b in zip(ours, theirs)]), rel_tol=1e-9), c
PYTHON

# The designs and their rings: a line for each size in each figure, and what the paper says.
if "$tutti" info --config | grep -q '^ *messaging '; then
perf 60 --designs --providers shm --cells bandwidth:1k,latency:8,put:8,mixed:1k --seconds 5 || fail "--designs: status $?"
for n in 5 6 7 8; do grep -q "^shm, figure $n: " "$out" || fail "no figure $n"; done
[ "$(grep -cE '^  (8 B|1 KiB)( +[0-9.]+){3}( +[-+][0-9]+ %){2}$' "$out")" = 4 ] || fail "lines are missing"
[ "$(grep -c '^  the paper: ' "$out")" -ge 4 ] || fail "nothing is said of the paper"
fi

# Without compilers and ucx_perftest: what is missing is said, and tutti has its times.
mkdir "$work/bin"
for program in sh env timeout; do ln -s "$(command -v $program)" "$work/bin"; done
PATH=$work/bin "$tutti" perf messages --peers --providers shm --cells latency:8 --seconds 3 >"$out" 2>&1 || fail "no peers: status $?"
grep -Eq '^latency, us +8 B +[0-9.]+ +[0-9.]+ +- +[0-9.]+$' "$out" || fail "no figure without peers"
for name in 'Open MPI: left out, mpicc' 'MPICH: left out, mpicc' 'UCX tag: left out, ucx_perftest is not installed'; do
  grep -q "^$name" "$out" || fail "nothing is said like $name"
done
exit $failed

#!/bin/bash
# collectives.sh TUTTI: `tutti perf collectives` has a line for each collective of the registry and each size; its --peers has
# a cell for each, with ratios and means that follow from the times, and goes on without the MPI libraries that are missing.
set -u
tutti=$1
out=$(mktemp) work=$(mktemp -d)
trap 'rm -rf "$out" "$work"' EXIT
failed=0
fail() { echo "FAILED: $*"; sed 's/^/    /' "$out"; failed=1; }
names=$("$tutti" perf collectives --parts none 2>&1 | tr '{},' '\n' | grep -xE '[a-z_]+')
grep -qx alltoallv <<<"$names" || fail "the collectives are $names"

TUTTI_PROVIDER=shm timeout -k 2 60 "$tutti" perf collectives -n 3 --bytes 8,24k --seconds 0.001 >"$out" 2>&1 || fail "status $?"
for name in $names; do
  for bytes in 8 24576; do
    if [ "$name" = barrier ]; then bytes=0; fi
    grep -Eqx "$name $bytes [0-9]+\.[0-9]+" "$out" || fail "no line for $name of $bytes bytes"
  done
done
for wrong in '--bytes 12' '--bytes 8M' '-n 1' '-n 2,3' '--json x' '--providers shm' '--parts none'; do
  # shellcheck disable=SC2086 # several words
  if timeout -k 2 20 "$tutti" perf collectives $wrong >"$out" 2>&1; then fail "$wrong is taken"; fi
done

# Beside the MPI libraries that are here.
timeout -k 2 200 "$tutti" perf collectives --peers -n 2,3 --parts barrier,allreduce,exscan --bytes 8,1k --providers shm --seconds 12 \
  --json "$work/all.json" >"$out" 2>&1 || fail "--peers: status $?"
for line in '^allreduce +1 KiB +3( +[0-9.]+)+' '^geometric means of the ratios$' '(^round 1 of 3, )'; do
  grep -Eq "$line" "$out" || fail "no line like $line"
done
python3 - "$work/all.json" <<'PYTHON' || fail "the JSON is wrong"
import json, math, sys
r = json.load(open(sys.argv[1]))
cells = r['cells']
assert len(cells) == 2 * (1 + 2 + 2), len(cells)
middle = lambda v: sorted(v)[int((len(v) - 1) * 0.5 + 0.5)]
for c in cells:
    assert c['floor'] > 0 and c['times']['tutti'], c
    peers = {name: middle(t) for name, t in c['times'].items() if name != 'tutti'}
    if not peers:
        continue
    assert peers[c['best peer']] == min(peers.values()), c
    ours, theirs = c['times']['tutti'], c['times'][c['best peer']]
    if len(ours) == len(theirs):
        assert math.isclose(c['ratio'], middle([a / b for a, b in zip(ours, theirs)]), rel_tol=1e-9), c
for name, mean in r.get('means', {}).get('shm', {}).items():
    x = [c['ratio'] for c in cells if 'ratio' in c and name in ('all', c['collective'])]
    assert math.isclose(mean, math.exp(sum(map(math.log, x)) / len(x)), rel_tol=1e-9), name
by = {(c['collective'], c['bytes'], c['ranks']): c['floor'] for c in cells}
assert by['allreduce', 1024, 2] > by['exscan', 1024, 2] > by['barrier', 0, 2]
PYTHON

# Without compilers: what is missing is said, and tutti has its times.
mkdir "$work/bin"
for program in sh env timeout; do ln -s "$(command -v $program)" "$work/bin"; done
PATH=$work/bin "$tutti" perf collectives --peers -n 2 --parts barrier --providers shm --seconds 5 >"$out" 2>&1 || fail "no peers: status $?"
grep -Eq '^barrier +- +2 +[0-9.]+ +[0-9.]+ +- +[0-9.]+$' "$out" || fail "no figure without peers"
for name in 'Open MPI' MPICH; do
  grep -Eq "^$name: left out, mpicc\..* is not installed or could not build" "$out" || fail "nothing is said of $name"
done
exit $failed

#!/bin/bash
# regret.sh TUTTI: `tutti perf --regret` has a row for each size with candidates that ran, a regret that follows from its times, and a
# mean and a worst that follow from the rows; with --peers the same of Open MPI, where it is installed. And the time that
# `tutti tune` is given suffices for some sizes: those are in the table, and the others are told.
set -u
tutti=$1
work=$(mktemp -d) out=$work/out
trap 'rm -rf "$work"' EXIT
failed=0
fail() { echo "FAILED: $*"; sed 's/^/    /' "$out"; failed=1; }

# check PROVIDER COLLECTIVE
check() {
  python3 - "$work/all.json" "$out" "$@" <<'PYTHON' || fail "$* is wrong"
import json, math, re, sys
rows, text, provider, collective = json.load(open(sys.argv[1])), open(sys.argv[2]).read(), *sys.argv[3:]
assert [r['bytes'] for r in rows] == [8, 1024, 65536, 1 << 20], rows
for r in rows:
    assert (r['provider'], r['collective'], r['ranks']) == (provider, collective, 2), r
    assert r['chosen_us'] > 0 and r['best_us'] > 0 and r['spread'] >= 1 and r['candidates'] > 1 and r['best'], r
    assert f"{r['best']} " in text, r
regrets = [r['chosen_us'] / r['best_us'] for r in rows]
mean, worst = math.exp(sum(map(math.log, regrets)) / len(regrets)), max(regrets)
told = re.search(r'^4 choices: geometric mean of the regret ([0-9.]+), worst ([0-9.]+),', text, re.M)
assert told and abs(float(told[1]) - mean) < 6e-4 and abs(float(told[2]) - worst) < 6e-3, (mean, worst)
PYTHON
}
timeout -k 2 60 "$tutti" perf --regret -n 2 --providers shm --seconds 6 --json "$work/all.json" scan >"$out" 2>&1 || fail "status $?"
check shm scan
# What a job chooses is what it says it chooses.
for bytes in 8 1MiB; do
  chosen=$(TUTTI_PROVIDER=shm "$tutti" info --explain scan --ranks 2 --bytes $bytes) || fail "info --explain: $chosen"
  name=$(python3 -c 'import json, sys; print(*[r["chosen"] for r in json.load(open(sys.argv[1])) if r["bytes"] == int(sys.argv[2])])' \
    "$work/all.json" $((${bytes/MiB/ << 20})))
  grep -q "$name" <<<"$chosen" || fail "a job chooses $name, info says: $chosen"
done
if command -v ompi_info mpicc.openmpi > /dev/null; then
  timeout -k 2 100 "$tutti" perf --regret --peers -n 2 --seconds 0.01 --json "$work/all.json" scan >"$out" 2>&1 || fail "--peers: status $?"
  check 'Open MPI' scan
else
  timeout -k 2 20 "$tutti" perf --regret --peers -n 2 scan >"$out" 2>&1 && fail "--peers without Open MPI"
fi
timeout -k 2 60 "$tutti" tune --quiet -n 4 --providers shm --minutes 0.02 --output "$work/table.json" >"$out" 2>&1 || fail "tune: status $?"
grep -q '[1-9][0-9]* sizes of collectives were not reached in time over shm at 4 ranks' "$out" || fail "tune does not tell what it left out"
grep -q '"timings"' "$work/table.json" || fail "tune measured nothing"
exit $failed

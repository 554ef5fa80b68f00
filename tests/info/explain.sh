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

# What is explained is what a job does: the same first one, over memory and over a network, with a table and without.
job=$(mktemp -d)
trap 'rm -rf "$job"' EXIT
export XDG_CONFIG_HOME=$job
agrees() {  # PROVIDER COLLECTIVE BYTES NAME-OF-BYTES
  local first
  first=$("$tutti" info --explain "$2" --ranks 4 --provider "$1" --bytes "$3" | sed -n 's/^ *1  \([a-z_]*\).*/\1/p')
  [ -n "$first" ] || fail "$1 $2: nothing is first"
  "$tutti" perf "$2" -n 4 --providers "$1" --seconds 0.1 2> /dev/null > "$job/out"
  grep -q "^  $first${4:+ $4}[ :].*\*" "$job/out" || fail "$1 $2 $3: $first is explained, and a job does: $(grep '\*' "$job/out")"
}
for provider in shm ucx:tcp; do
  "$tutti" perf barrier -n 2 --providers $provider --seconds 0.01 > "$job/out" 2>&1 || continue  # it is not here
  agrees $provider barrier 0 ''
  agrees $provider broadcast 8 '8 B'
  agrees $provider broadcast 1MiB '1 MiB'
done
mkdir -p "$job/tutti" # by name: of a loaded machine the table is not written there by itself
"$tutti" tune -n 4 --providers shm --collectives allreduce --bytes 8 --minutes 0.1 --quiet --output "$job/tutti/tuning.json"
cp "$job/tutti/tuning.json" "$job/before.json"
"$tutti" tune --diff "$job/before.json" "$job/tutti/tuning.json" > "$job/out" || fail "--diff: $(cat "$job/out")"
! grep -q -e '->' "$job/out" || fail "a table differs from itself: $(cat "$job/out")"
# The table says otherwise than was measured.
sed -i 's/"us": [0-9.e-]*/"us": 9/; s/"algorithm": "[a-z_0-9:]*"/"algorithm": "ring"/' "$job/tutti/tuning.json"
sed -i '/"algorithm": "ring"/{n;s/9/0.001/}' "$job/tutti/tuning.json"
"$tutti" tune --diff "$job/before.json" "$job/tutti/tuning.json" | grep -q 'shm, 4 ranks, allreduce 8 B: .* -> ring ' ||
  fail "--diff: $("$tutti" tune --diff "$job/before.json" "$job/tutti/tuning.json")"
out=$("$tutti" info --explain allreduce --ranks 4 --bytes 8)
grep -q '^  1  ring .* measured with 4 ranks and 8 bytes' <<< "$out" || fail "the table does not decide: $out"
agrees shm allreduce 8 '8 B'
TUTTI_TUNE=off "$tutti" info --explain allreduce --ranks 4 --bytes 8 | grep -q 'no tuning table' || fail "TUTTI_TUNE=off"
TUTTI_ALLREDUCE=tree "$tutti" info --explain allreduce --ranks 4 --bytes 8 | grep -q '^  1  tree .* asked for by name' || fail "by name"
echo '{' > "$job/tutti/tuning.json"
if "$tutti" info --explain allreduce > "$job/out" 2>&1; then fail "a bad table is taken"; fi
grep -q "$job/tutti/tuning.json: .*line 2.*tutti tune" "$job/out" || fail "a bad table: $(cat "$job/out")"
rm "$job/tutti/tuning.json"

# What else of a call decides is what decides in a job.
explained() { "$tutti" info --explain "$@" --ranks 4 --provider shm; }
first() { sed -n 's/^ *1  \([a-z_]*\).*/\1/p' <<< "$1"; }
own_grouping='groups operands in a way of its own'
for bytes in 8 1MiB; do
  out=$(TUTTI_REPRODUCIBLE=1 explained allreduce --bytes "$bytes")
  grep -q "$own_grouping" <<< "$out" || fail "TUTTI_REPRODUCIBLE=1: $out"
  grep -q ', sum of float64$' <<< "$out" || fail "the operation is not said: $out"
  for out in "$(TUTTI_REPRODUCIBLE=1 explained allreduce --bytes "$bytes" --type int64)" "$(explained allreduce --bytes "$bytes")"; do
    ! grep -q "$own_grouping" <<< "$out" || fail "reproducible without a need: $out"
  done
done
out=$(explained reduce --bytes 8 --operation user --ordered)
grep -q 'the operation is not commutative' <<< "$out" || fail "--ordered: $out"
grep -q 'longer than 64 bytes' <<< "$(explained allgather --bytes 8; explained allreduce --bytes 8 --operation user --element 100)" || fail "--element"
grep -q 'the blocks are of unlike lengths' <<< "$(explained allgatherv --bytes 8)" || fail "allgatherv"
for bad in '--operation user --type int8 --element 0' '--operation minloc' '--operation nonsense' '--type nonsense' '--ordered'; do
  ! explained allreduce $bad > "$job/out" 2>&1 || fail "$bad is taken"
done
# Two members alone know what goes between them, so one choice serves all sizes.
for call in alltoallv gatherv scatterv alltoallw; do
  out=$(explained $call --bytes 8,1MiB)
  [ "$(grep -c '^alltoallv among 4 ranks' <<< "$out")" = 1 ] && ! grep -q 'of [0-9]* bytes' <<< "$out" || fail "$call: $out"
  [ "$(first "$out")" = "$(first "$(explained alltoallv)")" ] || fail "$call is not an alltoallv: $out"
done

# A router, and several hosts.
"$tutti" info --explain broadcast --provider shm+ucx:tcp --ranks 8 --ranks-per-node 4 --bytes 8 > "$job/out" 2>&1 ||
  grep -q 'not loaded\|could not be loaded\|no provider' "$job/out" || fail "shm+ucx:tcp: $(cat "$job/out")"

# Messages: what is explained is what messaging/routes.h gives the engine, with what was measured in place of priors.
routes() { "$tutti" info --explain message --provider shm --ranks-per-core "${2:-1}" --bytes "$1" | sed -n 's/^ *1  \([a-z_]*\).*/\1/p' | tr '\n' ' '; }
[ "$(routes 8KiB)" = 'eager ' ] || fail "8 KiB: $(routes 8KiB)"
[ "$(routes 40KiB)" = 'eager in_place staged ' ] || fail "40 KiB: $(routes 40KiB)"
[ "$(routes 40KiB 4)" = "eager " ] || fail "40 KiB, four ranks a core: $(routes 40KiB 4)"
[ "$(routes 72KiB)" = 'kernel in_place staged ' ] || fail "72 KiB: $(routes 72KiB)"
[ "$(TUTTI_MESSAGING=channel routes 1MiB)" = 'stream stream stream ' ] || fail "channel: $(TUTTI_MESSAGING=channel routes 1MiB)"
mkdir -p "$job/tutti"
cat > "$job/tutti/tuning.json" <<JSON
{"tutti_tuning": 1, "machine": {}, "rows": [], "calibration": [{"fabric": "shm", "values":
  {"node.latency_us": {"value": 1, "spread": 0, "source": "by hand", "when": "2026-11-24T10:00:00Z"}}}]}
JSON
[ "$(routes 16KiB)" = 'eager ' ] || fail "a link that takes long makes more eager: $(routes 16KiB)"
if "$tutti" info --explain messages > "$job/out" 2>&1; then fail "messages is no topic"; fi
grep -q 'and message, not "messages"' "$job/out" || fail "an unknown topic: $(cat "$job/out")"

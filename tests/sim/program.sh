#!/bin/bash
# program.sh TUTTI SIM_ENDS BSP_INNER_PRODUCT BSP_SORT: programs in a simulated world, a process for each rank. They come to the results that
# they come to elsewhere, in virtual time, the same each time where their own work counts nothing; and ends that are none are told.
set -u
tutti=$1 ends=$2 inner_product=$3 sort=$4
work=$(mktemp -d) out=$work/out
trap 'rm -rf "$work"' EXIT
printf '#!/bin/sh\necho "words: $*"\n' > "$work/words" && chmod +x "$work/words"
failed=0
fail() { echo "FAILED: $*"; sed 's/^/    /' "$out"; failed=1; }
# sim STATUS ARGUMENTS...
sim() {
  local expected=$1
  shift
  timeout -k 2 100 "$tutti" sim "$@" > "$out" 2>&1
  local status=$?
  [ $status = "$expected" ] || fail "$*: status $status instead of $expected"
}
says() { grep -q -- "$1" "$out" || fail "it does not say: $1"; }

sim 0 --ranks 12 --ranks-per-node 3 "$inner_product" 100000
says 'inner product: right; 12 processes'
says 'inner_product, 12 ranks: [0-9.]* us of virtual time, [1-9][0-9]* messages, [1-9][0-9]* bytes'

# Options on either side of the program's name; behind -- they are the program's.
sim 0 "$inner_product" 100000 --ranks 3
says 'inner product: right; 3 processes'
sim 0 -n 2 "$work/words" --latency=2 one -- --ranks 5
says 'words: one --ranks 5$'

# The clock is the world's: on a slow network the supersteps take longer by as much, however fast this machine is.
took() { sed -n 's/.* \([0-9]*\)[.][0-9]* us of virtual time.*/\1/p' "$out"; }
sim 0 --ranks 4 --compute 0 --latency 1 "$sort"
fast=$(took)
sim 0 --ranks 4 --compute 0 --latency 1000 "$sort"
[ "$(took)" -gt $((fast + 10000)) ] || fail "with 1,000 times the latency it took $(took) us, and $fast us before"
# What a program works takes virtual time.
sim 0 --ranks 4 --compute 1000 "$inner_product" 1000000
awk '/inner product: right/ { exit !($6 > 100) }' "$out" || fail "1,000 times its work took no time"

for run in 1 2; do
  sim 0 --ranks 6 --compute 0 --jitter 1 --seed 7 --json "$work/$run.json" "$sort"
  grep -o '"trace": "[0-9a-f]*"\|"us": [0-9.]*' "$work/$run.json" > "$work/$run"
done
[ -s "$work/1" ] && cmp -s "$work/1" "$work/2" || fail "two equal runs differ: $(cat "$work/1" "$work/2")"

sim 137 --ranks 3 "$ends" crashes
says 'rank 1 died of signal 9, rank [02] left with status 5'
says 'tutti_barrier: rank 1 died'
sim 3 --ranks 3 "$ends" leaves
says 'rank 1 left with status 3, rank [02] left with status 5'
sim 5 --compute 0 --ranks 3 --kill 2@100 "$ends" well
says 'tutti_barrier: rank 2 died at 100 us'
sim 1 --ranks 3 "$ends" waits
says '3 of 3 ranks wait: 0, 1, 2'
sim 1 --ranks 3 "$work/nothing"
says "cannot start $work/nothing: No such file or directory"
sim 2 --ranks 5000 "$ends"
says 'at most 4096 --ranks'
sim 2 --ranks 4 --collective allreduce "$ends"
says 'a program is measured by itself'

sim 0 --ranks 1 "$ends" starts_another
says 'is rank 0 of this simulated world already'

# Where the world dies, its processes end by themselves, with an error.
"$tutti" sim --ranks 3 --compute 0 "$ends" works_long > "$out" 2>&1 &
world=$!
until grep -q 'works long' "$out"; do sleep 0.05; done
kill -9 $world
wait $world 2> /dev/null
for try in $(seq 100); do
  [ "$(grep -c 'the simulated world of this rank has ended' "$out")" = 3 ] && break
  sleep 0.1
done
[ $try -lt 100 ] || fail "processes outlive their world"

# A line that is none.
exec 7< /dev/null
for line in 7:0 9999:1 1 x 7:4294967296; do
  TUTTI_SIMULATED=$line timeout -k 2 20 "$ends" > "$out" 2>&1
  [ $? = 9 ] || fail "TUTTI_SIMULATED=$line was taken"
  says "TUTTI_SIMULATED=$line names no simulated world"
done
exit $failed

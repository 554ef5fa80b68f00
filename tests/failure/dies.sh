#!/bin/bash
# dies.sh LAUNCHER(tutti|mpirun) TUTTI VICTIM RANKS SCENES HOWS BARRIERS: every combination, one job each; every rank but
# the victim must survive it. Words of a list are separated by commas.
set -u
launcher=$1 tutti=$2 victim=$3 ranks=$4
IFS=, read -ra scenes <<<"$5"
IFS=, read -ra hows <<<"$6"
IFS=, read -ra barriers <<<"$7"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
shm_before=$(ls /dev/shm | wc -l)
failed=0 ran=0

job() {  # SCENE HOW BARRIER
  head -c 4096 /dev/zero >"$scratch/book"
  case $launcher in
    tutti) set -- "$tutti" run --keep-going --timeout 25 -n "$ranks" "$victim" "$1" "$2" "$scratch/book" ;;
    mpirun) set -- mpirun.openmpi --allow-run-as-root --oversubscribe --enable-recovery -n "$ranks" \
              "$victim" "$1" "$2" "$scratch/book" ;;
  esac
  timeout -k 2 30 "$@" >"$scratch/out" 2>"$scratch/err" </dev/null
}

for scene in "${scenes[@]}"; do for how in "${hows[@]}"; do for barrier in "${barriers[@]}"; do
  export TUTTI_BARRIER=$barrier
  job "$scene" "$how" "$barrier"
  # UCX 1.13 can end a survivor by an assertion of its own when a peer resets a tcp connection just as it is reused
  # (providers/ucx/link.h): that is said, and the job is given one more chance.
  if grep -qE 'tcp_ep\.c:[0-9]+ *Assertion|wireup_ep\.c:[0-9]+ *Assertion' "$scratch/err"; then
    echo "an assertion of UCX ended a survivor: $(grep -hoE '[a-z_]+\.c:[0-9]+ *Assertion.*' "$scratch/err" | head -1)"
    job "$scene" "$how" "$barrier"
  fi
  survived=$(grep -c '^survived$' "$scratch/out")
  ran=$((ran + 1))
  if [ "$survived" -ne $((ranks - 1)) ]; then
    failed=$((failed + 1))
    echo "FAILED: $scene, $how, barrier $barrier: $survived of $((ranks - 1)) survived"
    sed 's/^/    /' "$scratch/err" | head -20
  fi
done; done; done
shm_after=$(ls /dev/shm | wc -l)
[ "$shm_after" -le "$shm_before" ] || { echo "FAILED: /dev/shm holds $shm_after entries, held $shm_before"; failed=$((failed + 1)); }
echo "$ran jobs, $failed failed; told at the latest after $(grep -ho 'after [0-9]* ms' "$scratch/err" | sort -k2 -n | tail -1 | cut -d' ' -f2-) in the last one"
[ "$failed" -eq 0 ]

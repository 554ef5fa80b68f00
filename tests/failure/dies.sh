#!/bin/bash
# dies.sh LAUNCHER TUTTI VICTIM RANKS SCENE...: one job for every combination that a SCENE stands for, which is four lists
# joined by slashes, their words separated by commas: what the ranks do, how the victim ends, which barrier, and which rank
# is the victim, as put,wait/kill,exit/auto/0,2. Every rank but the victim must survive its job.
#   LAUNCHER  tutti, mpirun, or hosts: mpirun over the hosts of the cluster around us (tests/hosts)
set -u
launcher=$1 tutti=$2 victim=$3 ranks=$4
shift 4
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failed=0 ran=0 latest=0

fail() {
  failed=$((failed + 1))
  echo "FAILED: $what: $*"
  sed 's/^/    /' "$scratch/err" | head -20
}

in_shm() {  # the files there are, on every host
  local i
  [ $launcher = hosts ] || { ls /dev/shm; return; }
  for ((i = 1; i <= TUTTI_TEST_HOSTS; i++)); do on h$i ls /dev/shm | sed "s/^/h$i /"; done | sort
}

job() {  # SCENE HOW RANK
  head -c 4096 /dev/zero >"$scratch/book"
  local program=("$victim" "$1" "$2" "$scratch/book" "$3")
  case $launcher in
    tutti)
      timeout -k 2 30 "$tutti" run --keep-going --timeout 25 -n "$ranks" "${program[@]}" \
        >"$scratch/out" 2>"$scratch/err" </dev/null
      status=$? ;;
    mpirun) by_mpirun "$3" timeout -k 2 30 mpirun.openmpi --allow-run-as-root --oversubscribe -n "$ranks" ;;
    hosts) by_mpirun "$3" launch -n "$ranks" ;;
  esac
}

# by_mpirun RANK COMMAND...: mpirun tells no rank's status when it lets the others go on, so the survivors' parents do. Over
# several hosts it never ends (Open MPI 4.1.4): the daemon of a host where a rank has died does not report that the others
# there have ended. So what counts is the end of the survivors.
by_mpirun() {
  local rank=$1 ended=0 began=$SECONDS mpirun; shift
  "$@" --enable-recovery sh -c '[ $PMIX_RANK = '"$rank"' ] && exec "$@"; "$@"; echo "ended with $?"' sh "${program[@]}" \
    >"$scratch/out" 2>"$scratch/err" </dev/null &
  while [ $ended -lt $((ranks - 1)) ] && [ $((SECONDS - began)) -lt 30 ] && kill -0 $! 2>/dev/null; do
    sleep 0.05
    ended=$(grep -c '^ended with' "$scratch/out")
  done
  [ $launcher = mpirun ] || { mpirun=$(pgrep -P $!) && kill -KILL $mpirun; }
  wait $! 2>/dev/null
}

# Everybody's exit status: survivors' as they say, which is 0, and the job's the dead rank's, where its launcher tells it.
statuses() {  # HOW
  local expected
  if [ $launcher != tutti ]; then
    [ "$(grep -c '^ended with 0$' "$scratch/out")" = $((ranks - 1)) ] || fail "survivors ended otherwise: $(grep '^ended' "$scratch/out")"
    return
  fi
  case $1 in kill) expected=137 ;; segv) expected=139 ;; exit) expected=7 ;; esac
  [ $status = $expected ] || fail "the job ended with status $status instead of $expected"
  grep -q "^tutti run: 1 of $ranks ranks failed$" "$scratch/err" || fail "more than one rank failed"
}

shm_before=$(in_shm)
for scenes; do
  IFS=/ read -r doing how barrier rank <<<"$scenes"
  for s in ${doing//,/ }; do for h in ${how//,/ }; do for b in ${barrier//,/ }; do for r in ${rank//,/ }; do
    what="$s, $h of rank $r, barrier $b"
    export TUTTI_BARRIER=$b
    job "$s" "$h" "$r"
    # UCX 1.13 can end a survivor by an assertion of its own when a peer resets a tcp connection just as it is reused
    # (providers/ucx/link.h): that is said, and the job is given one more chance.
    if grep -qE 'tcp_ep\.c:[0-9]+ *Assertion|wireup_ep\.c:[0-9]+ *Assertion' "$scratch/err"; then
      echo "an assertion of UCX ended a survivor: $(grep -hoE '[a-z_]+\.c:[0-9]+ *Assertion.*' "$scratch/err" | head -1)"
      job "$s" "$h" "$r"
    fi
    survived=$(grep -c '^survived$' "$scratch/out")
    ran=$((ran + 1))
    if [ "$survived" -ne $((ranks - 1)) ]; then fail "$survived of $((ranks - 1)) survived"; else statuses "$h"; fi
    after=$(grep -ho 'after [0-9]* ms' "$scratch/err" | cut -d' ' -f2 | sort -n | tail -1)
    [ "${after:-0}" -le $latest ] || latest=$after
  done; done; done; done
done
left=$(comm -13 <(echo "$shm_before") <(in_shm))
[ -z "$left" ] || { echo "FAILED: left in /dev/shm:" $left; failed=$((failed + 1)); }
echo "$ran jobs, $failed failed; told at the latest after $latest ms"
[ "$failed" -eq 0 ] && [ "$ran" -gt 0 ]

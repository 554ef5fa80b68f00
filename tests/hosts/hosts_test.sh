#!/bin/bash
# hosts_test.sh CASE [ARGUMENT...]: one case on three hosts. BIN is where the programs are.
set -u
here=$(cd "$(dirname "$0")" && pwd)
fail() { echo "FAILED: $*"; exit 1; }

# across BARRIER...: everything that a job does, over each algorithm.
across() {
  TUTTI_TEST_LIMIT=100 launch -n 6 "$BIN/hosts_across" 3 "$@" >/mnt/out 2>&1 || fail "status $?: $(cat /mnt/out)"
  [ "$(grep -c '^across: fine$' /mnt/out)" = 6 ] || fail "not all ranks are fine: $(cat /mnt/out)"
}

# unlike: hosts that are not alike agree on a network. One of them has no UCX, then none has a network in common with it.
unlike() {
  local modules=$BIN/../lib/tutti
  on h2 mount --bind /dev/null "$modules/tutti_ucx.so"
  across dissemination
  on h2 mount --bind /dev/null "$modules/tutti_ofi.so"
  TUTTI_TEST_LIMIT=60 launch -n 6 "$BIN/hosts_across" 3 dissemination >/mnt/out 2>&1 && fail "a job without a network ran"
  grep -q 'no network can be used by all ranks: rank 0 has ucx' /mnt/out || fail "not told why: $(cat /mnt/out)"
  grep -q 'has none' /mnt/out || fail "not told who: $(cat /mnt/out)"
}

# right EXAMPLE LAUNCHER...: a BSP program of a small size, which checks itself.
declare -A size=([inner_product]=100000 [lu]=120 [fft]=12 [sort]=50000 [spmv]=10000)
right() {
  local program=$1
  shift
  "$@" "$BIN/bsp_$program" "${size[$program]}" >/mnt/out 2>&1 || fail "$program: status $?: $(cat /mnt/out)"
  grep ': right; 6 processes' /mnt/out || fail "$program: $(cat /mnt/out)"
}

# bsp EXAMPLE...
bsp() {
  local program
  for program; do TUTTI_TEST_LIMIT=60 right "$program" launch -n 6; done
}

# slurm BARRIER...: all that, started by srun; a program that breaks a rule of BSPlib ends the job; and an MPI program runs by the library
# that takes its messages.
slurm() {
  TUTTI_TEST_LIMIT=100 "$here/slurm" "$here/hosts_test.sh" --inside by_srun "$@"
}
by_srun() {
  local program run="srun --mpi=pmix -N3 -n6"
  $run "$BIN/hosts_across" 3 "$@" >/mnt/out 2>&1 || fail "status $?: $(cat /mnt/out)"
  [ "$(grep -c '^across: fine$' /mnt/out)" = 6 ] || fail "not all ranks are fine: $(cat /mnt/out)"
  for program in inner_product lu fft sort spmv; do right $program $run; done
  $run "$BIN/bsp_wrong" put_beyond >/mnt/out 2>&1 && fail "a program that breaks a rule succeeds: $(cat /mnt/out)"
  grep 'bsp_abort: process [0-5]: bsp_put: ' /mnt/out || fail "not told which rule was broken: $(cat /mnt/out)"
  [ -x "$BIN/mpi_messages_openmpi" ] || return 0
  LD_PRELOAD=$BIN/../lib/libtutti-openmpi.so TUTTI_MPI_REPORT=1 OMPI_MCA_mpi_yield_when_idle=1 $run "$BIN/mpi_messages_openmpi" >/mnt/out 2>&1 ||
    fail "status $?: $(cat /mnt/out)"
  grep -q '^ok$' /mnt/out && grep -q '^MPI_Issend ' /mnt/out || fail "no report of what was taken: $(cat /mnt/out)"
}

# perf PROVIDER...: a comparison inside a job over several hosts, of each fabric by itself and with shared memory.
perf() {
  local providers=$* provider
  launch -n 6 "$BIN/tutti" perf --providers "${providers// /,}" --seconds 0.5 --json /mnt/report >/mnt/out 2>&1 || fail "status $?: $(cat /mnt/out)"
  grep -q '6 ranks on 3 nodes' /mnt/out || fail "no table: $(cat /mnt/out)"
  for provider; do
    for row in dissemination "put 8 B + signal" "get 1 MiB"; do
      grep -A2 "\"provider\": \"$provider\"" /mnt/report | grep -q "\"name\": \"$row\"" || fail "no $row over $provider: $(cat /mnt/out)"
    done
  done
}

# loss PERCENT...: Kini's barrier and broadcasts while every host loses so much of what is multicast to it. Each host takes
# the machine's cores for its own; sleeping is what serves best where they are all shared.
loss() {
  local percent
  export TUTTI_WAIT=sleep
  command -v nft >/dev/null || { echo "SKIPPED: no loss: nft is not installed (package nftables)"; exit 77; }
  for percent; do
    lossy "$percent" || fail "no loss of $percent % can be made"
    launch -n 6 "$BIN/hosts_loss" "$percent" multicast multicast:5 hierarchical:multicast \
      broadcast:1000 broadcast:100001 >/mnt/out 2>&1 || fail "$(cat /mnt/out)"
    grep -E 'a barrier|a broadcast' /mnt/out
    [ "$(grep -c '^loss: fine$' /mnt/out)" = 6 ] || fail "not all ranks are fine: $(cat /mnt/out)"
  done
}

# silence SCENE...: the second host loses its cable, or its ranks stop for a while; each scene on hosts of its own, all
# at once, since most of it is waiting.
silence() {
  local scene n=0 pids=() failed=0 work
  work=$(mktemp -d)
  for scene; do
    "$here/cluster" 3 "$here/hosts_test.sh" --inside one_silence "$scene" >"$work/$scene" 2>&1 & pids+=($!)
  done
  for scene; do
    wait "${pids[n++]}" || failed=$?
    sed "s/^/$scene: /" "$work/$scene"
  done
  rm -r "$work"
  exit $failed
}
six_have_begun() {
  local files
  for _ in $(seq 400); do files=(/mnt/tmp/ready-*); [ ${#files[@]} = 6 ] && return; sleep 0.05; done
  fail "the job did not begin: $(cat /mnt/out)"
}
one_silence() {
  local scene=$1 limit=5 job files deadline
  export TUTTI_TEST_LIMIT=50
  launch -n 6 "$BIN/hosts_cut" "$scene" /mnt/tmp $limit >/mnt/out 2>&1 &
  job=$!
  six_have_begun
  sleep 0.$((RANDOM % 5))
  if [ "$scene" = stopped ]; then
    on h2 pkill -STOP hosts_cut; sleep 6; on h2 pkill -CONT hosts_cut
    : >/mnt/tmp/cut
  else
    : >/mnt/tmp/cut
    cable h2 out
  fi
  deadline=$((SECONDS + limit + 6))
  until files=(/mnt/tmp/left-*); [ ${#files[@]} = 6 ]; do
    [ $SECONDS -lt $deadline ] || fail "not all ranks ended: $(cat /mnt/tmp/*-? /mnt/out)"
    sleep 0.05
  done
  cat /mnt/tmp/told-* /mnt/tmp/left-*
  ! grep -q WRONG /mnt/tmp/*-? || fail "$(cat /mnt/out)"
  [ "$scene" = stopped ] && { wait $job || fail "status $?: $(cat /mnt/out)"; }
  exit 0  # else mpirun will never hear of the second host again; it ends with the hosts
}

# interface: on hosts with two networks multicast takes the one that is named, goes as far as is allowed, and a name that is
# none is refused. Hosts count what they send to groups by interface, and with a TTL of 3.
interface() {
  local i where
  command -v nft >/dev/null || { echo "SKIPPED: no counters: nft is not installed (package nftables)"; exit 77; }
  second_network || fail "no second network can be made"
  for where in "" eth1 10.78.0; do
    for ((i = 1; i <= 3; i++)); do
      on h$i nft -f - <<'RULES' || fail "no counters can be made"
table inet sent
delete table inet sent
table inet sent {
  counter eth0 {}
  counter eth1 {}
  counter ttl3 {}
  chain out {
    type filter hook output priority 0
    ip daddr 239.255.0.0/16 ip ttl 3 counter name ttl3
    ip daddr 239.255.0.0/16 oifname "eth0" counter name eth0
    ip daddr 239.255.0.0/16 oifname "eth1" counter name eth1
  }
}
RULES
    done
    case $where in
      "") multicasts ;;
      eth1) multicasts -x TUTTI_MULTICAST_INTERFACE=eth1 -x TUTTI_MULTICAST_TTL=3 ;;
      *) by_address ;;
    esac
    echo "interface '$where': eth0 $(sent eth0), eth1 $(sent eth1), with a TTL of 3 $(sent ttl3)"
    case $where in
      "") [ "$(sent eth0)" -gt 0 ] && [ "$(sent eth1)" = 0 ] && [ "$(sent ttl3)" = 0 ] ;;
      eth1) [ "$(sent eth1)" -gt 0 ] && [ "$(sent eth0)" = 0 ] && [ "$(sent ttl3)" = "$(sent eth1)" ] ;;
      *) [ "$(sent eth1)" -gt 0 ] && [ "$(sent eth0)" = 0 ] && [ "$(sent ttl3)" = 0 ] ;;
    esac || fail "not as it should be"
  done
  TUTTI_TEST_LIMIT=60 launch -n 3 -x TUTTI_MULTICAST_INTERFACE=eth7 "$BIN/hosts_across" 3 dissemination >/mnt/out 2>&1 &&
    fail "a job with an interface that does not exist ran"
  grep -q 'TUTTI_MULTICAST_INTERFACE: .* eth7; there are: .*eth0 (10.77.0.[123]), eth1 (10.78.0.[123])' /mnt/out ||
    fail "not told what is wrong: $(cat /mnt/out)"
}
multicasts() {
  TUTTI_TEST_LIMIT=60 launch -n 3 "$@" "$BIN/hosts_across" 3 multicast >/mnt/out 2>&1 || fail "status $?: $(cat /mnt/out)"
}
by_address() {  # which is another one in each rank
  multicasts sh -c 'export TUTTI_MULTICAST_INTERFACE=$(hostname | sed s/h/10.78.0./); exec "$@"' sh
}
sent() {  # COUNTER, on all hosts
  local i all=0
  for i in 1 2 3; do all=$((all + $(on h$i nft list counter inet sent "$1" | awk '/packets/ {print $2}'))); done
  echo $all
}

# firewall HOW...: no TCP connection can be made between the first two hosts, which are then not known to live by it: the SYN is
# dropped, or refused by ICMP. The fabric needs none. Nobody may be taken for dead, though attempts end after 3 seconds.
firewall() {
  local how i verdict
  command -v nft >/dev/null || { echo "SKIPPED: no firewall: nft is not installed (package nftables)"; exit 77; }
  for how; do
    case $how in
      drop) verdict=drop ;;
      refuse) verdict='reject with icmp type port-unreachable' ;;
    esac
    for i in 1 2; do
      on h$i nft -f - <<RULES || fail "no firewall can be made"
table inet wall
delete table inet wall
table inet wall {
  counter stopped {}
  chain in {
    type filter hook input priority 0
    ip saddr 10.77.0.$((3 - i)) tcp flags & (syn | ack) == syn counter name stopped $verdict
  }
}
RULES
      on h$i sh -c 'echo 1 >/proc/sys/net/ipv4/tcp_syn_retries'
    done
    rm -f /mnt/tmp/*-[0-5] /mnt/tmp/cut
    TUTTI_TEST_LIMIT=50 launch -n 6 "$BIN/hosts_cut" stopped /mnt/tmp 5 >/mnt/out 2>&1 &
    six_have_begun
    sleep 5
    : >/mnt/tmp/cut
    wait $! || fail "$how: status $?: $(cat /mnt/tmp/*-? /mnt/out)"
    [ "$(grep -l '^fine' /mnt/tmp/told-? /mnt/tmp/left-? | wc -l)" = 12 ] || fail "$how: $(cat /mnt/tmp/*-? /mnt/out)"
    for i in 1 2; do
      on h$i nft list counter inet wall stopped | grep -q 'packets [1-9]' || fail "$how: nothing was stopped at host $i"
    done
    echo "$how: all six ranks are fine"
  done
}

# What is left of hosts whose run was killed.
leaves_nothing() {
  "$here/cluster" 3 on h3 sleep 4747.1 &
  for _ in $(seq 100); do pgrep -f '^sleep 4747.1$' >/dev/null && break; sleep 0.05; done
  pgrep -f '^sleep 4747.1$' >/dev/null || { wait $!; exit; }  # skipped
  kill -"$1" $!
  wait $! 2>/dev/null
  for _ in $(seq 20); do pgrep -f 'sleep 4747.1' >/dev/null || exit 0; sleep 0.05; done
  fail "after SIG$1: $(pgrep -af 'sleep 4747.1')"
}

case $1 in
  --inside) shift ;;
  across | unlike | bsp | slurm | perf | loss | interface | firewall) exec "$here/cluster" 3 "$here/hosts_test.sh" --inside "$@" ;;
esac
"$@"

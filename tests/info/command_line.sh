#!/bin/bash
# command_line.sh TUTTI: what makes no sense on a command line is refused in a line, at once, and names what was meant.
set -eu
tutti=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
refused() {  # STATUS PATTERN WORD...
  local want=$1 pattern=$2 ended=0
  shift 2
  timeout -k 1 20 "$tutti" "$@" > "$work/out" 2>&1 || ended=$?
  if [ "$ended" != "$want" ] || [ "$(wc -l < "$work/out")" != 1 ] || ! grep -q -e "$pattern" "$work/out"; then
    echo "FAILED: tutti $* ended with $ended:"
    head -5 "$work/out"
    exit 1
  fi
}
refused 2 'there is no command "rnu"; did you mean run?' rnu -n 2 ./program
refused 2 'there is no command "foo"; there are help, run, ' foo
refused 2 'there is no command "foo"; there are help, run, ' help foo
refused 2 'did you mean bsp-report?' bspreport file
"$tutti" help run foo | grep -q -e --timeout
"$tutti" help | grep -q bsp-report
for seconds in inf nan -1 0 1e9; do
  refused 2 --seconds perf --seconds "$seconds"
  refused 2 --seconds perf messages --seconds "$seconds"
  refused 2 --seconds perf mpi --seconds "$seconds"
  refused 2 --minutes tune --minutes "$seconds"
done
refused 2 --compute sim --compute nan ./program
for seconds in inf nan -1 x; do
  refused 2 --timeout run --timeout "$seconds" -n 1 true
  refused 2 --grace run --grace "$seconds" -n 1 true
done
for bytes in -1 4k4 0x 99999999999999999999 1e400 64EiB ''; do refused 2 --bytes info --explain allreduce --bytes "$bytes"; done
refused 1 'there is no folder .*/none; make it first' tune --output "$work/none/t.json"
[ ! -e "$work/none" ]
# More ranks than cores are Open MPI's to refuse, unless somebody says where they run.
if "$tutti" mpi --mpi openmpi --show true > "$work/out" 2>&1; then
  shows() { "$tutti" mpi --mpi openmpi --show "$@" | grep -q -e '^mpirun.* --oversubscribe '; }
  placed() { echo "FAILED: tutti mpi $*: --oversubscribe is, or is not, added"; exit 1; }
  shows -n 100000 true || placed where nothing is said
  shows -n 100000 true --host b || placed where the program has such an option
  shows -n 1 true && placed for one rank
  shows -n 100000 -- --hostfile hosts true && placed where the user places
fi
echo "command line: right"

#!/bin/bash
# nothing_stays.sh TUTTI PROGRAM: a job that is killed as a whole, and one whose launcher is, leave no file of their ranks
# in /dev/shm. PROGRAM runs for a second with 2 ranks.
set -u
tutti=$1 program=$2
failed=0

# Files named after these processes.
files_of() { local pid; for pid in "$@"; do ls /dev/shm | grep -E "^$pid:[0-9]+:[0-9]+$"; done; }
ranks_of() { pgrep -P "$1" -x "$(basename "$program")"; }

for whom in ranks launcher; do
  "$tutti" run -n 2 "$program" stalled >/dev/null 2>&1 </dev/null &
  launcher=$!
  for ((i = 0; i < 200; i++)); do
    mapfile -t ranks < <(ranks_of $launcher)
    [ ${#ranks[@]} = 2 ] && [ "$(files_of "${ranks[@]}" | wc -l)" -ge 2 ] && break
    sleep 0.05
  done
  [ "$(files_of "${ranks[@]}" | wc -l)" -ge 2 ] || { echo "FAILED: the ranks made no files to look for"; failed=1; }
  if [ $whom = ranks ]; then kill -KILL "${ranks[@]}"; else kill -KILL $launcher; fi
  wait $launcher 2>/dev/null
  for ((i = 0; i < 100; i++)); do  # the launcher's guardian takes a moment
    [ -z "$(files_of "${ranks[@]}")" ] && break
    sleep 0.05
  done
  left=$(files_of "${ranks[@]}")
  [ -z "$left" ] || { echo "FAILED: after the death of the $whom /dev/shm holds" $left; failed=1; }
done
exit $failed

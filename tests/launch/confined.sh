#!/bin/bash
# confined.sh TUTTI PROGRAM FABRIC: ranks that are confined, as in containers, by namespaces, users and limits. Each job works, or ends
# soon with a line that names what to do.
set -u
tutti=$1 program=$2 fabric=$3
[ "$(id -u)" = 0 ] && unshare --user --map-root-user --pid --fork --mount-proc --ipc true 2>/dev/null || { echo "SKIPPED: no namespaces"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
chmod 777 "$work"
export TMPDIR=$work
unset PMIX_NAMESPACE PMIX_RANK PMI_FD PMI_SIZE SLURM_PROCID
[ "$fabric" = auto ] || export TUTTI_PROVIDER=$fabric
one_node='TUTTI_PROVIDER=shm reaches the ranks of one node only.* leave it unset, or name a network'
bad=0

# job WANTED COMMAND...: `fine`, or a pattern of the error.
job() {
  local wanted=$1 said status began=$SECONDS
  shift
  said=$(timeout -k 2 60 "$@" 2>&1 </dev/null)
  status=$?
  if [ "$wanted" = fine ]; then
    [ $status = 0 ] && grep -q '^fine' <<<"$said" && return
  else
    [ $status != 0 ] && [ $status -lt 124 ] && grep -qE -- "$wanted" <<<"$said" && return
  fi
  echo "FAILED: status $status after $((SECONDS - began)) s, wanted '$wanted': $*"
  echo "$said" | cut -c 1-300 | head -5
  bad=1
}
ranks() { local wanted=$1; shift; job "$wanted" "$tutti" run --timeout 40 -n 2 "$@"; }
among() { if [ "$fabric" = shm ]; then echo "$one_node"; else echo fine; fi; }  # of ranks that share no memory

# Namespaces: of every rank, or of one.
for kinds in "--user --map-root-user" "--pid --fork --mount-proc" "--pid --fork" "--ipc"; do
  # shellcheck disable=SC2086
  ranks "$(among)" unshare $kinds "$program" plain
done
# shellcheck disable=SC2016
ranks "$(among)" sh -c 'if [ "$PMIX_RANK" = 1 ]; then exec unshare --pid --fork --mount-proc "$@"; else exec "$@"; fi' sh "$program" plain
case $fabric in ucx*) without_proc='unable to read .*/proc/' ;; *) without_proc=$(among) ;; esac  # UCX itself needs it
ranks "$without_proc" unshare --mount sh -c 'umount -l /proc && exec "$@"' sh "$program" plain
job fine unshare --mount sh -c 'mount -t tmpfs -o size=4k,ro none /dev/shm && exec "$@"' sh "$tutti" run -n 2 "$program" plain

# Users. A program that may be run and not read is not dumpable.
case $fabric in
  shm|auto) ranks 'choose a network by TUTTI_PROVIDER' "$program" user ;;
  *) ranks fine "$program" user ;;
esac
cp "$program" "$work/unreadable"
chmod 711 "$work/unreadable"
job "$(among)" setpriv --reuid 65534 --regid 65534 --clear-groups "$tutti" run -n 2 "$work/unreadable" plain

# A program that closes what it has not opened takes networks away as well.
closed='must leave open the descriptors'
ranks "$closed" "$program" closed
case $fabric in
  shm|auto) ranks fine "$program" closed_late ;;
  *)
    ranks "$closed" "$program" closed_late
    ranks "$closed" "$program" closed_busy
    ;;
esac
exit $bad

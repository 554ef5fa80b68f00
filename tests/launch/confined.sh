#!/bin/bash
# confined.sh TUTTI PROGRAM FABRIC few|whole [MPI=PROGRAM...]: jobs that are confined, as in containers, by namespaces, mounts, users,
# limits and what they inherit, in the table below. Each works, or ends within seconds with a line that names what to do.
set -u
tutti=$1 program=$2 fabric=$3 rows=$4
shift 4
[ "$(id -u)" = 0 ] && unshare --user --map-root-user --pid --fork --mount-proc --ipc true 2>/dev/null || { echo "SKIPPED: no namespaces"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
chmod 777 "$work"
mkdir -p "$work/t mp" "$work/a prefix/bin" "$work/a prefix/lib"
lib=$(dirname "$tutti")/../lib
cp "$tutti" "$work/a prefix/bin"
cp -P "$lib"/libtutti.so* "$work/a prefix/lib"
[ ! -d "$lib/tutti" ] || cp -r "$lib/tutti" "$work/a prefix/lib"
cp "$program" "$work/unreadable"
chmod 711 "$work/unreadable"
export TMPDIR=$work work program
unset PMIX_NAMESPACE PMIX_RANK PMI_FD PMI_SIZE SLURM_PROCID
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_mpi_yield_when_idle=1
[ "$fabric" = auto ] || export TUTTI_PROVIDER=$fabric
one_node='TUTTI_PROVIDER=shm reaches the ranks of one node only.* leave it unset, or name a network'
among() { if [ "$fabric" = shm ]; then echo "$one_node"; else echo fine; fi; }  # of ranks that share no memory
among=$(among)
case $fabric in ucx*) proc='unable to read .*/proc/' sys='/sys/class/net. failed' ;; *) proc=$among sys=fine ;; esac  # UCX itself needs them
case $fabric in shm|auto) user='choose a network by TUTTI_PROVIDER' ;; *) user=fine ;; esac
case $fabric in shm|auto) few=fine ;; *) few="needs 32; raise the limit, which is 28 .ulimit -n" ;; esac
case $fabric in shm|auto) files="ulimit -f" ;; *) files=fine ;; esac
closed='must leave open the descriptors' # A program that closes what it has not opened takes networks away as well.
case $fabric in shm|auto) closed_late=fine closed_busy=skipped ;; *) closed_late=$closed closed_busy=$closed ;; esac
[ "$fabric" = ofi:tcp ] && large='needs: .* raise the limit .ulimit -[vd]' || large=fine
folder='cannot make a folder in .*; set TMPDIR to where there is room'
read_only='mount --bind / / && mount -o remount,bind,ro / && cd /'
if LD_PRELOAD=libjemalloc.so.2 true 2>&1 | grep -q .; then jemalloc=skipped; else jemalloc=fine; fi
if command -v ip >/dev/null; then ip=fine; else ip=skipped; fi

# What is confined (the launch, all ranks, or the odd ones) | whether scripts/check has the row | by which launchers (run, an MPI) |
# the program's scene | `fine`, or a pattern of the line that is wanted | what confines: commands, which may exec "$@" themselves
table="
rank   |few  |run |plain      |$among            |exec unshare --user --map-root-user \"\$@\"
rank   |few  |run |plain      |$among            |exec unshare --pid --fork --mount-proc \"\$@\"
rank   |whole|run |plain      |$among            |exec unshare --pid --fork \"\$@\"
rank   |few  |run |plain      |$among            |exec unshare --ipc \"\$@\"
odd    |few  |run |plain      |$among            |exec unshare --pid --fork --mount-proc \"\$@\"
rank   |few  |run |plain      |$proc             |exec unshare --mount sh -c 'umount -l /proc && exec \"\$@\"' sh \"\$@\"
launch |few  |run |plain      |fine              |exec unshare --mount sh -c 'mount -t tmpfs -o size=4k,ro none /dev/shm && exec \"\$@\"' sh \"\$@\"
launch |whole|run |plain      |mount /dev, or    |exec unshare --mount sh -c 'mount -t tmpfs none /dev && exec \"\$@\"' sh \"\$@\"
launch |whole|run |plain      |$sys              |exec unshare --mount sh -c 'umount -l /sys && exec \"\$@\"' sh \"\$@\"
launch |few  |run |plain      |$folder           |exec unshare --mount sh -c '$read_only && exec \"\$@\"' sh \"\$@\"
launch |few  |run |plain      |fine              |exec unshare --mount sh -c '$read_only && TMPDIR=/dev/shm exec \"\$@\"' sh \"\$@\"
launch |whole|all |plain      |fine              |exec unshare --mount sh -c 'mount -t tmpfs none /var/tmp && $read_only && TMPDIR=/var/tmp exec \"\$@\"' sh \"\$@\"
launch |whole|run |plain      |fine              |exec unshare --uts sh -c 'hostname \$(printf %060d 0 | tr 0 x); exec \"\$@\"' sh \"\$@\"
launch |whole|run |plain      |ip link set lo up |exec unshare --net \"\$@\"
launch |whole|all |plain      |$ip               |exec unshare --net sh -c 'ip link set lo up; exec \"\$@\"' sh \"\$@\"
rank   |few  |run |user       |$user             |:
launch |few  |run |unreadable |$among            |exec setpriv --reuid 65534 --regid 65534 --clear-groups \"\$@\"
launch |whole|all |plain      |fine              |exec setpriv --reuid 65534 --regid 65534 --clear-groups \"\$@\"
launch |whole|run |plain      |$folder           |export TMPDIR=/proc/none
launch |few  |all |plain      |fine              |unset HOME; export TMPDIR='$work/t mp' PATH=:/no/such:\$PATH
launch |whole|all |plain      |fine              |export HOME=/no/such
launch |whole|run |plain      |fine              |exec env -i \${TUTTI_PROVIDER:+TUTTI_PROVIDER=\$TUTTI_PROVIDER} \"\$@\"
launch |few  |run |plain      |fine              |cd \"\$work\"; shift; export LD_LIBRARY_PATH='a prefix/lib'; exec 'a prefix/bin/tutti' \"\$@\"
launch |few  |run |plain      |raise .* .ulimit -f |ulimit -f 0
rank   |few  |run |plain      |$files            |ulimit -f 8
launch |whole|run |plain      |raise it .ulimit -n |ulimit -n 12
rank   |few  |run |plain      |libpmix needs 8; raise the limit, which is 10 .ulimit -n |ulimit -n 10
rank   |few  |run |plain      |$few              |ulimit -n 28
rank   |whole|all |plain      |fine              |ulimit -n 100
launch |few  |run |plain      |fine              |ulimit -s 64
rank   |whole|run openmpi|plain|fine             |ulimit -s 128
launch |whole|all |plain      |fine              |ulimit -s unlimited
launch |few  |run |plain      |needs: .* raise the limit .ulimit -v |ulimit -v 42000
launch |whole|run |plain      |$large            |ulimit -v 150000
rank   |whole|run |plain      |needs: .* raise the limit .ulimit -v |ulimit -v 25000
rank   |whole|run |plain      |needs: .* raise the limit .ulimit -d |ulimit -d 8000
rank   |few  |run |plain      |$large            |ulimit -d 50000
rank   |whole|all |plain      |fine              |ulimit -l 0
launch |few  |all |plain      |fine              |exec env --block-signal --ignore-signal \"\$@\"
launch |whole|all |plain      |fine              |exec env --ignore-signal \"\$@\"
launch |whole|all |plain      |fine              |exec env --block-signal \"\$@\"
rank   |few  |all |plain      |fine              |exec env --block-signal --ignore-signal \"\$@\"
launch |few  |all |plain      |fine              |exec 0<&- 2>&-
rank   |few  |all |plain      |fine              |exec 0<&- 2>&-
rank   |whole|all |plain      |fine              |exec 0<&-
rank   |whole|all |plain      |nothing           |exec 0<&- 1>&- 2>&-
rank   |few  |run |closed     |$closed           |:
rank   |few  |run |closed_late|$closed_late      |:
rank   |few  |run |closed_busy|$closed_busy      |:
launch |few  |all |plain      |$jemalloc         |export LD_PRELOAD=libjemalloc.so.2
"
bad=0 seconds=
# job WANTED COMMAND...: whether it ended as it should
job() {
  local wanted=$1 status began=$SECONDS
  shift
  timeout -k 2 60 "$@" 2>&1 </dev/null | cat >"$work/said"
  status=${PIPESTATUS[0]} seconds=$((SECONDS - began))
  rm -rf "$work/left"
  ls -d "$work"/tutti-run-* >"$work/left" 2>/dev/null && rm -rf "$work"/tutti-run-* && return 1
  case $wanted in
    fine) [ "$status" = 0 ] && grep -q '^fine' "$work/said" ;;
    nothing) [ "$status" = 0 ] && ! [ -s "$work/said" ] ;;
    *) [ "$status" != 0 ] && [ "$status" -lt 124 ] && grep -qE -- "$wanted" "$work/said" ;;
  esac && return
  echo "FAILED: status $status after $seconds s, wanted '$wanted': $*"
  cut -c 1-300 "$work/said" "$work/left" | head -8
  bad=1
}

# one WHERE WANTED COMMANDS PROGRAM... -- LAUNCHER...
one() {
  local where=$1 wanted=$2 how="$3; exec \"\$@\"" words=()
  shift 3
  while [ "$1" != -- ]; do words+=("$1"); shift; done
  shift
  [ "$where" = odd ] && how='[ "$PMIX_RANK" = 1 ] || exec "$@"; '$how
  if [ "$where" = launch ]; then set -- bash -c "$how" bash "$@" "${words[@]}"; else set -- "$@" bash -c "$how" bash "${words[@]}"; fi
  job "$wanted" "$@"
  [ $seconds -le 10 ] && return
  job "$wanted" "$@" # something else may have had the machine
  [ $seconds -le 10 ] || { echo "FAILED: took $seconds s: $*"; bad=1; }
}

while IFS='|' read -r where which launchers scene wanted how; do
  read -r where <<<"$where"; read -r which <<<"$which"; read -r launchers <<<"$launchers"; read -r scene <<<"$scene"; read -r wanted <<<"$wanted"
  [ -n "$where" ] && [ "$wanted" != skipped ] && { [ "$which" = few ] || [ "$rows" = whole ]; } || continue
  words=("$program" "$scene")
  [ "$scene" != unreadable ] || words=("$work/unreadable" plain)
  [[ "$launchers" != all && " $launchers " != *" run "* ]] || one "$where" "$wanted" "$how" "${words[@]}" -- "$tutti" run --timeout 40 -n 2
  for mpi in "$@"; do
    [[ "$launchers" != all && " $launchers " != *" ${mpi%%=*} "* ]] ||
      one "$where" "$wanted" "$how" "${mpi#*=}" -- "$tutti" mpi --mpi "${mpi%%=*}" -n 2
  done
done <<<"$table"
exit $bad

#!/bin/bash
# wrong.sh LAUNCHER(tutti|mpirun) TUTTI PROGRAM RANKS [SCENES]: each scene of wrong.c, or of those named, ends the whole
# job with a status other than 0, soon, and says who broke which rule.
set -u
launcher=$1 tutti=$2 program=$3 ranks=$4 only=${5:-}
out=$(mktemp)
trap 'rm -f "$out"' EXIT
failed=0
last=$((ranks - 1))

scene() {  # NAME WORDS...: what the output must name
  local name=$1 got word
  shift
  case " ${only:-$name} " in *" $name "*) ;; *) return ;; esac
  case $launcher in
    tutti) timeout -k 2 20 "$tutti" run -n "$ranks" "$program" "$name" ;;
    mpirun) timeout -k 2 20 mpirun.openmpi --allow-run-as-root --oversubscribe -n "$ranks" "$program" "$name" ;;
  esac >"$out" 2>&1 </dev/null
  got=$?
  if [ $got = 0 ] || [ $got = 124 ]; then  # 124: it hung
    echo "FAILED: $name ended with status $got"; failed=1; sed 's/^/    /' "$out"
  fi
  for word; do
    grep -qF -- "$word" "$out" || { echo "FAILED: $name does not say \"$word\":"; failed=1; sed 's/^/    /' "$out"; }
  done
}

# What is allowed and looked at: NAME WORDS...
warning() {
  local name=$1 word
  shift
  case " ${only:-$name} " in *" $name "*) ;; *) return ;; esac
  timeout -k 2 20 "$tutti" run -n "$ranks" "$program" "$name" >"$out" 2>&1 </dev/null ||
    { echo "FAILED: $name ended with status $?"; failed=1; sed 's/^/    /' "$out"; }
  for word; do
    grep -qF -- "$word" "$out" || { echo "FAILED: $name does not say \"$word\":"; failed=1; sed 's/^/    /' "$out"; }
  done
}

beyond() {  # SCENE CALL RANGE BYTES: the offender is told of its own call, whole
  scene "$1" "process $last: $2: $3 of an area of which process 0 registered $4 bytes; it must stay inside them"
}
beyond put_beyond bsp_put '4 bytes at offset 13' 16
beyond put_far_beyond bsp_put '4 bytes at offset 2147483647' 16
beyond get_beyond bsp_get '1 bytes at offset 16' 16
beyond hpput_beyond bsp_hpput '4 bytes at offset 13' 16
beyond hpget_beyond bsp_hpget '1 bytes at offset 16' 16
beyond direct_get_beyond bsp_direct_get '1 bytes at offset 16' 16
beyond put_large bsp_put '100000 bytes at offset 8' 100000
beyond hpput_large bsp_hpput '100000 bytes at offset 8' 100000
beyond get_large bsp_get '100000 bytes at offset 8' 100000
beyond hpget_large bsp_hpget '100000 bytes at offset 8' 100000
beyond put_joined bsp_put '8 bytes at offset 100000' 100000
beyond put_words bsp_put '16 bytes at offset 99992' 100000
scene put_no_part "process $last: bsp_put: 4 bytes at offset 0" 'process 0 registered 0 bytes; it has no part in the area'
scene put_unregistered "process $last: bsp_put: 0x" 'not registered'
scene get_unregistered "process $last: bsp_get: 0x" 'not registered'
scene put_too_early "process $last: bsp_put: 0x" 'not registered; bsp_push_reg takes effect at the next bsp_sync'
scene put_later "process $last: bsp_put: 0x" 'not registered'
scene put_pid "process $last: bsp_put: there is no process $ranks;"
scene put_negative_pid "process $last: bsp_put: there is no process -1;"
scene send_pid "process $last: bsp_send: there is no process $((ranks + 3));"
scene put_negative "process $last: bsp_put: the size is -4"
scene put_negative_offset "process $last: bsp_put: the offset is -4"
scene get_negative "process $last: bsp_get: the offset is -1"
scene push_negative "process $last: bsp_push_reg: the size is -1"
scene push_null "process $last: bsp_push_reg: NULL with 4 bytes"
scene pop_unknown "process $last: bsp_pop_reg: 0x" 'not registered'
scene pop_null "process $last: bsp_pop_reg: NULL is not registered"
scene put_null "process $last: bsp_put: the source of 4 bytes is NULL"
scene put_null_area "process $last: bsp_put: the area is NULL, which names none"
scene get_null "process $last: bsp_get: the target of 4 bytes is NULL"
scene hpput_null "process $last: bsp_hpput: the source of 4 bytes is NULL"
scene hpget_null "process $last: bsp_hpget: the target of 4 bytes is NULL"
scene direct_get_null "process $last: bsp_direct_get: the target of 4 bytes is NULL"
scene send_null "process $last: bsp_send: the payload of 4 bytes is NULL"
scene send_null_tag "process $last: bsp_send: the tag of 4 bytes is NULL"
scene tagsize_null "process $last: bsp_set_tagsize: the size is NULL"
scene qsize_null "process $last: bsp_qsize: the number of messages is NULL"
scene get_tag_null "process $last: bsp_get_tag: the status is NULL"
scene get_tag_null_tag "process $last: bsp_get_tag: the tag of 4 bytes is NULL"
scene move_null "process $last: bsp_move: the payload of 4 bytes is NULL"
scene hpmove_null "process $last: bsp_hpmove: the tag is NULL"
scene hpmove_payload_null "process $last: bsp_hpmove: the payload is NULL"
scene move_nothing "process $last: bsp_move: the queue is empty"
scene init_null 'bsp_init: spmd is NULL'
scene init_twice 'bsp_init: called a second time'
scene init_late 'bsp_init: called inside the parallel part'
scene begin_none 'bsp_begin: 0 processes'
scene begin_twice 'bsp_begin: called inside the parallel part'
scene pid_outside 'bsp_pid: called before bsp_begin'
scene sum_outside 'bsp_sumI: called before bsp_begin'
scene bcast_root "process $last: bsp_bcast: there is no process $ranks; use 0 to $last"
scene gather_negative_root "process $last: bsp_gather: there is no process -1; use 0 to $last"
scene scatter_negative "process $last: bsp_scatter: the size is -4; use 0 or more"
scene bcast_null "process $last: bsp_bcast: the source of 4 bytes is NULL"
scene bcast_null_target "process $last: bsp_bcast: the target of 4 bytes is NULL"
scene gather_null "process $last: bsp_gather: the source of 4 bytes is NULL"
scene gather_null_target "process $last: bsp_gather: the target of 4 bytes is NULL"
scene scatter_null "process $last: bsp_scatter: the source of 4 bytes is NULL"
scene scatter_null_target "process $last: bsp_scatter: the target of 4 bytes is NULL"
scene fold_null "process $last: bsp_fold: the source of 4 bytes is NULL"
scene scan_null_target "process $last: bsp_scan: the target of 4 bytes is NULL"
scene fold_null_operation "process $last: bsp_fold: the operation is NULL"
scene sort_null_operation "process $last: bsp_sort: the operation is NULL"
scene sync_after_end 'bsp_sync: called after bsp_end'
scene aborts "bsp_abort: process $last: tired at 42"
scene aborts_null "bsp_abort: process $last: no reason given"
scene gives_up "bsp_abort: process $last: weary of 43"
# One call, one line, whether the launcher hears of the call or of the process's end first.
if [ "$launcher" = tutti ]; then
  for name in aborts aborts aborts aborts aborts gives_up put_pid; do
    scene "$name"
    case " ${only:-$name} " in *" $name "*) ;; *) continue ;; esac
    [ "$(wc -l < "$out")" = 1 ] || { echo "FAILED: $name says more than one line:"; failed=1; sed 's/^/    /' "$out"; }
  done
fi
TUTTI_BSP_MEMORY_MIB=2 scene too_large 'bsp_send' '2 MiB' 'TUTTI_BSP_MEMORY_MIB'
case ${TUTTI_PROVIDER:-shm} in
  shm) ;;  # read where they are
  *) TUTTI_BSP_MEMORY_MIB=6 scene received_too_much 'process 0: bsp_sync: process 0 has ' "bytes from process" 'bsp_send' '6 MiB' 'TUTTI_BSP_MEMORY_MIB' ;;
esac
TUTTI_BSP_MEMORY_MIB=7 scene received_many 'process 0: bsp_sync: process 0 has ' 'one of 1 bytes from process' '7 MiB' 'TUTTI_BSP_MEMORY_MIB'
TUTTI_BSP=Q scene put_beyond 'TUTTI_BSP=Q' 'auto|B|H|D|M|R|N'
if [ "$ranks" -gt 1 ]; then
  scene tags_differ 'set different tag sizes in superstep 2: process' "process $last has 8 bytes" 'has 4 bytes'
  scene tag_alone 'set different tag sizes in superstep 2: process' "process $last has 6 bytes" 'has 0 bytes'
  scene tag_and_put 'set different tag sizes in superstep 2: process' "process $last has 6 bytes" 'has 0 bytes'
  scene pushes_alone 'registered differently in superstep 2' "process $last called bsp_push_reg" 'with 4 bytes' ', which process ' ' did not'
  scene pops_alone 'registered differently in superstep 2' "process $last called bsp_pop_reg" 'of registration 1' ', which process ' ' did not'
  scene pops_differ 'registered differently in superstep 2' "process $last called bsp_pop_reg of registration 1 (16 bytes" 'of registration 2 (100000 bytes'
  scene pop_for_push 'registered differently in superstep 2' "process $last called bsp_pop_reg of registration 2" 'called bsp_push_reg' 'with 4 bytes'
  scene pop_null_elsewhere "process $last: bsp_sync" 'registered differently in superstep 3' 'NULL' 'registration 2'
  scene pop_null_nowhere 'in superstep 3 all processes called bsp_pop_reg(NULL)' 'no registration is NULL in all'
  [ "$ranks" -gt 2 ] && scene put_uneven "8 bytes at offset $((8 * last - 8)) of an area of which process $((last - 1)) registered $((8 * last - 8)) bytes"
  scene collective_alone 'ended superstep 2 by unlike calls' "process $last called bsp_sumD of 8 bytes" 'all processes must call the same'
  scene collective_at_root 'ended superstep 2 by unlike calls' "called bsp_sync, process $last called bsp_bcast of 4 bytes with process $last as its root"
  scene collective_or_end "process $last" 'bsp_end' 'all processes must call the same'
  scene sizes_differ "process $last: bsp_bcast" 'called bsp_bcast of 8 bytes with process 0 as its root' 'called bsp_bcast of 4 bytes with process 0 as its root'
  scene long_broadcast_alone 'ended superstep 2 by unlike calls' "called bsp_sync, process $last called bsp_bcast of 131072 bytes"
  scene long_broadcast_differs "process $last: bsp_bcast" 'bsp_bcast of 131072 bytes' 'bsp_bcast of 131073 bytes'
  scene roots_differ 'bsp_gather' 'ended superstep 2 by unlike calls' 'as its root' 'something else'
  [ "$ranks" = 2 ] && scene no_root 'bsp_bcast' 'ended superstep 2 by unlike calls' 'something else'
  scene types_differ 'ended superstep 2 by unlike calls' 'bsp_sumI of 4 bytes' 'bsp_sumR of 4 bytes'
  scene operations_differ 'ended superstep 2 by unlike calls' 'bsp_minD of 8 bytes' 'bsp_maxD of 8 bytes'
  scene ends_alone "process $last" 'bsp_end' 'bsp_sync' 'all processes must call the same'
  scene reads_first 'ended before it. All processes run main, and only process 0 has standard input: read it in process 0'
  scene exits "process $last: the process ended without bsp_end"
  export TUTTI_BSP_CHECK=1
  scene pushes_alone 'superstep 2: process 0 called bsp_push_reg 0 times' "process $last 1 times"
  scene pops_alone 'superstep 2: process 0 called bsp_pop_reg 0 times' "process $last 1 times"
  scene check_hpputs 'superstep 2: bsp_hpput of process' '(writes 8 bytes)' 'of process 0, for 4 bytes'
  scene check_hpget_target 'bsp_hpget of process' 'bsp_get of process' 'for 4 bytes'
  [ "$ranks" -gt 2 ] && scene check_hpget_put 'bsp_hpget of process 0 (reads 4 bytes)' 'bsp_put of process 1 (writes 4 bytes)'
  scene check_hpget_then_put "superstep 2: process $last: bsp_put takes 4 bytes at 0x" 'which a bsp_hpget before it may overwrite'
  scene check_hpget_then_send "superstep 2: process $last: bsp_send takes 4 bytes at 0x" 'which a bsp_hpget before it may overwrite'
  warning pushes_at_end 'ended as if nothing had happened'
  warning check_pending 'superstep 2: bsp_put takes 4 bytes at 0x' 'which a bsp_get before it is to overwrite'
  unset TUTTI_BSP_CHECK
  for name in pushes_at_end pops_at_end tags_at_end; do warning $name 'ended as if nothing had happened'; done
  case $launcher in
    tutti) scene is_killed "rank $last" ;;
    mpirun) scene is_killed "process rank $last" ;;
  esac
fi
exit $failed

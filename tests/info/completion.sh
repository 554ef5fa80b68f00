#!/bin/bash
# completion.sh TUTTI: what bash completes, by the script that `tutti completion bash` prints.
set -eu
tutti=$1
tutti() { "$tutti" "$@"; }
# shellcheck disable=SC1090
source <(tutti completion bash)
becomes() {  # EXPECTED WORD...: the last word may become these
  local expected=$1
  shift
  COMP_WORDS=(tutti "$@") COMP_CWORD=$#
  _tutti
  [ "${COMPREPLY[*]}" = "$expected" ] || { echo "FAILED: tutti $* became: ${COMPREPLY[*]}"; exit 1; }
}
becomes 'help run perf info sim papers tune mpi bsp-report completion' ''
becomes 'info' i
becomes '--doctor' info --d
becomes 'auto core none' run -np 4 --bind ''
becomes '--timeout' run --bind core --tim
becomes '' run -n 2 ./program --tim
becomes 'run' help r

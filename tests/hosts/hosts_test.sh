#!/bin/bash
# hosts_test.sh CASE [ARGUMENT...]: one case on three hosts. BIN is where the programs are.
set -u
here=$(cd "$(dirname "$0")" && pwd)
if [ -z "${TUTTI_TEST_CLUSTER-}" ]; then exec "$here/cluster" 3 "$here/hosts_test.sh" "$@"; fi
fail() { echo "FAILED: $*"; exit 1; }

# across BARRIER...: everything that a job does, over each algorithm.
across() {
  launch -n 6 "$BIN/hosts_across" 3 "$@" >/mnt/out 2>&1 || fail "status $?: $(cat /mnt/out)"
  [ "$(grep -c '^across: fine$' /mnt/out)" = 6 ] || { cat /mnt/out; fail "not all ranks are fine"; }
}

"$@"

#!/bin/bash
# busy.sh TUTTI BUSY_MACHINE: what `tutti tune` measures on a loaded machine does not go where jobs find it, but to a file that is named.
set -u
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "FAILED: $*"; cat "$work/said"; exit 1; }
tune() { env -u XDG_CONFIG_HOME HOME="$work" LD_PRELOAD="$busy" "$tutti" tune -n 2 --providers shm --collectives barrier --minutes 0.02 "$@" >"$work/said" 2>&1; }
tutti=$1 busy=$2
tune && fail "a busy machine's figures are taken"
grep -q 'the machine was loaded: not written to where jobs find it; measure on a quiet machine, or name a file by --output$' "$work/said" ||
  fail "the refusal does not say why, and what to do"
[ -z "$(find "$work" -name tuning.json)" ] || fail "the table was written all the same"
tune --output "$work/named.json" || fail "--output: status $?"
grep -q 'and the machine was loaded$' "$work/said" || fail "--output: no warning"
grep -q '"timings"' "$work/named.json" || fail "--output: nothing was written"

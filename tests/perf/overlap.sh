#!/bin/bash
# overlap.sh TUTTI: `tutti perf overlap` prints each of its tables with every row and column, on a provider without and on
# one with offload; all figures are positive, efficiencies about 1 at most. How large they are is not asked: the cores may
# be anyone's. Wrong options are refused with what would be right.
set -eu
tutti=$1
out=$(mktemp)
trap 'rm -f "$out"' EXIT

fail() { echo "FAILED: $*"; cat "$out"; exit 1; }

# table TITLE NTH KIND ROWS: the NTH table of that title has these rows (by | ), a cell for each of $columns, and no more.
# KIND: figure; computation, which may be beyond all that was tried; share, which is about 1 at most. (Computation is counted in
# turns of a loop whose speed was measured before, when the cores may have been slower.)
table() {
  awk -v title="$1" -v nth="$2" -v kind="$3" -v rows="$4" -v columns="$columns" '
    function cell(i) { s = substr($0, 35 + 14 * (i - 1), 14); gsub(/^ +| +$/, "", s); return s }
    function bad(why) { print title ", table " nth ": " why; wrong = 1; exit 1 }
    BEGIN { n = split(columns, column, "|"); m = split(rows, row, "|") }
    substr($0, 1, length(title)) == title && ++seen == nth {
      if (length($0) != 34 + 14 * n) bad("it has other columns than " columns)
      for (i = 1; i <= n; ++i) if (cell(i) != column[i]) bad("column " i " is not \"" column[i] "\"")
      inside = 1
      next
    }
    inside && /^$/ { inside = 0 }
    inside {
      label = substr($0, 3, 32)
      sub(/ +$/, "", label)
      if (label != row[++got]) bad("row " got " is \"" label "\", not \"" row[got] "\"")
      if (length($0) != 34 + 14 * n) bad("row \"" label "\" has not " n " figures")
      for (i = 1; i <= n; ++i) {
        s = cell(i)
        if (kind == "computation" && s == "> 16384") continue
        if (s !~ /^[0-9]+(\.[0-9]+)?$/ || s + 0 <= 0) bad("row \"" label "\": " s " is not a positive number")
        if (kind == "share" && s + 0 > 1.5) bad("row \"" label "\": " s " is no efficiency")
      }
    }
    END { if (!wrong && got != m) bad(got + 0 " rows of " m) }' "$out" || fail "${BASH_LINENO[0]}"
}

# tables NUMBER: all five, or all four without arrivals that vary.
tables() {
  local loop='' arrival='' us percent
  for us in 1.5 16 64 130 256 512 1024 2048 4096 8192 16384; do loop+="|$us us of computation"; done
  for us in 64 256 1024 4096; do for percent in 0 5 10 15 20; do arrival+="|$us us +- $percent %"; done; done
  local applications='360 us in 8 steps|2100 us in 20 steps|9450 us in 10 steps'
  table 'time of a loop, us' 1 figure "${loop#|}"
  table 'computation for an efficiency, us' 1 computation '0.25|0.50|0.75|0.90'
  [ "$1" = 4 ] || table 'time of a loop, us' 2 figure "${arrival#|}"
  table 'synthetic application, us' 1 figure "$applications"
  table 'its efficiency' 1 share "$applications"
  [ "$(grep -c '^[a-z]' "$out")" = "$1" ] || fail "there are other tables than these $1"
}

overlap() { timeout -k 5 "$1" "$tutti" perf overlap "${@:2}" >"$out" 2>&1; }

export TUTTI_PROVIDER=shm
overlap 100 -n 2 --seconds 0.1 || fail "shm: status $?"
grep -q '^2 ranks, .* provider shm, .*; this provider runs no barrier by itself (ofi:sockets does)$' "$out" || fail "shm offloads?"
columns='blocking|split|split, tests'
tables 5

# One part alone is that part alone.
overlap 60 -n 2 --parts applications --seconds 0.1 || fail "applications: status $?"
[ "$(grep -c '^[a-z]' "$out")" = 2 ] || fail "--parts applications: other tables as well"

refused() {
  local want=$1 status=0
  shift
  overlap 20 "$@" || status=$?
  [ $status != 0 ] && [ $status -lt 124 ] && [ "$(wc -l <"$out")" = 1 ] && grep -qF -- "$want" "$out" || fail "$*: status $status, without \"$want\""
}
refused '--parts: nothing not in {loop,arrival,applications}' --parts nothing
refused '--seconds: Value soon not in range 0.001000 to 3600.000000' --seconds soon
refused '--seconds: Value -1 not in range 0.001000 to 3600.000000' --seconds -1
refused '--ranks: Value 0 not in range 1 to 1024' -n 0
refused 'not expected: --bogus' --bogus

export TUTTI_PROVIDER=ofi:sockets
"$tutti" info | grep -q 'ofi:sockets .* offload,' || { echo "no provider that offloads"; exit 0; }
overlap 200 -n 2 --parts loop,applications --seconds 0.1 || fail "ofi:sockets: status $?"
grep -q '^2 ranks, .* provider ofi:sockets, ' "$out" || fail "another provider"
! grep -q 'by itself' "$out" || fail "sockets does not offload?"
columns='blocking|split|split, tests|offloaded|offl. split'
tables 4

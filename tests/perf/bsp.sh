#!/bin/bash
# bsp.sh TUTTI: a short `tutti perf bsp` has a row for each superstep, relation, number of processes and grain, with a
# number for each scheme, and says from where on each scheme is the cheapest.
set -u
tutti=$1
out=$(mktemp)
trap 'rm -f "$out"' EXIT
failed=0
number='[0-9]+(\.[0-9]+)?'
has() { grep -Eq -- "$1" "$out" || { echo "FAILED: no line matches $1"; failed=1; }; }
TUTTI_PROVIDER=shm timeout -k 2 200 "$tutti" perf bsp -n 3 --schemes auto,B --seconds 0.02 >"$out" 2>&1 ||
  { echo "FAILED: status $?"; failed=1; }

has '^3 processes, .* provider shm; '
for row in empty '8-byte put to the next' '8-byte put to all' '1 MiB hpput by 0'; do has "^  $row +$number +$number\$"; done
has "^machine: r = $number Mflop/s"
has '^  h-relation +g, ns/word +\+- +g, flop/word +l, us +\+- +l, flop +empty, us$'
for kind in full sparse; do
  # g and its spread, g in flop, l and its spread, l in flop, and the empty superstep, which is no intercept
  for scheme in auto B; do has "^  $kind +$scheme +-?$number +$number +-?$number +-?$number +$number +-?$number +$number\$"; done
  for n in 2 3; do has "^  $n +$kind +-?$number +$number +-?$number +$number\$"; done
done
has "^l by processes, us +auto +\+- +B +\+-\$"
for words in 1 8 512 8192; do has "^  $words +$number +$number\$"; done

# Each begins at the first size, names another scheme at a larger size, and so on.
for what in 'h of a full relation:0' 'h of a sparse relation:0' 'words of a put:1'; do
  line=$(grep -F "  cheapest by ${what%:*}: " "$out") || { echo "FAILED: no crossovers by ${what%:*}"; failed=1; continue; }
  echo "${line#*: }" | tr ',' '\n' | awk -v first="${what#*:}" '
    $1 !~ /^(auto|B)$/ || $2 != "from" || (NR == 1 ? $3 != first : $3 <= last || $1 == scheme) { exit 1 }
    { last = $3; scheme = $1 }' || { echo "FAILED: $line"; failed=1; }
done
# The examples with 1, 2 and 3 processes.
timeout -k 2 100 "$tutti" perf bsp -n 3 --applications --rounds 1 >"$out" 2>/dev/null || { echo "FAILED: applications: status $?"; failed=1; }
has '^ +alone, ms +p = 1 +p = 2 +p = 3$'
for program in inner_product lu fft sort spmv; do has "^$program, ms +[0-9.e+-]+ +[0-9.e+-]+ +[0-9.e+-]+ +[0-9.e+-]+\$"; done
[ "$(grep -cE "^  speed-up +$number +$number +$number\$" "$out")" = 5 ] || { echo "FAILED: not five rows of speed-ups"; failed=1; }

[ $failed = 0 ] || sed 's/^/    /' "$out"
exit $failed

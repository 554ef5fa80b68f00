#!/bin/bash
# profile.sh TUTTI PROGRAM: TUTTI_BSP_PROFILE of known_costs.c, and what `tutti bsp-report` makes of it.
set -u
tutti=$1 program=$2
source=$(dirname "$0")/known_costs.c
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
fail() { echo "FAILED: $*"; sed 's/^/    /' out; exit 1; }
line() { grep -n "bsp_sync(); /\* $1 \*/" "$source" | cut -d: -f1; }

TUTTI_PROVIDER=shm TUTTI_BSP_PROFILE=$work/costs.json timeout -k 2 60 "$tutti" run -n 3 "$program" >out 2>&1 || fail "the program"
[ -s costs.json ] || fail "no profile"
[ "$(grep -Ec '^\[(\[[0-9,]*\]|[0-9]+),\[' costs.json)" = 32 ] || fail "not 32 supersteps in the profile"
# Everyone sends 524288 bytes to the next and receives as many, by one call.
grep -q ',\[524288,524288,524288\],\[524288,524288,524288\],\[1,1,1\],[0-2]\]' costs.json || fail "the volume of the puts"
# A get is its owner's to send and its caller's to receive.
grep -q ',\[1000,1000,1000\],\[1000,1000,1000\],\[1,1,1\],[0-2]\]' costs.json || fail "the volume of the gets"

# Process 1 computes for 20 ms in ten supersteps: by the clock at least as long, whoever else has the machine.
# (Its compiler may make two places of one line, one of them for process 1; those of process 0 are looked at here.)
sed -E 's/^\[\[([0-9]+),[0-9,]*\],/[\1,/' costs.json >one.json
late=$(grep -Eo '^\[[0-9]+,\[[0-9]+,[0-9]+' one.json | cut -d, -f3 | awk '$1 >= 20000000' | wc -l)
[ "$late" -ge 10 ] || fail "process 1 computes for 20 ms in $late supersteps, not in 10"

# What is dearest of the measured ones is the machine's to say, and of a busy one anything. So: the same supersteps with times
# that such a program has on a quiet one, at the syncs of this program.
awk -v first="$(grep -E '^\[[0-9]+,\[' one.json | sed -n 2p | grep -Eo '^\[[0-9]+')" '
  /^\[[0-9]+,\[/ {
    same = index($0, first ",") == 1
    sub(/,\[[0-9]+,[0-9]+,[0-9]+\],\[[0-9]+,[0-9]+,[0-9]+\]/, same ? ",[1000,20000000,1000],[20005000,6000,20005000]" : ",[1000,1000,1000],[90000,90000,90000]")
  }
  { print }' one.json | sed 's/"g_ns_per_byte":[^,]*,"l_ns":[^,]*,/"g_ns_per_byte":0.15,"l_ns":5000,/' >quiet.json
"$tutti" bsp-report quiet.json >out 2>&1 || fail "bsp-report"
first="known_costs.c:$(line imbalance)"
command -v addr2line >/dev/null || first=bsp_known_costs+
sed -n 2p out | grep -q "^  $first.*: Processes wait 133 ms .* 100 % of these supersteps that is process 1\." ||
  fail "the first to mend is not $first, for its imbalance"
second="known_costs.c:$(line volume)"
command -v addr2line >/dev/null || second=bsp_known_costs+
sed -n 3p out | grep -q "^  $second.*: The data cost " || fail "the second is not $second, for its volume"

# And the measured ones make a page.
"$tutti" bsp-report --csv costs.csv costs.json >out 2>&1 || fail "bsp-report"
[ "$(wc -l <costs.csv)" = 97 ] || fail "the table is not of 32 supersteps of 3 processes"
grep -Eq '^12,1,"[^"]*","bsp_sync",[0-9]+,[0-9]+,524288,524288,1,"[a-z]+"$' costs.csv || fail "the table lacks a superstep"
grep -q '<td>10 MiB</td>' costs.json.html || fail "the page does not tell who sends to whom"
for part in 'Supersteps by h' 'Processes over time' '<svg' 'Most worth mending' 'Where the time went' 'By sync'; do
  grep -q "$part" costs.json.html || fail "the page lacks $part"
done
# By which way the metadata went: by one, where a scheme names it; and by two.
way() {  # SCHEME NUMBER NAME
  TUTTI_BSP=$1 TUTTI_PROVIDER=shm TUTTI_BSP_PROFILE=$work/way.json timeout -k 2 60 "$tutti" run -n 3 "$program" >out 2>&1 ||
    fail "the program by $1"
  [ "$(grep -c "^\[.*\],$2\]" way.json)" = 32 ] || fail "by $1 not all metadata went by $3"
  "$tutti" bsp-report way.json >out 2>&1 || fail "bsp-report"
  grep -q "^32 supersteps .*, metadata by $3; most" out || fail "the metadata of $1 is not told to go by $3"
}
way B 0 words
way D 1 dissemination
way M 2 multicast
awk '/^\[[0-9]+,\[/ { sub(/\],[0-2]\]/, ++n % 4 ? "],0]" : "],2]") } { print }' one.json >two.json
"$tutti" bsp-report two.json >out 2>&1 || fail "bsp-report"
grep -q '^32 supersteps .*, metadata by words 24, multicast 8; most' out || fail "two ways are not told"
grep -q '<td>words 24, multicast 8</td>' two.json.html || fail "the page does not tell two ways"
grep -q '<td>words 15, multicast 5</td></tr>' two.json.html || fail "the page does not tell those of a sync"
sed 's/^"calls":\[\[[0-9]*/"calls":[[99/' costs.json >site.json
"$tutti" bsp-report site.json >out 2>&1 && fail "a call at a site that is not listed is taken"
grep -q 'site.json: its calls name a site' out || fail "the error does not say what is wrong"
sed 's/^\(\[.*\],\)[0-2]\]/\17]/' costs.json >seven.json
"$tutti" bsp-report seven.json >out 2>&1 && fail "a way that is not listed is taken"
grep -q 'seven.json: a superstep names a way' out || fail "the error does not say what is wrong"

# Supersteps are told by the line that ends them, in all processes, and what goes to oneself is no traffic.
TUTTI_PROVIDER=auto TUTTI_BSP_PROFILE=$work/places.json timeout -k 2 60 "$tutti" run -n 3 "$program" places >out 2>&1 || fail "the program"
grep -q '"provider":"shm"' places.json || fail "the provider is not told that was taken"
grep -Eq '^\[[0-9]+,.*\],\[0,0,0\],\[0,0,0\],\[0,0,0\],[0-2]\]' places.json || fail "what is put to oneself counts"
[ "$(grep -Ec '^\[\[[0-9]+,[0-9]+,[0-9]+\],\[' places.json)" = 5 ] || fail "the places of the processes are not told"
# l as it is measured beside a stranger
sed 's/"l_ns":[^,]*,/"l_ns":858e6,/' places.json >slow.json
"$tutti" bsp-report slow.json >out 2>&1 || fail "bsp-report"
grep -Eo 'That is [0-9.]+ %' slow.json.html | awk '$3 > 100 { exit 1 }' || fail "more is gained than the program took"
grep -q '858 ms before the program began' slow.json.html || fail "the page does not say that l is too large"
if command -v addr2line >/dev/null; then
  at() { grep -n "/\* $1 \*/" "$source" | cut -d: -f1; }
  row() { grep -q "<td>$1</td><td>$2</td>" slow.json.html || fail "the page has no row of $2 supersteps at $1"; }
  row "known_costs.c:$(at inlined)" 30
  moves() { grep -q "<tr><td>known_costs.c:$(at "$1")</td><td>$2</td><td>$3</td><td>$4</td>" costs.json.html || fail "the page does not tell what is moved by $1"; }
  moves puts bsp_put 60 '30 MiB'
  moves 'a get' bsp_get 3 '2.93 KiB'
  grep -q "<td>known_costs.c:$(at imbalance)</td><td>10</td>" costs.json.html || fail "the page has no row of 10 supersteps at one line"
  row "known_costs.c:$(at 'process 0'), known_costs.c:$(at others)" 5
  row "known_costs.c:$(at collective) (bsp_sumD)" 300
fi
awk '/^\[/ { sub(/,\[[0-9]+,[0-9]+,[0-9]+\],\[[0-9]+,[0-9]+,[0-9]+\]/, ",[100,100,100],[9000,9000,9000]") } { print }' places.json |
  sed 's/"l_ns":[^,]*,/"l_ns":9000,/' >quiet.json
"$tutti" bsp-report quiet.json >out 2>&1 || fail "bsp-report"
grep -q 'bsp_sumD is a superstep each time: 300 cost .*Bring several values by one call' out || fail "the advice is not of bsp_sumD"

# In a simulated world all times are its own: the same each time, where the processes' own work counts nothing.
for run in 1 2; do
  TUTTI_BSP_PROFILE=$work/sim$run.json timeout -k 2 60 "$tutti" sim --compute 0 --ranks 3 "$program" 0.1 parameters >out 2>&1 || fail "in a simulated world"
  grep '^l [0-9]' out >sim$run || fail "no parameters"
done
cmp sim1.json sim2.json || fail "two equal runs have unlike profiles"
cmp sim1 sim2 || fail "two equal runs have unlike parameters"

grep -Eq '(src|href)="?(http|//)' costs.json.html && fail "the page needs something outside it"

echo '{"tutti_bsp_profile":3}' >cut.json
"$tutti" bsp-report cut.json >out 2>&1 && fail "a profile that is cut short is taken"
grep -q 'cut.json: ' out || fail "the error does not name the file"
"$tutti" bsp-report none.json >out 2>&1 && fail "a file that is not there is taken"
grep -q 'TUTTI_BSP_PROFILE=none.json' out || fail "the error does not say how to make one"
"$tutti" bsp-report /dev/zero >out 2>&1 && fail "a device is taken"
grep -q '/dev/zero cannot be read: it is a device' out || fail "the error does not say that it is a device"
TUTTI_PROVIDER=shm TUTTI_BSP_PROFILE=/nonexistent/costs.json timeout -k 2 60 "$tutti" run -n 2 "$program" >out 2>&1 ||
  fail "a program whose profile cannot be written fails"
grep -q '/nonexistent/costs.json cannot be written' out || fail "the error does not name the file"
echo "profile: right"

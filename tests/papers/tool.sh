#!/bin/sh
# tool.sh TUTTI PAPERS: `tutti papers` lists the figures, measures one again, and refuses what is wrong in one line that says what to do.
set -eu
tutti=$1 papers=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
list=$("$tutti" papers)
for name in kini-6 gupta-6 buntinas-7 huang-8 birk-table-1; do
  echo "$list" | grep -q "^  $name " || { echo "no $name in: $list"; exit 1; }
done

# A figure: the paper's number beside ours, which is near; files of both kinds.
said=$("$tutti" papers kini-7 --json "$work/kini.json" --html "$work/kini.html")
echo "$said" | grep -q 'RDS over MPI-PE, 8 nodes, cluster 1  *1.27 .*%$' || { echo "no statement in: $said"; exit 1; }
echo "$said" | grep -q 'RGM is the best at 16 nodes .*holds' || { echo "another order: $said"; exit 1; }
grep -q '"deviation"' "$work/kini.json"
# The same run gives the same.
"$tutti" papers kini-7 --json "$work/again.json" > /dev/null
grep -q "<svg" "$work/kini.html"
cmp "$work/kini.json" "$work/again.json"
# The adapters' barrier is below the hosts' at every size, two nodes too.
"$tutti" papers buntinas-4 --json "$work/b.json" > /dev/null
python3 - "$work/b.json" <<'P'
import json, sys
curves = json.load(open(sys.argv[1]))[0]["curves"]
for mhz in ("33", "66"):
    hosts, adapters = dict(curves["hb" + mhz]), dict(curves["nb" + mhz])
    for nodes, us in adapters.items():
        assert us < hosts[nodes], (mhz, nodes, us, hosts[nodes])
P

# Messages in all designs.
for name in $(echo "$list" | sed -n 's/^  \(huang-[0-9]*\) .*/\1/p'); do
  "$tutti" papers "$name" > "$work/said" || { echo "$name: $(cat "$work/said")"; exit 1; }
  grep -q '%' "$work/said" || { echo "$name says nothing: $(cat "$work/said")"; exit 1; }
done

refused() {  # STATUS PATTERN OPTIONS...
  wanted=$1 pattern=$2; shift 2
  status=0
  said=$("$tutti" papers "$@" 2>&1) || status=$?
  [ "$status" = "$wanted" ] && [ "$(echo "$said" | wc -l)" = 1 ] && echo "$said" | grep -q -e "$pattern" ||
    { echo "$* ended with $status: $said"; exit 1; }
}
refused 2 'did you mean kini-7?' kini-77
refused 2 'There are kini-' nothing-like-it
refused 2 'simulation only.*tutti perf bsp' birk-3 --live shm
# Damaged files: no JSON; a number that is none; a value out of its range; a number without its source.
cp -r "$papers" "$work/papers"
damaged() {  # PATTERN SED
  sed "$2" "$papers/kini.json" > "$work/papers/kini.json"
  refused 1 "$1" kini-7 --folder "$work/papers"
}
damaged 'kini.json is no JSON' '1d'
damaged 'network.gap_us.*`value` must be a number' 's/"network.gap_us": {"value": 0.3/"network.gap_us": {"value": "fast"/'
damaged 'network.gap_us.*not in the range' 's/"network.gap_us": {"value": 0.3/"network.gap_us": {"value": -1/'
damaged 'network.gap_us.*`from` is missing' 's/"network.gap_us": {"value": 0.3, "from"/"network.gap_us": {"value": 0.3, "source"/'
damaged 'no such parameter; did you mean network.gap_us' 's/network.gap_us/network.gab_us/'
damaged 'kini-7.*`quote` is missing' '/RPE over MPI-PE, 8 nodes/s/"quote"/"said"/'
refused 1 'cannot read .*none/kini.json' kini-7 --folder "$work"/none

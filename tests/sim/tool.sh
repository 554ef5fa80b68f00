#!/bin/sh
# tool.sh TUTTI: `tutti sim` measures each algorithm, and refuses bad values in one line that says what to write.
set -eu
tutti=$1
out=$("$tutti" sim --ranks 300 --ranks-per-node 8 --epochs 2 --loss 0.1 --jitter 1)
for name in dissemination pairwise nway tree flat counter multicast hierarchical; do
  echo "$out" | grep -q "^$name" || { echo "no line of $name in: $out"; exit 1; }
done
# The two that grow with the ranks are left out where they would not fit, with the reason.
"$tutti" sim --ranks 2000 --epochs 1 | grep -q '^flat *left out: .*fewer ranks'
"$tutti" sim --regret --ranks 4 --collective barrier | grep -q '^1 choices: geometric mean of the regret'
"$tutti" sim --ranks 40 --barrier rds --kill 7@5 | grep -q '39 survivors ended with an error that names the dead'
refused() {  # PATTERN OPTIONS...
  pattern=$1; shift
  if said=$("$tutti" sim "$@" 2>&1); then echo "accepted: $*"; exit 1; fi
  [ "$(echo "$said" | wc -l)" = 1 ] && echo "$said" | grep -q -e "$pattern" || { echo "$*: $said"; exit 1; }
}
refused 'known: dissemination' --barrier foo
refused 'fewer ranks' --barrier flat --ranks 5000
refused 'takes no radix' --barrier rds --radix 3 --ranks 8
refused 'write RANK@US' --kill 7 --ranks 8
refused 'the ranks are 0..7' --kill 8@1 --ranks 8
refused '--ranks' --ranks 0
refused '--loss' --loss 2

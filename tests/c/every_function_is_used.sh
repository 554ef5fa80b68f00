#!/bin/sh
# every_function_is_used.sh LIBRARY HEADER PROGRAM...: what the library exports is what the header declares, and each
# function of it is called by one of the test programs.
set -eu
library=$1 header=$2
shift 2
exported=$(nm -D --defined-only "$library" | awk '$2 == "T" { sub("@.*", "", $3); print $3 }' | sort)
others=$(nm -D --defined-only "$library" | awk '$2 != "T" && $2 != "A" { print $2, $3 }')
declared=$(grep -o 'TUTTI_API [^(]*(' "$header" | grep -o 'tutti_[a-z_]*($' | tr -d '(' | sort)
used=$(nm -u "$@" | awk '$1 == "U" && $2 ~ /^tutti_/ { sub("@.*", "", $2); print $2 }' | sort -u)
bad=0
[ -n "$exported" ] || { echo "$library exports nothing"; bad=1; }
[ -z "$others" ] || { echo "exported, but no function of the interface: $others"; bad=1; }
[ "$exported" = "$declared" ] || { echo "exported and declared differ:"; bad=1
  echo "$exported" > exported.$$; echo "$declared" | diff exported.$$ - || :; rm -f exported.$$; }
for f in $exported; do
  echo "$used" | grep -qx "$f" || { echo "$f is not used by any test"; bad=1; }
done
exit $bad

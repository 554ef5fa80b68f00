#!/bin/sh
# every_function_is_used.sh LIBRARY PROGRAM...: the library exports BSPlib's functions in both flavours and nothing else,
# under names that no other BSP library's header asks for, and each is called by one of the test programs.
set -eu
library=$1
shift
alike='init end time abort vabort sync pop_reg'
numbers='sum product min max'
alike="$alike bcast gather scatter fold scan sort all any constantI sortI sortR sortD sortC s l g nhalf"
alike="$alike $(for f in $numbers; do for t in I R D; do echo "$f$t $f${t}_prefix"; done; done)"
flavoured='begin nprocs pid push_reg put get hpput hpget direct_get set_tagsize send qsize get_tag move hpmove'
wanted=$({ for f in $alike; do echo "tutti_bsp_$f"; done; for f in $flavoured; do echo "tutti_bsp_$f"; echo "tutti_bsp_wide_$f"; done; } | sort)
exported=$(nm -D --defined-only "$library" | awk '$2 != "A" { sub("@.*", "", $3); print $3 }' | sort)
used=$(nm -u "$@" | awk '$1 == "U" && $2 ~ /^tutti_bsp_/ { sub("@.*", "", $2); print $2 }' | sort -u)
[ "$exported" = "$wanted" ] || { echo "exported: $exported"; echo "wanted: $wanted"; exit 1; }
for f in $exported; do
  echo "$used" | grep -qx "$f" || { echo "$f is not used by any test"; exit 1; }
done

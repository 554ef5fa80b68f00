#!/bin/sh
# every_function_is_used.sh LIBRARY PROGRAM...: the library exports BSPlib's functions in both flavours and nothing else,
# and each is called by one of the test programs.
set -eu
library=$1
shift
alike='bsp_init bsp_end bsp_time bsp_abort bsp_vabort bsp_sync bsp_pop_reg'
flavoured='begin nprocs pid push_reg put get hpput hpget set_tagsize send qsize get_tag move hpmove'
wanted=$({ for f in $alike; do echo "$f"; done; for f in $flavoured; do echo "bsp_$f"; echo "bsp_wide_$f"; done; } | sort)
exported=$(nm -D --defined-only "$library" | awk '$2 != "A" { sub("@.*", "", $3); print $3 }' | sort)
used=$(nm -u "$@" | awk '$1 == "U" && $2 ~ /^bsp_/ { sub("@.*", "", $2); print $2 }' | sort -u)
[ "$exported" = "$wanted" ] || { echo "exported: $exported"; echo "wanted: $wanted"; exit 1; }
for f in $exported; do
  echo "$used" | grep -qx "$f" || { echo "$f is not used by any test"; exit 1; }
done

#!/bin/sh
# check.sh ROOT: who may include whom, and what library code may not do. Prints each breach; fails if there is one.
set -eu
cd "$1"
breaches=$(mktemp)
trap 'rm -f "$breaches"' EXIT

sources() { find "$@" -name '*.h' -o -name '*.cpp' -o -name '*.c' 2>/dev/null | sort; }
folders() { for f in "$@"; do if [ -d "$f" ]; then echo "$f"; fi; done; }
# found PATTERN FILES...: lines that match, comments left out
found() { pattern=$1; shift; [ $# -eq 0 ] || grep -nHE "$pattern" "$@" | grep -vE '^[^:]*:[0-9]+: *(//|\*|/\*)' || :; }
# breach RULE: what comes in breaks it
breach() { awk -v rule="$1" '{ print rule ": " $0 }' >> "$breaches"; }

# own FOLDER ALLOWED: quoted includes of the files in it name these folders only
own() { found '#include "' $(sources "$1") | grep -vE "#include \"($2)/" | breach "$1 includes only $2" || :; }
# The rooms of core: each includes those before it.
rooms=
for room in base schedule transport router multicast job engine; do
  rooms=${rooms:+$rooms|}core/$room
  own core/$room "$rooms"
done
find core -maxdepth 1 -type f | breach 'core holds rooms, no files' || :
own collectives 'core|collectives'
own messaging 'core|messaging'
own bsp 'core|messaging|collectives|bsp'
own api 'core|collectives|messaging|bsp|api'
# What MPI programs preload is a user of the C interface.
found '#include "' $(sources $(folders mpi)) | grep -vE '#include "(mpi/|api/tutti\.h")' | breach 'mpi includes only tutti.h' || :
# providers/common holds what all providers share, and providers/messages what the vendors' providers do.
own providers/common 'core|providers/common'
for folder in $(folders providers/*); do
  if [ "$folder" != providers/common ]; then own "$folder" "core|providers/common|providers/messages|$folder"; fi
done
# The registry's files, beside the providers' folders, name each provider and nothing of its inside.
found '#include "' providers/*.h providers/*.cpp 2>/dev/null |
  grep -vE '#include "(core/[a-z]+/[a-z_]+\.h|providers/(registry|module)\.h|providers/([a-z]+)/\3\.h)"' | breach 'the registry' || :

# Vendors' headers
library='core collectives messaging bsp api providers'
vendor() {  # PATTERN ALLOWED: headers of one vendor, and the files that may see them
  # shellcheck disable=SC2086
  found "#include <($1)" $(sources $(folders $library mpi tools)) | grep -vE "^($2)" | breach "<$1> only in $2" || :
}
vendor 'pmix' 'core/job/bootstrap_pmix\.|tools/run/'
vendor 'ucp/|ucs/|uct/|ucm/' 'providers/ucx/'
vendor 'rdma/fi_|rdma/fabric' 'providers/ofi/'
vendor 'infiniband/|rdma/rdma_' 'providers/verbs/'
vendor 'CLI/' 'tools/options\.cpp:'
vendor 'nlohmann/' 'tools/|collectives/tuning/file\.cpp:'
vendor 'hwloc' 'tools/|providers/verbs/'
vendor 'boost/|mpi\.h' 'mpi/real\.h:|tests/'

# Public headers include C's only; bsp.h brings <stdio.h> as others' does, unless BSP_BARE is defined
found '#include' api/tutti.h | grep -vE '#include <(stddef|stdint|stdarg)\.h>' | breach 'the public headers include C only' || :
if [ -e bsp/bsp.h ]; then
  found '#include' bsp/bsp_level1.h | grep -vE '#include <bsp\.h>' | breach 'bsp_level1.h includes bsp.h only' || :
  found '#include' bsp/bsp.h | grep -vE '#include <(stddef|stdint|stdarg|stdio)\.h>' | breach 'bsp.h includes C only' || :
  sed '/^#ifndef BSP_BARE$/,/^#endif$/d' bsp/bsp.h | found '#include <(stdio|stdint)' - |
    breach 'bsp.h includes <stdio.h> and <stdint.h> unless BSP_BARE is defined' || :
fi

# The environment has one reader; the library neither prints, but who is waited for in vain (api/options.cpp), nor ends a process
# shellcheck disable=SC2046,SC2086
set -- $(sources $(folders $library))
found '[^a-z_](secure_)?getenv *\(|[^a-z_]environ[^a-z_m]' "$@" |
  grep -vE '^core/job/config\.cpp|^providers/ucx/.*getenv.*"UCX_|^providers/ofi/quirks\.cpp|^core/base/lent_variable\.h' | breach 'getenv (but for a vendor library'"'"'s own variables)' || :
# but for BSPlib's bsp_abort, which is defined to do both
set -- $(printf '%s\n' "$@" | grep -vE '^bsp/(process|bsplib)\.(cpp|h)$|^bsp/bsp\.h$')
found '[^a-z_.:>](std::)?(_?exit|abort|terminate) *\(' "$@" | breach 'ends the process' || :
found '[^a-z_](printf|puts|putchar|perror) *\(|std::(cout|cerr|clog)|fprintf *\((stderr|stdout)' "$@" | grep -v '^api/options\.cpp' | breach 'prints' || :

# A file or folder that a document or a comment names by its path from the root is there.
tops=$(folders core collectives messaging bsp api mpi tools providers tests scripts docs examples preload | tr '\n' '|')
# shellcheck disable=SC2046,SC2086
{
  grep -nHE '(^|[^"])//|/\*|^ +\* ' $(sources $(echo "$tops" | tr '|' ' ')) | grep -vE ':[0-9]+:#include'
  grep -nHE . README.md docs/*.md 2>/dev/null
} | grep -oE "^[^:]*:[0-9]+:|(^|[^][A-Za-z0-9_/.<{\$-])(${tops%|})/[A-Za-z0-9_./-]*[A-Za-z0-9_]" | sed -E 's/^[^A-Za-z]//' |
  awk '/:[0-9]+:$/ { sub(/:.*/, ""); file = $0; next } { print file, $0 }' | sort -u | grep -v ' providers/NAME' | while read -r file path; do
    [ -n "$(find "$path" "$path".* -maxdepth 0 2>/dev/null)" ] || grep -nHF -- "$path" "$file"
  done | breach 'names a path that is not there' || :

cat "$breaches"
[ ! -s "$breaches" ]

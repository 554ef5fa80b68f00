#!/bin/sh
# notices.sh CHECK ROOT: the check passes on the sources and notices each breach that is planted into a copy.
set -eu
check=$1 root=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/tree"
for folder in core collectives messaging bsp api mpi providers tools; do
  if [ -d "$root/$folder" ]; then cp -r "$root/$folder" "$work/tree"; fi
done
"$check" "$work/tree"
planted=$work/planted
plant() {  # FILE LINE
  mkdir -p "$(dirname "$work/tree/$1")"
  printf '\n%s\n' "$2" >> "$work/tree/$1"
  printf '%s\t%s\n' "$1" "$2" >> "$planted"
}
plant core/job/job.cpp '#include "collectives/communicator.h"'
plant core/job/job.cpp '#include <pmix.h>'
plant core/base/status.cpp '#include "core/transport/transport.h"'
plant core/transport/wait.cpp '#include "core/job/job.h"'
plant core/job/team.cpp '#include "core/engine/executor.h"'
plant core/base/status.h '// as core/base/nothing.h has it'
plant core/stray.h '#include "core/base/status.h"'
plant core/job/job.cpp '#include "providers/shm/shm.h"'
plant collectives/communicator.cpp '#include "providers/registry.h"'
plant collectives/communicator.cpp '#include "messaging/channel.h"'
plant providers/shm/extra.h '#include "collectives/communicator.h"'
plant providers/shm/extra.h '#include "providers/sim/sim.h"'
plant providers/shm/extra.h '#include <ucp/api/ucp.h>'
plant providers/ucx/extra.h '#include <infiniband/verbs.h>'
plant providers/ucx/extra.h '#include <rdma/fabric.h>'
plant providers/messages/extra.h '#include <ucp/api/ucp.h>'
plant providers/messages/extra.h '#include "providers/ucx/link.h"'
plant providers/registry.cpp '#include "providers/shm/transport.h"'
plant api/tutti.h '#include <vector>'
plant api/tutti.h '#include <stdio.h>'
plant bsp/bsp.h '#include <stdlib.h>'
plant bsp/bsp_level1.h '#include <stdlib.h>'
plant bsp/bsp.h '#include <stdio.h>'
plant api/tutti.h '#include "core/base/status.h"'
plant core/base/status.cpp 'int x() { return getenv("HOME") != nullptr; }'
plant core/base/status.cpp 'extern char** environ; char** y() { return environ; }'
plant core/base/status.cpp 'void z() { std::abort(); }'
plant core/base/status.cpp 'void z() { exit(1); }'
plant core/base/status.cpp 'void z() { std::printf("x"); }'
plant mpi/world.cpp '#include "core/base/status.h"'
plant mpi/world.cpp '#include <ucp/api/ucp.h>'
plant mpi/world.cpp '#include <mpi.h>'
plant tools/run.cpp '#include <CLI/CLI.hpp>'
plant core/base/status.cpp 'void z() { std::fprintf(stderr, "x"); }'

if "$check" "$work/tree" > "$work/breaches"; then echo "nothing was noticed"; exit 1; fi
while IFS="$(printf '\t')" read -r file line; do
  if [ "$file" = core/stray.h ]; then line=; fi  # what is wrong with it is its place
  grep -F "${file##*/}" "$work/breaches" | grep -qF -- "$line" || { echo "not noticed in $file: $line"; exit 1; }
done < "$planted"

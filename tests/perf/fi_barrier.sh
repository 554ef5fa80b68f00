#!/bin/bash
# fi_barrier.sh SOURCE: libfabric's own barrier runs over tcp at sizes that are powers of two and others, and says in words why
# it does not over shm.
set -eu
command -v fi_info >/dev/null && fi_info -p 'tcp;ofi_rxm' -c FI_COLLECTIVE >/dev/null 2>&1 || { echo "no collectives in libfabric here"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cc -O2 -o "$work/fi_barrier" "$1" -lfabric || { echo "no libfabric to build with"; exit 77; }
for ranks in 2 3 4; do
  out=$(timeout -k 5 30 "$work/fi_barrier" 'tcp;ofi_rxm' $ranks 0.1)
  grep -Eq '^[0-9]+\.[0-9]{4}$' <<<"$out" || { echo "FAILED: $ranks ranks: $out"; exit 1; }
done
if out=$(timeout -k 5 30 "$work/fi_barrier" shm 2 0.1); then grep -Eq '^[0-9]+\.[0-9]{4}$' <<<"$out"; else grep -q ': ' <<<"$out"; fi ||
  { echo "FAILED: neither a figure nor a reason over shm: $out"; exit 1; }

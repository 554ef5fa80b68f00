#!/bin/bash
# taken.sh TUTTI: which of libfabric's providers are taken is found by trial. tcp moves messages by the caller's thread:
# taken, and its target must progress. sockets does by threads of its own: left to those who name it, with what they cost, and
# by name it reaches memory alone.
set -eu
out=$(timeout 100 "$1" info)
grep -q '^ofi ' <<<"$out" || { echo "ofi is not loaded"; exit 77; }
fail() { echo "FAILED: $1"; echo "$out"; exit 1; }
if command -v fi_info >/dev/null && fi_info -p 'tcp;ofi_rxm' >/dev/null 2>&1; then
  grep -Eq '^ +ofi:tcp .*, target must progress' <<<"$out" || fail "tcp is not taken"
fi
command -v fi_info >/dev/null && fi_info -p sockets -t FI_EP_RDM >/dev/null 2>&1 || { echo "no sockets"; exit 77; }
grep -Eq '^ +ofi:sockets ' <<<"$out" && fail "sockets is taken though nobody named it"
grep -Eq 'sockets: only when named: threads of its own took [1-9][0-9]* us of processor time for a message, the rank [0-9]+ us' <<<"$out" ||
  fail "no reason, or no measured one"
out=$(TUTTI_PROVIDER=ofi:sockets timeout 100 "$1" info)
grep -Eq '^ +ofi:sockets +native signals, atomics by the target.s progress, .*truly one-sided' <<<"$out" || fail "not by remote key"

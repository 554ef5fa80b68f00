#!/bin/bash
# dev_shm.sh TUTTI PROGRAM: with a /dev/shm of 64 KiB a job that needs more of it is refused in words that name what there
# is, what is needed and the remedy; `tutti info` and `--doctor` say the same; a window that does not fit is refused instead
# of becoming private without a word; and what needs no /dev/shm runs. In a mount namespace of its own.
set -u
tutti=$1 program=$2
if [ "${3-}" != --inside ]; then
  as_root=; [ "$(id -u)" = 0 ] || as_root=--map-root-user
  # shellcheck disable=SC2086 # an option or none
  why=$(unshare $as_root -m mount -t tmpfs -o size=64k tmpfs /dev/shm 2>&1) || {
    echo "SKIPPED: no small /dev/shm: namespaces cannot be made here: $why"; exit 77; }
  # shellcheck disable=SC2086
  exec unshare $as_root -m "$0" "$tutti" "$program" --inside
fi
mount -t tmpfs -o size=64k tmpfs /dev/shm || exit 1
failed=0
fail() { echo "FAILED: $*"; failed=1; }
names() {  # WHAT TEXT: it has what there is, what is needed, and the remedy
  grep -Eq '/dev/shm has [0-9.]+ [KMG]iB free, and [^;]* needs [0-9.]+ [KMG]iB there; mount a larger tmpfs .*docker run --shm-size=1g' \
    <<<"$2" || fail "$1: $2"
}
job() { TUTTI_PROVIDER=$1 timeout -k 5 60 "$tutti" run -n "$2" "$program" "$3" 2>&1; }

out=$(job shm 2 served) || fail "shm, which lies elsewhere: $out"
listed=$("$tutti" info)
for provider in ucx:shm ofi:shm; do
  grep -q "^${provider%:*} .*not loaded" <<<"$listed" && continue
  out=$(job $provider 2 served) && fail "$provider ran with 64 KiB"
  names "$provider" "$out"
  grep -q '/dev/shm has 64 KiB free' <<<"$out" || fail "$provider does not say what it found: $out"
  out=$(TUTTI_PROVIDER=$provider "$tutti" info --doctor) && fail "--doctor finds nothing wrong with $provider"
  names "--doctor" "$(grep "^BAD  provider $provider: " <<<"$out")"
  names "tutti info" "$(grep -A1 "^${provider%:*} " <<<"$listed")"
done
names "--doctor" "$("$tutti" info --doctor | grep '^BAD  /dev/shm')"

# Room for UCX's workers, and none for windows of 1 MiB.
if ! grep -q '^ucx .*not loaded' <<<"$listed"; then
  mount -o remount,size=9000k /dev/shm
  out=$(job ucx:shm 2 served) && fail "windows of 1 MiB found room"
  names "a window" "$out"
  grep -q 'tutti_window_create' <<<"$out" || fail "not by the window: $out"
fi
exit $failed

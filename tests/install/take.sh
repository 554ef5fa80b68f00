#!/bin/sh
# take.sh COMPILER...: what CMake calls in place of the compiler: takes an object that $TAKEN lists, and compiles others.
before= out= dependencies=
for word; do
  case $before in
    -o) out=$word ;;
    -MF) dependencies=$word ;;
  esac
  before=$word
done
object=$(awk -v out="$out" '$1 == out { print $2 }' "${TAKEN:-/dev/null}")
[ -n "$object" ] || exec "$@"
echo "$out:" > "$dependencies"
cp "$object" "$out"

#!/bin/sh
# installed.sh SOURCE BUILD CC CXX CFLAGS: installs into a folder, moves it, and makes and runs BSP programs there as a
# stranger would: by bspcc and bspc++, of both flavours, in one step and in two, started by bsprun.
set -eu
source=$1 build=$2 cc=$3 cxx=$4 cflags=$5
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "$*"; exit 1; }
cmake --install "$build" --prefix "$work/first" > "$work/log" 2>&1 || { cat "$work/log"; fail "the installation failed"; }
mv "$work/first" "$work/moved"
# The environment of a stranger: nothing of this build, but the compiler.
clean() {
  env -i PATH="$work/moved/bin:/usr/local/bin:/usr/bin:/bin" HOME="$work" CC="$cc" CXX="$cxx" \
      LSAN_OPTIONS="${LSAN_OPTIONS:-}" "$@"
}
says() {  # WORDS COMMAND...
  words=$1
  shift
  said=$(clean "$@" 2>&1) || fail "$* failed: $said"
  case $said in *"$words"*) ;; *) fail "$* said: $said" ;; esac
}
cd "$work"
# shellcheck disable=SC2086 # several words
{
  clean bspcc $cflags -O2 -Wall -Werror "$source/examples/bsp/inner_product.c" -o inner_product -lm
  clean bspcc $cflags -c "$source/tests/bsp/rules.c" -o rules.o
  clean bspcc $cflags rules.o -o rules
  clean bspcc $cflags --wide "$source/tests/bsp/rules.c" -o rules_wide
  printf '#include <bsp.h>\nint main() { bsp_begin(bsp_nprocs()); bsp_sync(); bsp_end(); }\n' > tiny.cpp
  clean bspc++ $cflags -Wall -Werror tiny.cpp -o tiny
}
says right bsprun -n 3 ./inner_product 1000
says right ./inner_product 1000
says 'all rules hold for 4' bsprun -np 4 ./rules
says 'all rules hold for 2' bsprun -npes 2 ./rules_wide
says '' bsprun -n 2 ./tiny

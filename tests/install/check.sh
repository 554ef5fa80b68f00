#!/bin/sh
# check.sh SOURCE BUILD LIBDIR CC CFLAGS CXX CXXFLAGS: installs into a folder, moves it, and uses what is there as a user would: a program
# built by pkg-config, another by find_package, both run by the installed launcher; a program without a launcher.
set -eu
source=$1 build=$2 libdir=$3 cc=$4 cflags=$5 cxx=$6 cxxflags=$7
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "$*"; exit 1; }

cmake --install "$build" --prefix "$work/first" > "$work/log" 2>&1 || { cat "$work/log"; fail "the installation failed"; }
mv "$work/first" "$work/moved"
root=$work/moved
for file in bin/tutti include/tutti.h include/tutti.hpp include/tutti/coroutine.hpp "$libdir/libtutti.so.0" "$libdir/pkgconfig/tutti.pc" \
            "$libdir/cmake/tutti/tuttiConfig.cmake" share/doc/tutti/examples/hello.c share/doc/tutti/examples/cpp_ring.cpp share/man/man1/tutti.1.gz share/man/man1/tutti-run.1.gz share/man/man3/tutti_put.3.gz share/man/man7/tutti.7.gz \
            share/bash-completion/completions/tutti; do
  [ -e "$root/$file" ] || fail "$file was not installed"
done
[ "$(objdump -p "$root/$libdir/libtutti.so" | awk '/SONAME/ {print $2}')" = libtutti.so.0 ] || fail "another soname"
# In binaries too, unless they were built to be debugged: the build may be gone.
binaries=
objdump -h "$root/bin/tutti" | grep -q '[.]debug_' && binaries=-I
# shellcheck disable=SC2086 # an option or none
if grep -rlF $binaries -e "$build/" -e "$source/" "$root"; then fail "installed files name the folder they were built in"; fi

# The environment of a user: nothing of this build.
clean() { env -i PATH=/usr/local/bin:/usr/bin:/bin HOME="$work" LSAN_OPTIONS="${LSAN_OPTIONS:-}" "$@"; }

export PKG_CONFIG_PATH="$root/$libdir/pkgconfig"
# shellcheck disable=SC2046,SC2086 # several words each
$cc $cflags -std=c11 -Wall -Wextra -Werror $(pkg-config --cflags tutti) -o "$work/by_pkg_config" \
  "$source/examples/hello.c" $(pkg-config --libs tutti) -Wl,-rpath,"$(pkg-config --variable=libdir tutti)"
# shellcheck disable=SC2046,SC2086 # several words each
$cxx $cxxflags -std=c++20 -Wall -Wextra -Werror $(pkg-config --cflags tutti) -o "$work/cpp_by_pkg_config" \
  "$root/share/doc/tutti/examples/cpp_ring.cpp" $(pkg-config --libs tutti) -Wl,-rpath,"$(pkg-config --variable=libdir tutti)"
# shellcheck disable=SC2046,SC2086 # several words each
if echo '#include <tutti.hpp>' | $cxx $cxxflags -std=c++17 $(pkg-config --cflags tutti) -x c++ -fsyntax-only - > "$work/old" 2>&1 ||
  [ "$(grep -c 'error:' "$work/old")" != 1 ] || ! grep -q 'needs C++20' "$work/old"; then
  cat "$work/old"
  fail "tutti.hpp does not say in one error that it needs C++20"
fi
cmake -S "$source/tests/install/consumer" -B "$work/consumer" -DCMAKE_PREFIX_PATH="$root" -DEXAMPLES="$source/examples" \
  -DCMAKE_C_COMPILER="$cc" -DCMAKE_C_FLAGS="$cflags" -DCMAKE_CXX_COMPILER="$cxx" -DCMAKE_CXX_FLAGS="$cxxflags" > "$work/log" 2>&1 &&
  cmake --build "$work/consumer" >> "$work/log" 2>&1 || { cat "$work/log"; fail "find_package(tutti) does not work"; }

expected='rank 0 of 2 got "hello from rank 1"
rank 1 of 2 got "hello from rank 0"'
says() {
  said=$("$@") || fail "$* failed"
  [ "$(echo "$said" | sort)" = "$expected" ] || fail "$* said: $said"
}
for program in "$work/by_pkg_config" "$work/consumer/hello"; do
  says clean "$root/bin/tutti" run --timeout 60 -n 2 "$program"
done
if [ -e "$root/$libdir/tutti/tutti_ucx.so" ]; then
  says clean TUTTI_PROVIDER=ucx:tcp "$root/bin/tutti" run --timeout 60 -n 2 "$work/by_pkg_config"
fi
expected='rank 0 of 1 got "hello from rank 0"'
says clean "$work/by_pkg_config"
expected='2 ranks over shm
token 1 is back with 1
token 2 is back with 1
token 3 is back with 1
token 4 is back with 1
token 5 is back with 1'
for program in "$work/cpp_by_pkg_config" "$work/consumer/cpp_ring"; do
  says clean "$root/bin/tutti" run --timeout 60 -n 2 "$program"
done

# What it would build to compare itself with: found beside itself. Without compilers, or timeout(1), nothing is run.
clean PATH=/nonexistent "$root/bin/tutti" perf --peers > "$work/peers"
for source in mpi_collectives.c fi_barrier.c; do
  grep -q "could not build $root/.*/$source" "$work/peers" || { cat "$work/peers"; fail "$source is not found"; }
done

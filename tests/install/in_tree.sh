#!/bin/sh
# in_tree.sh SOURCE TUTTI BUILD: a user's project that fetches the tree and links tutti::tutti and tutti::bsp statically, with no
# provider of a vendor and no PMIx: it builds nothing but the libraries, and they work as far as they can. What it would compile
# as BUILD did it takes from there (taken.py): how it is told to compile, how it links and what it makes are under test.
set -eu
source=$1 tutti=$2 build=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "FAILED: $*"; exit 1; }

cmake -G Ninja -S "$source/tests/install/consumer" -B "$work" -DTUTTI_TREE="$source" -DEXAMPLES="$source/examples" \
  -DTUTTI_STATIC=ON -DTUTTI_WITH_PMIX=OFF -DTUTTI_WITH_UCX=OFF -DTUTTI_WITH_OFI=OFF -DTUTTI_WITH_VERBS=OFF \
  -DTUTTI_PRECOMPILE=ON -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG=-O0 -DCMAKE_EXPORT_COMPILE_COMMANDS=ON \
  -DCMAKE_CXX_COMPILER_LAUNCHER="$source/tests/install/take.sh" > "$work/log" 2>&1 &&
  python3 "$source/tests/install/taken.py" "$build" "$work" > "$work/taken" 2>> "$work/log" &&
  TAKEN=$work/taken cmake --build "$work" >> "$work/log" 2>&1 || { cat "$work/log"; fail "the tree does not build within a project"; }
ninja -C "$work" -t targets all | grep -E '^_deps/[^:]*/(tests|tools|examples)/' && fail "tools, tests and examples were configured"
objdump -p "$work/hello" | grep -E 'NEEDED.*(tutti|pmix|ucp|fabric|ibverbs)' && fail "hello needs what it should not"
cmake --install "$work" --prefix "$work/root" > /dev/null
[ ! -e "$work/root" ] || fail "tutti was installed with the project: $(find "$work/root" -type f)"

said=$("$work/hello") || fail "hello failed alone"
[ "$said" = 'rank 0 of 1 got "hello from rank 0"' ] || fail "hello said: $said"
"$work/inner_product" > /dev/null || fail "inner_product failed alone"
said=$("$tutti" run -n 2 "$work/hello" 2>&1) && fail "hello ran under PMIx, which it was built without"
echo "$said" | grep -q 'built without PMIx: give tutti_init a bootstrap' || fail "without PMIx hello said: $said"

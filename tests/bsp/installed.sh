#!/bin/bash
# installed.sh SOURCE BUILD CC CXX CFLAGS: installs into a folder, moves it, and makes and runs BSP programs there as a
# user would: by bspcc and bspc++, of both flavours, in one step and in two, by make, CMake and a configure script that
# take bspcc for their compiler, started by bsprun.
set -euo pipefail
source=$1 build=$2 cc=$3 cxx=$4 cflags=$5
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "FAILED: $*"; exit 1; }
cmake --install "$build" --prefix "$work/first" > "$work/log" 2>&1 || { cat "$work/log"; fail "the installation"; }
mv "$work/first" "$work/moved to here"
bin="$work/moved to here/bin"
# The environment of a user: nothing of this build, but the compiler.
clean() {
  env -i PATH="$bin:/usr/local/bin:/usr/bin:/bin" HOME="$work" CC="$cc" CXX="$cxx" LSAN_OPTIONS="${LSAN_OPTIONS:-}" \
      timeout -k 2 60 "$@"
}
says() {  # WORDS COMMAND...
  local words=$1 said
  shift
  said=$(clean "$@" 2>&1) || fail "$* failed: $said"
  case $said in *"$words"*) ;; *) fail "$* said: $said" ;; esac
}
cd "$work"
read -ra flags <<< "$cflags"
clean bspcc "${flags[@]}" -O2 -Wall -Werror "$source/examples/bsp/inner_product.c" -o inner_product -lm
clean bspcc "${flags[@]}" -c "$source/tests/bsp/rules.c" -o rules.o
clean bspcc "${flags[@]}" rules.o -o rules
clean bspcc "${flags[@]}" --wide "$source/tests/bsp/rules.c" -o rules_wide
clean bspcc "${flags[@]}" "$source/tests/bsp/level1.c" -o level1
cat > tiny.c <<'PROGRAM'
#include <bsp.h>
#include <stdio.h>
int main(int count, char **words) {
  bsp_begin(bsp_nprocs());
  bsp_sync();
  if (bsp_pid() == 0) printf("%d processes, arguments%s\n", (int)bsp_nprocs(), count > 2 ? words[2] : "");
  bsp_end();
  return 0;
}
PROGRAM
cp tiny.c tiny.cpp
sed 's/#include <bsp.h>/#include <mcbsp.h>\n_Static_assert(sizeof(bsp_size_t) == SIZE, "sizes");/' tiny.c >other.c
clean bspcc "${flags[@]}" -DSIZE='sizeof(size_t)' other.c -o other
clean bspcc "${flags[@]}" -DSIZE='sizeof(int)' -DMCBSP_COMPATIBILITY_MODE other.c -o other
sed 's/#include <bsp.h>/#include <bsp.hpp>/' tiny.c >other.cpp
clean bspc++ "${flags[@]}" -Wall -Werror other.cpp -o other
says '2 processes' bsprun -n 2 ./other
clean bspc++ "${flags[@]}" -Wall -Werror tiny.cpp -o tiny
says right bsprun -n 3 ./inner_product 1000
says right ./inner_product 1000
says 'all rules hold for 4' bsprun -np 4 ./rules
says 'all rules hold for 2' bsprun -npes 2 ./rules_wide
says 'all collective calls are right for 3' bsprun -n 3 ./level1
says '2 processes' bsprun -n 2 ./tiny

# What CC names is bspcc itself, by whatever path: the compiler that tutti was built with is taken.
ln -s "$bin/bspcc" mine
printf '#!/bin/sh\nexec bspcc "$@"\n' > wrapper
chmod +x wrapper
for own in bspcc "$bin/bspcc" "$work/mine" "$work/wrapper" "env bspcc" "$bin/bspc++"; do
  rm -f a.out
  clean env CC="$own" bspcc "${flags[@]}" tiny.c || fail "bspcc with CC=$own"
  says '2 processes' bsprun -n 2 ./a.out
done
clean env CXX=bspc++ bspc++ "${flags[@]}" tiny.cpp -o tiny || fail "bspc++ with CXX=bspc++"
clean env CXX=bspcxx bspcxx "${flags[@]}" tiny.cpp -o tiny || fail "bspcxx with CXX=bspcxx"
clean env CC=no_such_compiler bspcc tiny.c 2> out && fail "a compiler that is not there is another"
grep -q no_such_compiler out || fail "CC=no_such_compiler: $(cat out)"
cp "$(command -v "$cc")" "$work/my cc" 2> /dev/null || ln -s "$(command -v "$cc")" "$work/my cc"
says "'$work/my cc'" env CC="$work/my cc" bspcc --show -c tiny.c
says "env -u X $cc" env CC="env -u X $cc" bspcc --show -c tiny.c

# --show prints what would run, for a shell to read, and runs nothing.
mkdir 'with space'
cp tiny.c "with space/it's.c"
rm -f a.out
clean bspcc --show "${flags[@]}" "with space/it's.c" > shown
[ ! -e a.out ] || fail "--show ran the compiler"
grep -q -- -ltutti_bsp shown || fail "--show: $(cat shown)"
(eval "$(cat shown)") && says '2 processes' bsprun -n 2 ./a.out
says '-c tiny.c' bspcc -show -c tiny.c
clean bspcc --show -c tiny.c | grep -q -- -ltutti_bsp && fail "bspcc -c names libraries"
says 'Usage: bspc++' bspc++ --help
says 'Usage: bsprun' bsprun --help
says '2 processes, arguments--help' bsprun -n 2 ./tiny its --help
clean bspcc --version > /dev/null || fail "bspcc --version"
clean bspcc -v > /dev/null 2>&1 || fail "bspcc -v"

# What was compiled against another library's header does not link.
printf 'void bsp_sync(void);\nint main(void) { bsp_sync(); return 0; }\n' > other.c
clean bspcc "${flags[@]}" -c other.c
clean bspcc "${flags[@]}" other.o -o other > out 2>&1 && fail "an object made with another header links"
grep -q "undefined reference to \`bsp_sync'" out || fail "the linker says: $(cat out)"

# Makefiles of BSPedupack and others for the classic toolset.
cat > Makefile <<'MAKE'
CFLAGS = -O3 -flibrary-level 2 -bspfifo 10000 -fcombine-puts -fcombine-puts-buffer 256K,128M,4K $(MORE)
tiny_made: tiny.o
	$(CC) $(CFLAGS) -o $@ $^ $(LFLAGS)
MAKE
clean make -s CC=bspcc MORE="$cflags" LFLAGS=-lm tiny_made > out 2>&1 || { cat out; fail "make CC=bspcc"; }
[ "$(grep -c 'left out.* -flibrary-level 2 -bspfifo 10000 -fcombine-puts -fcombine-puts-buffer 256K,128M,4K$' out)" = 2 ] ||
  fail "not one note for each call: $(cat out)"
says '2 processes' bsprun -n 2 ./tiny_made

# CMake, told by a variable and by the environment.
mkdir project
cp tiny.c project
printf 'cmake_minimum_required(VERSION 3.20)\nproject(tiny C)\nadd_executable(tiny tiny.c)\n' > project/CMakeLists.txt
clean cmake -S project -B one -DCMAKE_C_COMPILER=bspcc -DCMAKE_C_FLAGS="$cflags" > out 2>&1 || { cat out; fail "CMAKE_C_COMPILER=bspcc"; }
clean cmake --build one > out 2>&1 || { cat out; fail "the project by CMAKE_C_COMPILER=bspcc"; }
clean env CC=bspcc cmake -S project -B two -DCMAKE_C_FLAGS="$cflags" > out 2>&1 || { cat out; fail "CC=bspcc cmake"; }
clean env CC=bspcc cmake --build two > out 2>&1 || { cat out; fail "the project by CC=bspcc"; }
says '2 processes' bsprun -n 2 one/tiny
says '2 processes' bsprun -n 2 two/tiny

# What a configure script asks of its compiler.
cat > configure <<'CONFIGURE'
#!/bin/sh
set -e
echo 'int main(void) { return 0; }' > conftest.c
$CC --version > /dev/null
$CC -v > /dev/null 2>&1
$CC $CFLAGS conftest.c
./a.out
$CC $CFLAGS -c conftest.c
$CC $CFLAGS -E conftest.c > /dev/null
echo '#include <bsp.h>' | $CC $CFLAGS -E -x c - > /dev/null
CONFIGURE
chmod +x configure
clean env CC=bspcc CFLAGS="$cflags" ./configure || fail "CC=bspcc ./configure"

# bsprun's options, and how many processes there are without one.
says '3 processes' bsprun --timeout 50 -np 3 ./tiny
says '3 processes' bsprun -x A=B -npes 3 --grace 1 ./tiny
says '[0] 2 processes, arguments-np' bsprun -p 2 --tag-output ./tiny -n -np
says '2 processes, argumentsof several words' bsprun --bind none -n2 ./tiny -np 'of several words'
core=$(taskset -cp $$ | sed 's/.*[: ]//; s/[-,].*//')
says 'bsprun: 1 processes, one for each core' taskset -c "$core" bsprun ./tiny
says '1 processes, arguments' taskset -c "$core" bsprun ./tiny
says "bsprun: $(env -u OMP_NUM_THREADS nproc) processes" bsprun --timeout 50 ./tiny -np 4

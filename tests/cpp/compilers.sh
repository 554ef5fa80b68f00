#!/bin/sh
# compilers.sh SOURCE: the headers compile with clang++, if there is one, with every warning an error, and without exceptions.
set -eu
command -v clang++ > /dev/null || { echo "no clang++ here"; exit 77; }
set -- "$1" -std=c++20 -fsyntax-only -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Werror "-I$1/api" "-I$1"
source=$1
shift
for program in everything messages; do clang++ "$@" "$source/tests/cpp/$program.cpp"; done
clang++ "$@" -fno-exceptions -x c++ - << END
#include <tutti.hpp>
#include <tutti/coroutine.hpp>
tutti::result<double> use(tutti::team_view t);
tutti::result<double> use(tutti::team_view t) { return tutti::allreduce(t, 1.0, tutti::op::sum); }
END

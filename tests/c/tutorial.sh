#!/bin/sh
# tutorial.sh SOURCE: the program that the tutorial shows is the example that is built and run.
set -eu
awk '/^```c$/ { inside = 1; next } /^```$/ { if (inside) exit } inside' "$1/docs/tutorial.md" | diff - "$1/examples/hello.c"

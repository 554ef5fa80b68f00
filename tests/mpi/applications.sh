#!/bin/sh
# applications.sh LIBRARY lammps|hpcc: Debian's packages, which are Open MPI's, with the library preloaded. LAMMPS: what it prints of a
# Lennard-Jones liquid is equal to six digits with the library and without, at 1, 2 and 4 ranks. hpcc: all of its own checks pass.
set -eu
library=$1 application=$2
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
case $application in
  lammps)
    command -v lmp > /dev/null || { echo "LAMMPS is not installed (package lammps)" >&2; exit 77; }
    cat > liquid <<-END
	units lj
	atom_style atomic
	lattice fcc 0.8442
	region box block 0 8 0 8 0 8
	create_box 1 box
	create_atoms 1 box
	mass 1 1
	velocity all create 1.44 4711 loop geom
	pair_style lj/cut 2.5
	pair_coeff 1 1 1 1 2.5
	neigh_modify delay 0 every 20 check no
	fix 1 all nve
	thermo 10
	run 100
	END
    steps() { awk '/^ *Step/ { on = 1; next } /^Loop/ { on = 0 } on { for (i = 1; i <= NF; ++i) printf "%.6g ", $i; print "" }' "$1"; }
    for ranks in 1 2 4; do
      "$here/run.sh" openmpi "$library" $ranks lmp -in liquid -log by_tutti > /dev/null
      TUTTI_MPI=off "$here/run.sh" openmpi "$library" $ranks lmp -in liquid -log alone > /dev/null 2> words || grep -q 'no report of tutti' words
      steps by_tutti > of_tutti
      steps alone | diff - of_tutti
      [ "$(wc -l < of_tutti)" = 11 ] || { echo "LAMMPS printed something else than 11 steps" >&2; exit 1; }
    done ;;
  hpcc)
    command -v hpcc > /dev/null || { echo "hpcc is not installed (package hpcc)" >&2; exit 77; }
    # Two titles, then its numbers, of which each line begins with its own: one problem of 200 in blocks of 16, on 2 x 2 processes.
    printf '%s\n' title title file 8 1 200 1 16 0 1 2 2 16.0 1 2 1 4 1 2 1 1 1 1 1 1 2 64 0 0 1 8 separator 0 1 0 1 > hpccinf.txt
    "$here/run.sh" openmpi "$library" 4 hpcc
    grep -q '^Success=1' hpccoutf.txt
    grep -q ' 0 tests completed and failed residual checks' hpccoutf.txt
    grep -q '^MPIRandomAccess_Errors=0' hpccoutf.txt ;;
esac

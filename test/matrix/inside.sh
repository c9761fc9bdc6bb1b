#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Builds this tree and runs its tests: the part of contrib/check-matrix that runs in a root folder.
#
# Usage: test/matrix/inside.sh [TEST...]
#
#   TEST  as in TESTS of the Makefile; all that there are without one
#
# Builds in the folder build beside the one that this tree is in, and leaves there a line of versions and
# the time that each step took. Exits with 0 when no test failed.
set -euo pipefail
top=$(cd "$(dirname "$0")/../.." && pwd)
work=$(dirname "$top")
. "$top/contrib/setup.sh"
. "$top/contrib/results.sh"

build=$work/build
started=$SECONDS
took() { # took STEP: since the last one
  echo "$1 $((SECONDS - started))" >> "$build/times"
  started=$SECONDS
}

mkdir -p "$build"
rm -f "$build/times"
touch "$work/started"
{
  ucx_info -v | sed -n 's/^# *\(Library version:\|Version\) *\([0-9.]*\).*/UCX \2/p' | head -n 1
  mpirun.openmpi --version | sed -n 's/.*(Open MPI) */Open MPI /p'
  mpichversion | sed -n 's/^MPICH Version:[[:space:]]*/MPICH /p'
  ${CXX:-g++} -dumpfullversion | sed 's/^/gcc /'
} | paste -s -d , | sed 's/,/, /g' > "$build/versions"
echo "$(cat "$build/versions")"

# Unlike for a clone that is new each time, only when what configure is made from has changed.
if [ ! -e "$top/configure" ] || [ -n "$(find "$top" -newer "$top/configure" \( -name '*.ac' -o -name '*.am' -o -name '*.m4' -o -name '*.mk' \) -print -quit)" ]; then
  logged "$work/autoreconf.log" sh -c "cd '$top' && autoreconf -fi"
fi
build "$build" --enable-werror --with-mpi CC=gcc CXX=g++
took build
check build check ${1:+"TESTS=$*"}
check_again build
took tests

failed=$(count 'FAIL|ERROR|XPASS')
left=$(traces)
[ -z "$left" ] || printf 'left behind by the tests:\n%s\n' "$left"
show_results "$failed"
[ "$failed" -eq 0 ] && [ -z "$left" ]

#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Builds this tree and runs its tests: the part of contrib/check-matrix that runs in a root folder.
#
# Usage: test/matrix/inside.sh [TEST...]
#
#   TEST  as in TESTS of the Makefile; all that there are without one
#
# With TESTs it builds quickly: the compiler optimizes little and writes no debug information, and of the programs for
# tests only those are built that a TEST names. And the TESTs have their short forms (VERITY_TEST_SHORT).
#
# Builds in the folder build beside the one that this tree is in, and leaves there a line of versions and
# the time that each step took. Exits with 0 when no test failed.
set -euo pipefail
top=$(cd "$(dirname "$0")/../.." && pwd)
work=$(dirname "$top")
. "$top/contrib/setup.sh"
. "$top/contrib/results.sh"

# UCX writes into the code of mmap() and its like to learn of calls. With UCX 1.18 and glibc 2.41, without the plugin as well,
# one process in a hundred or so then waits without end in ucp_init() (ucm_event_enter_exclusive()) on a busy machine. Only
# its cache of registrations needs to know. So does UCX 1.23 with glibc 2.43, which crashes with that setting, without the plugin as
# well, but can do without the cache.
case $(ucx_info -v | head -n 1) in
  *1.18.*) export UCX_MEM_EVENTS="${UCX_MEM_EVENTS-n}" ;;
  *1.23.*) export UCX_RCACHE_ENABLE="${UCX_RCACHE_ENABLE-n}" ;;
esac

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
  mpirun.openmpi --version | sed -n 's/.*(Open\(RTE\| MPI\)) */Open MPI /p'
  mpichversion | sed -n 's/^MPICH Version:[[:space:]]*/MPICH /p'
  ${CXX:-g++} -dumpfullversion | sed 's/^/gcc /'
} | paste -s -d , | sed 's/,/, /g' > "$build/versions"
echo "$(cat "$build/versions")"

# Unlike for a clone that is new each time, only when what configure is made from has changed.
if [ ! -e "$top/configure" ] || [ -n "$(find "$top" -newer "$top/configure" \( -name '*.ac' -o -name '*.am' -o -name '*.m4' -o -name '*.mk' \) -print -quit)" ]; then
  logged "$work/autoreconf.log" sh -c "cd '$top' && autoreconf -fi"
fi
options=() variables=()
if [ $# -gt 0 ]; then
  options=(--without-libclang CFLAGS='-O1 -g0' CXXFLAGS='-O1 -g0')
  export UNIT_CXXFLAGS=-O0 UNIT_PCH=test/unit/prefix.h.gch # test/unit/local.mk
  export VERITY_TEST_SHORT=${VERITY_TEST_SHORT-1} VERITY_SIM_SEEDS=${VERITY_SIM_SEEDS-40}
  wanted=$(printf '%s\n' "$@"; for test in "$@"; do [ ! -f "$top/$test" ] || cat "$top/$test"; done)
  needed() { # needed VARIABLE: those of its words that the tests name
    local name names
    names=$(make -s --no-print-directory -C "$build" -f - print WHICH="$1" <<< $'include Makefile\nprint:\n\t@echo $($(WHICH))')
    for name in $names; do
      ! grep -qwF -e "${name%.la}" <<< "$wanted" || echo "$name"
    done | paste -s -d ' '
  }
fi
configured "$build" --enable-werror --with-mpi CC=gcc CXX=g++ "${options[@]}"
logged "$build/make.out" make -C "$build" Makefile
[ $# -eq 0 ] || variables=("TESTS=$*" "check_PROGRAMS=$(needed check_PROGRAMS)" "check_LTLIBRARIES=$(needed check_LTLIBRARIES)")
build "$build" --enable-werror --with-mpi CC=gcc CXX=g++ "${options[@]}"
took build
check build check "${variables[@]}"
check_again build
took tests

failed=$(count 'FAIL|ERROR|XPASS')
left=$(traces)
show_results "$failed"
[ -z "$left" ] || printf 'left behind by the tests:\n%s\n' "$left"
[ "$failed" -eq 0 ] && [ -z "$left" ]

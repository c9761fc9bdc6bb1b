#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The programs that measure datatypes of real programs (test/bench/layouts, runs_bench): normalized datatypes have the data of their
# originals and are described by fewer numbers, digests along loops are those along lists. What they measure here says nothing.
. "${abs_top_srcdir:?}/test/tap.sh"
[ -z "${VERITY_SANITIZERS:-}" ] || skip_all "a library with sanitizers does not load into stock programs"

contains "digests along loops are those along lists" "$("$abs_top_builddir/runs_bench" 1 2>&1)" '^[0-9]+ layouts, 0 wrong$'
for mpi in openmpi mpich; do
  output=$(cd "$abs_top_builddir" && timeout 300 "$abs_top_srcdir/test/bench/layouts" 1 $mpi 2>&1)
  [ $? -ne 77 ] || { skip "$mpi" "$output"; continue; }
  contains "$mpi: normalized datatypes have the same data" "$output" '^[0-9]+ layouts, 0 wrong$'
  # A vector is three numbers, as a node of a path it costs the same whatever they are.
  is "$mpi: none is described by more numbers" "$(awk '/described by/ { match($0, /described.*/); split(substr($0, RSTART), w, " ")
    if (w[7] > w[3] + 3) print }' <<< "$output")" ""
  contains "$mpi: a list that is a vector in truth becomes one" "$output" '^NAS MG x, list .* described by 16386 numbers, normalized by [0-9] '
  contains "$mpi: and so do several arrays by one list" "$output" '^LAMMPS crystal, list .* described by 18025 numbers, normalized by [0-9]?[0-9] '
  [ "$tap_failed" = 0 ] || note "$output"
done
done_testing

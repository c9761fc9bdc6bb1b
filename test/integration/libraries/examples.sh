#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The programs in test/examples: they compile without warnings, and do what their comments say.
. "${abs_top_srcdir:?}/test/integration/libraries/lib.sh"

examples=$abs_top_srcdir/test/examples

compiled() { # compiled NAME COMPILER EXAMPLE LIBRARY [ARGUMENTS]
  ok "$1: $3 compiles" compile "$3" "$2" "$examples/$3.c" "-l$4" "${@:5}" -lm
  [ -x "$tap_dir/$3" ]
}

if compiled C c_compiler corruption verity_tree; then
  output=$(timeout 60 "$tap_dir/corruption" 16 50)
  is "corruption: each segment size is repaired" "$(grep -cE '^ +[0-9]+ +[0-9]+ +[0-9]+ +[0-9]+ +1/[1-9]' <<< "$output")" 5
  contains "corruption: 50 flips in 16 MiB damage 50 segments of 256 bytes" "$output" '^ +256 +50 '
  is "corruption: nothing is damaged, nothing is sent" "$(timeout 60 "$tap_dir/corruption" 1 0 | awk 'NR > 2 { n += $2 + $4 } END { print n }')" 0
fi

for mpi in openmpi mpich; do
  mpicc=$(command -v mpicc.$mpi || true)
  [ -n "$mpicc" ] || { skip "$mpi" "no mpicc.$mpi"; continue; }
  if [ -e "$build/.libs/libverity_validate_$mpi.so" ] && compiled "$mpi" "$mpicc" checkpoint "verity_validate_$mpi"; then
    output=$(job 120 $mpi 2 checkpoint "$tap_dir/file" 25)
    contains "$mpi: checkpoint: the damage is found" "$output" '^checkpoint of 8388608 bytes: [1-9][0-9]* of 1024 segments were damaged'
    contains "$mpi: checkpoint: and repaired" "$output" '^0 wrong values are left$'
  fi
  if [ -e "$build/.libs/libverity_types_$mpi.so" ] && compiled "$mpi" "$mpicc" halo "verity_types_$mpi"; then
    output=$(job 120 $mpi 3 halo 5)
    contains "$mpi: halo: the description is short" "$output" '^described by 1026 numbers, normalized by ([1-9]|1[0-9])$'
    contains "$mpi: halo: the same values arrive" "$output" '^0 wrong values$'
  fi
  if [ -x "$build/verity-types-automap" ] && [ -e "$build/.libs/libverity_autolink_$mpi.so" ]; then
    ok "$mpi: forest: its schema is generated" env -C "$tap_dir" "$build/verity-types" automap "$examples/forest.h"
    if compiled "$mpi" "$mpicc" forest "verity_autolink_$mpi" -I"$examples" -I"$tap_dir" -lverity_autolink; then
      output=$(job 120 $mpi 6 forest)
      contains "$mpi: forest: all ranks receive equal trees" "$output" '^6 trees of [0-9]+ splits and leaves were exchanged: 0 differ'
      contains "$mpi: forest: equal trees are merged" "$output" '^the forest has 3 different trees with 6 votes$'
      read -r best forest <<< "$(sed -n 's/^right: .* to \([0-9.]*\)%, the forest \([0-9.]*\)%$/\1 \2/p' <<< "$output")"
      ok "$mpi: forest: it is right more often than the best tree" awk "BEGIN { exit !(${forest:-0} > ${best:-100}) }"
    fi
  else
    skip "$mpi: forest" "built without libclang, or without $mpi"
  fi
done
done_testing

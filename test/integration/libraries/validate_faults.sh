#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# verity_validate_*() under each MPI: wrong use, and damage to its own messages, which ends at both sides.
. "${abs_top_srcdir:?}/test/integration/libraries/lib.sh"

for mpi in openmpi mpich; do
  [ -e "$build/.libs/libverity_validate_$mpi.so" ] || { skip "$mpi" "its library is not built: no $mpi when this was configured"; continue; }
  mpicc=$(command -v mpicc.$mpi) || { skip "$mpi" "no mpicc.$mpi"; continue; }
  if ! compile $mpi "$mpicc" "$abs_top_srcdir/test/mpi/libraries/validate_faults.c" -lverity_validate_$mpi > "$tap_dir/log" 2>&1; then
    ok "$mpi: a program compiles with it" false
    note "$(head -n 20 "$tap_dir/log")"
    continue
  fi
  checked() { # checked RANKS MODE ARGUMENT...: it ends, and all expectations hold
    expectations_hold "$mpi: $2 of $1 ranks" "$(job 60 $mpi "$1" $mpi "${@:2}")" "^$2: 0 wrong expectations\$"
  }
  checked 3 arguments
  checked 2 counts
  checked 2 damage
  checked 2 several
  checked 2 random
  checked 4 collective
  checked 2 two_comms
done
done_testing

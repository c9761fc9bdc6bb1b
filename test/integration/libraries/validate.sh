#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# verity_validate_*() under each MPI: buffers that differ between ranks are found and repaired, in one round, with few bytes.
# VERITY_TEST_LONG=1: larger buffers, 64 ranks.
. "${abs_top_srcdir:?}/test/integration/libraries/lib.sh"

ranks=8
[ "${VERITY_TEST_LONG:-0}" = 0 ] || ranks=64

for mpi in openmpi mpich; do
  usable_library validate $mpi "$abs_top_srcdir/test/mpi/libraries/validate_types.c" || continue
  checked() { # checked RANKS MODE ARGUMENT...: all expectations hold, and every rank that prints has no wrong byte
    local output
    output=$(job 300 $mpi "$1" $mpi "${@:2}")
    expectations_hold "$mpi: $2 of $1 ranks${3:+, $3 MiB}${4:+, $4 damaged segments each}" "$output" "^$2: 0 wrong expectations\$"
    lacks "$mpi: $2 of $1 ranks: nothing stays wrong" "$output" ', [1-9][0-9]* wrong$'
  }
  # 256 MiB with 1,000 damaged segments of 8 KiB: one round, and no more than they are.
  contains "$mpi: 1,000 damaged segments of 256 MiB are repaired in one round, and nothing else is sent again" "$(job 300 $mpi 2 $mpi p2p 256 1000)" \
    '^p2p rank 1: 268435533 bytes, 1000 damaged, 1 rounds, 8192000 sent again, 0 wrong$'
  checked 2 p2p 1 0
  checked 2 types
  checked 3 ring
  checked 2 errors
  checked 4 bcast 3 20
  checked "$ranks" allgather 0.3 7
done
done_testing

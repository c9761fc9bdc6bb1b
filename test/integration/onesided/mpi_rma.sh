#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# One-sided MPI: puts, gets and atomic operations in verified frames. What stock UCX fails on the raw
# transports as well is skipped.
. "${abs_top_srcdir:?}/test/integration/lib.sh"
[ -n "$openmpi$mpich" ] || skip_all "neither Open MPI nor an MPICH on UCX"

clean='^rma checks [1-9][0-9]* wrong 0$'
rounds=$(normal_or_long 5 100)

for launcher in $openmpi $mpich; do
  case $launcher in "$mpich") mpi=MPICH ;; *) mpi="Open MPI" ;; esac
  for lower in tcp posix; do
    for operation in fence pscw lock flush accumulate fetch swap; do
      mpi_or_stock "$mpi, v$lower: $operation" "$clean" 90 "$launcher" 2 "v$lower,vself" rma \
        -n "$rounds" -o $operation -t 30
    done
    mpi_or_stock "$mpi, v$lower, 3 ranks" "$clean" 90 "$launcher" 3 "v$lower,vself" rma -n "$rounds" -t 30
    # Larger than what may be under way at a time, from both sides at once, and from oneself.
    mpi_or_stock "$mpi, v$lower: large ones" "$clean" 90 "$launcher" 3 "v$lower,vself" rma -n 2 -m 4000000 -o fence,lock -t 30
    damage_frames 0.005
    export UCX_FAULT_REPORT="$tap_dir/fault.%p" UCX_VERITY_ATTEST=never
    mpi_or_stock "$mpi, vf$lower, damaged" "$clean" 90 "$launcher" 2 "vf$lower,vself" rma -n "$rounds" -t 30
    is "frames were damaged" "$(($(json_sum faults "$tap_dir"/fault.*) > 0))" 1
    mpi_or_stock "$mpi, vf$lower, damaged, 3 ranks" "$clean" 90 "$launcher" 3 "vf$lower,vself" rma \
      -n "$rounds" -t 30
    rm -f "$tap_dir"/fault.*
    no_damage
  done
done

# The program can fail: stock UCX hands damaged bytes on. Behind UCX's own headers, in large messages.
damage_frames 0.2 1 flip
export UCX_FAULT_PLACE=payload UCX_FAULT_HEADER_SIZE=128 UCX_FAULT_MIN_LEN=1k
contains "stock UCX on the same transport delivers wrong bytes" \
  "$(mpi_run 60 "${openmpi:-$mpich}" 2 ftcp,self rma -n 10 -o fence -t 20)" '^(rma checks [0-9]+ wrong [1-9]|.*WRONG)'

done_testing

#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Linked structures of 300,000 nodes, a million in the long form, with shared nodes and cycles over each MPI, on wrapped transports
# over transports that damage frames: one way blocking, back without blocking.
. "${abs_top_srcdir:?}/test/integration/lib.sh"
[ -n "$openmpi$mpich" ] || skip_all "neither Open MPI nor an MPICH on UCX"

export LD_LIBRARY_PATH=$build/.libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} UCX_VERITY_ATTEST=never
nodes=$(normal_or_long 300000 1000000)
for launcher in $openmpi $mpich; do
  mpi=$(flavour "$launcher")
  [ -e "$build/.libs/libverity_autolink_$mpi.so" ] || { skip "$mpi" "its library is not built"; continue; }
  if ! mpicc."$mpi" -O2 -w -I"$abs_top_srcdir/include" -o "$tap_dir/$mpi" "$abs_top_srcdir/test/mpi/libraries/autolink.c" \
    -L"$build/.libs" "-lverity_autolink_$mpi" -lverity_autolink > "$tap_dir/log" 2>&1; then
    ok "$mpi: a program compiles with it" false
    note "$(head -n 20 "$tap_dir/log")"
    continue
  fi
  for lower in tcp posix; do
    output=$(
      damage_frames 0.003
      export UCX_FAULT_REPORT="$tap_dir/fault.%p"
      if finalize_waits "$launcher"; then export UCX_VERITY_PROGRESS_THREAD=y; fi
      with_tls "vf$lower,vself" within 400 "$launcher" -np 2 "$tap_dir/$mpi" p2p $nodes 2>&1 < /dev/null
    )
    contains "$mpi, vf$lower: $nodes nodes arrive, there and back" "$output" "^p2p of $nodes nodes: 0 wrong expectations\$"
    ok "$mpi, vf$lower: frames were damaged" test "$(json_sum faults "$tap_dir"/fault.*)" -gt 10
    note "$(json_sum faults "$tap_dir"/fault.*) of $(json_sum seen "$tap_dir"/fault.*) frames were damaged"
    rm -f "$tap_dir"/fault.*
  done
done
done_testing

#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# MPI_THREAD_MULTIPLE on wrapped transports, with and without damage.
. "${abs_top_srcdir:?}/test/integration/lib.sh"
[ -n "$openmpi$mpich" ] || skip_all "neither Open MPI nor an MPICH on UCX"

messages=$(normal_or_long 10000 100000)
for launcher in $openmpi $mpich; do
  case $launcher in "$mpich") mpi=MPICH ;; *) mpi="Open MPI" ;; esac
  for lower in tcp posix; do
    for threads in 4 8; do
      for list in "v$lower,vself" "vf$lower,vself"; do
        case $list in vf*) damage_frames ;; *) no_damage ;; esac
        name="$mpi, $threads threads, $list"
        mpi_run 180 "$launcher" 2 "$list" threads -n "$messages" -k "$threads" > "$tap_dir/job"
        status=$?
        if grep -q '^SKIP' "$tap_dir/job"; then
          skip "$name" "$(sed -n 's/^SKIP: //p' "$tap_dir/job")"
        else
          is "$name" "$status $(grep -o 'wrong 0 lost 0' "$tap_dir/job")" "0 wrong 0 lost 0"
          [ "$status" -eq 0 ] || note "$(tail -n 20 "$tap_dir/job")"
        fi
      done
    done
  done
done

done_testing

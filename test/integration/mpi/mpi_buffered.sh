#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# MPI_Bsend and MPI_Ibsend: Open MPI calls for no progress there, so that the buffer becomes free only where sends
# complete as soon as the lower transport's do. With and without damage, which is repaired from the link's own copies.
. "${abs_top_srcdir:?}/test/integration/lib.sh"
[ -n "$openmpi$mpich" ] || skip_all "neither Open MPI nor an MPICH on UCX"

# The barrier's own message acknowledges a rendezvous' last data: the send must be complete when the barrier is. One device, as over
# several the acknowledgement may come by another.
for launcher in $openmpi $mpich; do
  export UCX_NET_DEVICES=lo
  for call in "" -i; do
    mpi_or_stock "$(flavour "$launcher"): free when the barrier ends $call" '^bsend messages 300 failed 0 wrong 0$' 60 \
      "$launcher" 2 vtcp,vself bsend -m 262144 -n 1 -r 300 $call
  done
  unset UCX_NET_DEVICES
done

for launcher in $openmpi $mpich; do
  case $launcher in "$mpich") mpi=MPICH ;; *) mpi="Open MPI" ;; esac
  for call in "" -i; do
    # What a round took is free after its barrier, over one device and over all.
    for length in 16384 65536 262144 $(normal_or_long "" "1048576 4194304"); do
      mpi_or_stock "$mpi, $length bytes: a buffer for one round $call" '^bsend messages 160 failed 0 wrong 0$' 60 \
        "$launcher" 2 vtcp,vself bsend -m "$length" $call
    done
    # More than the buffer holds, and the receiver is late: eager messages, which the socket takes.
    for length in 16384 65536 $(normal_or_long "" 262144); do
      export UCX_RNDV_THRESH=inf
      no_damage
      mpi_or_stock "$mpi, $length bytes: a buffer for two messages $call" '^bsend messages 24 failed 0 wrong 0$' 60 \
        "$launcher" 2 vtcp,vself bsend -m "$length" -b 2 -d 100 -r 3 $call
      damage_frames 0.05
      mpi_or_stock "$mpi, $length bytes, damaged: a buffer for two messages $call" '^bsend messages 24 failed 0 wrong 0$' 60 \
        "$launcher" 2 vftcp,vself bsend -m "$length" -b 2 -d 100 -r 3 $call
      no_damage
      unset UCX_RNDV_THRESH
    done
  done
done

done_testing

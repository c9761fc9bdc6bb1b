#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The order of one-sided operations: a get brings what was there before the put behind it, on the own rank and on one that others read
# from, and what MPI_Wait has completed is there; also where a pair's operations travel over several transports.
. "${abs_top_srcdir:?}/test/integration/lib.sh"
[ -n "$openmpi$mpich" ] || skip_all "neither Open MPI nor an MPICH on UCX"

export OMPI_MCA_osc=ucx # whatever else "env" comes to prefer
clean='^order checks [1-9][0-9]* wrong 0$'
rounds=$(normal_or_long 10 200)

for launcher in $openmpi $mpich; do
  case $launcher in "$mpich") mpi=MPICH ;; *) mpi="Open MPI" ;; esac
  for list in vtcp vtcp,vself vposix,vself vself,vposix,vtcp,vcma; do
    mpi_or_stock "$mpi, $list" "$clean" 90 "$launcher" 2 "$list" order -n "$rounds" -t 40
  done
  mpi_or_stock "$mpi, vself alone, one rank" "$clean" 60 "$launcher" 1 vself order -n "$rounds" -t 30
  mpi_or_stock "$mpi, vposix, 4 ranks" "$clean" 90 "$launcher" 4 vposix,vself order -n $((rounds / 2)) -m 60000 -t 40
  damage_frames 0.005
  export UCX_VERITY_ATTEST=never
  mpi_or_stock "$mpi, damaged" "$clean" 90 "$launcher" 2 vfposix,vfself,vftcp order -n "$rounds" -m 60000 -t 40
  no_damage
done

done_testing

#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The shape of InfiniBand jobs without its hardware: data on a transport that connects endpoints to
# endpoints only (as rc), set up over one that receives in UCX's asynchronous thread (as ud). Both
# are made from this machine's by the test transport, which damages frames on both.
. "${abs_top_srcdir:?}/test/integration/lib.sh"
[ -n "$openmpi" ] || skip_all "no Open MPI"

export UCX_FAULT_CONNECT=ep UCX_FAULT_ASYNC=1ms UCX_VERITY_ATTEST=never
list=vftcp,vfposix:aux,vself
for rate in 0 0.01; do
  [ $rate = 0 ] || damage_frames $rate
  mpi_clean "set-up and data, damaged $rate" ' 0 messages wrong, 0 bytes wrong$' 60 \
    "$openmpi" 2 $list hello_integrity
  mpi_clean "all kinds of messages, damaged $rate" ' wrong 0 lost 0 repeated 0 reordered 0' 100 \
    "$openmpi" 3 $list mixed -n 3000 -m 60000
  for order in forward reverse shuffle; do
    # Its ranks send before any receives: eagerly, which UCX 1.23 over tcp does up to 500 bytes or so by itself.
    UCX_RNDV_THRESH=16k mpi_clean "ranks that end in any order ($order), damaged $rate" ' wrong 0$' 60 \
      "$openmpi" 4 $list finalize -o $order -t 10
  done
  mpi_clean "threads, damaged $rate" ' wrong 0 lost 0$' 100 "$openmpi" 2 $list threads
done

# Endpoints know their peer there as well.
for peer in 1 5; do
  (
    no_damage
    export UCX_FAULT_CONNECT=ep UCX_FAULT_ASYNC=1ms UCX_FAULT_EVERY=20 UCX_FAULT_RANKS=0 UCX_FAULT_PEERS=$peer UCX_FAULT_PLACE=payload \
      UCX_FAULT_REPORT="$tap_dir/peer$peer.%p"
    mpi_run 60 "$openmpi" 2 $list hello_integrity 500 10000
  ) > "$tap_dir/job"
  contains "damage to rank $peer alone" "$(cat "$tap_dir/job")" ' 0 messages wrong'
done
ok "reaches rank 1" test "$(json_sum faults "$tap_dir"/peer1.*)" -gt 0
is "and none, where no such rank is" "$(json_sum faults "$tap_dir"/peer5.*)" 0

# The jobs above would run all the same if it connected to interfaces.
contains "that transport connects endpoints only" \
  "$(with_tls $list "${UCX_INFO:-ucx_info}" -d | sed -n '/Transport: vftcp$/,/connection:/s/.*connection: //p')" '^to ep$'

done_testing

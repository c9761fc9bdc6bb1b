#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Linked structures over each MPI, point to point, several at once, and collectively. VERITY_TEST_LONG=1: a million nodes.
. "${abs_top_srcdir:?}/test/integration/libraries/lib.sh"

nodes=30000
[ "${VERITY_TEST_LONG:-0}" = 0 ] || nodes=1000000

# The tests' schema is kept as it was generated, for builds without libclang.
if [ -x "$build/verity-types-automap" ]; then
  cp "$abs_top_srcdir/test/mpi/libraries/autolink_node.h" "$tap_dir"
  ok "the schema of the tests is generated" env -C "$tap_dir" "$build/verity-types" automap autolink_node.h --prefix node
  without_version() { sed '1s/automap [0-9][^ ]* from/automap from/' "$1"; }
  is "and is the one that is kept" "$(without_version "$tap_dir/autolink_node_automap.h")" \
    "$(without_version "$abs_top_srcdir/test/mpi/libraries/autolink_node_automap.h")"
else
  skip "the schema of the tests" "built without libclang"
fi

for mpi in openmpi mpich; do
  usable_library autolink $mpi -lverity_autolink || continue
  checked() { # checked RANKS MODE NODES [PACKET-BYTES]
    local output
    output=$(job 600 $mpi "$1" $mpi "${@:2}")
    expectations_hold "$mpi: $2 of $1 ranks, $3 nodes${4:+, packets of $4 bytes}" "$output" "^$2 of $3 nodes: 0 wrong expectations\$"
  }
  checked 2 p2p "$nodes"
  checked 4 p2p 2000 1
  checked 1 collective 10
  checked 5 collective 1000 500
  compile "order_$mpi" "mpicc.$mpi" "$abs_top_srcdir/test/mpi/libraries/autolink_order.c" "-lverity_autolink_$mpi" -lverity_autolink \
    > "$tap_dir/log" 2>&1 || { ok "$mpi: autolink_order compiles" false; note "$(head -n 20 "$tap_dir/log")"; continue; }
  # A message of 64 KiB waits for its receiver, one of 500 bytes does not.
  for case in swapped turns sends wildcards other-tag crossing other-order foreign freed proc-null; do
    for size in "20000 65536" "300 500"; do
      # shellcheck disable=SC2086 # two arguments
      output=$(job 20 $mpi 2 "order_$mpi" "$case" $size)
      expectations_hold "$mpi: $case, nodes and bytes of a packet: $size" "$output" \
        "^$case of ${size% *} nodes: 0 wrong expectations\$"
    done
  done
  # Packets that a receiver does not copy from the sender's memory by itself.
  output=$(OMPI_MCA_btl_vader_single_copy_mechanism=none job 20 $mpi 2 "order_$mpi" busy 20000 1000000)
  expectations_hold "$mpi: busy" "$output" "^busy of 20000 nodes: 0 wrong expectations\$"
done
done_testing

#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Linked structures over each MPI, point to point and collectively. VERITY_TEST_LONG=1: a million nodes.
. "${abs_top_srcdir:?}/test/tap.sh"
[ -z "${VERITY_SANITIZERS:-}" ] || skip_all "a library with sanitizers does not load into stock programs"

export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_mpi_yield_when_idle=1
export OMPI_MCA_pml=ob1 OMPI_MCA_btl=self,vader
export LD_LIBRARY_PATH=$abs_top_builddir/.libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
nodes=30000
[ "${VERITY_TEST_LONG:-0}" = 0 ] || nodes=1000000

# The tests' schema is kept as it was generated, for builds without libclang.
if [ -x "$abs_top_builddir/verity-types-automap" ]; then
  cp "$abs_top_srcdir/test/mpi/autolink_node.h" "$tap_dir"
  ok "the schema of the tests is generated" env -C "$tap_dir" "$abs_top_builddir/verity-types" automap autolink_node.h --prefix node
  without_version() { sed '1s/automap [0-9][^ ]* from/automap from/' "$1"; }
  is "and is the one that is kept" "$(without_version "$tap_dir/autolink_node_automap.h")" \
    "$(without_version "$abs_top_srcdir/test/mpi/autolink_node_automap.h")"
else
  skip "the schema of the tests" "built without libclang"
fi

for mpi in openmpi mpich; do
  library=$abs_top_builddir/.libs/libverity_autolink_$mpi.so
  [ -e "$library" ] || { skip "$mpi" "its library is not built: no $mpi when this was configured"; continue; }
  mpicc=$(command -v mpicc.$mpi || true)
  [ -n "$mpicc" ] || { skip "$mpi" "no mpicc.$mpi"; continue; }
  ok "$mpi: the library needs no MPI of its own" [ "$(objdump -p "$library" | grep -c 'NEEDED.*lib[op]*mpi')" -eq 0 ]
  is "$mpi: it exports the interface alone" "$(nm -D --defined-only "$library" | awk '{ print $3 }' | grep -vc '^verity_autolink_')" 0
  if ! $mpicc -O2 -Wall -Wextra -Werror -I"$abs_top_srcdir/include" -o "$tap_dir/$mpi" "$abs_top_srcdir/test/mpi/autolink.c" \
    -L"$abs_top_builddir/.libs" "-lverity_autolink_$mpi" -lverity_autolink > "$tap_dir/log" 2>&1; then
    ok "$mpi: a program compiles with it" false
    note "$(head -n 20 "$tap_dir/log")"
    continue
  fi
  checked() { # checked RANKS MODE NODES [PACKET-BYTES]
    local output
    output=$(timeout 600 "mpirun.$mpi" -np "$1" "$tap_dir/$mpi" "${@:2}" 2>&1 < /dev/null)
    contains "$mpi: $2 of $1 ranks, $3 nodes${4:+, packets of $4 bytes}" "$output" "^$2 of $3 nodes: 0 wrong expectations\$"
    ! grep -q WRONG <<< "$output" || note "$(grep WRONG <<< "$output" | head -n 8)"
  }
  checked 2 p2p "$nodes"
  checked 4 p2p 2000 1
  checked 1 collective 10
  checked 5 collective 1000 500
done
done_testing

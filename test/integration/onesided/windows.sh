#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Windows of every kind under what `ucx-verity env` prints, and nothing else: shared ones work, and what all the others carry is verified.
. "${abs_top_srcdir:?}/test/integration/lib.sh"
[ -n "$openmpi" ] || skip_all "no Open MPI"

tool=$build/ucx-verity
[ -x "$tool" ] || skip_all "the tools are not built"

mkdir "$tap_dir/health" # not where the machine's own jobs count

# under_env LAUNCHER [VARIABLE=VALUE...]: output of the job.
under_env() {
  local program
  program=$(mpi_program "$1" windows) || return 1
  bare OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 \
    OMPI_MCA_rmaps_base_oversubscribe=1 "$oversubscribe" UCX_VERITY_ATTEST=always UCX_VERITY_ATTEST_FILE="$tap_dir/attest.%p" UCX_VERITY_HEALTH_DIR="$tap_dir/health" \
    bash -c 'eval "$("$1" env)"; shift; export "$@"; exec timeout -k 5 100 $job' bash "$tool" job="$1 -np 2 $program -n 1000000" "${@:2}" 2>&1
}
verified() { json_sum bytes_verified "$tap_dir"/attest.*; }

for launcher in $openmpi $mpich; do
  name=$(flavour "$launcher")
  rm -f "$tap_dir"/attest.*
  status=0
  output=$(under_env "$launcher") || status=$?
  # MPICH 5.0.2 in a PID namespace of its own, for one.
  if [ "$status" -ne 0 ] && stock_fails 1 100 "$launcher" 2 vposix,vtcp,vself windows -n 1000000; then
    skip "$name: windows" "stock fails too: $stock_words"
    continue
  fi
  is "$name: ends well" "$status" 0
  contains "$name: shared and other windows work" "$output" '^windows 2 shared ok allocated ok created ok$'
  [ "$name" = openmpi ] || continue
  lacks "$name: nothing of the job goes past the plugin" "$output" 'may have carried'
  contains "$name: shared windows are attested as what they are" "$output" '^  windows +MPI_Win_allocate_shared: plain memory, not verified'
  # Two ranks, two windows: 4 MB by MPI_Put.
  is "$name: what the other windows carried was verified" "$(($(verified) + $(json_sum put_bytes_applied "$tap_dir"/attest.*) >= 4000000))" 1
  rm -f "$tap_dir"/attest.*
  contains "$name: osc/sm above osc/ucx is named" "$(under_env "$launcher" OMPI_MCA_osc_ucx_priority=60)" 'may have carried: osc/sm'
done
[ -n "$mpich" ] || skip "mpich: windows" "no MPICH on UCX"
done_testing

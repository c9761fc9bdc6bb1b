#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# OpenSHMEM, as Open MPI has it on UCX: the same one-sided operations from another caller, with contexts of several workers.
# What they carry is verified, repaired and attested, and nothing is loaded past the plugin (shmem_ptr), with what `ucx-verity env` sets and nothing else.
. "${abs_top_srcdir:?}/test/integration/lib.sh"
[ -n "$openmpi" ] || skip_all "no Open MPI"
command -v oshcc > /dev/null && command -v oshrun > /dev/null || skip_all "Open MPI without OpenSHMEM (oshcc, oshrun)"
oshmem_info 2> /dev/null | grep -q 'MCA spml: ucx' || skip_all "Open MPI's OpenSHMEM is not built on UCX"

oshcc -w -O2 -g -o "$tap_dir/shmem" "$abs_top_srcdir/test/mpi/onesided/shmem.c" || skip_all "oshcc compiles nothing"
mkdir "$tap_dir/health"

job() { # job LIST PROCESSES [ARGUMENT...]: its output in $tap_dir/job; its status
  with_tls "$1" timeout -k 5 100 oshrun --oversubscribe -np "$2" "$tap_dir/shmem" "${@:3}" > "$tap_dir/job" 2>&1
}
clean() { # clean NAME LIST PROCESSES: as mpi_or_stock
  local status=0
  job "$2" "$3" || status=$?
  if ended_well "$status" "^shmem processes $3 wrong 0\$"; then
    tap_result 0 "$1"
  elif ! (no_damage; job "$(sed -E 's/(^|,)vf?/\1/g' <<< "$2")" "$3"); then
    skip "$1" "stock fails too: $(grep -aE 'rror|Caught signal' "$tap_dir/job" | head -n 1)"
  else
    tap_result 1 "$1"
    note "exit status $status; stock passes"
  fi
}

for list in vposix,vself vsysv,vcma,vself vtcp,vself vposix,vcma,vtcp,vself; do
  clean "$list" "$list" 2
done
clean "five processes" vposix,vself 5
export UCX_VERITY_ATTEST=always UCX_VERITY_ATTEST_FILE="$tap_dir/attest.%p"
for list in vfposix,vself vftcp,vself; do
  rm -f "$tap_dir"/attest.*
  damage_frames 0.01
  clean "$list, damaged" "$list" 4
  no_damage
  is "$list: the damage was found" "$(($(json_sum faults_payload "$tap_dir"/attest.*) > 0))" 1
  is "$list: what was put was verified" "$(($(json_sum put_bytes_applied "$tap_dir"/attest.*) >= 4000000))" 1
done
done_testing

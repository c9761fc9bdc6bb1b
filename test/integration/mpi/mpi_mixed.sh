#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Mixed MPI messages on wrapped transports whose lower one damages 1 frame in 1,000, as it is sent and
# once more as it arrives, in every way it knows: none wrong, lost, repeated or out of order, nobody
# hangs, and what is sent again is little. The long form has 1,000,000 messages per MPI and transport:
#
#   make check TESTS=test/integration/mpi/mpi_mixed.sh VERITY_TEST_LONG=1 TEST_TIMEOUT=7200
#
# and leaves its figures in test/integration/mpi_mixed.log of the build folder.
. "${abs_top_srcdir:?}/test/integration/lib.sh"
[ -n "$openmpi$mpich" ] || skip_all "neither Open MPI nor an MPICH on UCX"

clean='^messages [0-9]+ wrong 0 lost 0 repeated 0 reordered 0 '
messages=$(normal_or_long 40000 1000000)
limit=$(normal_or_long 180 1500)
kinds=flip,burst,zero_line,truncate,drop,replace,repeat,swap

# Sums over the processes of the last job: of a counter, of a number that the corrupting transport gives.
attestation() { json_sum "$1" "$tap_dir"/attest.*; }
fault() { json_sum "$1" "$tap_dir"/fault.*; }

# account NAME SECONDS LAUNCHER RANKS LIST ARGUMENT...: a job of "mixed", with its figures as notes.
account() {
  local name=$1 seconds=$2 launcher=$3 ranks=$4 list=$5 kind counts=
  shift 5
  rm -f "$tap_dir"/fault.* "$tap_dir"/attest.*
  export UCX_VERITY_ATTEST_FILE="$tap_dir/attest.%p" UCX_FAULT_REPORT="$tap_dir/fault.%p"
  mpi_clean "$name" "$clean" "$seconds" "$launcher" "$ranks" "$list" mixed "$@"
  unset UCX_VERITY_ATTEST_FILE UCX_FAULT_REPORT
  for kind in ${kinds//,/ }; do counts+=" $kind $(fault "$kind")"; done
  note "$(grep '^messages' "$tap_dir/job")"
  note "$(fault seen) frames below the plugin, $(fault faults) damaged:$counts"
  note "segments repaired $(attestation segments_repaired), sent again $(attestation segments_resent)" \
    "($(attestation segment_bytes_resent) B); whole frames sent again $(attestation frames_resent)" \
    "($(attestation frame_bytes_resent) B); links failed $(attestation links_failed)"
}

for launcher in $openmpi $mpich; do
  case $launcher in "$mpich") mpi=MPICH ;; *) mpi="Open MPI" ;; esac
  mpi_clean "$mpi, raw tcp" "$clean" 100 "$launcher" 2 tcp,self mixed -n 10000
  for lower in tcp posix; do
    no_damage
    mpi_clean "$mpi, v$lower, 2 ranks" "$clean" 100 "$launcher" 2 "v$lower,vself" mixed -n 10000
    mpi_clean "$mpi, v$lower, 4 ranks" "$clean" 100 "$launcher" 4 "v$lower,vself" mixed -n 10000 -s 2
    damage_frames 0.001 1 $kinds
    export UCX_FAULT_SIDE=both
    account "$mpi, $messages messages, vf$lower damaging 1 frame in 1,000" "$limit" "$launcher" 2 \
      "vf$lower,vself" -n "$messages"
    is "1 frame in 1,000 was damaged" "$(($(fault faults) * 1000 > $(fault seen) / 2))" 1
    is "damage was found" "$(($(attestation faults_payload) + $(attestation faults_header) > 0))" 1
    damage_frames 0.01 2 $kinds
    account "$mpi, 4 ranks, vf$lower damaging 1 frame in 100" 180 "$launcher" 4 "vf$lower,vself" -n 10000 -s 3
    is "in every way" "$(for kind in ${kinds//,/ }; do [ "$(fault "$kind")" -gt 0 ] || echo "none by $kind"; done)" ""
  done
done

# Damaged payloads cost no more than their segments: flips only, behind the header.
for lower in tcp posix; do
  no_damage
  damage_frames 0.05 5 flip
  export UCX_FAULT_PLACE=payload UCX_FAULT_MIN_LEN=4k UCX_VERITY_SEGMENT_SIZE=1k
  account "payload damage only, vf$lower" 180 "${openmpi:-$mpich}" 2 "vf$lower,vself" -n 20000 -s 4
  repaired=$(attestation segments_repaired)
  is "segments were repaired" "$((repaired > 50))" 1
  is "sent again: the damaged segments, 1.1 x at most" "$(($(attestation segments_resent) * 10 <= repaired * 11))" 1
  is "in bytes: 1 KiB each, 1.1 x at most" "$(($(attestation segment_bytes_resent) * 10 <= repaired * 1024 * 11))" 1
  is "and no whole frame" "$(attestation frames_resent)" 0
done
unset UCX_VERITY_SEGMENT_SIZE

# The program can fail: flips behind UCX's own headers, raw.
no_damage
damage_frames 0.01 1 flip
export UCX_FAULT_PLACE=payload UCX_FAULT_HEADER_SIZE=128 UCX_FAULT_MIN_LEN=1k UCX_FAULT_AFTER=50
mpi_run 60 "${openmpi:-$mpich}" 2 ftcp,self mixed -n 5000 -C > "$tap_dir/job"
contains "stock UCX on the same transport delivers wrong bytes" "$(cat "$tap_dir/job")" '^messages [0-9]+ wrong [1-9]'
no_damage
# And drops are seen as a hang, with a line that says where.
damage_frames 0.01 1 drop
UCX_FAULT_AFTER=200 mpi_run 60 "${openmpi:-$mpich}" 2 ftcp,self mixed -n 5000 -C -t 5 > "$tap_dir/job"
contains "stock UCX on a transport that loses frames hangs" "$(cat "$tap_dir/job")" '^rank [0-9]+: HANG, at: '

done_testing

#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Correct programs under the datatype checks: nothing is reported, their results stay. The long form of this is test/campaign/run, with
# hundreds of programs of the distribution's packages.
. "${abs_top_srcdir:?}/test/integration/lib.sh"
[ -n "$openmpi$mpich" ] || skip_all "neither Open MPI nor an MPICH on UCX"

# clean NAME LAUNCHER RANKS LIST WANTED PROGRAM ARGUMENT...: ends well, says WANTED, and each rank has checked all and found nothing.
# Skipped where it fails on stock UCX, too, without the checks.
clean() {
  local what=${*:6}
  local name="$1, $4: ${what//"$tap_dir"/FOLDER}" launcher=$2 ranks=$3 list=$4 wanted=$5 status=0
  (
    verity_env "$list"
    program=$(mpi_program "$launcher" "$6") || exit 1
    export UCX_VERITY_TYPECHECK=warn UCX_VERITY_ATTEST=always
    LD_PRELOAD="$LD_PRELOAD:$(interposer_for "$launcher")"
    timeout -k 5 100 "$launcher" -np "$ranks" "$program" "${@:7}" 2>&1
  ) > "$tap_dir/job" || status=$?
  if [ "$status" -ne 0 ] && stock_fails 2 100 "$launcher" "$ranks" "$list" "${@:6}"; then
    skip "$name" "stock fails too: $stock_words"
    return
  fi
  is "$name: ends well" "$status" 0
  contains "$name: its own verdict" "$(cat "$tap_dir/job")" "$wanted"
  is "$name: no mismatch at any rank" "$(grep -c 'messages checked, 0 mismatched' "$tap_dir/job")" "$ranks"
  is "$name: no report" "$(grep -c 'ucx-verity: datatype mismatch' "$tap_dir/job")" 0
}

# mixed_lanes NAME LAUNCHER: rank 0 reaches rank 1 past the plugin, and rank 2 through it. The sends to rank 1 are under way for
# as long as they last, and none of them has been seen to be transmitted.
mixed_lanes() {
  local name="$1, raw posix beside vtcp: stack_sends" status=0
  (
    verity_env vtcp,vself,posix
    program=$(mpi_program "$2" stack_sends) || exit 1
    export UCX_VERITY_TYPECHECK=warn UCX_VERITY_ATTEST=always
    LD_PRELOAD="$LD_PRELOAD:$(interposer_for "$2")"
    # shellcheck disable=SC2016 # each rank's own
    timeout -k 5 60 "$2" -np 3 sh -c '[ "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}" != 2 ] || export UCX_TLS=vtcp,vself; exec "$0"' "$program" 2>&1
  ) > "$tap_dir/job" || status=$?
  is "$name: ends well" "$status" 0
  contains "$name: its own verdict" "$(cat "$tap_dir/job")" '^stack sends [0-9]+ errors 0$'
  contains "$name: the messages to rank 2 are checked" "$(cat "$tap_dir/job")" '16[0-9] messages checked, 0 mismatched'
  is "$name: no report" "$(grep -c 'ucx-verity: datatype mismatch' "$tap_dir/job")" 0
}

for launcher in $openmpi $mpich; do
  case $launcher in "$mpich") mpi=MPICH ;; *) mpi="Open MPI" ;; esac
  clean "$mpi" "$launcher" 2 vposix,vself '^messages [0-9]+ wrong 0 ' mixed -n 1000
  clean "$mpi" "$launcher" 2 vtcp,vself ' messages [0-9]+ wrong 0 ' threads -n 100
  clean "$mpi" "$launcher" 2 vposix,vself ' wrong 0' rma -n 20
  clean "$mpi" "$launcher" 3 vposix,vself ' wrong 0' finalize
  clean "$mpi" "$launcher" 6 vtcp,vself '^unconnected messages 60 wrong 0$' unconnected
  mixed_lanes "$mpi" "$launcher"
  for list in vposix,vself vtcp,vself; do
    clean "$mpi" "$launcher" 6 "$list" '^unconnected messages 15 wrong 0$' unconnected large
    is "$mpi, $list: large messages to ranks not yet connected: all is checked" "$(grep -c '0 mismatched; 0 not checked' "$tap_dir/job")" 6
    clean "$mpi" "$launcher" 4 "$list" '^legal wrong 0$' legal
    clean "$mpi" "$launcher" 2 "$list" '^gaps messages [0-9]+ wrong 0' gaps
    mpi_clean "$mpi, $list: gaps, without the interposer" '^gaps messages [0-9]+ wrong 0' 60 "$launcher" 2 "$list" gaps
  done
  # The MPI library frees its own handles of the program's datatypes in other threads: nothing known of these is lost.
  OMPI_MCA_io=^ompio clean "$mpi" "$launcher" 2 vposix,vself '^file views ([0-9]+ rounds 5000 wrong 0|not tested: no threads)$' \
    file_views -n 5000 "$tap_dir"
  ! grep -q '^file views' "$tap_dir/job" ||
    is "$mpi: file views: all checked" "$(grep -c '0 mismatched; 0 not checked' "$tap_dir/job")" 2
  clean "$mpi" "$launcher" 4 vposix,vself '^reused messages 90$' reused
  contains "$mpi: numbers of communicators are used again: all is checked" "$(cat "$tap_dir/job")" ' of 90 messages checked, 0 mismatched; 0 not'
  clean "$mpi" "$launcher" 4 vposix,vself '^reused messages 90$' reused made
  is "$mpi: beside messages of MPI's own: all is checked" "$(grep -c ' messages checked, 0 mismatched; 0 not' "$tap_dir/job")" 4
  clean "$mpi" "$launcher" 2 vposix,vself '^looked_up reused [0-9]+$' looked_up
  is "$mpi: datatypes freed past the wrappers: all is checked" "$(grep -c ' of 30 messages checked, 0 mismatched; 0 not' "$tap_dir/job")" 1
  clean "$mpi" "$launcher" 4 vposix,vself '^halves (rounds 300 wrong 0|not tested: no threads)$' halves
  clean "$mpi" "$launcher" 4 vposix,vself '^two groups messages 40$' two_groups right
  is "$mpi: messages between two groups: all is checked" "$(grep -c ' of 20 messages checked, 0 mismatched; 0 not' "$tap_dir/job")" 2
  clean "$mpi" "$launcher" 2 vposix,vself 'types right cases [0-9]+ expected 0 errors 0 ' types right
done

done_testing

#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Ranks that end in any order, frames damaged at the last moment; and a peer that computes, for a minute
# in the long form (VERITY_TEST_LONG=1).
. "${abs_top_srcdir:?}/test/integration/lib.sh"
[ -n "$openmpi$mpich" ] || skip_all "neither Open MPI nor an MPICH on UCX"

ended='^finalize [a-z]+ messages 60 wrong 0$'
end_in() { # end_in NAME LAUNCHER LIST ORDER ARGUMENT...
  local name=$1 launcher=$2 list=$3 order=$4
  shift 4
  mpi_clean "$name" "$ended" 90 "$launcher" 4 "$list" finalize -o "$order" -t 60 "$@"
}

for launcher in $openmpi $mpich; do
  case $launcher in "$mpich") mpi=MPICH ;; *) mpi="Open MPI" ;; esac
  if finalize_waits "$launcher"; then export UCX_VERITY_PROGRESS_THREAD=y; fi
  for lower in tcp posix; do
    # Open MPI 6.0.0rc2 over tcp, for one, does not end with the rendezvous of UCX 1.23, which begins at 500 bytes.
    if stock_fails 1 60 "$launcher" 4 "v$lower,vself" finalize -o forward -t 40; then
      note "$mpi, v$lower: with UCX_RNDV_THRESH=16k, as stock fails without: $stock_words"
      export UCX_RNDV_THRESH=16k
      if stock_fails 1 60 "$launcher" 4 "v$lower,vself" finalize -o forward -t 40; then
        skip "$mpi, v$lower" "stock fails too: $stock_words"
        unset UCX_RNDV_THRESH
        continue
      fi
    fi
    for order in forward reverse even shuffle; do
      no_damage
      ! { long_form || [ $order = forward ] || [ $order = shuffle ]; } || end_in "$mpi, v$lower: $order" "$launcher" "v$lower,vself" $order
      for seed in $(normal_or_long 1 "$(seq -s ' ' 20)"); do
        damage_frames 0.05 "$seed"
        end_in "$mpi, vf$lower, damage number $seed: $order" "$launcher" "vf$lower,vself" $order
      done
    done
    # Who ends first is in a barrier without progress (MPICH) long before its last messages are wanted.
    damage_frames 0.05 7 drop
    end_in "$mpi, vf$lower, loss: reverse, 0.7 s apart" "$launcher" "vf$lower,vself" reverse -d 700
    # All BYEs lost: bytes 28 of full frames, lower active message 30 (src/wire/frame.h).
    no_damage
    export UCX_FAULT_RATE=1 UCX_FAULT_KINDS=drop UCX_FAULT_MATCH=28:ff:b6 UCX_FAULT_AM_IDS=30 \
      UCX_FAULT_REPORT="$tap_dir/fault.%p"
    end_in "$mpi, vf$lower, BYEs lost: forward" "$launcher" "vf$lower,vself" forward
    is "BYEs were lost" "$(($(json_sum drop "$tap_dir"/fault.*) > 0))" 1
    rm -f "$tap_dir"/fault.*
    no_damage
    unset UCX_RNDV_THRESH
  done
done
unset UCX_VERITY_PROGRESS_THREAD

# Datatypes that do not match, of a message that arrives in MPI_Finalize.
for launcher in $openmpi $mpich; do
  case $launcher in "$mpich") mpi=MPICH ;; *) mpi="Open MPI" ;; esac
  # MPICH 5.0.2, for one, progresses a worker within its progress, which a UCX with assertions aborts at.
  if stock_fails 3 60 "$launcher" 2 vposix,vself mismatch late; then
    skip "$mpi: a mismatch in MPI_Finalize" "stock fails too: $stock_words"
    continue
  fi
  UCX_VERITY_TYPECHECK=error typechecked 60 "$launcher" 2 vposix,vself mismatch late > "$tap_dir/job"
  is "$mpi: a mismatch in MPI_Finalize is an error of the job" "$(($(cat "$tap_dir/status") != 0))" 1
  contains "$mpi: which says so" "$(cat "$tap_dir/job")" '^ucx-verity: rank 0 ends with an error: datatypes did not match in MPI_Finalize$'
  is "$mpi: after the report" "$(grep -c 'datatype mismatch in a message from rank 1 to rank 0' "$tap_dir/job")" 1
  UCX_VERITY_TYPECHECK=error typechecked 60 "$launcher" 2 vposix,vself mismatch late return > "$tap_dir/job"
  contains "$mpi: where errors return MPI_Finalize returns it" "$(cat "$tap_dir/job")" '^finalize returned type$'
  is "$mpi: and the program goes on" "$(cat "$tap_dir/status")" 0
  UCX_VERITY_TYPECHECK=warn typechecked 60 "$launcher" 2 vposix,vself mismatch late > "$tap_dir/job"
  is "$mpi: no error where mismatches are reported alone" "$(cat "$tap_dir/status")" 0
done

# A peer that computes: sends end soon, nothing is reported, the link asks at most ten times a minute.
# Raw first, as the measure of how soon: with a short delay and a copy more. Without and with zero-copy
# sends, which a silent peer does not acknowledge; posix has none.
seconds=$(normal_or_long 5 60)
longest_of_shortest() { awk '/send_ms/ && $4 > longest { longest = $4 } END { print longest + 0 }' "$1"; }
computes() { # computes LOWER ZCOPY-THRESHOLD
  local name="v$1, zero-copy from $2 bytes"
  export UCX_ZCOPY_THRESH=$2 UCX_RNDV_THRESH=inf UCX_VERITY_ATTEST_FILE="$tap_dir/attest.%p"
  mpi_run 100 "${openmpi:-$mpich}" 2 "$1,self" compute -k 2 -n 5 -m 8,1024,8000,60000 > "$tap_dir/raw"
  rm -f "$tap_dir"/attest.*
  mpi_clean "$name: the peer computes for $seconds s" ' wrong 0 slow 0$' 200 "${openmpi:-$mpich}" 2 "v$1,vself" \
    compute -k "$seconds" -n 5 -m 8,1024,8000,60000 -l 500
  note "raw $(grep send_ms "$tap_dir/raw" | tr '\n' ';') wrapped $(grep send_ms "$tap_dir/job" | tr '\n' ';')"
  is "$name: sends end 2 ms later than raw ones at most" \
    "$(awk -v raw="$(longest_of_shortest "$tap_dir/raw")" -v own="$(longest_of_shortest "$tap_dir/job")" \
      'BEGIN { print own <= raw + 2 ? "yes" : "raw " raw " ms, wrapped " own " ms" }')" yes
  lacks "$name: nothing is reported" "$(cat "$tap_dir/job")" '^ucx-verity|ERROR|WARN'
  # Of the process that sends; some more for the start and the end of the job.
  probes=$(for file in "$tap_dir"/attest.*; do json_sum probes_sent "$file"; done | sort -n | tail -n 1)
  note "probes $probes, late copies $(json_sum late_copies "$tap_dir"/attest.*)"
  ok "$name: some ten probes in $seconds s, not more ($probes)" test "$probes" -gt 0 -a "$probes" -le 16
  [ "$2" = inf ] || is "$name: frames were zero-copy" "$(($(json_sum late_copies "$tap_dir"/attest.*) > 0))" 1
}
computes tcp inf
short_form || computes tcp 1
short_form || computes posix inf

done_testing

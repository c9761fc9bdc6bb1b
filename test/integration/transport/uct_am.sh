#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Active messages through the public UCT interface: in the long form raw transports first, to see that
# the tests ask for nothing that UCX does not give; then the wrappers; then the wrappers over transports
# that damage frames in every way. Each of these runs takes half a minute, most of it waiting.
. "${abs_top_srcdir:?}/test/integration/lib.sh"

tap_of "buffers of lower transports" "$build/segments"

device() { case $1 in *tcp) echo lo ;; esac; }

# What runs beside the rest, as each waits most of the time. Every run leaves a file, with its name as the first line.
mkdir "$tap_dir/beside"
beside() { # beside NAME LIST ARGUMENT...: with what is exported
  local file
  file=$tap_dir/beside/$(printf %02d "$(find "$tap_dir/beside" -type f | wc -l)")
  echo "$1" > "$file"
  # shellcheck disable=SC2046 # a device or nothing
  with_tls "$2" within 600 "$build/uct_am" "${@:3}" "$2" $(device "$2") >> "$file" 2>&1
}
all_beside() {
  local rate mode lower rounds
  export UCX_VERITY_ATTEST=never
  rounds=$(normal_or_long 20 200)
  # Endpoints connected to endpoints, as InfiniBand's rc has them: tcp below a transport that offers
  # nothing else. And a tcp that is busy soon, with little room in its sockets.
  if [[ " $(lower_transports | tr '\n' ' ')" == *" tcp "* ]]; then
    for rate in $(normal_or_long "" 0) 0.003; do
      (
        [ "$rate" = 0 ] || damage_frames "$rate"
        UCX_FAULT_CONNECT=ep beside "vftcp, endpoints in pairs, damaged $rate" vftcp -r "$rounds"
      )
    done
    UCX_TCP_SNDBUF=16k UCX_TCP_RCVBUF=16k beside "vtcp, small socket buffers" vtcp -r "$rounds" -c "$(normal_or_long pending "")"
  fi

  # A transport that receives in UCX's asynchronous thread too, as InfiniBand's ud does.
  for rate in $(short_form || normal_or_long 0.003 "0 0.003"); do
    (
      [ "$rate" = 0 ] || damage_frames "$rate"
      UCX_FAULT_ASYNC=1ms beside "vfposix, asynchronous, damaged $rate" vfposix -r "$rounds"
    )
  done

  # In mode off messages go unframed: the lower endpoint has the sends, and ends with the upper one. In mode
  # observe nothing is retransmitted.
  for mode in $(short_form || echo off observe); do
    for lower in $(lower_transports | grep -v sysv); do # the same code as posix
      case $mode,$lower in off,self | observe,tcp) long_form || continue ;; esac
      UCX_VERITY_MODE=$mode beside "v$lower, mode $mode" "v$lower" -r "$(normal_or_long 20 100)"
    done
  done
}
all_beside < /dev/null &
others=$!

# shellcheck disable=SC2046 # a device or nothing
for lower in $(lower_transports); do
  long_form || [ "$lower" != sysv ] || continue # the same code as posix
  ! { short_form && [ "$lower" = tcp ]; } || continue # damaged and in pairs, below
  ! long_form || within 300 "$build/uct_am" -r "$(normal_or_long 20 100)" "$lower" $(device "$lower") > "$tap_dir/raw" 2>&1
  # What stock UCX does not do, on a busy machine for instance, is not ours to fail.
  ! long_form || tap_of "$lower" sed -E 's/^not ok (.*)/ok \1 # SKIP stock UCX fails/' "$tap_dir/raw"
  tap_of "v$lower" with_tls "v$lower" within 600 "$build/uct_am" -r "$(normal_or_long 40 200)" "v$lower" \
    $(device "$lower")
  [ "$lower" != sysv ] || continue # the same code as posix
  (
    damage_frames 0.003
    export UCX_FAULT_REPORT="$tap_dir/fault.%p" UCX_VERITY_ATTEST=never
    with_tls "vf$lower" within 600 "$build/uct_am" -r "$(normal_or_long 40 200)" "vf$lower" $(device "$lower")
  ) > "$tap_dir/damaged" 2>&1
  tap_of "vf$lower, damaged" cat "$tap_dir/damaged"
  is "vf$lower: frames were damaged" "$(($(json_sum faults "$tap_dir"/fault.*) > 50))" 1
  rm -f "$tap_dir"/fault.*
done

# An owner that would never acknowledge of itself, and a sender whose timers do not run: a flush asks.
(
  export UCX_VERITY_ACK_POLLS=1000000000 UCX_VERITY_PROBE_AFTER=60s UCX_VERITY_ATTEST=never
  with_tls vposix within 110 "$build/uct_am" -c "rma: a flush" vposix
) > "$tap_dir/asked" 2>&1
tap_of "vposix, acknowledged when asked" cat "$tap_dir/asked"

# Looking for a peer that ended needs a buffer of its memory that was not mapped before, where a segment holds few.
(
  export UCX_POSIX_RX_BUFS_GROW=8 UCX_VERITY_ATTEST=never
  with_tls vposix within 110 "$build/uct_am" -c "looking for" vposix
) > "$tap_dir/gone" 2>&1
tap_of "vposix, few buffers to a segment" cat "$tap_dir/gone"

# Answers to an interface that closed may reach the next one, which has its address on shared memory. They are no faults.
(
  export UCX_VERITY_ATTEST=always
  with_tls vposix within 110 "$build/uct_am" -c "late answers" vposix
) > "$tap_dir/late" 2>&1
tap_of "vposix, late answers" cat "$tap_dir/late"
is "late answers are no faults" "$(grep -E '^  faults' "$tap_dir/late" | sort -u)" "  faults        none"

# What the program writes behind the copy of a message that the socket has not taken yet damages no frame.
(
  export UCX_TCP_SNDBUF=64k UCX_TCP_RCVBUF=64k UCX_VERITY_ATTEST=always
  with_tls vtcp within 110 "$build/uct_am" -c "memory that the program writes to" vtcp lo
) > "$tap_dir/written" 2>&1
tap_of "vtcp, memory written to" cat "$tap_dir/written"
is "vtcp: memory written to is no fault" "$(grep -E '^  faults' "$tap_dir/written" | sort -u)" "  faults        none"

# Frames that come once more behind the BYE of their interface: an answer would go to the next one, which is being made.
(
  damage_frames 0.3 1 repeat
  export UCX_VERITY_PROGRESS_THREAD=y UCX_VERITY_ATTEST=never
  with_tls vfposix within 110 "$build/uct_am" -c "late answers while" vfposix
) > "$tap_dir/late" 2>&1
tap_of "vfposix, frames repeated" cat "$tap_dir/late"

# The refusal of a put is lost, as the last frame of its link: no acknowledgement ends the flush before it.
(
  export UCX_FAULT_RATE=1 UCX_FAULT_KINDS=drop UCX_FAULT_LIMIT=1 UCX_FAULT_MATCH=15:ff:1f,16:ff:06
  export UCX_FAULT_REPORT="$tap_dir/fault.%p" UCX_VERITY_ATTEST=never
  with_tls vfposix within 110 "$build/uct_am" -c "rma: deregistered" vfposix
) > "$tap_dir/refused" 2>&1
tap_of "vfposix, the refusal of a put lost" cat "$tap_dir/refused"
is "vfposix: the refusal was lost" "$(json_sum faults "$tap_dir"/fault.*)" 1
rm -f "$tap_dir"/fault.*

# Zero-copy sends that the lower transport completes after the peer has acknowledged them, as rc and ud do.
(
  export UCX_FAULT_COMPLETE=2s UCX_VERITY_ATTEST=never
  with_tls vftcp within 110 "$build/uct_am" -c "sends end with their endpoint" vftcp lo
) > "$tap_dir/late" 2>&1
tap_of "vftcp, completed late" cat "$tap_dir/late"

# A cancel of endpoints in pairs goes below at once, and ends such sends there.
(
  export UCX_FAULT_CONNECT=ep UCX_FAULT_COMPLETE=20s UCX_VERITY_ATTEST=never
  with_tls vftcp within 110 "$build/uct_am" -c "in the middle of a send" vftcp lo
) > "$tap_dir/late" 2>&1
tap_of "vftcp, endpoints in pairs, completed late" cat "$tap_dir/late"

wait "$others"
for file in "$tap_dir"/beside/*; do tap_of "$(head -n 1 "$file")" tail -n +2 "$file"; done

# The tests can fail: without the plugin the same damage is seen.
(
  damage_frames 0.003 1 flip
  with_tls fposix within 110 "$build/uct_am" -c mixed fposix
) > "$tap_dir/raw" 2>&1
contains "fposix without the plugin delivers wrong bytes" "$(cat "$tap_dir/raw")" '^not ok .*mixed'

done_testing

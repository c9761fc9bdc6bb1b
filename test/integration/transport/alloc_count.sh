#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The fault-free data path allocates nothing, takes no lock (beyond UCX's own against its asynchronous
# thread) and makes no system call; and a ping-pong costs no frame more than its messages.
. "${abs_top_srcdir:?}/test/integration/lib.sh"
counter=$build/.libs/libverity_count.so
turns=20000

counted() { # counted TRANSPORT ARGUMENT...: one line of counts
  local transport=$1
  shift
  (
    verity_env "$transport"
    LD_PRELOAD=$counter:$LD_PRELOAD exec timeout -k 5 120 "$build/steady" "$@" "$transport" 2>&1
  )
}

contains "the counter counts" "$(counted vposix -n 1000 -x)" 'allocations 2000 own 0 locks [1-9][0-9]{3} own 0'
for case in "short 8" "short 64" "short 8000" "bcopy 8" "bcopy 4096" "bcopy 8000"; do
  read -r kind size <<< "$case"
  counts=$(counted vposix -n $turns -k "$kind" -s "$size")
  contains "vposix, $kind, $size bytes: no allocation and no lock" "$counts" ' own 0 locks [0-9]+ own 0$'
  # Nor does it make UCX do so.
  contains "vposix, $kind, $size bytes: none of UCX's either" "$counts" 'allocations [0-9]{1,2} own [0-9]+ locks [0-9]{1,4} own'
done
# At both ends of one-sided operations.
for case in "put 8" "put 8000" "get 8" "get 8000"; do
  read -r kind size <<< "$case"
  contains "vposix, $kind, $size bytes: no allocation and no lock" \
    "$(counted vposix -n $turns -k "$kind" -s "$size")" 'allocations [0-9]{1,2} own 0 locks [0-9]{1,4} own 0$'
done
# After a pause of the machine the plugin copies unacknowledged zero-copy sends and probes its peer: not here.
export UCX_VERITY_COPY_AFTER=30s UCX_VERITY_PROBE_AFTER=30s
for case in "zcopy 8000" "zcopy 16000"; do
  read -r kind size <<< "$case"
  contains "vposix, $kind, $size bytes: no allocation and no lock" \
    "$(counted vposix -n $turns -k "$kind" -s "$size")" 'allocations [0-9]{1,2} own 0 locks [0-9]{1,4} own 0$'
done
for case in "short 8" "bcopy 8000" "zcopy 8000" "zcopy 60000" "put 60000" "get 60000"; do
  read -r kind size <<< "$case"
  contains "vtcp, $kind, $size bytes: no allocation and no lock of the plugin's own" \
    "$(counted vtcp -n 2000 -k "$kind" -s "$size")" \
    ' own 0 locks [0-9]+ own 0$'
done
unset UCX_VERITY_COPY_AFTER UCX_VERITY_PROBE_AFTER

# System calls between the marks, by the process of the marks; sched_yield is the test's own.
calls() { # calls ARGUMENT...
  with_tls vposix timeout -k 5 120 strace -f -o "$tap_dir/strace" "$build/steady" -n $turns "$@" > /dev/null 2>&1
  awk '/verity-mark-begin/ { on[$1] = 1; marks++; next } /verity-mark-end/ { on[$1] = 0 }
    on[$1] && !/sched_yield/ && !/resumed/ { count++ } END { print marks + 0, count + 0 }' "$tap_dir/strace"
}
if ! strace -o /dev/null true 2> /dev/null; then
  skip "system calls" "no strace, or it is not allowed here"
else
  is "the marks and calls are seen" "$(($(calls -x vposix | cut -d' ' -f2) >= 2 * turns))" 1
  is "vposix: no system call (2 processes, 0 calls)" "$(calls vposix)" "2 0"
  is "vposix, 4096 bytes: no system call" "$(calls -k bcopy -s 4096 vposix)" "2 0"
fi

# The corrupting transport, at rest, counts the frames below the plugin.
# Acknowledgements that travel alone after a number of idle polls are put off: they depend on how busy
# the machine is, and a quiet one has none.
frames() { # frames TURNS ARGUMENT...
  local n=$1
  shift
  rm -f "$tap_dir"/fault.*
  # A frame number never reached: the transport reports, and damages nothing.
  UCX_FAULT_FRAMES=4000000000 UCX_FAULT_REPORT="$tap_dir/fault.%p" UCX_VERITY_PROBE_AFTER=30s \
    UCX_VERITY_ACK_POLLS=1000000000 with_tls vfposix within 120 "$build/steady" -n "$n" "$@" vfposix > /dev/null 2>&1
  json_sum seen "$tap_dir"/fault.*
}
for case in "short 8" "bcopy 4096"; do
  read -r kind size <<< "$case"
  few=$(frames 6000 -k "$kind" -s "$size")
  many=$(frames 16000 -k "$kind" -s "$size")
  note "frames: $few for 6000 turns, $many for 16000"
  is "$kind, $size bytes: no extra frames" "$((many - few >= 20000 && many - few <= 20010))" 1
done

done_testing

#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Two workers that sleep: they exchange messages, and wake up when a frame was lost, be it one that
# another thread sent meanwhile.
. "${abs_top_srcdir:?}/test/integration/lib.sh"

turns=$(normal_or_long 300 3000)
for lower in tcp posix; do
  for mode in wait fd late; do
    no_damage
    for size in 8 4000 100000; do
      ok "v$lower, $mode, $size bytes" with_tls "v$lower,vself" within 120 "$build/wakeup" -n "$turns" -m $mode -s $size
    done
    damage_frames 0.01 1 drop
    export UCX_FAULT_AFTER=20
    ok "vf$lower, $mode: lost frames" with_tls "vf$lower,vself" within 120 "$build/wakeup" -n "$turns" -m $mode
    damage_frames 0.01
    ok "vf$lower, $mode: damage of all kinds" with_tls "vf$lower,vself" within 120 "$build/wakeup" -n "$turns" -m $mode -s 4000
  done
done

# One that makes progress now and then answers a flush in the progress that reads its message.
no_damage
for list in tcp vtcp,vself vposix,vself; do
  ok "$list, progress now and then" with_tls "$list" within 60 "$build/wakeup" -n 12 -m ticks
done

# A transport that wakes a process by a call in UCX's thread, as InfiniBand's ud does: alone, and beside
# an interface without a guard, where asynchronous messages wait for the worker's progress.
no_damage
for list in vfposix,vself vfposix; do
  for mode in wait late; do
    export UCX_FAULT_ASYNC=1ms
    ok "$list, asynchronous, $mode" with_tls "$list" within 60 "$build/wakeup" -n 50 -m $mode
    no_damage
  done
done

# A thread that sends to its own worker, on which another one sleeps.
no_damage
for list in vself vposix,vself vtcp,vself vposix,vcma,vself; do
  case $list in
    *cma*) with_tls vposix,vcma "${UCX_INFO:-ucx_info}" -d 2> /dev/null | grep -q 'Transport: vcma' ||
      { skip "own worker, $list" "no cma"; continue; } ;;
  esac
  ok "own worker, $list" with_tls "$list" within 60 "$build/own_worker" "$(normal_or_long 500 20000)"
done

ok "own worker, with the progress thread" with_tls vtcp,vself within 60 env UCX_VERITY_PROGRESS_THREAD=y "$build/own_worker"

damage_frames 0.02 1 drop
export UCX_FAULT_AFTER=20
contains "without the plugin both sleep for ever" \
  "$(with_tls ftcp within 60 "$build/wakeup" -m fd -t 5 2>&1)" '^HANG'

done_testing

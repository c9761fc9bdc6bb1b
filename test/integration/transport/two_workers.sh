#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Programs with several workers of which they progress one only, while a frame of another was lost.
. "${abs_top_srcdir:?}/test/integration/lib.sh"

export UCX_VERITY_ATTEST=never
turns=$(normal_or_long 300 5000)
for lower in tcp posix; do
  for size in 8 4000; do
    no_damage
    is "v$lower, $size bytes" "$(with_tls "v$lower,vself" within 60 "$build/two_workers" "$turns" $size 2>&1)" "turns $turns wrong 0"
    damage_frames 0.02 3 drop
    is "vf$lower, $size bytes: lost frames" \
      "$(with_tls "vf$lower,vself" within 120 "$build/two_workers" "$turns" $size 2>&1 | tail -n 1)" "turns $turns wrong 0"
    damage_frames 0.02 3
    is "vf$lower, $size bytes: damage of all kinds" \
      "$(with_tls "vf$lower,vself" within 120 "$build/two_workers" "$turns" $size 2>&1 | tail -n 1)" "turns $turns wrong 0"
  done
done

# A message that was read while its worker was idle is answered when its sender has died, ahead of the error that reports the death.
no_damage
for list in tcp vtcp vftcp; do
  is "$list: an answer to a dead peer" "$(with_tls $list within 60 "$build/kept_messages" 3 2>&1)" "turns 3 answered 12"
  is "$list: a completion that sends to a dead peer" \
    "$(UCX_RNDV_THRESH=10k with_tls $list within 60 "$build/kept_messages" 3 completions 2>&1)" "turns 3 right 3"
  is "$list: UCP's own atomic operations, a fence, and a get" \
    "$(UCX_ATOMIC_MODE=device with_tls $list within 60 "$build/kept_messages" 3 atomics 2>&1)" "turns 3 right 3"
done

done_testing

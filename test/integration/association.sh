#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Each receive learns the signature of the message that it got, or none: truth by unique contents. VERITY_TEST_LONG=1: 10 million messages.
. "${abs_top_srcdir:?}/test/integration/lib.sh"

export UCX_VERITY_ATTEST=never
total=0

# associate NAME LIST MOST_UNTOLD ARGUMENT...: none wrong, all received, at most so many parts in 1,000 not certain.
associate() {
  local name=$1 list=$2 most=$3 line messages told untold wrong
  shift 3
  line=$(with_tls "$list" within "$(normal_or_long 300 3600)" "$build/association" "$@" 2>&1 | tail -n 1)
  read -r _ messages _ told _ untold _ wrong <<< "$line"
  total=$((total + ${messages:-0}))
  note "$name: $line"
  [ "${wrong:-1}" = 0 ] && [ "${told:-0}" -gt 0 ] && [ $((untold * 1000)) -le $((most * (told + untold))) ]
  tap_result $? "$name"
}

few=$(normal_or_long 4000 150000)
for list in vposix,vself vtcp,vself; do
  for protocols in n y; do
    export UCX_PROTO_ENABLE=$protocols
    associate "$list, protocols v2 $protocols" $list 500 -n "$few"
    associate "$list, protocols v2 $protocols, 8 threads" $list 500 -n "$few" -t 8
    associate "$list, protocols v2 $protocols, 6 processes" $list 500 -n "$few" -p 6
  done
  unset UCX_PROTO_ENABLE
  UCX_RNDV_THRESH=1024 UCX_ZCOPY_THRESH=256 associate "$list, early rendezvous and zero copy" $list 500 -n "$few"
  UCX_VERITY_SEGMENT_SIZE=256 associate "$list, small segments" $list 500 -n "$few"
done
damage_frames 0.003
for lower in posix tcp; do
  associate "vf$lower, damaged frames" "vf$lower,vfself" 500 -n "$few" -t 2
done
no_damage

# Messages to others go past the plugin: what is told must be right all the same.
associate "raw posix beside vtcp" vtcp,vself,posix 1000 -n "$few"
UCX_PROTO_ENABLE=y associate "raw posix beside vtcp, protocols v2" vtcp,vself,posix 1000 -n "$few"
note "messages in all: $total"

done_testing

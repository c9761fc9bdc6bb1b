#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Each receive learns the signature of the message that it got, or none: truth by unique contents. VERITY_TEST_LONG=1: 10 million messages.
. "${abs_top_srcdir:?}/test/integration/lib.sh"

export UCX_VERITY_ATTEST=never
total=0 each=$(normal_or_long 8000 330000) # messages of one run
declare -A of_part

# associate PART NAME LIST MOST_UNTOLD PROCESSES THREADS ARGUMENT...: none wrong, all received, at most so many of 1,000 not certain.
associate() {
  local part=$1 name=$2 list=$3 most=$4 processes=$5 threads=$6 line messages reported unreported wrong
  shift 6
  line=$(with_tls "$list" within "$(normal_or_long 300 3600)" "$build/association" -p "$processes" -t "$threads" \
    -n $((each / processes / threads)) "$@" 2>&1 | tail -n 1)
  read -r _ messages _ reported _ unreported _ wrong <<< "$line"
  total=$((total + ${messages:-0})) of_part[$part]=$((${of_part[$part]:-0} + ${messages:-0}))
  note "$part, $name: $line"
  [ "${wrong:-1}" = 0 ] && [ "${reported:-0}" -gt 0 ] && [ $((unreported * 1000)) -le $((most * (reported + unreported))) ]
  tap_result $? "$part, $name"
}

for list in vposix,vself vtcp,vself; do
  for protocols in n y; do
    export UCX_PROTO_ENABLE=$protocols
    name="$list, protocols v2 $protocols"
    associate "of everything" "$name" $list 500 3 1
    associate "8 threads" "$name" $list 500 3 8
    associate "wildcards with 8 senders" "$name" $list 500 8 1 -m wildcards
    associate "cancel storms" "$name" $list 500 3 2 -m cancels
    associate "probe races" "$name" $list 500 3 8 -m probes
    associate "restarts" "$name" $list 500 3 1 -m restarts
    # Requests freed before their messages leave: many are in doubt then.
    associate "freed sends" "$name" $list 1000 3 1 -m freed
    # Requests in memory of the caller's, which is used again: how many are in doubt depends on how many wait at a time.
    associate "own requests" "$name" $list 1000 3 1 -m own
    # Two processes of four are not wrapped: raw tcp with those that are.
    associate "wrapped and unwrapped peers" "$name" "$list,tcp" 1000 4 1 -r tcp,posix,self
  done
  unset UCX_PROTO_ENABLE
  UCX_RNDV_THRESH=1024 UCX_ZCOPY_THRESH=256 associate "of everything" "$list, early rendezvous and zero copy" $list 500 3 1
  UCX_VERITY_SEGMENT_SIZE=256 associate "of everything" "$list, small segments" $list 500 3 1
done
damage_frames 0.003
for lower in posix tcp; do
  associate "damaged frames" "vf$lower" "vf$lower,vfself" 500 3 2
done
no_damage

# Messages to others go past the plugin: what is reported must be right all the same.
associate "raw posix beside vtcp" "protocols v1" vtcp,vself,posix 1000 3 1
UCX_PROTO_ENABLE=y associate "raw posix beside vtcp" "protocols v2" vtcp,vself,posix 1000 3 1
associate "freed sends, raw posix beside vtcp" "protocols v1" vtcp,vself,posix 1000 3 1 -m freed
associate "own requests, raw posix beside vtcp" "protocols v1" vtcp,vself,posix 1000 3 1 -m own
associate "own requests, wrapped and unwrapped peers" "protocols v1" vtcp,vself,tcp 1000 4 1 -m own -r tcp,posix,self

ok "an endpoint is closed at once while another thread makes progress" with_tls vtcp,vself within 60 "$build/close_threads"
for list in vposix,vself vtcp,vself; do
  ok "$list: a flush waits for what another thread sends and receives" with_tls $list within 60 "$build/flush_threads"
  for who in receiver both; do
    ok "$list: endpoints that come in the place of others, new workers: $who" with_tls $list within 60 "$build/turns" 5 $who
  done
done

for part in "${!of_part[@]}"; do note "$part: ${of_part[$part]} messages"; done
note "messages in all: $total"
! long_form || { [ "$total" -ge 10000000 ]; tap_result $? "10 million messages at least"; }

done_testing

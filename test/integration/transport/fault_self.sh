#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The corrupting transport itself: below stock UCX the damage arrives, and exactly as much of it as
# the report counts. A test of the plugin above it would otherwise prove nothing.
. "${abs_top_srcdir:?}/test/tap.sh"

check=$abs_top_builddir/ucp_check
modules=${VERITY_MODULES:-$abs_top_builddir/modules}
preload=${VERITY_PRELOAD:-$abs_top_builddir/.libs/libverity_preload.so}
[ -z "$VERITY_SANITIZERS" ] || skip_all "a module with sanitizers does not load into stock programs"

with_fault() { # with_fault VARIABLE=VALUE... COMMAND...
  env UCX_MODULE_DIR="$modules" UCX_VERITY_EXTRA_MODULES=fault LD_PRELOAD="$preload" "$@"
}

field() { # field JSON NAME: the first number of that name
  sed -n "s/.*\"$2\":\([0-9]*\).*/\1/p" <<< "${1%%\"events\"*}"
}

# run TRANSPORTS COUNT SIZE VARIABLE=VALUE...: sets $result (of ucp_check), $report and $errors
run() {
  local tls=$1 count=$2 size=$3
  shift 3
  rm -f "$tap_dir/report"
  result=$(with_fault UCX_TLS="$tls" UCX_FAULT_REPORT="$tap_dir/report" "$@" \
    timeout 60 "$check" "$count" "$size" 2> "$tap_dir/errors")
  report=$(cat "$tap_dir/report" 2> /dev/null)
  errors=$(cat "$tap_dir/errors")
}

listed=$(with_fault "${UCX_INFO:-ucx_info}" -d | sed -n 's/.*Transport: //p' | sort -u | tr '\n' ' ')
for tl in fself ftcp fposix fsysv; do
  contains "$tl is offered" "$listed" "(^| )$tl "
done
contains "the verified transport wraps it" "$listed" "(^| )vftcp "
contains "the variables are listed" "$(with_fault "${UCX_INFO:-ucx_info}" -c)" '^UCX_FAULT_KINDS=flip'

clean='"lost":0,"wrong_messages":0,'
for tl in ftcp fposix fsysv; do
  run $tl 200 1000
  contains "$tl: unharmed by default" "$result" "$clean"
  run $tl 20 300000
  contains "$tl: unharmed by default, long messages" "$result" "$clean"
done

# Endpoints that connect to endpoints, messages that come in UCX's asynchronous thread; posix connects them. The peer's end shows there, too.
# Several times: it may come before the process looks.
for round in 1 2 3 4 5; do
  run ftcp,fposix:aux 200 1000 UCX_FAULT_CONNECT=ep UCX_FAULT_ASYNC=1ms
  contains "ftcp as rc is, asynchronous, round $round: unharmed" "$result" "$clean"
  is "ftcp as rc is, asynchronous, round $round: to the end" "$(grep -c 'Assertion\|Caught signal' <<< "$errors")" 0
done

# A tcp that is connected to by interfaces cannot make endpoints in handlers.
run ftcp 1 100 UCX_FAULT_ASYNC=1ms
contains "ftcp, asynchronous: refused where interfaces are connected to" "$result" 'UCX_FAULT_ASYNC over tcp.*needs UCX_FAULT_CONNECT=ep'

payload="UCX_FAULT_PLACE=payload UCX_FAULT_HEADER_SIZE=64 UCX_FAULT_MIN_LEN=1000"
for tl in ftcp fposix; do
  for kind in flip burst zero_line truncate; do
    for side in tx rx; do
      # shellcheck disable=SC2086
      run $tl 100 1000 $payload UCX_FAULT_KINDS=$kind UCX_FAULT_SIDE=$side UCX_FAULT_EVERY=10
      name="$tl, $kind, $side"
      is "$name: faults" "$(field "$report" faults) $(field "$report" $kind) $(field "$report" payload)" "10 10 10"
      is "$name: wrong messages" "$(field "$result" wrong_messages)" 10
      is "$name: wrong bytes" "$(field "$result" wrong_bytes)" "$(field "$report" bytes)"
      [ $kind = truncate ] ||
        is "$name: wrong bits" "$(field "$result" wrong_bits)" "$(field "$report" bits)"
    done
  done
done

run tcp 100 1000 UCX_FAULT_EVERY=10
contains "the raw transport is not touched" "$result" "$clean"

run ftcp 100 1000 UCX_FAULT_KINDS=drop UCX_FAULT_EVERY=50 UCX_FAULT_MIN_LEN=1000
is "drop: lost messages" "$(field "$result" lost)" "$(field "$report" drop)"
is "drop: as many as asked for" "$(field "$report" whole)" 2

# The old message comes again with its own tag: the one it replaced is missing.
run fposix 100 1000 UCX_FAULT_KINDS=replace UCX_FAULT_FRAMES=40,60 UCX_FAULT_MIN_LEN=1000
is "replace: lost messages" "$(field "$result" lost) $(field "$report" replace)" "2 2"
run ftcp 100 1000 UCX_FAULT_KINDS=repeat UCX_FAULT_EVERY=10 UCX_FAULT_MIN_LEN=1000
contains "repeat: the messages themselves arrive" "$result" "$clean"
is "repeat: counted" "$(field "$report" repeat)" 10
# Zero-copy frames, longer than what the lower transport would copy.
for kind in flip truncate drop replace repeat; do
  run ftcp 20 60000 UCX_RNDV_THRESH=inf UCX_ZCOPY_THRESH=1000 UCX_FAULT_KINDS=$kind \
    UCX_FAULT_PLACE=payload UCX_FAULT_HEADER_SIZE=64 UCX_FAULT_EVERY=10 UCX_FAULT_MIN_LEN=20000
  is "zcopy, $kind: counted" "$(field "$report" faults) $(field "$report" $kind)" "2 2"
  wrong=$(($(field "$result" wrong_messages) + $(field "$result" lost)))
  is "zcopy, $kind: seen" "$wrong" "$([ $kind = repeat ] && echo 0 || echo 2)"
done
run fposix 100 1000 UCX_FAULT_KINDS=swap UCX_FAULT_SIDE=rx UCX_FAULT_FRAMES=40 UCX_FAULT_MIN_LEN=1000
is "swap: the message waits for the next one" "$(field "$result" lost) $(field "$report" swap)" "1 1"

run ftcp 100 1000 UCX_FAULT_FRAMES=7 UCX_FAULT_BIT=$((8 * 100 + 3)) UCX_FAULT_MIN_LEN=1000
is "one bit of one frame" "$(field "$result" wrong_bits)" 1
contains "the report says which and where" "$report" '"frame":7,.*"offset":100,"bytes":1,"bits":1,'
run ftcp 100 1000 UCX_FAULT_EVERY=1 UCX_FAULT_AFTER=20 UCX_FAULT_LIMIT=3 UCX_FAULT_PLACE=payload \
  UCX_FAULT_MIN_LEN=1000
is "limit and start" "$(field "$report" faults) $(field "$result" wrong_messages)" "3 3"

run ftcp 20 300000 UCX_RNDV_THRESH=10000 UCX_FAULT_OPS=put UCX_FAULT_EVERY=5
is "put: wrong bits" "$(field "$result" wrong_bits)" "$(field "$report" put)"
contains "put: some were hit" "$(field "$report" faults)" '^[1-9]'

if [[ $listed == *fcma* ]]; then
  run fposix,fcma 20 300000 UCX_RNDV_THRESH=10000 UCX_RNDV_SCHEME=get_zcopy UCX_FAULT_OPS=get \
    UCX_FAULT_EVERY=5
  is "get: wrong bits" "$(field "$result" wrong_bits)" "$(field "$report" get)"
  contains "get: some were hit" "$(field "$report" faults)" '^[1-9]'
else
  skip "get: wrong bits" "no cma on this machine"
fi

run ftcp 100 1000 UCX_FAULT_EVERY=10 UCX_FAULT_RANKS=1 UCX_FAULT_MY_RANK=0
contains "other ranks are left alone" "$result" "$clean"

# shellcheck disable=SC2086
run ftcp 100 1000 $payload UCX_FAULT_EVERY=10 UCX_FAULT_PEERS=2,4 UCX_FAULT_MY_RANK=3
contains "peers of other ranks are left alone" "$result" "$clean"
# shellcheck disable=SC2086
run ftcp 100 1000 $payload UCX_FAULT_EVERY=10 UCX_FAULT_PEERS=2,3 UCX_FAULT_MY_RANK=3
is "those that are named are hit" "$(field "$report" faults) $(field "$result" wrong_messages)" "10 10"

run ftcp 10 100 UCX_FAULT_EVERY=1000
lacks "no variable of ours is unknown to UCX" "$errors$result" 'unused env variable.*FAULT'

refused() { # refused NAME WANTED-REGEX VARIABLE=VALUE...
  local name=$1 wanted=$2
  shift 2
  run ftcp 1 100 "$@"
  contains "refused: $name" "$errors$result" "$wanted"
  is "refused once: $name" "$(grep -c -E -- "$wanted" <<< "$errors$result")" 1
}
refused "pattern" '^UCX_FAULT_MATCH: .*offset:mask:value' UCX_FAULT_MATCH=zz
refused "numbers" '^UCX_FAULT_FRAMES: .*1,5,10-20' UCX_FAULT_FRAMES=5-1
refused "probability" '^UCX_FAULT_RATE: a probability from 0 to 1' UCX_FAULT_RATE=2
refused "two selections" 'UCX_FAULT_EVERY.*only one' UCX_FAULT_RATE=0.1 UCX_FAULT_EVERY=3
refused "rank" 'UCX_FAULT_RANKS:.*set UCX_FAULT_MY_RANK' UCX_FAULT_RANKS=0
refused "peers without a rank" 'UCX_FAULT_PEERS:.*set UCX_FAULT_MY_RANK' UCX_FAULT_PEERS=0
refused "peers of a receiver" 'UCX_FAULT_PEERS: only a sender' UCX_FAULT_PEERS=0 UCX_FAULT_MY_RANK=0 UCX_FAULT_EVERY=9 UCX_FAULT_SIDE=rx
run ftcp 1 100 UCX_FAULT_KINDS=flop
contains "refused by UCX: kind" "$errors$result" "FAULT_KINDS: 'flop'"

done_testing

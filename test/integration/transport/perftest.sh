#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# UCX's own perftest on every wrapped transport. A test that stock UCX fails on the raw transport is
# skipped.
. "${abs_top_srcdir:?}/test/integration/lib.sh"
find_perftest || skip_all "no ucx_perftest"

# pair LIST ARGUMENT...: server and client on this host. Fails without the client's line of results: the
# program also ends with 0 after its usage text. A server of newer releases does not get the client's -x and -d.
pair() {
  local list=$1 port server status=0 place=() i
  shift
  for ((i = 1; i < $#; i++)); do
    case ${!i} in -x | -d) place+=("${@:i:2}") ;; esac
  done
  port=$(free_port)
  with_tls "$list" within 60 "${perftest[@]}" -p "$port" "${place[@]}" < /dev/null > "$tap_dir/server" 2>&1 &
  server=$!
  await_listener "$port" "$server"
  with_tls "$list" within 60 "${perftest[@]}" -p "$port" "$@" 127.0.0.1 < /dev/null > "$tap_dir/client" 2>&1 || status=$?
  [ "$status" -eq 0 ] || kill "$server" 2> /dev/null # gone when the client failed, as it hears nothing more
  wait "$server" || [ "$status" -ne 0 ] || status=1
  grep -q '^Final:' "$tap_dir/client" || status=1
  cat "$tap_dir/client"
  return "$status"
}

# perf NAME RAW-LIST WRAPPED-LIST ARGUMENT...: passes when the client has results and the accounts say
# that frames were verified. Raw is tried when that fails.
perf() {
  local name=$1 raw=$2 wrapped=$3 status=0
  shift 3
  UCX_VERITY_ATTEST=always pair "$wrapped" "$@" > "$tap_dir/output" || status=$?
  grep -Eq '^  verified +[1-9]' "$tap_dir/output" "$tap_dir/server" || status=1
  if [ "$status" -ne 0 ] && ! pair "$raw" "${@/#v/}" > /dev/null; then
    skip "$name" "stock UCX on $raw: $(grep -o "ERROR.*" "$tap_dir/client" | sed "s/ERROR *//" | tail -n 1)"
    return
  fi
  tap_result "$status" "$name"
  [ "$status" -eq 0 ] || note "$(tail -n 15 "$tap_dir/output")"
}

ok_not() { # ok_not NAME COMMAND...: passes when the command fails
  local name=$1 status=0
  shift
  ! "$@" > /dev/null 2>&1 || status=1
  tap_result "$status" "$name"
}
ok_not "a transport that is not there is a failure" pair vnone -t tag_lat -n 10 -w 1

count=$(normal_or_long 300 20000)
for lower in $(lower_transports); do
  case $lower in
    tcp) device=lo ;;
    self) continue ;; # one process: below
    *) device=memory ;;
  esac
  for test in am_lat am_bw; do
    for layout in short shortiov bcopy zcopy; do
      perf "v$lower $test $layout" "$lower" "v$lower" -x "v$lower" -d "$device" -t $test -D $layout -s 64 -n "$count" -w 20
    done
  done
  [ "$lower" != sysv ] || continue # the same code as posix
  for test in tag_lat tag_bw tag_sync_lat stream_bw stream_lat ucp_am_lat ucp_am_bw ucp_put_lat ucp_put_bw ucp_get; do
    for size in 8 200000; do
      perf "v$lower $test $size" "$lower,self" "v$lower,vself" -t $test -s $size -n "$count" -w 20
    done
  done
  for test in ucp_add ucp_fadd ucp_swap ucp_cswap; do
    perf "v$lower $test" "$lower,self" "v$lower,vself" -t $test -s 8 -n "$count" -w 20
  done
done
loopback() { with_tls "$1" within 60 "${perftest[@]}" -l "${@:2}"; }
# memory, or memory0 before UCX 1.14.
self_device=$(with_tls vself "${UCX_INFO:-ucx_info}" -d 2> /dev/null | awk '/Transport: / { found = $3 == "vself" } found && /Device: / { print $3; exit }')
for test in am_lat am_bw; do
  contains "vself $test" "$(loopback vself -x vself -d "$self_device" -t $test -D bcopy -s 64 -n "$count" -w 20 2>&1)" '^Final:'
done
unset UCX_RCACHE_ENABLE # see tools/bench.sh
for test in tag_lat stream_bw ucp_am_lat ucp_put_lat ucp_get ucp_fadd; do
  contains "vself $test" "$(loopback vself -t $test -s 8 -n "$count" -w 20 2>&1)" '^Final:'
done

done_testing

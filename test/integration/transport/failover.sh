#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# UCP's failover (UCX 1.23's ucx_perftest -efailover): messages travel over two TCP devices at once, the connection of one
# is cut in the middle, and all of them arrive over the other.
. "${abs_top_srcdir:?}/test/integration/lib.sh"
find_perftest || skip_all "no ucx_perftest"
"${perftest[0]}" -h 2>&1 | grep -q failover || skip_all "this UCX's ucx_perftest has no failover (1.23 has)"
command -v ss > /dev/null || skip_all "no ss"
address=$(ip -4 -o addr show up scope global 2> /dev/null | awk '{ split($4, a, "/"); print a[1]; exit }')
[ -n "$address" ] || skip_all "no second TCP device beside lo"

# Both lanes carry pieces of each message, however slow one of them looks.
export UCX_MAX_EAGER_LANES=2 UCX_RNDV_THRESH=inf UCX_ZCOPY_THRESH=1 UCX_MULTI_LANE_MAX_RATIO=1000
export UCX_LOG_LEVEL=diag UCX_VERITY_ATTEST=always
port=$(free_port)
run() { # run ARGUMENT...: ends with its program, which is replaced
  verity_env vtcp,vself
  exec timeout -k 5 200 "${perftest[@]}" -p "$port" -t ucp_am_bw -efailover -s 100000 -n 8000 -w 20 "$@" < /dev/null
}
(run > "$tap_dir/server" 2>&1) &
server=$!
await_listener "$port" "$server"
(run 127.0.0.1 > "$tap_dir/client" 2>&1) &
client=$!

# Of the client's connections that between the device's own address: the second lane's.
cut_lane() {
  local pid=$1 mine other
  while read -r mine other; do
    [ "${mine%:*} ${other%:*}" = "$address $address" ] || continue
    sleep 0.1 # connected, and messages under way
    ss -K "src $mine and dst $other" > /dev/null 2>&1
    [ -n "$(ss -Htn state established "src $mine and dst $other")" ] || return 0
  done < <(ss -Htnp state established | grep "pid=$pid," | awk '{ print $3, $4 }')
  return 1
}
cut=no
for _ in $(seq 600); do
  cut_lane "$(pgrep -P "$client" 2> /dev/null || echo "$client")" && cut=yes && break
  kill -0 "$client" 2> /dev/null || break
  sleep 0.05
done
status=0
wait "$client" || status=$?
server_status=0
wait "$server" || server_status=$?
output=$(cat "$tap_dir/client")
if [ "$cut" = no ]; then
  is "without a cut it ends well" "$status" 0
  skip "a lane is cut" "ss -K does not end connections here, or the job was too quick"
  done_testing
  exit
fi
contains "UCP reconfigures the endpoint" "$output" 'failover reconfig'
contains "all messages are sent over the lane that is left" "$output" '^Final: +8000 '
is "both sides end well" "$status $server_status" "0 0"
contains "what arrived was verified" "$(cat "$tap_dir/server")" '^  verified +[1-9]'
done_testing

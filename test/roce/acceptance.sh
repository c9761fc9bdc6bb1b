# SPDX-License-Identifier: BSD-3-Clause
#
# `ucx-verity acceptance` between the two machines, by ssh, started on one of them. Source it after health.sh.
#
#   accepted NAME TRANSPORT
# shellcheck shell=bash
# shellcheck disable=SC2154 # shared with the other files of the test

# Files and directories of ours on a machine; earlier jobs of the lab have left their health files there.
ours_on() { guest "$1" 'find /tmp/ucx-verity-* /dev/shm/ucx-verity* 2> /dev/null | sort'; }

accepted() {
  local name=$1 transport=$2 report machine status=0 cost=
  declare -A before
  for machine in a b; do before[$machine]=$(ours_on $machine); done
  long_form || cost=--no-cost # 48 logins, of some seconds each here
  forwarder > /dev/null # nothing but what acceptance itself damages
  report=$(guest_limit=600 guest a "export UCX_IB_GID_INDEX=0 UCX_NET_DEVICES=rxe0:1
    exec timeout -k 5 560 $health_tool acceptance --quick $cost --tls $transport --html /share/run/acceptance.html a b" 2> "$tap_dir/accepted") || status=$?
  is "$name: exit status" "$status" 0
  [ "$status" -eq 0 ] || note "$(tail -n 40 "$tap_dir/accepted"; grep -E 'failed|->' <<< "$report")"
  contains "$name: the adapter and its firmware" "$report" 'adapter rxe0 .*port 1 ACTIVE'
  contains "$name: damage is repaired" "$report" "^  passed +$transport: [1-9][0-9]* frames damaged, [1-9][0-9]* found and repaired, no message wrong"
  contains "$name: check agrees" "$report" '^  passed +check on b: OK: [1-9][0-9]* injected faults'
  if [ -z "$cost" ]; then
    contains "$name: what it costs between the machines" "$report" "^  $transport, latency 8 B "
    note "$(grep -E "^  $transport, " <<< "$report")"
  fi
  contains "$name: no program is compiled where there is no compiler, and it says so" "$report" '^  skipped +MPI job: the test program is not compiled on a by mpicc'
  ok "$name: a page" grep -q '<p class="verdict">PASSED' "$lab_share/run/acceptance.html"
  for machine in a b; do
    is "$name: nothing is left on $machine" "$(ours_on $machine)" "${before[$machine]}"
  done
}

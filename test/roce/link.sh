# SPDX-License-Identifier: BSD-3-Clause
#
# The forwarder between two hosts, and other processes in the background, with a bound on the time of all.
# Source it after test/tap.sh.
#
#   link_start LOG COMMAND...    a process until link_stop; it works in $link_dir, where its output goes to LOG
#   link_alive                   none of them has ended
#   link_stop                    ends them and removes $link_dir
#   link_left                    seconds that this script has left
#   forwarder [NAME=NUMBER...]   sets the forwarder, see control.h; without settings it is faithful
#   forwarder_stats              its counters since then
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154 # shared with the other files of the test

link_build=${abs_top_builddir:?}
link_seconds=${VERITY_LINK_SECONDS:-1200} # for the whole script; what does not fit in is skipped
link_dir=                                 # sockets and logs; a short name, as sockets have room for no other
link_pids=()

link_left() { echo $((link_seconds - SECONDS)); }

# Ends with this shell, even when that is killed; and by itself.
link_start() {
  local log=$1
  shift
  [ -n "$link_dir" ] || link_dir=$(mktemp -d)
  (cd "$link_dir" && exec setpriv --pdeathsig TERM timeout -k 5 $((link_seconds + 60)) "$@") \
    < /dev/null > "$link_dir/$log" 2>&1 9>&- &
  link_pids+=($!)
}

link_alive() {
  local pid
  [ "${#link_pids[@]}" -gt 0 ] || return 1
  for pid in "${link_pids[@]}"; do
    kill -0 "$pid" 2> /dev/null || return 1
  done
}

link_stop() {
  if [ "${#link_pids[@]}" -gt 0 ]; then
    kill "${link_pids[@]}" 2> /dev/null
    wait "${link_pids[@]}" 2> /dev/null
  fi
  link_pids=()
  [ -z "$link_dir" ] || rm -rf "$link_dir"
  link_dir=
}

# Waits until the forwarder has taken the settings up: what comes before would not be damaged.
forwarder() {
  local epoch=${EPOCHREALTIME/[.,]/}
  epoch=${epoch: -9}
  epoch=$((10#$epoch))
  echo "$* epoch=$epoch" > "$link_dir/control.new"
  mv "$link_dir/control.new" "$link_dir/control"
  for _ in $(seq 300); do
    grep -qsx "epoch=$epoch" "$link_dir/counters" && return
    link_alive || break
    sleep 0.1
  done
  echo "the forwarder does not answer"
  return 1
}

# Its counters once it has written them twice more: whatever had passed before is in them.
forwarder_stats() {
  local before after
  for _ in 1 2; do
    before=$(stat -c %i.%y "$link_dir/counters")
    for _ in $(seq 300); do
      after=$(stat -c %i.%y "$link_dir/counters")
      [ "$after" = "$before" ] || break
      link_alive || break
      sleep 0.05
    done
  done
  cat "$link_dir/counters"
}

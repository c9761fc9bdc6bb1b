#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# MPI between two hosts over TCP whose segments are damaged on the way, with checksums that fit the damage: what
# roce.sh shows for RoCE. The hosts are network namespaces of this one; where they cannot be made it is
# skipped, with the reason.
set -u

# In namespaces of processes and mounts too: whatever is left over ends with this script.
apart=(unshare --pid --fork --mount --mount-proc --kill-child)
[ "$(id -u)" -eq 0 ] || apart+=(--user --map-root-user)
if [ "${VERITY_LINK_APART:-}" != yes ]; then
  refusal=$("${apart[@]}" true 2>&1) || { echo "1..0 # SKIP no namespaces here: $(head -n 1 <<< "$refusal")"; exit 0; }
  VERITY_LINK_APART=yes exec "${apart[@]}" bash "$0"
fi

. "${abs_top_srcdir:?}/test/integration/lib.sh"
. "$abs_top_srcdir/test/roce/link.sh"
. "$abs_top_srcdir/test/roce/verdicts.sh"
trap 'link_stop; rm -rf "$tap_dir"' EXIT
# The first process of a namespace is spared signals that it does not ask for.
trap 'exit 143' TERM INT HUP

link_seconds=${VERITY_LINK_SECONDS:-600}
attest_dir=$tap_dir
[ -n "$openmpi" ] || skip_all "no Open MPI"
command -v ip > /dev/null || skip_all "no ip (Debian package: iproute2)"
[ -e /dev/net/tun ] || skip_all "no /dev/net/tun"

# ---- the hosts ----------------------------------------------------------------------------------

on() { # on a|b COMMAND...
  local host
  host=$(cat "$link_dir/host.$1")
  shift
  nsenter --target "$host" --net --uts --mount "$@"
}

# Each is a process that waits; its sysfs shows UCX its own network.
start_host() { # start_host a|b
  # shellcheck disable=SC2016 # for that shell
  link_start "log.$1" unshare --net --uts --mount sh -c \
    'mount -t sysfs sys /sys && hostname "verity-$0" && ip link set lo up && echo $$ > "new.$0" && mv "new.$0" "host.$0" &&
      exec sleep infinity' "$1"
  await "host $1 did not start: $(cat "$link_dir/log.$1")" test -e "$link_dir/host.$1"
}

await() { # await REASON COMMAND...: until it succeeds; prints the reason when it does not
  local reason=$1
  shift
  for _ in $(seq 300); do
    "$@" > /dev/null 2>&1 && return
    link_alive || break
    sleep 0.1
  done
  echo "$reason"
  cat "$link_dir"/log.*
  return 1
}

# Addresses as large as jumbo frames: a frame of the plugin, or a message of UCX, is one segment.
connect() { # connect a|b NUMBER
  on "$1" ip link set "link$1" name data && on "$1" ip link set data mtu 9000 up &&
    on "$1" ip addr add "10.56.0.$2/24" dev data
}

hosts_up() {
  start_host a && start_host b || return 1
  # Both ends in one namespace, where their names are free.
  link_start log.forwarder nsenter --target "$(cat "$link_dir/host.a")" --net "$link_build/roce_forwarder" "$link_dir" linka linkb
  await "the forwarder did not start" on a sh -c 'test -e /sys/class/net/linka && test -e /sys/class/net/linkb' || return 1
  on a ip link set linkb netns "$(cat "$link_dir/host.b")" && connect a 1 && connect b 2 || return 1
  # In place of ssh: HOST COMMAND.
  printf '#!/bin/sh\nshift\nexec nsenter --target %s --net --uts --mount sh -c "$*"\n' "$(cat "$link_dir/host.b")" \
    > "$link_dir/remote" && chmod +x "$link_dir/remote"
}

hosts_fault() { link_alive || echo "a host or the forwarder ended"; }

hosts_restart() {
  link_stop
  hosts_up
}

mpi() ( # LIST [NAME=VALUE...] PROGRAM ARGUMENT...
  verity_env "$1"
  shift
  export UCX_NET_DEVICES=data UCX_VERITY_ATTEST_FILE="$attest_dir/attest.%h" TMPDIR="$tap_dir"
  while [[ $1 == *=* ]]; do
    export "${1?}"
    shift
  done
  program=$link_build/test/mpi/$1
  shift
  options=(-np 2 -H "10.56.0.1:1,10.56.0.2:1" --mca plm_rsh_agent "$link_dir/remote" --mca oob_tcp_if_include data)
  options+=(--mca btl "^openib,uct" --mca mtl "^ofi")
  for name in LD_PRELOAD $(compgen -e UCX_); do
    [ -z "${!name+set}" ] || options+=(-x "$name")
  done
  on a timeout -k 5 "$job_limit" "$openmpi" "${options[@]}" "$program" "$@"
)

hosts_up > "$tap_dir/up" 2>&1 || skip_all "no network namespaces with a link here: $(tail -n 1 "$tap_dir/up")"

# ---- jobs ---------------------------------------------------------------------------------------

raw=tcp,self
wrapped=vtcp,vself
mixed="mixed -n 5000 -m 65536 -t 250"

both() { # both NAME LEAST SETTINGS JOB...
  local name=$1
  shift
  stock "$name" message "$1" "$2" $raw "${@:3}"
  plugin "$name: the plugin repairs it" message "$1" "$2" $wrapped "${@:3}"
}

# Without nth nothing is damaged, but the checksums are looked at.
faithful="operations=t"
undamaged "nothing damaged: stock UCX delivers all right" $raw hello_integrity 500 4000
# shellcheck disable=SC2086 # words
undamaged "nothing damaged: the plugin delivers all right and finds no fault" $wrapped $mixed

both "eager messages" 10 "operations=t least=900 skip=64 nth=3" hello_integrity 1000 4000
# Without put_zcopy, whose data has no frame of UCX's around it that could be told from its contents.
both "rendezvous" 10 "operations=t least=4000 skip=64 nth=10" UCX_TCP_PUT_ENABLE=n hello_integrity 300 1048576

# shellcheck disable=SC2086 # words
{
  plugin "first bytes of frames" message 1 "operations=t least=32 within=4 nth=50" $wrapped $mixed
  plugin "headers of frames" message 1 "operations=t least=32 within=32 nth=50" $wrapped $mixed
  plugin "acknowledgements" message 0 "operations=t least=32 most=32 at=28 value=178 nth=2" $wrapped $mixed
  plugin "lost segments, which tcp sends again" message 1 "operations=t least=200 stale=1 nth=50 limit=30" $wrapped $mixed
}

done_testing

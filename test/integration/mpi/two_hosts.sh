# SPDX-License-Identifier: BSD-3-Clause
#
# Two hosts in one: namespaces with a network, a name, mounts, System V memory and a /dev/shm of their own, and a link between them;
# files and the numbers of processes are shared. Sourced after lib.sh, before anything else is prepared: it runs the script again in
# namespaces of processes, mounts and networks, and whatever is left over ends with these. They have no way to any other machine.
#
#   hosts_up        the hosts host-a and host-b; fails where they cannot be
#   on a|b COMMAND  in that host, with the environment of the caller
#   $hosts_agent    in place of ssh: $hosts_agent HOST COMMAND..., with the environment of a login: next to none
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154 # shared with the script

[ "$(id -u)" -eq 0 ] || skip_all "hosts of namespaces need root"
if [ "${VERITY_HOSTS_APART:-}" != yes ]; then
  command -v ip > /dev/null || skip_all "no ip (Debian package: iproute2)"
  hosts_refusal=$(unshare --pid --fork --mount-proc --net --ipc --uts --kill-child true 2>&1) ||
    skip_all "no namespaces here: $(head -n 1 <<< "$hosts_refusal")"
  rm -rf "$tap_dir"
  VERITY_HOSTS_APART=yes exec unshare --pid --fork --mount-proc --net --kill-child bash "$0"
fi
# What is left of jobs there ends with the namespaces.
mount -t tmpfs shm /dev/shm
# Names are looked up for a network only where there is one beside lo (AI_ADDRCONFIG).
ip link set lo up && ip link add here type veth peer name nowhere && ip addr add 10.57.1.1/24 dev here && ip link set here up

entry_to() { # entry_to a|b: the words before a command there are in $entry
  entry=(nsenter --target "$(cat "$tap_dir/hosts/$1.pid")" --net --uts --ipc --mount --root --wd)
}
on() { # on a|b COMMAND...
  local entry
  entry_to "$1"
  "${entry[@]}" "${@:2}"
}

# A process that waits. Its sysfs shows UCX its own network, its /dev/shm nothing of the other's; the control groups are the machine's.
hosts_start() { # hosts_start a|b
  local try
  # shellcheck disable=SC2016 # for that shell
  unshare --net --uts --ipc --mount sh -c 'mount --rbind /sys/fs/cgroup "$0/groups" && mount -t sysfs sys /sys &&
    mount --rbind "$0/groups" /sys/fs/cgroup && mount -t tmpfs shm /dev/shm && hostname "host-$1" &&
    ip link set lo up && echo $$ > "$0/$1.new" && mv "$0/$1.new" "$0/$1.pid" && exec sleep infinity' \
    "$tap_dir/hosts" "$1" < /dev/null > "$tap_dir/hosts/$1.log" 2>&1 &
  for ((try = 0; try < 100; ++try)); do
    [ ! -e "$tap_dir/hosts/$1.pid" ] || return 0
    sleep 0.1
  done
  cat "$tap_dir/hosts/$1.log"
  return 1
}

hosts_up() {
  local host
  hosts_agent=$tap_dir/hosts/agent
  mkdir "$tap_dir/hosts" "$tap_dir/hosts/groups" && chmod 755 "$tap_dir" || return 1
  { cat /etc/hosts; printf '10.57.0.1 host-a\n10.57.0.2 host-b\n'; } > "$tap_dir/hosts/names"
  mount --bind "$tap_dir/hosts/names" /etc/hosts || return 1
  hosts_start a && hosts_start b || return 1
  # The options of ssh that launchers give come before the host.
  cat > "$hosts_agent" << SH
#!/bin/bash
while [[ \$1 = -* ]]; do shift; done
host=\$1
shift
exec nsenter --target "\$(cat "$tap_dir/hosts/\${host#host-}.pid")" --net --uts --ipc --mount --root --wd \\
  env -i HOME="$tap_dir" USER=root LOGNAME=root SHELL=/bin/sh PATH=/usr/bin:/bin sh -c "\$*"
SH
  chmod +x "$hosts_agent"
  ip link add link-a type veth peer name link-b || return 1
  for host in a b; do
    ip link set "link-$host" netns "$(cat "$tap_dir/hosts/$host.pid")" && on $host ip link set "link-$host" name data &&
      on $host ip link set data up || return 1
  done
  on a ip addr add 10.57.0.1/24 dev data && on b ip addr add 10.57.0.2/24 dev data
}

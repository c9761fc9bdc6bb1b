#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# First process of a virtual machine of the RoCE tests, as /sbin/init of its image. From the kernel's
# command line: verity.role=a|b. Brings up rxe0 over the link to the other machine, an SSH server for the
# tests, and /share, a folder of the host; says so there in run/ready.ROLE.
set -u
exec > /dev/ttyS0 2>&1 < /dev/null
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root

mount_all() {
  mount -t proc proc /proc
  mount -t sysfs sys /sys
  mount -t tmpfs run /run
  mount -t tmpfs tmp /tmp
  mkdir -p /dev/pts /dev/shm
  mount -t devpts pts /dev/pts -o ptmxmode=666
  mount -t tmpfs -o mode=1777 shm /dev/shm
  ln -sf /proc/self/fd /dev/fd
  modprobe -a 9pnet_virtio 9p
  # Nothing cached: both machines and the host see each other's files at once.
  mount -t 9p -o trans=virtio,version=9p2000.L,msize=262144,cache=none share /share
}

interface_with() { # interface_with ADDRESS: name of the network card
  local card
  for card in /sys/class/net/*; do
    [ "$(cat "$card/address")" = "$1" ] && echo "${card##*/}"
  done
}

# The link under test. Its neighbour is entered by hand: a lost ARP or ND packet would only look like
# a fault of something else.
start_roce() { # start_roce OWN-NUMBER OTHER-NUMBER
  local card other=52:54:00:55:00:0$2
  card=$(interface_with "52:54:00:55:00:0$1")
  # Larger than the InfiniBand MTU of 4096 with all headers.
  ip link set "$card" mtu 4200 up
  ip addr add "10.55.0.$1/24" dev "$card"
  ip neigh replace "10.55.0.$2" lladdr "$other" dev "$card" nud permanent
  ip neigh replace "fe80::5054:ff:fe55:$2" lladdr "$other" dev "$card" nud permanent
  rdma link add rxe0 type rxe netdev "$card"
}

start_ssh() { # start_ssh OWN-NUMBER: reached from the host through qemu's own network
  local card
  card=$(interface_with "52:54:00:66:00:0$1")
  ip link set "$card" up
  ip addr add 10.0.2.15/24 dev "$card"
  mkdir -p /run/sshd
  /usr/sbin/sshd
}

mount_all
role=$(sed 's/.*verity.role=\([ab]\).*/\1/' /proc/cmdline)
case $role in a) number=1 other=2 ;; *) number=2 other=1 ;; esac
hostname "$role"
ulimit -l unlimited # for registered memory
sysctl -qw net.ipv6.conf.default.accept_dad=0 net.ipv6.conf.all.accept_dad=0
ip link set lo up
modprobe -a virtio_net ib_uverbs rdma_ucm rdma_rxe
start_roce "$number" "$other"
start_ssh "$number"
rdma link
touch "/share/run/ready.$role"
# The first process must not end; as the parent of all orphans it collects them.
while :; do
  sleep 1000 &
  wait
done

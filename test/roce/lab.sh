# SPDX-License-Identifier: BSD-3-Clause
#
# Two virtual machines, a and b, joined by a RoCEv2 link (soft-RoCE, rdma_rxe) whose forwarder can flip
# bits undetectably. Source it, after test/tap.sh; the machines are emulated, which needs no rights.
#
#   lab_missing                       why there can be no machines here; nothing when there can
#   lab_up, lab_down                  start and stop them
#   guest a|b COMMAND...              runs a shell's command line in a machine, /share is $lab_share
#   forwarder [NAME=NUMBER...]        sets the forwarder, see forwarder.c; without settings it is faithful
#   forwarder_stats                   its counters since then
#   mpi LIST [NAME=VALUE...] PROGRAM ARGUMENT...
#                                     $lab_share/bin/PROGRAM, a process on each machine, with UCX_TLS=LIST
# shellcheck shell=bash

lab_build=${abs_top_builddir:?}
lab_dir=${VERITY_ROCE_DIR:-$lab_build/roce-guest} # what build-guest made
lab_share=$lab_dir/share
lab_prefix=ucx-verity     # in $lab_share: what `make install` made
lab_limit=1700            # seconds after which machines end by themselves
lab_ready_limit=180       # seconds that a machine may take to start: a busy host emulates slowly
lab_run=                  # sockets and logs; a short name, as sockets have room for no other
lab_pids=()
declare -A lab_port

lab_missing() {
  local tool
  for tool in qemu-system-x86_64 ssh; do
    command -v $tool > /dev/null || echo "no $tool"
  done
  [ "$(uname -m)" = x86_64 ] || echo "not an x86-64 machine"
  [ ! -e "$lab_dir/stamp" ] || return 0
  for tool in debootstrap mke2fs ssh-keygen; do
    command -v $tool > /dev/null || echo "no $tool"
  done
  (. /etc/os-release 2> /dev/null && [ "${ID:-}" = debian ]) || echo "not a Debian host"
  [ "$(id -u)" -eq 0 ] || echo "root is needed once, for the machines' disk image"
}

lab_free_port() { # of 127.0.0.1
  local port hex
  while :; do
    port=$((20000 + RANDOM % 12000))
    printf -v hex '%04X' "$port"
    grep -q ":$hex " /proc/net/tcp || { echo "$port"; return; }
  done
}

lab_start() { # lab_start LOG COMMAND...: in the background, until lab_down
  local log=$1
  shift
  (cd "$lab_run" && exec timeout -k 5 "$lab_limit" "$@") < /dev/null > "$lab_run/$log" 2>&1 &
  lab_pids+=($!)
}

# lab_start_guest a|b NUMBER CLOCK: CLOCK tells the kernel how fast its counter runs. Without KVM: where there is
# none the machines must work too. The CPU is everything qemu can emulate but what old kernels trip over.
lab_start_guest() {
  local boot="console=ttyS0 quiet loglevel=4 panic=-1 mitigations=off nokaslr random.trust_cpu=on net.ifnames=0"
  lab_port[$1]=$(lab_free_port)
  lab_start "qemu.$1" qemu-system-x86_64 -accel tcg,thread=multi -cpu max,la57=off,pclmulqdq=off -smp 1 -m 768 \
    -nodefaults -no-user-config -display none -no-reboot -kernel "$lab_dir/vmlinuz" -initrd "$lab_dir/initrd.img" \
    -append "$boot $3 verity.role=$1" \
    -drive "file=$lab_dir/disk.img,if=virtio,format=raw,snapshot=on" -device virtio-rng-pci \
    -netdev "dgram,id=roce,local.type=unix,local.path=guest.$1,remote.type=unix,remote.path=forwarder.$1" \
    -device "virtio-net-pci,netdev=roce,mac=52:54:00:55:00:0$2,romfile=" \
    -netdev "user,id=control,restrict=on,hostfwd=tcp:127.0.0.1:${lab_port[$1]}-:22" \
    -device "virtio-net-pci,netdev=control,mac=52:54:00:66:00:0$2,romfile=" \
    -virtfs "local,path=$lab_share,mount_tag=share,security_model=none,multidevs=remap" \
    -serial "file:console.$1"
}

lab_alive() {
  local pid
  for pid in "${lab_pids[@]}"; do
    kill -0 "$pid" 2> /dev/null || return 1
  done
}

lab_wait_ready() { # lab_wait_ready a|b
  local end=$((SECONDS + lab_ready_limit))
  until [ -e "$lab_share/run/ready.$1" ] && guest "$1" true 2> /dev/null; do
    if ! lab_alive || [ "$SECONDS" -gt "$end" ]; then
      echo "machine $1 did not start"
      tail -n 10 "$lab_run/qemu.$1" "$lab_run/console.$1" "$lab_run/forwarder.log"
      return 1
    fi
    sleep 0.3
  done
}

lab_up() {
  local khz clock=clocksource=hpet
  lab_run=$(mktemp -d)
  rm -rf "$lab_share/run"
  mkdir -p "$lab_share/run"
  khz=$("$lab_build/roce_tsc") && clock="tsc=reliable tsc_early_khz=$khz"
  lab_start forwarder.log "$lab_build/roce_forwarder" .
  lab_start_guest a 1 "$clock"
  lab_start_guest b 2 "$clock"
  lab_wait_ready a && lab_wait_ready b
}

lab_down() {
  [ -n "$lab_run" ] || return 0
  kill "${lab_pids[@]}" 2> /dev/null
  wait "${lab_pids[@]}" 2> /dev/null
  lab_pids=()
  rm -rf "$lab_run" "$lab_share/run"
  lab_run=
}

guest() { # guest a|b COMMAND...
  local options=(-q -i "$lab_dir/id" -p "${lab_port[$1]}" -o BatchMode=yes -o ConnectTimeout=10)
  shift
  options+=(-o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null)
  timeout -k 5 "${lab_command_limit:-240}" ssh "${options[@]}" root@127.0.0.1 "$@" < /dev/null
}

# Waits until the forwarder has taken the settings up: what comes before would not be damaged.
forwarder() {
  local epoch=${EPOCHREALTIME/[.,]/}
  epoch=${epoch: -9}
  epoch=$((10#$epoch))
  echo "$* epoch=$epoch" > "$lab_run/control.new"
  mv "$lab_run/control.new" "$lab_run/control"
  for _ in $(seq 100); do
    grep -qsx "epoch=$epoch" "$lab_run/counters" && return
    sleep 0.1
  done
  echo "the forwarder does not answer"
  return 1
}

forwarder_stats() {
  sleep 0.3 # until it has written them again
  cat "$lab_run/counters"
}

# lab_environment LIST: the lines that set it in a machine: for wrapped transports those of `ucx-verity env`,
# for others what keeps Open MPI to UCX. Soft-RoCE wants an IPv6 address: with the IPv4 one UD finds no peer.
lab_environment() {
  case $1 in
    v*) echo "eval \"\$(/share/$lab_prefix/bin/ucx-verity env --tls $(sed -E 's/(^|,)v/\1/g' <<< "$1"))\"" ;;
    *)
      echo "export UCX_TLS=$1 OMPI_MCA_pml=ucx OMPI_MCA_osc=ucx"
      echo "export OMPI_MCA_opal_common_ucx_tls=any OMPI_MCA_opal_common_ucx_devices=any"
      ;;
  esac
  echo "export UCX_IB_GID_INDEX=0 UCX_NET_DEVICES=rxe0:1"
}

mpi() {
  local script exported=(UCX_TLS UCX_IB_GID_INDEX UCX_NET_DEVICES) program option
  script=$(lab_environment "$1")
  case $1 in
    v*) exported+=(LD_PRELOAD UCX_MODULE_DIR UCX_VERITY_ATTEST_FILE)
      script+=$'\nexport UCX_VERITY_ATTEST_FILE=/share/run/attest.%r' ;;
  esac
  shift
  while [[ $1 == *=* ]]; do
    script+=$'\n'"export $1"
    exported+=("${1%%=*}")
    shift
  done
  program=$1
  shift
  script+=$'\n'"exec timeout -k 5 ${lab_job_limit:-200} mpirun --allow-run-as-root -np 2 -H a:1,b:1"
  script+=" --mca btl ^openib,uct --mca mtl ^ofi --mca oob_tcp_if_include 10.55.0.0/24"
  for option in "${exported[@]}"; do
    script+=" -x $option"
  done
  guest a "$script /share/bin/$program $* 2>&1"
}

# SPDX-License-Identifier: BSD-3-Clause
#
# Two virtual machines, a and b, joined by a RoCEv2 link (soft-RoCE, rdma_rxe) whose forwarder can flip
# bits undetectably. Source it, after link.sh; the machines are emulated, which needs no rights.
#
#   lab_missing                       why there can be no machines here; nothing when there can
#   lab_image                         makes what they start from; prints why it cannot
#   lab_up                            starts them; prints why they did not; link_stop ends them
#   guest a|b COMMAND...              runs a shell's command line in a machine, /share is $lab_share
#   mpi LIST [NAME=VALUE...] PROGRAM ARGUMENT...
#                                     $lab_share/bin/PROGRAM, a process on each machine, with UCX_TLS=LIST
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154 # shared with the other files of the test

lab_dir=${VERITY_ROCE_DIR:-$link_build/roce-guest} # what build-guest made
lab_share=$lab_dir/share
lab_prefix=ucx-verity     # in $lab_share: what `make install` made
lab_image_limit=540       # seconds: a distribution is fetched
lab_ready_limit=240       # seconds that the machines may take to start: a busy host emulates slowly
lab_disk=3000             # MB that build-guest uses at its height
lab_memory=3000           # MB: two machines and what runs beside them
attest_dir=$lab_share/run
declare -A lab_port

lab_missing() {
  local tool
  for tool in qemu-system-x86_64 ssh setpriv flock; do
    command -v $tool > /dev/null || echo "no $tool"
  done
  [ "$(uname -m)" = x86_64 ] || echo "not an x86-64 machine"
  [ "$(awk '/^MemAvailable:/ { print int($2 / 1024) }' /proc/meminfo)" -ge "$lab_memory" ] ||
    echo "less than $lab_memory MB of memory are free"
  [ ! -e "$lab_dir/stamp" ] || return 0
  for tool in debootstrap mke2fs ssh-keygen apt-get dpkg-deb; do
    command -v $tool > /dev/null || echo "no $tool"
  done
  (. /etc/os-release 2> /dev/null && [ "${ID:-}" = debian ]) || echo "not a Debian host"
  [ "$(id -u)" -eq 0 ] || echo "root is needed once, for the machines' disk image"
  [ "$(df -Pm "$lab_dir" | awk 'NR == 2 { print $4 }')" -ge "$lab_disk" ] || echo "less than $lab_disk MB of disk are free"
}

# In a mount namespace of its own where that can be: whatever debootstrap mounts is gone when it ends.
lab_image() {
  local apart=() status=0
  unshare --mount true 2> /dev/null && apart=(unshare --mount)
  timeout -k 10 "$lab_image_limit" "${apart[@]}" "$abs_top_srcdir/test/roce/build-guest" "$lab_dir" || status=$?
  [ "$status" -lt 124 ] || echo "it took longer than $lab_image_limit s"
  return "$status"
}

lab_free_port() { # of 127.0.0.1
  local port hex
  while :; do
    port=$((20000 + RANDOM % 12000))
    printf -v hex '%04X' "$port"
    grep -qs ":$hex " /proc/net/tcp || { echo "$port"; return; }
  done
}

# lab_start_guest a|b NUMBER CLOCK: CLOCK tells the kernel how fast its counter runs. Without KVM: where there is
# none the machines must work too. The CPU is everything qemu can emulate but what old kernels trip over.
lab_start_guest() {
  local boot="console=ttyS0 quiet loglevel=4 panic=-1 mitigations=off nokaslr random.trust_cpu=on net.ifnames=0"
  lab_port[$1]=$(lab_free_port)
  link_start "qemu.$1" qemu-system-x86_64 -accel tcg,thread=multi -cpu max,la57=off,pclmulqdq=off -smp 1 -m 768 \
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

# lab_wait_ready a|b END: until its RoCE port is active, or SECONDS is END.
lab_wait_ready() {
  until [ -e "$lab_share/run/ready.$1" ] && guest "$1" 'ibv_devinfo -d rxe0 | grep -q PORT_ACTIVE' 2> /dev/null; do
    if ! link_alive || [ "$SECONDS" -gt "$2" ]; then
      echo "machine $1 $(link_alive && echo "is not ready after $lab_ready_limit s" || echo "or what it needs ended as it started")"
      tail -n 10 "$link_dir/qemu.$1" "$link_dir/console.$1" "$link_dir/forwarder.log"
      return 1
    fi
    sleep 0.3
  done
}

lab_up_once() {
  local khz clock=clocksource=hpet end=$((SECONDS + lab_ready_limit))
  rm -rf "$lab_share/run"
  mkdir -p "$lab_share/run"
  khz=$("$link_build/roce_tsc") && clock="tsc=reliable tsc_early_khz=$khz"
  link_start forwarder.log "$link_build/roce_forwarder" .
  lab_start_guest a 1 "$clock"
  lab_start_guest b 2 "$clock"
  lab_wait_ready a "$end" && lab_wait_ready b "$end"
}

# A second try: a port may have been taken in between, an emulated machine may hang as it starts.
lab_up() {
  local status
  for _ in 1 2; do
    [ "$(link_left)" -gt "$lab_ready_limit" ] || { echo "no time left to start the machines"; return 1; }
    status=0
    lab_up_once || status=$?
    [ "$status" -ne 0 ] || return 0
    link_stop
  done
  return 1
}

guest() { # guest a|b COMMAND...
  local options=(-q -i "$lab_dir/id" -p "${lab_port[$1]}" -o BatchMode=yes -o ConnectTimeout=60)
  shift
  options+=(-o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null)
  timeout -k 5 "${guest_limit:-90}" ssh "${options[@]}" root@127.0.0.1 "$@" < /dev/null
}

# After a job that failed: what it left in the machines is ended, which also shows whether they answer.
hosts_fault() {
  local machine
  for machine in a b; do
    if ! link_alive || ! guest "$machine" 'pkill -KILL "^(mpirun|orted|hello_integrity|mixed|rma)"; exec true' 2> /dev/null; then
      echo "machine $machine does not answer"
      return
    fi
  done
}

hosts_restart() {
  link_stop
  lab_up
}

# lab_environment LIST: the lines that set it in a machine: for wrapped transports those of `ucx-verity env`,
# for others what keeps Open MPI to UCX. Soft-RoCE wants an IPv6 address: with the IPv4 one UD finds no peer.
lab_environment() {
  case $1 in
    v*) echo "eval \"\$(/share/$lab_prefix/bin/ucx-verity env --tls $(sed -E 's/(^|,)v/\1/g' <<< "$1"))\"" ;;
    *)
      echo "export UCX_TLS=$1 OMPI_MCA_pml=ucx OMPI_MCA_osc=ucx,sm OMPI_MCA_osc_ucx_priority=200"
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
    [[ " ${exported[*]} " == *" ${1%%=*} "* ]] || exported+=("${1%%=*}")
    shift
  done
  program=$1
  shift
  script+=$'\n'"exec timeout -k 5 $job_limit mpirun --allow-run-as-root -np 2 -H a:1,b:1"
  script+=" --mca btl ^openib,uct --mca mtl ^ofi --mca oob_tcp_if_include 10.55.0.0/24"
  for option in "${exported[@]}"; do
    script+=" -x $option"
  done
  guest_limit=$((job_limit + 20)) guest a "$script /share/bin/$program $* 2>&1"
}

# SPDX-License-Identifier: BSD-3-Clause
#
# Jobs whose four processes take themselves for hosts of their own, node0 to node3, each with a folder of health files:
# $tap_dir/node0 and so on. Sourced after lib.sh.
# shellcheck shell=bash

tool=$build/ucx-verity
hosts="node0 node1 node2 node3"
for host in $hosts; do mkdir -p "$tap_dir/$host"; done

cat > "$tap_dir/on_host" << 'SH'
#!/bin/bash
# on_host FOLDER PROGRAM...: as the host of this rank
folder=$1
shift
export UCX_VERITY_HOST=node${OMPI_COMM_WORLD_RANK:-${PMI_RANK:?}}
export UCX_VERITY_HEALTH_DIR=$folder/$UCX_VERITY_HOST UCX_FAULT_REPORT=$folder/faults.${OMPI_COMM_WORLD_RANK:-$PMI_RANK}
exec "$@"
SH
chmod +x "$tap_dir/on_host"

# hosts_job NAME GUILTY PROGRAM ARGUMENT...: GUILTY's rank damages what it sends; empty: none. 0-1: the link from rank 0 to rank 1
# damages one bit of messages, each of which is sent as such only once.
hosts_job() {
  local name=$1 guilty=$2 program status=0
  program=$(mpi_program "$openmpi" "$3") || return 1
  shift 3
  (
    [ -z "$guilty" ] || export UCX_FAULT_KINDS=flip UCX_FAULT_PLACE=payload UCX_FAULT_RANKS="${guilty%-*}"
    case $guilty in
      *-*) export UCX_FAULT_PEERS="${guilty#*-}" UCX_FAULT_EVERY=20 UCX_FAULT_AM_IDS=29 UCX_FAULT_HEADER_SIZE=16 UCX_FAULT_MIN_LEN=600 ;;
      ?*) export UCX_FAULT_RATE=0.06 UCX_FAULT_MIN_LEN=100 ;;
    esac
    export UCX_VERITY_ATTEST=never
    with_tls vfposix,vself timeout -k 5 180 "$openmpi" -np 4 "$tap_dir/on_host" "$tap_dir" "$program" "$@"
  ) > "$tap_dir/job.$name" 2>&1 || status=$?
  [ "$status" -eq 0 ] || note "$(tail -n 20 "$tap_dir/job.$name")"
  return "$status"
}

# fresh_hosts: as if nothing had run there.
fresh_hosts() { (cd "$tap_dir" && rm -f node?/*.health node?.ledger* faults.* node?.prom); }

# metric_sum METRIC FILE...: the sum of its series in exported files.
metric_sum() {
  local metric=$1
  shift
  awk -v wanted="ucx_verity_$metric" '{ name = $1; sub(/\{.*/, "", name) } name == wanted { sum += $2 } END { printf "%.0f\n", sum }' "$@"
}
faults_of() { echo $(($(metric_sum faults_payload_total "$@") + $(metric_sum faults_header_total "$@") + $(metric_sum faults_length_total "$@"))); }
# explained INJECTED FILE...: the hosts' files have as many faults as frames were damaged, but for copies of frames that were there
# already: those are dropped before their payload is looked at.
explained() {
  local injected=$1 seen twice
  shift
  seen=$(faults_of "$@")
  twice=$(metric_sum frames_duplicate_total "$@")
  note "$injected frames damaged, $seen faults counted, $twice frames came twice"
  [ "$seen" -gt 0 ] && [ "$seen" -le "$injected" ] && [ $((seen + twice)) -ge "$injected" ]
}

#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Addresses carry a hash of the host's name, the first message the name: in the end each process has its hosts by name, whatever
# connects them.
. "${abs_top_srcdir:?}/test/integration/lib.sh"
[ -n "$openmpi" ] || skip_all "no Open MPI"
. "$abs_top_srcdir/test/integration/mpi/hosts.sh"
export UCX_VERITY_ATTEST=never

# job LIST RANKS PROGRAM ARGUMENT...
job() {
  local list=$1 ranks=$2 program
  program=$(mpi_program "$openmpi" "$3")
  shift 3
  fresh_hosts
  with_tls "$list" timeout -k 5 180 "$openmpi" -np "$ranks" "$tap_dir/on_host" "$tap_dir" "$program" "$@" 2>&1
}
# peers_of HOST PATH: the hosts there with which something was verified, in order.
peers_of() {
  "$tool" status --all "$tap_dir/$1" | awk -v path="$2" '
    /^  [^ ]/ { here = index($1, path "/") == 1 }
    here && /^    / && $(NF - 7) != "0" { sub(/^ +/, ""); sub(/  .*/, ""); print }' | sort | paste -sd ' '
}

contains "over interfaces: the job is right" "$(job vfposix,vself 4 mixed -n 600)" 'wrong 0 lost 0'
for host in $hosts; do
  is "$host has the others by name" "$(peers_of "$host" vfposix)" "$(tr ' ' '\n' <<< "$hosts" | grep -v "$host" | paste -sd ' ')"
  is "and itself" "$(peers_of "$host" vself)" "$host"
done

export UCX_FAULT_CONNECT=ep UCX_FAULT_ASYNC=1ms
contains "endpoints in pairs: the job is right" "$(job vftcp,vfposix:aux,vself 4 mixed -n 600)" 'wrong 0 lost 0'
for host in $hosts; do
  is "$host has the others by name" "$(peers_of "$host" vftcp)" "$(tr ' ' '\n' <<< "$hosts" | grep -v "$host" | paste -sd ' ')"
done
unset UCX_FAULT_CONNECT UCX_FAULT_ASYNC

if with_tls vposix,vcma "${UCX_INFO:-ucx_info}" -d 2> /dev/null | grep -q 'Transport: vcma'; then
  # UCX 1.23 takes vposix for large messages by itself.
  contains "reads: the job is right" "$(UCX_RNDV_THRESH=10000 UCX_RNDV_SCHEME=get_zcopy job vposix,vself,vcma 2 hello_integrity 30 4000000)" ' 0 messages wrong'
  is "who reads has the other by name" "$(peers_of node0 vcma) $(peers_of node1 vcma)" "node1 node0"
else
  skip "reads" "no cma on this machine"
fi

# A name that cannot be one is the same for the host itself and for its peers.
mkdir -m 700 "$tap_dir/blank"
(UCX_VERITY_HOST='node 1' UCX_VERITY_HEALTH_DIR=$tap_dir/blank with_tls vfposix,vself within 100 "$openmpi" -np 2 "$(mpi_program "$openmpi" hello_integrity)" 50 1000) > "$tap_dir/job" 2>&1
contains "a blank in a name: the job is right" "$(cat "$tap_dir/job")" ' 0 messages wrong'
contains "a host does not take itself for another one" "$("$tool" check --injected --ledger "$tap_dir/none" --directory "$tap_dir/blank")" 'within this host'

done_testing

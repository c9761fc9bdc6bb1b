# SPDX-License-Identifier: BSD-3-Clause
#
# A real Slurm of one node, this machine, or of the hosts of two_hosts.sh. Sourced after lib.sh.
#
#   slurm_missing              prints why there can be none; nothing when there can
#   slurm_start FOLDER LINES [HOST...]
#                              starts it with these lines in slurm.conf besides; files are in FOLDER. HOST: a, b
#   slurm_stop
#   wait_for COMMAND...        until it succeeds, $tries seconds at most
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154 # shared with the script

slurm_missing() {
  local program
  for program in munged slurmctld slurmd scontrol; do
    command -v $program > /dev/null || { echo "$program is not installed (packages slurmctld, slurmd, slurm-client, munge)"; return; }
  done
  [ "$(id -u)" -eq 0 ] || echo "slurmd needs root"
}

pids=()
slurm_stop() {
  [ ${#pids[@]} -eq 0 ] || kill "${pids[@]}" 2> /dev/null
  [ ${#pids[@]} -eq 0 ] || wait "${pids[@]}"
  pids=()
}

node=$(hostname -s)
controller=() # the words before a command where slurmctld runs
slurm_start() { # slurm_start FOLDER LINES [HOST...]
  slurm=$1
  local host entry=() address=127.0.0.1 nodes="NodeName=$node NodeAddr=127.0.0.1"
  if [ $# -gt 2 ]; then
    node=host-$3 address=$node nodes=NodeName=$(printf 'host-%s,' "${@:3}")
    entry_to "$3"
    controller=("${entry[@]}")
  fi
  mkdir -p "$slurm/state" "$slurm/tmp"
  cat > "$slurm/slurm.conf" << CONF
ClusterName=verity
SlurmctldHost=$node($address)
SlurmctldPort=$(free_port)
SlurmdPort=$(free_port)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$slurm/munge.socket
CredType=cred/munge
StateSaveLocation=$slurm/state
SlurmdSpoolDir=$slurm/spool.%n
TmpFS=$slurm/tmp
SlurmctldPidFile=$slurm/slurmctld.pid
SlurmdPidFile=$slurm/slurmd.%n.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/linear
ReturnToService=2
MpiDefault=none
$2
${nodes%,} CPUs=$(nproc) State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES State=UP
CONF
  dd if=/dev/urandom of="$slurm/munge.key" bs=64 count=16 2> /dev/null
  chmod 600 "$slurm/munge.key"
  export SLURM_CONF=$slurm/slurm.conf
  munged --foreground --force --key-file="$slurm/munge.key" --socket="$slurm/munge.socket" --pid-file="$slurm/munge.pid" \
    --log-file="$slurm/munge.log" --seed-file="$slurm/munge.seed" > "$slurm/munged.out" 2>&1 &
  pids+=($!)
  "${controller[@]}" slurmctld -D > "$slurm/slurmctld.out" 2>&1 &
  pids+=($!)
  for host in "${@:3}"; do
    on "$host" mount -t tmpfs tmp "$slurm/tmp" # what PMIx has there is each host's own
    entry_to "$host"
    "${entry[@]}" slurmd -D > "$slurm/slurmd.$host.out" 2>&1 &
    pids+=($!)
  done
  if [ $# -eq 2 ]; then
    slurmd -D > "$slurm/slurmd.out" 2>&1 &
    pids+=($!)
  fi
}

state() { "${controller[@]}" scontrol --oneliner show node "$node" 2> /dev/null | grep -Eo 'State=[^ ]*|Reason=.*'; }
tries=60 # of a second: for Slurm to start
wait_for() { # wait_for COMMAND...: a busy machine may need long; not when Slurm has ended
  local try pid
  for ((try = 0; try < tries; ++try)); do
    if "$@"; then return 0; fi
    for pid in "${pids[@]}"; do kill -0 "$pid" 2> /dev/null || break 2; done
    sleep 1
  done
  note "$(state)" "$(tail -n 5 "$slurm"/*.out "$slurm/log" 2> /dev/null)"
  return 1
}
is_idle() { grep -q '^State=IDLE' <<< "$(state)" && ! grep -q DRAIN <<< "$(state)"; }
slurm_words() { echo "$(tail -q -n 1 "$slurm"/slurmd*.out "$slurm/slurmctld.out")"; }

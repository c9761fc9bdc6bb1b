# SPDX-License-Identifier: BSD-3-Clause
#
# A real Slurm of one node, this machine. Sourced after lib.sh.
#
#   slurm_missing              prints why there can be none; nothing when there can
#   slurm_start FOLDER LINES   starts it with these lines in slurm.conf besides; files are in FOLDER
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
slurm_start() { # slurm_start FOLDER LINES
  slurm=$1
  mkdir -p "$slurm/state" "$slurm/spool"
  cat > "$slurm/slurm.conf" << CONF
ClusterName=verity
SlurmctldHost=$node(127.0.0.1)
SlurmctldPort=$(free_port)
SlurmdPort=$(free_port)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$slurm/munge.socket
CredType=cred/munge
StateSaveLocation=$slurm/state
SlurmdSpoolDir=$slurm/spool
SlurmctldPidFile=$slurm/slurmctld.pid
SlurmdPidFile=$slurm/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/linear
ReturnToService=2
MpiDefault=none
$2
NodeName=$node NodeAddr=127.0.0.1 CPUs=$(nproc) State=UNKNOWN
PartitionName=all Nodes=$node Default=YES State=UP
CONF
  dd if=/dev/urandom of="$slurm/munge.key" bs=64 count=16 2> /dev/null
  chmod 600 "$slurm/munge.key"
  export SLURM_CONF=$slurm/slurm.conf
  munged --foreground --force --key-file="$slurm/munge.key" --socket="$slurm/munge.socket" --pid-file="$slurm/munge.pid" \
    --log-file="$slurm/munge.log" --seed-file="$slurm/munge.seed" > "$slurm/munged.out" 2>&1 &
  pids+=($!)
  slurmctld -D > "$slurm/slurmctld.out" 2>&1 &
  pids+=($!)
  slurmd -D > "$slurm/slurmd.out" 2>&1 &
  pids+=($!)
}

state() { scontrol --oneliner show node "$node" 2> /dev/null | grep -Eo 'State=[^ ]*|Reason=.*'; }
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
slurm_words() { echo "$(tail -n 1 "$slurm/slurmd.out") $(tail -n 1 "$slurm/slurmctld.out")"; }

#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# A real Slurm of one node runs the health check: the node stays while all is well, and is drained with the reason when it damages data.
. "${abs_top_srcdir:?}/test/integration/lib.sh"
[ -n "$openmpi" ] || skip_all "no Open MPI"
for program in munged slurmctld slurmd scontrol; do
  command -v $program > /dev/null || skip_all "$program is not installed (packages slurmctld, slurmd, slurm-client, munge)"
done
[ "$(id -u)" -eq 0 ] || skip_all "slurmd needs root"
. "$abs_top_srcdir/test/integration/hosts.sh"

pids=()
stop() {
  [ ${#pids[@]} -eq 0 ] || kill "${pids[@]}" 2> /dev/null
  wait
  rm -rf "$tap_dir"
}
trap stop EXIT

node=$(hostname -s)
etc=$tap_dir/slurm
mkdir -p "$etc/state" "$etc/spool"
chmod 755 "$tap_dir"
sed "s|@bindir[@]|$build|g" "$abs_top_srcdir/contrib/health/slurm-health-check" > "$etc/health-check"
# What the node's check looks at: here one of the emulated hosts.
cat > "$etc/check" << SH
#!/bin/sh
shift
exec "$tool" check --injected --ledger "$tap_dir/here.ledger" --directory "$tap_dir/here" "\$@"
SH
chmod +x "$etc/health-check" "$etc/check"
cat > "$etc/run" << SH
#!/bin/sh
echo run >> $etc/runs
UCX_VERITY=$etc/check UCX_VERITY_CHECK_CONF=/nonexistent SLURM_CONF=$etc/slurm.conf $etc/health-check >> $etc/health.log 2>&1
SH
chmod +x "$etc/run"
cat > "$etc/slurm.conf" << CONF
ClusterName=verity
SlurmctldHost=$node(127.0.0.1)
SlurmctldPort=$(free_port)
SlurmdPort=$(free_port)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$etc/munge.socket
CredType=cred/munge
StateSaveLocation=$etc/state
SlurmdSpoolDir=$etc/spool
SlurmctldPidFile=$etc/slurmctld.pid
SlurmdPidFile=$etc/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/linear
ReturnToService=2
MpiDefault=none
HealthCheckProgram=$etc/run
HealthCheckInterval=2
HealthCheckNodeState=ANY
NodeName=$node NodeAddr=127.0.0.1 CPUs=$(nproc) State=UNKNOWN
PartitionName=all Nodes=$node Default=YES State=UP
CONF
dd if=/dev/urandom of="$etc/munge.key" bs=64 count=16 2> /dev/null
chmod 600 "$etc/munge.key"
export SLURM_CONF=$etc/slurm.conf
munged --foreground --force --key-file="$etc/munge.key" --socket="$etc/munge.socket" --pid-file="$etc/munge.pid" \
  --log-file="$etc/munge.log" --seed-file="$etc/munge.seed" > "$etc/munged.out" 2>&1 &
pids+=($!)
slurmctld -D > "$etc/slurmctld.out" 2>&1 &
pids+=($!)
slurmd -D > "$etc/slurmd.out" 2>&1 &
pids+=($!)

state() { scontrol --oneliner show node "$node" 2> /dev/null | grep -Eo 'State=[^ ]*|Reason=.*'; }
tries=60 # of a second: for Slurm to start
wait_for() { # wait_for COMMAND...: a busy machine may need long
  local try
  for ((try = 0; try < tries; ++try)); do
    if "$@"; then return 0; fi
    sleep 1
  done
  note "$(state)" "$(tail -n 5 "$etc"/*.out "$etc/health.log")"
  return 1
}
is_idle() { grep -q '^State=IDLE' <<< "$(state)" && ! grep -q DRAIN <<< "$(state)"; }
is_drained() { grep -q 'DRAIN' <<< "$(state)"; }
ran_again() { [ "$(wc -l < "$etc/runs")" -gt "$1" ]; }

ln -s node0 "$tap_dir/here"
wait_for is_idle || skip_all "Slurm does not start here: $(tail -n 1 "$etc/slurmd.out") $(tail -n 1 "$etc/slurmctld.out")"
tries=180
hosts_job clean "" mixed -n 600
tap_result $? "a clean job of four hosts"
: >> "$etc/runs"
wait_for ran_again $(($(wc -l < "$etc/runs") + 2))
tap_result $? "Slurm runs the health check"
ok "the node stays" is_idle

hosts_job guilty 1 mixed -n 1500
tap_result $? "a job of which host node1 damages what it sends"
ran=$(wc -l < "$etc/runs")
wait_for ran_again $((ran + 2))
tap_result $? "the check runs on a host that received damaged data"
ok "which is not drained for that" is_idle

ln -sfn node1 "$tap_dir/here"
wait_for is_drained
tap_result $? "the host that sent it is drained"
contains "with the reason" "$(state)" 'Reason=ucx-verity: [0-9]+ faults \(0 in, [0-9]+ out\) with 3 of 3 hosts: device memory'

done_testing

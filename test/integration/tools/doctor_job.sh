#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# `ucx-verity doctor --job`: one merged answer of the hosts of a job, which are processes of this host with names of their own.
. "${abs_top_srcdir:?}/test/integration/lib.sh"

tool=$build/ucx-verity
clean() { bare OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 "$oversubscribe" "$@"; }
clean bash -c "eval \"\$('$tool' env)\"" || skip_all "no environment to start from"

# What is to happen on a host is a line of $tap_dir/nodeN.
cat > "$tap_dir/on_host" << 'SH'
#!/bin/bash
export UCX_VERITY_HOST=node${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-$SLURM_PROCID}}
! [ -e "$(dirname "$0")/$UCX_VERITY_HOST" ] || . "$(dirname "$0")/$UCX_VERITY_HOST"
exec "$@"
SH
cat > "$tap_dir/srun" << 'SH'
#!/bin/bash
# srun of a job whose third host does not answer.
echo "$*" > "$(dirname "$0")/arguments"
while [ "${1#--}" != "$1" ]; do shift; done
for SLURM_PROCID in 0 1; do
  export SLURM_PROCID SLURM_STEP_ID=0
  "$(dirname "$0")/on_host" "$@" | sed "s/^/$SLURM_PROCID: /" &
done
wait
SH
chmod +x "$tap_dir/on_host" "$tap_dir/srun"

# job NAME STATUS COMMAND: in a shell with the variables of env. $report has what it says.
job() {
  local status=0
  report=$(clean bash -c "eval \"\$('$tool' env)\"; $3" 2>&1 < /dev/null) || status=$?
  contains "$1: exit status" "$status" "^$2\$"
}
# What holds on one host only.
differing() { grep -E '^  [a-zA-Z]+ +[A-Za-z]+( [A-Za-z]+)? +on [0-9]+ of [0-9]+ hosts' <<< "$report"; }
for_all="LD_PRELOAD|UCX_PLUGIN_PATH"

for launcher in $openmpi $mpich; do
  case $launcher in "$mpich") name=MPICH pass="mpiexec -genvlist " ;; *) name="Open MPI" pass="mpirun -x " ;; esac
  start="'$tool' doctor --job --launcher '$launcher -np 3 $tap_dir/on_host'"
  job "$name, equal hosts" '[01]' "$start"
  is "$name, equal hosts: the first line" "${report%%$'\n'*}" "3 hosts, by $launcher: node0, node1, node2"
  is "$name, equal hosts: a finding is printed once" "$(grep -c '^  ok *UCX ' <<< "$report")" 1
  is "$name, equal hosts: nothing of one host" "$(differing)" ""

  [ "$name" != MPICH ] || [ -z "$openmpi" ] || break # the rest does not depend on the launcher
  echo 'unset LD_PRELOAD UCX_PLUGIN_PATH' > "$tap_dir/node1"
  job "a host that loses the preload" 2 "$start"
  contains "a host that loses the preload: what is lost" "$report" \
    "^  BROKEN +launcher +on 1 of 3 hosts \(node1\): ($for_all) of this shell does not reach the processes there unchanged -> $pass($for_all)"
  contains "a host that loses the preload: what follows there" "$report" '^  BROKEN +shell +on 1 of 3 hosts \(node1\): .*UCX does not load the plugin'
  contains "a host that loses the preload: what holds elsewhere" "$report" '^  ok +shell +on 2 of 3 hosts'
  contains "and the verdict" "$(tail -n 1 <<< "$report")" '^BROKEN: jobs started from this shell'
  job "as JSON" 2 "$start --json"
  contains "as JSON: with its hosts" "$(tr -d ' \n' <<< "$report")" '"topic":"launcher",.*"hosts":\["node1"\]'

  # Another build of the plugin there.
  rm "$tap_dir/node1"
  libdir=$(sed -n 's|^libdir = ${exec_prefix}/||p' "$build/Makefile")
  if [ -n "$libdir" ]; then
    folder=$tap_dir/root/$libdir/ucx-verity
    mkdir -p "$tap_dir/root/bin" "$folder/$VERITY_UCX_VERSION"
    cp "$tool" "$tap_dir/root/bin/"
    cp "$build/.libs/libverity_preload.so" "$folder"
    cp "$build/.libs/libuct_verity.so" "$folder/$VERITY_UCX_VERSION/"
    echo >> "$folder/$VERITY_UCX_VERSION/libuct_verity.so"
    ln -s libuct_verity.so "$folder/$VERITY_UCX_VERSION/libuct_verity.so.0"
    echo "shift; set -- $tap_dir/root/bin/ucx-verity \"\$@\"" > "$tap_dir/node2"
    job "another build on a host" '[12]' "$start"
    contains "another build on a host: what differs" "$report" '^  warn +hosts +plugin file differs: [0-9a-f]+ on node(0, node1|2); [0-9a-f]+ on node(0, node1|2) -> '
    rm "$tap_dir/node2"
  else
    skip "mixed hosts" "libdir is not below the prefix"
  fi

  job "jobs that the user starts" '[01]' "'$launcher' -np 2 '$tap_dir/on_host' '$tool' doctor --record | '$tool' doctor --merge -"
  is "jobs that the user starts: the first line" "${report%%$'\n'*}" "2 hosts: node0, node1"
  job "in a process of a job" 2 "'$launcher' -np 1 '$tool' doctor --job"
  contains "in a process of a job: what to do" "$report" "this is a process of a job already; start 'LAUNCHER .* doctor --record \| ucx-verity doctor --merge -'"
done

job "Slurm, a host without an answer" 2 "SLURM_JOB_ID=1 SLURM_JOB_NUM_NODES=3 PATH=$tap_dir:\$PATH '$tool' doctor --job"
contains "Slurm: one process on each host" "$(cat "$tap_dir/arguments")" '^--nodes=3 --ntasks=3 --ntasks-per-node=1 [^ ]*ucx-verity doctor --record$'
is "Slurm: the first line" "${report%%$'\n'*}" "2 hosts, by srun: node0, node1"
contains "Slurm: who is missing" "$report" '^  BROKEN +hosts +2 of 3 hosts answered -> '
if unshare --uts true 2> /dev/null; then
  echo "unset UCX_VERITY_HOST; set -- unshare --uts sh -c 'hostname front.cluster; exec \"\$@\"' sh \"\$@\"" > "$tap_dir/node0"
  job "a host by its own name" 2 "SLURM_JOB_ID=1 SLURM_NNODES=3 PATH=$tap_dir:\$PATH '$tool' doctor --job"
  is "a host by its own name: the first line" "${report%%$'\n'*}" "2 hosts, by srun: front, node1"
else
  skip "a host by its own name" "needs root, for a namespace of host names"
fi
printf '#!/bin/sh\necho "no route to node7" >&2\nexit 7\n' > "$tap_dir/failing"
chmod +x "$tap_dir/failing"
job "a launcher that fails" 2 "'$tool' doctor --job --launcher $tap_dir/failing"
is "a launcher that fails: its words" "$report" "ucx-verity: no host answered: $tap_dir/failing ended with status 7"$'\n'"no route to node7"
done_testing

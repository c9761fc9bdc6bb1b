#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# What starts jobs: Open MPI's mpirun, which is prterun from 5 on, and MPICH's Hydra, by an agent like ssh on two hosts that share
# no memory; and srun of a real Slurm with PMIx. From a clean shell, with Lmod and with Environment Modules: load the module, run an
# unmodified program without any option for the plugin (no -x), which its attestation proves, unload, and the environment is what it was.
# Then the other way, without a module: the preload in the processes of the application alone, and in none of the launcher's.
. "${abs_top_srcdir:?}/test/integration/lib.sh"
. "$abs_top_srcdir/test/integration/build/modules_lib.sh"
fetch lmod
fetch environment-modules
. "$abs_top_srcdir/test/integration/mpi/two_hosts.sh"
. "$abs_top_srcdir/test/integration/slurm_node.sh"
[ -n "$openmpi$mpich" ] || skip_all "no Open MPI and no MPICH on UCX"
trap 'slurm_stop; rm -rf "$tap_dir"' EXIT

hosts_up > "$tap_dir/hosts.log" 2>&1 || skip_all "no hosts of namespaces here: $(tail -n 1 "$tap_dir/hosts.log")"
install_into "$prefix" || skip_all "cannot install: $(tail -n 1 "$tap_dir/install.log")"
mkdir -p "$tap_dir/home"
missing=$(slurm_missing)
if [ -z "$missing" ] && [ -n "$openmpi" ]; then
  slurm_start "$tap_dir/slurm" ""
  srun --mpi=list 2>&1 | grep -q pmix || missing="this Slurm has no PMIx"
  wait_for is_idle || missing="Slurm does not start here: $(slurm_words)"
fi

# What belongs to the site and its users' settings of MPI, and nothing of the plugin's.
site=(PATH="$base_path" HOME="$tap_dir/home" OMPI_MCA_plm_rsh_agent="$hosts_agent" PRTE_MCA_plm_ssh_agent="$hosts_agent"
  HYDRA_LAUNCHER=ssh HYDRA_LAUNCHER_EXEC="$hosts_agent" ${SLURM_CONF:+"SLURM_CONF=$SLURM_CONF"}
  OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 PRTE_ALLOW_RUN_AS_ROOT=1 PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1)
here() { "$@"; }
two=(-np 2 --host 'host-a,host-b')

# verified NAME HOSTS: the last job's words, and its attestation, of these hosts.
verified() {
  contains "$1: the program is right" "$(cat "$tap_dir/job")" ' 0 messages wrong'
  is "$1: both ranks verified messages, none went past the plugin" \
    "$(grep '"raw_lanes":\[\],"mpi_components":\[\]' "$tap_dir/attest" | grep '"frames_verified":[1-9]' |
      sed 's/.*"host":"\([^"]*\)".*/\1/' | sort | paste -sd' ')" "$2"
}

launch() { # launch NAME HOSTS PLACE LAUNCHER ARGUMENT...: PLACE is "on a" or "here"
  local name=$1 hosts=$2 place=$3 program
  program=$(mpi_program "$4" hello_integrity)
  shift 3
  rm -f "$tap_dir"/{attest,before,after,job}
  cat > "$tap_dir/session" << SH
. '$init/bash'
module use '$path'
$listing > $tap_dir/before
module load ucx-verity
timeout -k 5 100 $* env UCX_VERITY_ATTEST_FILE=$tap_dir/attest '$program' 50 100000 > $tap_dir/job 2>&1 < /dev/null
module unload ucx-verity
$listing > $tap_dir/after
SH
  $place env -i "${site[@]}" bash --norc "$tap_dir/session" > "$tap_dir/session.out" 2>&1
  is "$name: nothing to say" "$(cat "$tap_dir/session.out")" ""
  verified "$name" "$hosts"
  is "$name: unload restores the environment" "$(cat "$tap_dir/after")" "$(cat "$tap_dir/before")"
}

try() { # try NAME MODULEPATH INIT-SCRIPTS
  local name=$1 path=$2 init=$3
  [ -z "$openmpi" ] || launch "$name, $(version "$openmpi")" "host-a host-b" "on a" "$openmpi" "${two[@]}"
  [ -z "$mpich" ] || launch "$name, Hydra" "host-a host-b" "on a" "$mpich" -n 2 -hosts 'host-a,host-b'
  if [ -n "$openmpi" ] && [ -z "$missing" ]; then
    launch "$name, srun" "$node $node" here srun --mpi=pmix -n 2
  else
    skip "$name, srun" "${missing:-no Open MPI}"
  fi
}
version() { "$1" --version | sed -n 's/.*(Open\(RTE\| MPI\)) /mpirun of Open MPI /p'; }
module_systems try
if [ -z "$openmpi" ]; then
  skip "what Open MPI's daemons set" "no Open MPI"
  done_testing
  exit
fi

# ---- Open MPI's daemons ---------------------------------------------------------------------------
daemons=$prefix/libexec/ucx-verity/launch-agent
job() { # job VARIABLE=VALUE... -- ARGUMENT...: of mpirun
  local settings=()
  while [ "$1" != -- ]; do settings+=("$1"); shift; done
  shift
  rm -f "$tap_dir"/{attest,job,parents}
  on a env -i "${site[@]}" "${settings[@]}" timeout -k 5 100 "$openmpi" "${two[@]}" "$@" env UCX_VERITY_ATTEST_FILE="$tap_dir/attest" \
    "$(mpi_program "$openmpi" hello_integrity)" 50 100000 > "$tap_dir/job" 2>&1 < /dev/null
}
# What the module sets, but for the agents.
mapfile -t loaded < <(on a env -i "${site[@]}" "$prefix/bin/ucx-verity" env --shell slurm | sed -n 's/^export //p')
agents=(OMPI_MCA_orte_launch_agent="$daemons orted" PRTE_MCA_prte_launch_agent="$daemons prted")

job "${loaded[@]}" --
status=$?
ok "without the launch agent the other host has nothing of it, and the job fails (status $status)" [ $status -ne 0 ]
lacks "with no message sent" "$(tr -d '\0' < "$tap_dir/job")" 'messages wrong'
job "${loaded[@]}" "${agents[@]}" UCX_VERITY_MODE=observe -- -x UCX_TLS=vtcp,vself -x UCX_VERITY_MODE
verified "-x for settings of one's own" "host-a host-b"
is "-x for settings of one's own: both have them" "$(grep -c '"mode":"observe"' "$tap_dir/attest")" 2
on b mount -t tmpfs none "$prefix/bin"
job "${loaded[@]}" "${agents[@]}" --
status=$?
on b umount "$prefix/bin"
ok "a host without the plugin: the job does not run (status $status)" [ $status -ne 0 ]
contains "a host without the plugin: a line says so" "$(tr -d '\0' < "$tap_dir/job")" 'ucx-verity: not loaded on host-b'

# ---- no module ------------------------------------------------------------------------------------
cat > "$tap_dir/started" << SH
#!/bin/sh
tr '\0' '\n' < /proc/\$PPID/environ | grep -c '^LD_PRELOAD=' >> $tap_dir/parents
exec "\$@"
SH
chmod +x "$tap_dir/started"
job OMPI_MCA_mca_base_env_list="$(IFS=';'; echo "${loaded[*]}")" -- "$tap_dir/started"
verified "variables for the application alone" "host-a host-b"
is "variables for the application alone: mpirun and its daemon have no preload" "$(paste -sd' ' "$tap_dir/parents")" "0 0"

done_testing

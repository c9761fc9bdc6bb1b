#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# A real Slurm of one node with the lines and scripts that are installed: its tasks have the plugin by TaskProlog; the node stays while
# all is well, or while nothing is checked as an option is wrong; it is drained with the reason when it damages data.
. "${abs_top_srcdir:?}/test/integration/lib.sh"
[ -n "$openmpi" ] || skip_all "no Open MPI"
. "$abs_top_srcdir/test/integration/slurm_node.sh"
missing=$(slurm_missing)
[ -z "$missing" ] || skip_all "$missing"
. "$abs_top_srcdir/test/integration/mpi/hosts.sh"

trap 'slurm_stop; rm -rf "$tap_dir"' EXIT

etc=$tap_dir/slurm
mkdir -p "$etc"
chmod 755 "$tap_dir"
# What `make install` writes, in a folder of this test; the command is the build tree's, and looks at one of the emulated hosts.
site=$etc/site
env -u MAKEFLAGS -u MFLAGS make -s -C "$build" install-health prefix="$site" > "$etc/make.log" 2>&1 || skip_all "cannot install: $(tail -n 1 "$etc/make.log")"
scripts=$site/libexec/ucx-verity lines=$site/share/ucx-verity/health/slurm.conf.example
mkdir -p "$site/bin" "$etc/bin"
cat > "$site/bin/ucx-verity" << SH
#!/bin/sh
case \$1 in
  check) shift; exec "$tool" check --injected --ledger "$tap_dir/here.ledger" --directory "$tap_dir/here" "\$@" ;;
  *) exec "$tool" "\$@" ;;
esac
SH
# The log, and what counts the runs.
cat > "$etc/bin/logger" << SH
#!/bin/sh
echo "\$*" >> $etc/log
SH
cat > "$etc/bin/systemctl" << SH
#!/bin/sh
echo "\$*" >> $etc/epilog.log
SH
cat > "$etc/run" << SH
#!/bin/sh
echo run >> $etc/runs
PATH=$etc/bin:\$PATH UCX_VERITY_CHECK_CONF=$etc/check.conf SLURM_CONF=$etc/slurm.conf exec "$scripts/slurm-health-check"
SH
{
  printf '#!/bin/sh\nPATH=%s:$PATH\n' "$etc/bin"
  sed -n 's/^#   \(systemctl .*\)/\1/p' "$lines"
} > "$etc/epilog"
chmod +x "$site/bin/ucx-verity" "$etc/bin"/* "$etc/run" "$etc/epilog"
slurm_start "$etc" "$(sed -e 's/^#\(TaskProlog=\)/\1/' -e "s|^HealthCheckProgram=.*|HealthCheckProgram=$etc/run|" \
  -e 's/^HealthCheckInterval=.*/HealthCheckInterval=2/' "$lines")
Epilog=$etc/epilog"

is_drained() { grep -q 'DRAIN' <<< "$(state)"; }
ran_again() { [ "$(wc -l < "$etc/runs")" -gt "$1" ]; }

is "the health check of the shipped lines is the shipped script" "$(sed -n 's/^HealthCheckProgram=//p' "$lines")" "$scripts/slurm-health-check"
is "and so is the TaskProlog" "$(sed -n 's/^#TaskProlog=//p' "$lines")" "$scripts/slurm-task-prolog"
ln -s node0 "$tap_dir/here"
wait_for is_idle || skip_all "Slurm does not start here: $(slurm_words)"

# Transports are settled where a task runs, though the module was loaded on a node with others.
here=$(env -u UCX_TLS "$tool" env --shell slurm | sed -n 's/^export UCX_TLS=//p')
task() { # task VARIABLE=VALUE...: UCX_TLS as a task of srun finds it
  env SLURM_TASK_PROLOG="$scripts/slurm-task-prolog" VERITY_MODULE_TLS=vrc_mlx5,vself "$@" timeout 60 srun -n 1 --mpi=none sh -c 'echo "$UCX_TLS"' 2> "$etc/srun.err"
}
is "srun: the transports of the node that runs the task" "$(task UCX_TLS=vrc_mlx5,vself)" "$here"
is "srun: what the user has chosen stays" "$(task UCX_TLS=vtcp,vself)" "vtcp,vself"
# shellcheck disable=SC2016 # for the task's shell
by_names() { # by_names VARIABLE=VALUE...: what a task finds by UCX's own names, after that module was loaded
  env SLURM_TASK_PROLOG="$scripts/slurm-task-prolog" VERITY_MODULE_TLS= UCX_VERITY_TRANSPARENT=y UCX_TLS=tcp,self "$@" \
    timeout 60 srun --quiet -n 1 --mpi=none sh -c 'echo "$UCX_TLS ${LD_PRELOAD##*/}"' 2>&1
}
is "srun: by UCX's own names transports stay" "$(by_names)" "tcp,self $(! needs_preload || echo libverity_preload.so)"
mv "$site/bin/ucx-verity" "$site/bin/away"
contains "srun: where there is no plugin, the task says so" "$(by_names)" '^ucx-verity: not loaded on .*, and the task cannot run verified: '
contains "  and finds no transport" "$(by_names)" '^ucx_verity_is_not_loaded '
mv "$site/bin/away" "$site/bin/ucx-verity"
printf '#!/bin/sh\neval "$(%s env)"\necho "$UCX_TLS"\n' "$tool" > "$etc/job.sh"
(cd "$etc" && UCX_TLS=vrc_mlx5,vself timeout 60 sbatch --wait -o "$etc/job.out" "$etc/job.sh" > "$etc/sbatch.out" 2>&1)
is "sbatch: a script that evaluates env has those of its node" "$(cat "$etc/job.out")" "$here"
tries=180

# ---- TaskProlog, Epilog ---------------------------------------------------------------------------------------------------------
# in_task [OPTION...] COMMAND: a shell's command as the only task of a job.
in_task() { (unset UCX_TLS; within 100 srun --quiet -n 1 "${@:1:$#-1}" bash -c "${@: -1}" 2>&1); }
wanted=$("$tool" env --json | sed -n 's/^    "\([A-Z_a-z]*\)": "\(.*\)",*$/\1=\2/p' | sort)
ok "there is something to set" grep -q '^UCX_TLS=v' <<< "$wanted"
# shellcheck disable=SC2016 # for the task's shell
is "a task has the plugin's variables, as they are" \
  "$(in_task 'env' | grep -E "^($(cut -d= -f1 <<< "$wanted" | paste -sd '|'))=" | sort)" "$wanted"
# shellcheck disable=SC2016
is "what starts the task has no preload" "$(in_task 'tr "\0" "\n" < /proc/$PPID/environ | grep -c ^LD_PRELOAD= || :')" 0
program=$(mpi_program "$openmpi" hello_integrity)
export UCX_VERITY_HEALTH_DIR=$etc/spool UCX_VERITY_ATTEST_FILE=$etc/attest OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
contains "an MPI job of such a task is right" \
  "$(in_task "env -u SLURM_JOB_ID -u SLURM_JOBID '$openmpi' --oversubscribe -np 2 '$program' 50 1000")" ' 0 messages wrong'
ok "and verified" test "$(json_sum frames_verified "$etc/attest")" -gt 0
# shellcheck disable=SC2016
is "a job that names wrapped transports keeps them" "$(UCX_TLS=vtcp,vself within 100 srun --quiet -n 1 bash -c 'echo "$UCX_TLS ${LD_PRELOAD-none}"')" "vtcp,vself none"
unset UCX_VERITY_HEALTH_DIR UCX_VERITY_ATTEST_FILE
mv "$site/bin/ucx-verity" "$site/bin/away"
# shellcheck disable=SC2016
output=$(in_task -n 2 'echo "ran ${LD_PRELOAD-without}"')
mv "$site/bin/away" "$site/bin/ucx-verity"
is "a node without the plugin: the tasks run" "$(grep -c '^ran without$' <<< "$output")" 2
is "and one of them says so" "$(grep -c '^ucx-verity: not loaded on .*, the messages of this job are NOT verified: .*ucx-verity' <<< "$output")" 1
has_ended() { [ -s "$etc/epilog.log" ]; }
wait_for has_ended
unit=$(sed -n '1s/.* \([^ ]*\.service\)$/\1/p' "$etc/epilog.log")
contains "the Epilog's line runs" "$(head -n 1 "$etc/epilog.log")" '^start --no-block [^ ]+\.service$'
ok "and its unit is one that is installed: $unit" test -e "$site/share/ucx-verity/health/$unit"

# ---- the health check -----------------------------------------------------------------------------------------------------------
rm -f "$etc/log"
hosts_job clean "" mixed -n 600
tap_result $? "a clean job of four hosts"
: >> "$etc/runs"
wait_for ran_again $(($(wc -l < "$etc/runs") + 2))
tap_result $? "Slurm runs the health check"
ok "the node stays" is_idle
ok "and all of it was checked" test ! -e "$etc/log"

hosts_job guilty 1 mixed -n 1500
tap_result $? "a job of which host node1 damages what it sends"
ran=$(wc -l < "$etc/runs")
wait_for ran_again $((ran + 2))
tap_result $? "the check runs on a host that received damaged data"
ok "which is not drained for that" is_idle

# A typo in the site's file, an option that is none, a command that is not there, one that dies: none of it drains, even there. By a
# command and a file of their own, as Slurm runs its check meanwhile.
for mistake in 'criticl=3' 'critical=' 'critical=3%' 'hours=-1' '--critical 3' missing 'exit 1' 'exit 2' 'kill -9 $$' 'echo CRITICAL; exit 2'; do
  rm -f "$etc/log" "$etc/wrong" "$etc/wrong.conf"
  case $mistake in
    missing) ;;
    exit* | kill* | echo*) printf '#!/bin/sh\n%s\n' "$mistake" > "$etc/wrong" ;;
    *)
      echo "$mistake" > "$etc/wrong.conf"
      printf '#!/bin/sh\nshift\nexec "%s" check --injected --ledger "%s" --directory "%s" "$@"\n' "$tool" "$tap_dir/no.ledger" "$tap_dir/node1" > "$etc/wrong"
      ;;
  esac
  [ "$mistake" = missing ] || chmod +x "$etc/wrong"
  PATH=$etc/bin:$PATH UCX_VERITY=$etc/wrong UCX_VERITY_CHECK_CONF=$etc/wrong.conf "$scripts/slurm-health-check" > "$etc/mistake.out" 2>&1
  is "$mistake: no failure" "$?" 0
  contains "$mistake: the log says what was not checked" "$(cat "$etc/log")" 'ucx-verity .*-- node not checked \(status '
  ok "$mistake: the node stays" is_idle
done
ln -sfn node1 "$tap_dir/here"
wait_for is_drained
tap_result $? "the host that sent it is drained"
contains "with the reason" "$(state)" 'Reason=ucx-verity: [0-9]+ faults \(0 in, [0-9]+ out\) with 3 of 3 hosts: device memory'

done_testing

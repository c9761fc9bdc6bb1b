#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# `ucx-verity acceptance` in an allocation of a real Slurm of two nodes, which are hosts of namespaces: no host is named, and what
# runs there are steps of the job.
. "${abs_top_srcdir:?}/test/integration/lib.sh"
. "$abs_top_srcdir/test/integration/mpi/two_hosts.sh"
. "$abs_top_srcdir/test/integration/slurm_node.sh"

missing=$(slurm_missing)
[ -z "$missing" ] || skip_all "$missing"
hosts_up > "$tap_dir/hosts.log" 2>&1 || skip_all "no hosts of namespaces here: $(tail -n 1 "$tap_dir/hosts.log")"
trap 'slurm_stop; rm -rf "$tap_dir"' EXIT
mkdir "$tap_dir/base" "$tap_dir/tmp"
slurm_start "$tap_dir/slurm" "" a b
wait_for is_idle || skip_all "Slurm does not start here: $(slurm_words)"

status=0
report=$(on a env -i PATH="$PATH" HOME="$tap_dir" TMPDIR="$tap_dir/tmp" USER=jane LD_LIBRARY_PATH="${LD_LIBRARY_PATH:-}" SLURM_CONF="$SLURM_CONF" \
  UCX_NET_DEVICES=data OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 PRTE_ALLOW_RUN_AS_ROOT=1 PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1 \
  timeout 550 salloc --quiet --nodes=2 "$build/ucx-verity" acceptance --quick --no-cost --directory "$tap_dir/base" 2> "$tap_dir/progress") || status=$?
is "exit status" "$status" 0
contains "the hosts are those of the allocation, reached by steps of it" "$(cat "$tap_dir/progress")" \
  "^ucx-verity acceptance: host-a and host-b, by 'srun --overlap --nodes=1 --ntasks=1 --nodelist=host-a'"
contains "the verdict" "$report" '^PASSED: [0-9]+ steps passed'
contains "Slurm's version is named" "$report" '^  Slurm +[0-9.]+$'
contains "messages between them" "$report" '^  passed +tcp, nothing injected: 400 messages, [0-9]+ bytes right'
contains "damage is repaired" "$report" '^  passed +tcp: [1-9][0-9]* frames damaged, [1-9][0-9]* found and repaired, no message wrong'
if [ -n "$openmpi" ] && on a srun --mpi=list 2>&1 | grep -q pmix; then
  contains "a job of two tasks, by PMIx" "$report" '^  passed +MPI job, damage on the way: all messages right; stock UCX delivered [1-9]'
else
  skip "a job of two tasks, by PMIx" "no Open MPI, or this Slurm has no PMIx"
fi
is "nothing is left on the hosts" "$(ls -A "$tap_dir/base"; ls -A "$tap_dir/tmp"; for host in a b; do on $host ls /dev/shm; done)" ""
done_testing

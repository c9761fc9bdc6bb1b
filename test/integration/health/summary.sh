#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# What a user reads at the end of a job: one report for its ranks, whose sums balance, or one line that says that nothing passed the
# plugin; and which job the files name.
. "${abs_top_srcdir:?}/test/integration/lib.sh"
[ -n "$openmpi" ] || skip_all "no Open MPI"
tool=$build/ucx-verity
[ -x "$tool" ] || skip_all "the command is not built"
dir=$tap_dir/health
mkdir -p "$dir" "$tap_dir/away"
export UCX_VERITY_HEALTH_DIR=$dir UCX_VERITY_HOST=alpha
unset $(compgen -v SLURM_) PBS_JOBID LSB_JOBID LSB_JOBINDEX FLUX_JOB_ID

said() { grep -c '^ucx-verity: ' "$tap_dir/job"; }
# MPICH's mpiexec may end the line of a rank behind what another one writes.
output_of() {
  local status=0
  "$@" > "$tap_dir/job" 2>&1 || status=$?
  sed -i 's/^vanish done\(ucx-verity:\)/vanish done\n\1/' "$tap_dir/job"
  return "$status"
}
job() { output_of mpi_run 100 "$@"; } # job LAUNCHER RANKS LIST PROGRAM ARGUMENT...
one_line() { # one_line NAME REGEX: the job's only line of ours matches
  contains "$1" "$(cat "$tap_dir/job")" "$2"
  is "$1: and once" "$(said)" 1
  [ "$(said)" -eq 1 ] || note "$(cat "$tap_dir/job")"
}
clean() { rm -f "$dir"/* "$dir"/.job-* "$tap_dir"/attest.* "$tap_dir"/fault.*; }
left_behind() { find "$dir" -name '.job-*' | wc -l; }

# ---- active or not ------------------------------------------------------------------------------
for launcher in "$openmpi" ${mpich:+"$mpich"}; do
  mpi=$(flavour "$launcher")
  # Not tcp: MPI_Finalize of stock MPICH 4.0.2 waits for ever over it, in 3 of 100 runs of two ranks.
  UCX_VERITY_ATTEST=auto job "$launcher" 2 posix,self vanish
  one_line "$mpi: raw transports, said by itself" '^ucx-verity: NOTHING VERIFIED: no message used the plugin \(UCX_TLS=posix,self\)$'
  contains "$mpi: the job is right" "$(cat "$tap_dir/job")" '^vanish done$'
  contains "$mpi: status shows what does not use it" "$("$tool" status --brief "$dir")" 'r1 .* unused '
  is "$mpi: in JSON too" "$("$tool" status --json "$dir" | grep -c '"unused": true')" 2
  clean
  UCX_VERITY_ATTEST=never job "$launcher" 2 posix,self vanish
  is "$mpi: unless it may not" "$(said)" 0
  clean
done
export UCX_VERITY_ATTEST=always
ob1() { # ob1 RANKS COMMAND...: with wrapped transports in UCX_TLS, but another PML
  with_tls vtcp,vself timeout -k 5 100 "$openmpi" --mca pml ob1 -np "$@" > "$tap_dir/job" 2>&1 < /dev/null
}
no_plugin='^ucx-verity: NOTHING VERIFIED: no message used the plugin \(pml/ob1, not pml/ucx\)$'
ob1 2 "$build/test/mpi/vanish"
one_line "mpirun --mca pml ob1" "$no_plugin"
# Without UCX: over the loopback, as Open MPI 5 finds no way between two processes over some hosts' own address.
export OMPI_MCA_btl=tcp,self OMPI_MCA_btl_tcp_if_include=lo OMPI_MCA_osc=^ucx
ob1 2 "$build/test/mpi/vanish"
if needs_preload; then
  one_line "and without UCX in the process" "$no_plugin"
  UCX_VERITY_ATTEST=auto ob1 2 "$build/test/mpi/vanish" away "$tap_dir/away"
  one_line "said by itself: UCX_TLS was to verify it; also where the launcher's variables were removed" "$no_plugin"
else
  is "and without UCX in the process nothing of the plugin is there to say so" "$(said)" 0
fi
UCX_VERITY_ATTEST=never ob1 2 "$build/test/mpi/vanish"
is "unless it may not" "$(said)" 0
contains "unless it may not: the job is right" "$(cat "$tap_dir/job")" '^vanish done$'
unset OMPI_MCA_btl_tcp_if_include OMPI_MCA_osc
OMPI_MCA_btl=^uct # that of Open MPI 6 opens what there is, in any job
ob1 1 "$build/test/mpi/vanish"
is "a job of one rank sends nothing" "$(said)" 0
unset OMPI_MCA_btl
clean
ob1 2 ls /
is "nor does what is no MPI program" "$(said)" 0
with_tls vtcp,vself bash -c 'ls / && true' > "$tap_dir/job" 2>&1
is "nor a shell" "$(said)" 0
with_tls tcp,self timeout 60 "$openmpi" -np 2 "${UCX_INFO:-ucx_info}" -d > "$tap_dir/job" 2>&1 < /dev/null
lacks "nor one that only looks at UCX" "$(cat "$tap_dir/job")" '^ucx-verity: (loaded|active)'
is "and none of these leaves a file" "$(find "$dir" -name '*.health' | wc -l)" 0
job "$openmpi" 2 vtcp,vself vanish silent
one_line "ranks that send nothing are active" '^ucx-verity: active, but the program sent no messages: 2 ranks on alpha$'
clean

# ---- one report for all ranks -------------------------------------------------------------------
for launcher in "$openmpi" ${mpich:+"$mpich"}; do
  mpi=$(flavour "$launcher")
  job "$launcher" 4 vposix,vself vanish
  one_line "$mpi: one report for four ranks" '^ucx-verity: 4 ranks on alpha: [0-9.]+ K?i?B verified, no damage found$'
  contains "$mpi: with what was counted" "$(cat "$tap_dir/job")" '^  verified +[1-9][0-9,]* frames'
  is "$mpi: nothing is left behind" "$(left_behind)" 0
  UCX_VERITY_ATTEST_RANKS=y job "$launcher" 2 vposix,vself vanish
  is "$mpi: one for each rank, where that is wanted" "$(grep -cE '^ucx-verity: rank [01], pid' "$tap_dir/job") $(said)" "2 2"
  UCX_VERITY_HEALTH=n UCX_VERITY_ATTEST_FILE="$tap_dir/attest.%r" job "$launcher" 2 vposix,vself vanish
  contains "$mpi: and where there are no health files" "$(cat "$tap_dir/job")" '^ucx-verity: rank [01], pid'
  lacks "$mpi: none for all then" "$(cat "$tap_dir/job")" '^ucx-verity: [0-9]+ ranks'
  is "$mpi: files have each rank's own in any case" "$(cat "$tap_dir"/attest.[01] | wc -l)" 2
  # MPICH 4.2's mpiexec would take its end for a crash and kill the others before they report.
  with_tls vposix,vself within 100 "$launcher" $([ "$mpi" != mpich ] || echo -disable-auto-cleanup) -np 3 \
    "$(mpi_program "$launcher" vanish)" 1 > "$tap_dir/job" 2>&1
  one_line "$mpi: a rank that vanished is missed" '^ucx-verity: 3 ranks on alpha: .*; 1 of 3 ranks did not report$'
  clean
done
# shellcheck disable=SC2016 # for the inner shell
if unshare -rm true 2> /dev/null; then
  for launcher in "$openmpi" ${mpich:+"$mpich"}; do
    output_of unshare -rm bash -c 'mount -t tmpfs -o size=1m none "$1" && shift && "$@"' - "$dir" \
      bash -c ". '$abs_top_srcdir/test/integration/lib.sh'; mpi_run 100 '$launcher' 6 vposix,vself vanish full '$dir/full'"
    one_line "$(flavour "$launcher"): one report also where the file system has filled up" \
      '^ucx-verity: 6 ranks on alpha: [0-9.]+ K?i?B verified, no damage found$'
  done
else
  skip "one report also where the file system has filled up" "no user namespaces here"
fi
# A program that goes to another folder, and removes the variables of its launcher to start jobs of its own.
for launcher in "$openmpi" ${mpich:+"$mpich"}; do
  mpi=$(flavour "$launcher")
  (
    cd "$tap_dir" || exit 1
    export UCX_VERITY_HEALTH_DIR=health UCX_VERITY_ATTEST_FILE=attest.%r UCX_VERITY_TYPECHECK=warn UCX_VERITY_TYPECHECK_LOG=types
    typechecked 100 "$launcher" 2 vposix,vself vanish away "$tap_dir/away" > "$tap_dir/job"
  )
  is "$mpi: one report of a program that goes away" "$(grep -c '^ucx-verity: 2 ranks on alpha: ' "$tap_dir/job")" 1
  is "$mpi: and its files are where it began" "$(cat "$tap_dir"/attest.[01] | wc -l) $(wc -l < "$tap_dir/types") $(left_behind)" "2 1 0"
  is "$mpi: and none where it went" "$(find "$tap_dir/away" -type f)" ""
  rm -f "$tap_dir/types"
  clean
  UCX_VERITY_ATTEST=auto job "$launcher" 2 vposix,vself vanish away "$tap_dir/away"
  is "$mpi: nothing of it is taken for unverified" "$(said)" 0
  UCX_VERITY_ATTEST=auto job "$launcher" 2 posix,self vanish away "$tap_dir/away"
  one_line "$mpi: unless all is" '^ucx-verity: NOTHING VERIFIED: no message used the plugin \(UCX_TLS=posix,self\)$'
  clean
done
# A rank that reports by itself is not accused.
cat > "$tap_dir/other_rank" << 'SH'
#!/bin/bash
[ "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}" != 1 ] || export "$OTHER_RANK"
exec "$@"
SH
chmod +x "$tap_dir/other_rank"
for launcher in "$openmpi" ${mpich:+"$mpich"}; do
  for setting in UCX_VERITY_HEALTH=n UCX_VERITY_ATTEST_RANKS=y; do
    OTHER_RANK=$setting output_of with_tls vposix,vself within 100 "$launcher" -np 3 "$tap_dir/other_rank" "$(mpi_program "$launcher" vanish)"
    name="$(flavour "$launcher"): a rank with $setting"
    contains "$name has a report of its own" "$(cat "$tap_dir/job")" '^ucx-verity: rank 1, pid'
    contains "$name: the others' is without it" "$(cat "$tap_dir/job")" '^ucx-verity: 3 ranks on alpha: .*; 1 of 3 ranks is not in this report$'
    clean
  done
done
job "$openmpi" 2 vposix,vself vanish fail
one_line "a rank that fails reports at once: mpirun kills the others" '^ucx-verity: 2 ranks on alpha: .*; 1 of 2 ranks did not report$'
clean
for launcher in "$openmpi" ${mpich:+"$mpich"}; do
  job "$launcher" 4 vposix,vself vanish fail all
  one_line "$(flavour "$launcher"): ranks that all fail have one report" '^ucx-verity: 4 ranks on alpha: [0-9.]+ K?i?B verified, no damage found$'
  clean
done
job "$openmpi" 1 vtcp,vself spawned
is "spawned worlds report for themselves" "$(grep -c '^ucx-verity: 1 rank on alpha: ' "$tap_dir/job")" 3
is "and leave nothing behind" "$(left_behind)" 0
clean

# ---- the sums balance ---------------------------------------------------------------------------
unset UCX_VERITY_ATTEST
export UCX_VERITY_ATTEST_FILE="$tap_dir/attest.%r"
damage_frames 0.01 3 flip
job "$openmpi" 2 vfposix,vself mixed -n 5000 -m 20000
no_damage
contains "the job is right" "$(cat "$tap_dir/job")" 'wrong 0 lost 0'
one_line "its report says so" \
  '^ucx-verity: 2 ranks on alpha: .* verified, [0-9,]+ faults found( and|, [0-9]+) repaired(, [0-9]+ no longer needed)?: all data arrived right$'
# Sum of the numbers behind these words in the line of faults.
in_faults() { grep -E '^  faults ' "$tap_dir/job" | grep -oE "($1) [0-9]+" | grep -oE '[0-9]+$' | awk '{ n += $1 } END { print n + 0 }'; }
note "$(grep -E '^  faults ' "$tap_dir/job")"
found=$(in_faults 'payload|header|length')
ok "damaged headers are among them" test "$(in_faults header)" -gt 0
is "and repaired too" "$(in_faults 'repaired|no longer needed')" "$found"
is "as many as the ranks' own reports have" \
  "$(($(json_sum faults_payload "$tap_dir"/attest.*) + $(json_sum faults_header "$tap_dir"/attest.*) + $(json_sum faults_length "$tap_dir"/attest.*)))" "$found"
contains "by link" "$(cat "$tap_dir/job")" '^  by link +within alpha \(vfposix/[a-z]+\) [1-9][0-9]*'
unset UCX_VERITY_ATTEST_FILE
clean

# ---- which job ----------------------------------------------------------------------------------
export SLURM_JOB_ID=4711 UCX_VERITY_ATTEST=always
# Open MPI 6 wants more of what Slurm sets.
export SLURM_NODELIST=$(hostname) SLURM_TASKS_PER_NODE=2
UCX_VERITY_ATTEST_FILE="$tap_dir/attest.%x.%j.%s.%r" UCX_VERITY_FAULT_LOG="$tap_dir/fault.%j" \
  UCX_FAULT_KINDS=flip UCX_FAULT_RATE=0.01 UCX_FAULT_PLACE=payload job "$openmpi" 2 vfposix,vself mixed -n 3000 -m 20000
contains "the report names the job" "$(cat "$tap_dir/job")" '^ucx-verity: job 4711, 2 ranks on alpha: '
is "file names have it" "$(cd "$tap_dir" && echo attest.* fault.*)" "attest.mixed.4711.0.0 attest.mixed.4711.0.1 fault.4711"
contains "reports have it" "$(cat "$tap_dir"/attest.*)" '"job":"4711"'
contains "records of faults" "$(cat "$tap_dir/fault.4711")" '"event":"fault".*"job":"4711"'
contains "ucx-verity report" "$("$tool" report --injected "$tap_dir/fault.4711")" '^  faults by job: 4711 \([0-9]+\)$'
contains "health files" "$("$tool" status --json "$dir")" '"job": "4711"'
is "by which they are chosen" "$("$tool" status --brief --job 4711 "$dir" | head -n 1) $("$tool" status --brief --job 1 "$dir")" \
  "alpha: 2 processes, 2 ended 0 processes"
metrics=$("$tool" export --ledger "$tap_dir/ledger" --directory "$dir" --jobs --keep 100)
contains "the exporter, if it may" "$metrics" '^# TYPE ucx_verity_job_faults gauge$'
lacks "of what was damaged on purpose it says nothing" "$metrics" '^ucx_verity_job_faults\{'
lacks "and of no job without the option" "$("$tool" export --ledger "$tap_dir/ledger" --directory "$dir" --keep 100)" 'job'
for variable in ATTEST_FILE FAULT_LOG; do
  output=$(with_tls vtcp,vself env "UCX_VERITY_$variable=/tmp/%h.%q" timeout 60 "${UCX_INFO:-ucx_info}" -d 2>&1)
  is "$variable: an unknown sign is named, once" \
    "$(grep -cF "ucx-verity: UCX_VERITY_$variable=/tmp/%h.%q: %q stands for nothing; allowed: %h (host), " <<< "$output")" 1
  lacks "$variable: and nothing is wrapped" "$output" 'Transport: v'
done

done_testing

#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Health files of real jobs: they hold what was counted, by path and peer host, also of processes that were killed; whatever lies in
# the folder harms neither the job nor who reads it.
. "${abs_top_srcdir:?}/test/integration/lib.sh"
[ -n "$openmpi" ] || skip_all "no Open MPI"
tool=$build/ucx-verity
[ -x "$tool" ] || skip_all "the command is not built"

dir=$tap_dir/health
mkdir "$dir"
export UCX_VERITY_HEALTH_DIR=$dir UCX_VERITY_HOST=alpha

hello() { mpi_run 300 "$openmpi" 2 "$@"; } # hello LIST PROGRAM ARGUMENT...
status() { within 300 "$tool" status "$@" "$dir" 2>&1; }
# The processes' sums of a counter: its first place in each process of the JSON, before the paths.
sum_of() { status --json | sed -n '/^      "counters": {/,/^      }/p' | grep "\"$1\":" | grep -o '[0-9]*' | awk '{ s += $1 } END { print s + 0 }'; }
# In the lines that match $1 of `status --all`: the sum of the column of faults.
faults_of() { status --all | grep -E "$1" | awk '{ s += $(NF - 5) } END { print s + 0 }'; }

# ---- what was counted -----------------------------------------------------------------------------------------------------------
export UCX_VERITY_ATTEST_FILE="$tap_dir/attest.%p" UCX_FAULT_REPORT="$tap_dir/fault.%p"
damage_frames 0.005 3 flip
export UCX_FAULT_PLACE=payload UCX_FAULT_MIN_LEN=2k
contains "the job is right" "$(hello vftcp,vself mixed -n 5000 -m 60000)" 'wrong 0 lost 0'
no_damage
injected=$(json_sum faults "$tap_dir"/fault.*)
ok "faults were injected" test "$injected" -gt 0
is "the files have as many as were injected" "$(sum_of faults_payload)" "$injected"
is "and as the attestation says" "$(sum_of frames_verified)" "$(json_sum frames_verified "$tap_dir"/attest.*)"
is "by path" "$(faults_of '^  vftcp/')" "$injected"
is "by peer host, as UCX_VERITY_HOST names it" "$(faults_of '^    alpha ')" "$injected"
is "two processes, which ended" "$(status --brief | head -n 1)" "alpha: 2 processes, 2 ended"
lacks "no line is longer than 80 columns" "$(status --all)" '.{81}'
is "the files are private" "$(find "$dir" -name '*.health' -perm 600 | wc -l)" 2
if command -v python3 > /dev/null; then
  ok "the JSON parses" python3 -c 'import json, sys; json.load(sys.stdin)' < <(status --json)
fi
unset UCX_VERITY_ATTEST_FILE
rm -f "$dir"/* "$tap_dir"/attest.* "$tap_dir"/fault.*

# What the interposer counts goes there as well.
(UCX_VERITY_TYPECHECK=warn typechecked 300 "$openmpi" 2 vposix,vself types wrong) > "$tap_dir/types" 2>&1
mismatched=$(grep -o '[0-9]* mismatched' "$tap_dir/types" | awk '{ s += $1 } END { print s + 0 }')
ok "datatypes that do not match were found" test "$mismatched" -gt 0
is "and are in the files" "$(sum_of types_mismatched)" "$mismatched"
rm -f "$dir"/*

# ---- no communication, no file; what is asked for -------------------------------------------------------------------------------
with_tls vtcp,vself "${UCX_INFO:-ucx_info}" -d > /dev/null 2>&1
is "a process that opens no link makes no file" "$(find "$dir" -type f | wc -l)" 0
contains "a job without files" "$(UCX_VERITY_HEALTH=n hello vposix,vself hello_integrity 50 1000)" ' 0 messages wrong'
is "UCX_VERITY_HEALTH=n makes none" "$(find "$dir" -type f | wc -l)" 0
(UCX_VERITY_HEALTH_MODE=0644 hello vposix,vself hello_integrity 50 1000) > /dev/null
is "UCX_VERITY_HEALTH_MODE opens them" "$(find "$dir" -name '*.health' -perm 644 | wc -l)" 2
rm -f "$dir"/*

# ---- children that the program forks --------------------------------------------------------------------------------------------
export UCX_VERITY_ATTEST_FILE="$tap_dir/attest.%p"
inside="env -u LD_PRELOAD '$tool' status --json '$dir' > '$tap_dir/inside'; find '$dir' -type f ! -name '.*' | wc -l > '$tap_dir/files'"
output=$(hello vposix,vself forks "$inside")
is "children that end in five ways: the job is right" "$(grep -c ': 0 wrong, 0 failed$' <<< "$output")" 2
is "they made no file, and left both" "$(cat "$tap_dir/files") $(status --brief | head -n 1)" "2 alpha: 2 processes, 2 ended"
is "nor did they end their parents'" "$(grep -c '"state": "running"' "$tap_dir/inside")" 2
is "which count on" "$(sum_of frames_verified)" "$(json_sum frames_verified "$tap_dir"/attest.*)"
is "and have reported twice, not six times, at their end" "$(cat "$tap_dir"/attest.* | wc -l)" 2
unset UCX_VERITY_ATTEST_FILE
rm -f "$dir"/* "$tap_dir"/attest.*

# ---- killed in the middle -------------------------------------------------------------------------------------------------------
hello vposix,vself hello_integrity 1000000000 1000 > "$tap_dir/killed" 2>&1 &
job=$!
for _ in $(seq 600); do
  [ "$(sum_of frames_verified)" -gt 1000 ] && [ "$(status --brief --running | grep -c running)" -eq 3 ] && break
  sleep 0.5
done
contains "seen while they run" "$(status)" '^alpha: 2 processes, 2 running$'
top=$(within 100 "$tool" top --batch -n 2 -d 0.2 "$dir" 2>&1)
contains "top shows them" "$top" 'r1 hello_integrity'
lacks "top: no line is longer than 80 columns" "$top" '.{81}'
contains "top --by device" "$(within 100 "$tool" top -b -n 1 --by device "$dir")" '^memory '
contains "top --by peer" "$(within 100 "$tool" top -b -n 1 --by peer --sort verified "$dir")" '^alpha '
contains "top without a terminal names --batch" "$(within 100 "$tool" top "$dir" 2>&1 < /dev/null)" '^ucx-verity top: this is no terminal: use --batch$'
before=$(sum_of frames_verified)
status --brief --running | awk '/running/ && NR > 2 { print $1 }' | grep -x '[0-9]*' | xargs -r kill -9
wait "$job" 2> /dev/null
is "kill -9 leaves both files" "$(status --brief | head -n 1)" "alpha: 2 processes, 2 killed"
ok "with what was counted" test "$(sum_of frames_verified)" -ge "$before"
is "removed only after their time" "$(status --collect --keep 3600) $(status --collect --keep 3600)" "0 files removed 0 files removed"
is "which begins when it is noticed" "$(status --collect --keep 0)" "2 files removed"

# ---- cut while it is in use -----------------------------------------------------------------------------------------------------
UCX_VERITY_ATTEST=always hello vposix,vself hello_integrity $(normal_or_long 600000 3000000) 1000 > "$tap_dir/cut" 2>&1 &
job=$!
for _ in $(seq 600); do
  [ "$(sum_of frames_verified)" -gt 1000 ] && break
  sleep 0.1
done
truncate -s 0 "$dir"/*.health
status=0
wait "$job" || status=$?
is "a job whose files are cut ends well" "$status" 0
contains "and is right" "$(cat "$tap_dir/cut")" ' 0 messages wrong'
is "and says so" "$(grep -c '^ucx-verity: pid [0-9]*: .*\.health was cut while it was in use: what was counted before is lost$' "$tap_dir/cut")" 2
rm -f "$dir"/*

# ---- folders that cannot be used ------------------------------------------------------------------------------------------------
for folder in "$tap_dir/none" /proc "$tap_dir/file" "$tap_dir/open"; do
  case $folder in
    */file) : > "$folder" ;;
    */open) mkdir -m 777 "$folder" ;;
  esac
  output=$(UCX_VERITY_HEALTH_DIR=$folder hello vposix,vself hello_integrity 50 1000)
  contains "$(basename "$folder"): the job is right" "$output" ' 0 messages wrong'
  is "$(basename "$folder"): one line says why there is no file" \
    "$(grep -c "WARN  *ucx-verity: no health file: $folder: .*set UCX_VERITY_HEALTH_DIR" <<< "$output")" 1
done
# shellcheck disable=SC2016 # for the inner shell
if unshare -rm true 2> /dev/null; then
  output=$(UCX_VERITY_HEALTH_DIR=$dir unshare -rm bash -c 'mount -t tmpfs -o size=8k none "$1" && shift && "$@"' - "$dir" \
    bash -c ". '$abs_top_srcdir/test/integration/lib.sh'; mpi_run 300 '$openmpi' 2 vposix,vself hello_integrity 50 1000")
  contains "a full file system: the job is right" "$output" ' 0 messages wrong'
else
  skip "a full file system" "no user namespaces here"
fi

# ---- whatever lies there --------------------------------------------------------------------------------------------------------
hello vposix,vself hello_integrity 50 1000 > /dev/null
file=$(find "$dir" -name '[!.]*.health' | head -n 1) # not the hidden one that a killed job leaves of its report
cp "$file" "$dir/1-layout.health"
printf '\002' | dd of="$dir/1-layout.health" bs=1 seek=8 conv=notrunc 2> /dev/null
cp "$file" "$dir/2-name.health"
printf 'Z' | dd of="$dir/2-name.health" bs=1 seek=512 conv=notrunc 2> /dev/null
cp "$file" "$dir/3-later.health"
printf 'x' | dd of="$dir/3-later.health" bs=1 seek=512 conv=notrunc 2> /dev/null
head -c 700 "$file" > "$dir/4-cut.health"
mkfifo "$dir/5-pipe.health"
ln -s /dev/zero "$dir/6-link.health"
mkdir "$dir/7-folder.health"
: > "$dir/8-empty.health"
output=$(status)
contains "another layout is reported with its number" "$output" '1-layout.health: it has layout 2, this version reads 1: use'
contains "a name that is none" "$output" '2-name.health: the name of its counter 0 is none$'
contains "another version's counters are no problem" "$(status --json)" '"xrames_sent"'
contains "a cut file" "$output" '4-cut.health: it is cut: 700 bytes'
contains "a pipe" "$output" '5-pipe.health: it is a pipe$'
contains "a link" "$output" '6-link.health: it is a symbolic link$'
contains "a folder" "$output" '7-folder.health: it is no regular file$'
contains "an empty file" "$output" '8-empty.health: it is no health file$'
contains "a job starts beside them" "$(hello vposix,vself hello_integrity 50 1000)" ' 0 messages wrong'
contains "top reads on" "$(within 100 "$tool" top -b -n 1 --ended "$dir")" ', 7 not read$'
is "a folder that is not there" "$(within 100 "$tool" status "$tap_dir/none" 2>&1; echo $?)" \
  "$(printf '0 processes\nnot read: %s/none: it cannot be opened: No such file or directory\n2' "$tap_dir")"
rm -rf "${dir:?}"/*

# ---- very many ------------------------------------------------------------------------------------------------------------------
many=$(normal_or_long 20000 100000)
(cd "$dir" && seq -f '%.0f-stale.health' "$many" | xargs touch -d '2 days ago')
contains "a job among $many stale files" "$(hello vposix,vself hello_integrity 50 1000)" ' 0 messages wrong'
left=$(find "$dir" -name '*-stale.health' | wc -l)
ok "has removed some, but not all at once" test "$left" -lt "$many" -a "$left" -ge $((many - 200))
contains "status reports them" "$(status)" "^not read: $((left - 10)) more$"
is "the rest goes when asked" "$(status --collect)" "$left files removed"
is "but not those of the job" "$(status --brief | head -n 1)" "alpha: 2 processes, 2 ended"
rm -f "$dir"/*

# Many processes at a time, each with its own file.
if [ -x "$build/uct_am" ]; then
  for _ in $(seq 200); do
    with_tls vself within 600 "$build/uct_am" -r 10 -c mixed vself > /dev/null 2>&1 &
  done
  wait
  output=$(status --brief | head -n 1)
  is "200 processes of one node: a file each" "${output%%,*}" "alpha: 200 processes" # they end by _exit()
else
  skip "200 processes of one node" "uct_am is not built"
fi

done_testing

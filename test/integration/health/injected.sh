#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Faults that are made on purpose say nothing of this machine: the demonstration and the benchmark count in folders of their own, and
# what the corrupting transport damages is marked, and left out by check, export and report unless they are asked for it.
. "${abs_top_srcdir:?}/test/integration/lib.sh"
[ -n "$openmpi" ] || skip_all "no Open MPI"
tool=$build/ucx-verity
[ -x "$tool" ] || skip_all "the command is not built"
[ -e "$build/modules/libuct_fault.so.0" ] || skip_all "the corrupting transport is not built"

site=$tap_dir/site # in place of the folder that the machine's own jobs have by default
mkdir "$site"
export UCX_VERITY_HEALTH_DIR=$site
check() { "$tool" check --ledger "$tap_dir/ledger" --directory "$site" "$@" 2>&1; echo "exit $?"; }

# ---- the demonstration and the benchmark ----------------------------------------------------------------------------------------
mkdir -p "$tap_dir/prefix/bin"
printf '#!/bin/sh\nexec "%s" "$@"\n' "$tool" > "$tap_dir/prefix/bin/ucx-verity"
chmod +x "$tap_dir/prefix/bin/ucx-verity"
ok "the demonstration runs" "$abs_top_srcdir/contrib/quickstart-demo" "$tap_dir/prefix" "$build" posix
is "and counts nowhere else" "$(find "$site" -type f | wc -l)" 0
# As from UCX 1.22 on, whose env leaves a UCX_MODULE_DIR of the shell alone.
printf '#!/bin/sh\n"%s" "$@" | sed "s/UCX_MODULE_DIR/UCX_PLUGIN_PATH/"\n' "$tool" > "$tap_dir/prefix/bin/ucx-verity"
ok "the demonstration takes the plugin from UCX_PLUGIN_PATH" \
  env UCX_MODULE_DIR="$tap_dir/none" "$abs_top_srcdir/contrib/quickstart-demo" "$tap_dir/prefix" "$build" posix
contains "check says OK after it" "$(check)" '^UCX-VERITY OK: nothing verified in the last 24 h$'
ok "the benchmark runs" within 300 "$tool" bench --tls self --level uct --sizes 8 --seconds 0.02
is "and counts nowhere else either" "$(find "$site" -type f | wc -l)" 0

within 100 "$tool" doctor > "$tap_dir/doctor" 2>&1
is "nor does doctor" "$(find "$site" -type f | wc -l)" 0
# UCX's own tests set a variable that there is not, and counted with the machine's jobs. NAME stands for any in
# contrib/ucx-verity.conf.
known=$(grep -rhoE 'UCX_VERITY_[A-Z_]*[A-Z]|^\| UCX_VERITY.*' "$abs_top_srcdir"/{README.md,src/tools/man,src/uct/process/option_table.cc} | tr -c 'A-Z_\n' '\n')
known+=$(printf '\n%s' CHECK_CONF EXTRA_MODULES NAME PROBE_AFTER | sed 's/^\(.\)/UCX_VERITY_\1/')
is "scripts and campaigns set variables that there are" \
  "$(grep -rhoE '\bUCX_VERITY_[A-Z_]*[A-Z]=' "$abs_top_srcdir"/{contrib,test/campaign} | tr -d = | sort -u | grep -vxF "$known")" ""

# ---- faults of the corrupting transport -----------------------------------------------------------------------------------------
(
  damage_frames 0.02 3 flip
  export UCX_FAULT_PLACE=payload UCX_FAULT_MIN_LEN=600 UCX_FAULT_REPORT="$tap_dir/fault.%p" UCX_VERITY_FAULT_LOG="$tap_dir/records"
  mpi_clean "a job on a transport that flips bits is right" 'wrong 0 lost 0' 300 "$openmpi" 2 vfposix,vself mixed -n 3000 -m 9000
  echo "$tap_count $tap_failed" > "$tap_dir/counted"
)
read -r tap_count tap_failed < "$tap_dir/counted"
injected=$(json_sum faults "$tap_dir"/fault.*)
ok "it did: $injected faults" test "$injected" -gt 2
is "each record is marked" "$(grep -c '"injected":true' "$tap_dir/records") of $(wc -l < "$tap_dir/records")" "$injected of $injected"
contains "status marks the path" "$("$tool" status "$site")" '^  vfposix/memory +test '
contains "and so does its JSON" "$("$tool" status --json "$site")" '"injected": true'
metric() { awk -v wanted="ucx_verity_$1" '{ name = $1; sub(/\{.*/, "", name) } name == wanted { sum += $2 } END { print sum + 0 }' "$2"; }
# What the receivers found counts: of a frame that is damaged in several segments, or whose repair a receiver on a busy machine requests
# twice, senders count more.
"$tool" export --ledger "$tap_dir/first" --directory "$site" --injected > "$tap_dir/first.metrics"
resent=$(metric segments_resent_total "$tap_dir/first.metrics")
ok "most were sent again: $resent segments" test "$resent" -gt 0
output=$(check)
contains "check says OK, and what it left out" "$output" '^UCX-VERITY OK: .*no faults \('"$injected"' injected by a test transport left out, see --injected\)$'
is "with 0" "$(tail -n 1 <<< "$output")" "exit 0"
is "node health checks hear nothing" "$(check --nhc)" "exit 0"
# Both ends are on this host: 34 faults were "68 faults (34 in, 34 out)".
contains "check --injected counts them, each once" "$(check --injected)" "^UCX-VERITY CRITICAL: $injected faults \\($injected within this host\\): memory or processor of this host$"

# Of each kind: a payload, a header (and frames of which it is not known, as they came for the second time), a length.
kinds() { echo "$(metric faults_payload_total "$1") $(metric faults_header_total "$1") $(metric faults_length_total "$1")"; }
recorded() { echo "$(grep -c '"kind":"payload"' "$tap_dir/records") $(grep -cE '"kind":"(header|frame)"' "$tap_dir/records") 0"; }
"$tool" export --ledger "$tap_dir/ledger" --directory "$site" > "$tap_dir/plain"
"$tool" export --ledger "$tap_dir/ledger" --directory "$site" --injected > "$tap_dir/all"
is "export leaves them out" "$(kinds "$tap_dir/plain"), $(metric check_status "$tap_dir/plain")" "0 0 0, 0"
ok "and says how many" test "$(metric injected_faults "$tap_dir/plain")" -ge "$injected"
is "export --injected counts them" "$(kinds "$tap_dir/all"), $(metric check_status "$tap_dir/all")" "$(recorded), 2"
contains "a ledger keeps the mark" "$(check)" '^UCX-VERITY OK: .*injected by a test transport left out'

output=$("$tool" report "$tap_dir/records")
contains "report leaves them out" "$output" '^ucx-verity report: 0 faults of machines'
contains "with a line" "$output" "^  $injected faults that a test transport made on purpose: --injected counts them"
contains "report --injected counts them" "$("$tool" report --injected "$tap_dir/records")" "^ucx-verity report: $injected faults of machines"

# The mark alone decides: the same files without it are those of a machine that damages data.
if command -v python3 > /dev/null; then
  python3 - "$site"/*.health << 'PY'
import struct, sys
for name in sys.argv[1:]:
    data = bytearray(open(name, "rb").read())
    rows_offset, row_size = struct.unpack_from("<II", data, 28)
    rows = struct.unpack_from("<I", data, 40)[0]
    for row in range(rows):
        struct.pack_into("<I", data, rows_offset + row * row_size + 72, 0)
    open(name, "wb").write(data)
PY
  rm -f "$tap_dir/ledger"
  contains "without the mark check is critical" "$(check)" '^UCX-VERITY CRITICAL: '
else
  skip "without the mark check is critical" "no python3"
fi

done_testing

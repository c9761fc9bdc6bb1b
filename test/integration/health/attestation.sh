#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# What a job says at its end: nothing when healthy, the account when asked or when something was
# repaired, as text and as JSON, and by name what went past the plugin.
. "${abs_top_srcdir:?}/test/integration/lib.sh"
[ -n "$openmpi" ] || skip_all "no Open MPI"

run() { mpi_run 100 "$openmpi" 2 "$1" mixed -n 5000 -m 60000; }

lacks "healthy: not a line, nor one of UCX's" "$(run vtcp,vself)" '^ucx-verity|UCX +(WARN|ERROR)'
contains "asked for: what was verified" "$(UCX_VERITY_ATTEST=always run vtcp,vself)" '^  verified +[0-9,]+ frames'

export UCX_VERITY_ATTEST_FILE="$tap_dir/attest.%p" UCX_FAULT_REPORT="$tap_dir/fault.%p"
damage_frames 0.005 3 flip
UCX_FAULT_PLACE=payload UCX_FAULT_MIN_LEN=2k
export UCX_FAULT_PLACE UCX_FAULT_MIN_LEN
output=$(run vftcp,vself)
contains "after repairs the account comes by itself" "$output" '^  retransmitted .*received [1-9][0-9,]* segments?'
contains "all messages right" "$output" 'wrong 0 lost 0'
is "a JSON line per process" "$(cat "$tap_dir"/attest.* | grep -c '^{.*}$')" 2
if command -v python3 > /dev/null; then
  ok "the JSON parses" python3 -c 'import json, sys; [json.loads(line) for f in sys.argv[1:] for line in open(f)]' "$tap_dir"/attest.*
fi
is "as many payload faults are found as were made" "$(json_sum faults_payload "$tap_dir"/attest.*)" \
  "$(json_sum faults "$tap_dir"/fault.*)"
is "JSON: repaired segments" "$(($(json_sum segments_repaired "$tap_dir"/attest.*) > 0))" 1
rm -f "$tap_dir"/attest.* "$tap_dir"/fault.*

# Observe: counted, not repaired, delivered as it came.
export UCX_FAULT_HEADER_SIZE=160 UCX_FAULT_AFTER=50
output=$(UCX_VERITY_MODE=observe run vftcp,vself)
contains "mode observe: the damage is counted" "$output" '^  DELIVERED +[1-9][0-9,]* faulty frames'
contains "mode observe: and delivered" "$output" '^messages [0-9]+ wrong [1-9]'
unset UCX_VERITY_ATTEST_FILE
no_damage

output=$(UCX_VERITY_MODE=off UCX_VERITY_ATTEST=always run vtcp,vself)
contains "mode off: the messages pass, and are named as not verified" "$output" '^  not verified: .*mode off'

output=$(UCX_VERITY_ATTEST=always run vtcp,posix,self)
contains "raw lanes beside verified ones are named" "$output" '^ucx-verity: NOTHING VERIFIED: no message used the plugin \(UCX_TLS also enables .*posix'

# Nobody reads what is printed, neither at the end nor in UCX's log: stock UCX, which prints nothing there, goes on.
exec 9> >(:)
wait $!
unread() { with_tls vself within 100 "$build/uct_am" -c "am_short, all" vself 2>&9; }
contains "a stderr without a reader: the account" "$(UCX_VERITY_ATTEST=always unread)" '^ok 1 '
contains "a stderr without a reader: a warning in UCX's log" \
  "$(UCX_VERITY_ATTEST=never UCX_LOG_FILE=stderr UCX_VERITY_HEALTH_DIR=/proc/none unread)" '^ok 1 '
unused() ( # by the loader alone, as the first of two ranks
  verity_env tcp,self
  unset UCX_MODULE_DIR UCX_PLUGIN_PATH
  export UCX_VERITY_ATTEST=always LD_PRELOAD="$build/.libs/libverity_preload.so" PALS_RANKID=0 FLUX_JOB_SIZE=2
  within 50 "$build/test/mpi/mixed" -n 100 -m 100
)
if [ -e "$build/.libs/libverity_preload.so" ]; then
  contains "the loader's line" "$(unused 2>&1)" '^ucx-verity: NOTHING VERIFIED'
  unused > "$tap_dir/unread" 2>&9
  is "a stderr without a reader: the loader's line" $? 0
  truncate -s 200M "$tap_dir/full"
  (ulimit -f $((200 * 1024)) && unused > "$tap_dir/unread" 2>> "$tap_dir/full")
  is "a stderr in a file at the limit of its size: the loader's line" $? 0
fi
exec 9>&-

done_testing

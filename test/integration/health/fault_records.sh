#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Known damage by the corrupting transport: as many records as faults, each with the place, the kind and the pattern of what was
# done; and what `ucx-verity report` makes of them.
# shellcheck disable=SC2030,SC2031,SC2317 # settings of one job, in a subshell; functions called through ok
. "${abs_top_srcdir:?}/test/integration/lib.sh"
[ -n "$openmpi" ] || skip_all "no Open MPI"

export UCX_VERITY_FAULT_LOG="$tap_dir/records.%p" UCX_VERITY_ATTEST_FILE="$tap_dir/attest.%p" UCX_VERITY_ATTEST=never
export UCX_FAULT_EVENTS=1000
report() { "$build/ucx-verity" report --injected "$@" 2> "$tap_dir/complaint"; }
fresh() { rm -f "$tap_dir"/records.* "$tap_dir"/attest.* "$tap_dir"/fault.*; }
records() { cat "$tap_dir"/records.* 2> /dev/null; }
with() { records | grep -c -- "$1"; }
faults() { json_sum faults "$tap_dir"/fault.*; }

# hit KIND VARIABLE=VALUE...: a job of two processes where one in 25 of the first sendings of messages is damaged so. Frames of
# that active message are never sent again as such, so each fault is of a payload that must come.
hit() {
  fresh
  (
    export UCX_FAULT_KINDS="$1" UCX_FAULT_EVERY=25 UCX_FAULT_AM_IDS=29 UCX_FAULT_PLACE=payload UCX_FAULT_HEADER_SIZE=16 \
      UCX_FAULT_MIN_LEN=600 UCX_FAULT_REPORT="$tap_dir/fault.%p" "${@:2}"
    mpi_run 200 "$openmpi" 2 "${list:-vftcp,vself}" mixed -n 3000 -m 7000
  ) > "$tap_dir/job"
  grep -q '^messages [0-9]* wrong 0 lost 0 ' "$tap_dir/job"
}

# Healthy: nothing is written.
fresh
mpi_clean "a healthy job" '^messages [0-9]+ wrong 0 lost 0 ' 200 "$openmpi" 2 vtcp,vself mixed -n 3000
is "writes no record" "$(find "$tap_dir" -name 'records.*' | wc -l)" 0
report "$tap_dir"/attest.* > "$tap_dir/report"
is "and has no faults in the report" "$? $(head -n 1 "$tap_dir/report" | cut -d, -f1)" "0 ucx-verity report: 0 faults of machines"

for lower in tcp posix; do
  [[ " $(lower_transports | tr '\n' ' ')" == *" $lower "* ]] || continue
  list=vf$lower,vself

  ok "$lower, single bits: all messages right" hit flip UCX_FAULT_BITS=1
  ok "there were some" [ "$(faults)" -gt 5 ]
  is "$lower: as many records as faults" "$(records | wc -l)" "$(faults)"
  is "each of a payload, received, of a message" \
    "$(with '"direction":"received","operation":"am","kind":"payload"')" "$(faults)"
  is "each of one bit" "$(with '"pattern":"single_bit".*"bits":1,.*"positions":\[[0-9]*\]')" "$(faults)"
  is "on the right transport" "$(with "\"transport\":\"vf$lower\"")" "$(faults)"
  # The injector counts from the frame's first byte, 16 bytes of header before the payload's.
  is "$lower: at the place that was hit" "$(records | grep -o '"first":[0-9]*' | cut -d: -f2 | sort -n | xargs)" \
    "$(grep -oh '"offset":[0-9]*' "$tap_dir"/fault.* | awk -F: '{ print $2 - 16 }' | sort -n | xargs)"

  ok "$lower, bursts: all messages right" hit burst
  is "$lower: as many bursts as faults" "$(with '"pattern":"burst".*"bytes":16,') of $(records | wc -l)" "$(faults) of $(faults)"
done
list=vftcp,vself

ok "zeroed lines: all messages right" hit zero_line UCX_FAULT_MIN_LEN=2k
# At a frame's end less than a line is left.
lines=$(grep -oh '"bytes":[0-9]*,"bits":[0-9]*,"new_length"' "$tap_dir"/fault.* | awk -F'[:,]' '$2 >= 32 { n++ } END { print n + 0 }')
ok "as many zeroed lines as faults" [ "$(with '"pattern":"zeroed_line"')" -ge "$lines" ]
is "as many records as faults" "$(records | wc -l)" "$(faults)"
is "no position that would show what was there" "$(with '"zeroed_line".*"positions":\[[0-9]')" 0

ok "always the same bit: all messages right" hit flip UCX_FAULT_BIT=4003
ways=$(records | grep -o '"interface":"[0-9a-f]*","peer":"[0-9a-f]*"' | sort -u | wc -l)
is "is known for that, but for the first on each way" "$(with '"again":"position"') $(with '"again":"no"')" "$(($(faults) - ways)) $ways"
is "with its place" "$(with "\"positions\":\[$((4003 - 8 * 16))\]")" "$(faults)"

ok "cut off: all messages right" hit truncate
is "is a wrong length" "$(with '"kind":"length"') of $(records | wc -l)" "$(faults) of $(faults)"

ok "headers: all messages right" hit flip UCX_FAULT_PLACE=header
ok "not more records than faults" [ "$(records | wc -l)" -le "$(faults)" ]
# A frame that names another link is none of ours.
ok "not fewer, but for those of no known link" \
  [ $(($(records | wc -l) + $(json_sum frames_dropped_unknown "$tap_dir"/attest.*))) -ge "$(faults)" ]

if command -v python3 > /dev/null; then
  ok "each line is one JSON object" python3 -c '
import json, sys
for line in sys.stdin:
    record = json.loads(line)
    assert record["event"] == "fault" and record["schema"] == 1 and record["host"] and record["time"].endswith("Z"), record' < <(records)
else
  skip "each line is one JSON object" "no python3"
fi

# Reads: of two processes over cma.
if with_tls vposix,vcma "${UCX_INFO:-ucx_info}" -d 2> /dev/null | grep -q 'Transport: vcma'; then
  fresh
  export UCX_FAULT_OPS=get UCX_FAULT_EVERY=3 UCX_FAULT_KINDS=flip UCX_FAULT_REPORT="$tap_dir/fault.%p"
  # UCX 1.17 and later would send most of it in eager messages, by its estimates.
  export UCX_RNDV_THRESH=10000 UCX_RNDV_SCHEME=get_zcopy
  # With the cache of registrations where it can be, which a run of the matrix may have turned off: UCX's assertions are about it.
  rcache=${UCX_RCACHE_ENABLE-try}
  unset UCX_RCACHE_ENABLE
  mpi_clean "damaged reads" ': 0 messages wrong' 200 "$openmpi" 2 vposix,vself,vfcma hello_integrity 40 1000000
  no_damage
  unset UCX_RNDV_THRESH UCX_RNDV_SCHEME
  [ "$rcache" = try ] || export UCX_RCACHE_ENABLE="$rcache"
  export UCX_FAULT_EVENTS=1000
  ok "have records" [ "$(with '"operation":"read"')" -gt 0 ]
  is "one for each part that was damaged" "$(with '"operation":"read"')" "$(json_sum read_chunks_damaged "$tap_dir"/attest.*)"
  ok "with their bits" [ "$(with '"operation":"read".*"pattern":"\(single_bit\|scattered\|burst\)"')" -gt 0 ]
else
  skip "damaged reads" "no cma on this machine"
fi

# ---- how many, and where ----------------------------------------------------------------------------------------------------

ok "at most so many lines: all messages right" hit flip UCX_VERITY_FAULT_LOG_LIMIT=2
each=$(find "$tap_dir" -name 'records.*' | wc -l)
is "the first ones, and how many there were besides" "$(with '"event":"fault"') $(with '"event":"faults_dropped"')" "$((2 * each)) $each"
is "none is lost without a word" "$((2 * each + $(json_sum dropped "$tap_dir"/records.*)))" "$(faults)"

ok "a log that cannot be written: all messages right" hit flip UCX_VERITY_FAULT_LOG=/nowhere/at/all
contains "is reported, with its name" "$(cat "$tap_dir/job")" '^ucx-verity: cannot write a record of a fault to /nowhere/at/all: No such file'
ok "once for each process" [ "$(grep -c 'cannot write a record' "$tap_dir/job")" -le 2 ]

# A named pipe whose reader has stopped: each record that waited for it would hold up the messages.
mkfifo "$tap_dir/full"
exec 9<> "$tap_dir/full"
head -c 1M /dev/zero | dd of="$tap_dir/full" bs=4k oflag=nonblock 2> /dev/null
ok "a pipe that is full: all messages right" hit flip UCX_FAULT_EVERY=2 UCX_VERITY_FAULT_LOG="$tap_dir/full"
exec 9>&-
ok "there were many faults" [ "$(faults)" -gt 300 ]
contains "and the pipe is reported" "$(cat "$tap_dir/job")" \
  '^ucx-verity: cannot write a record of a fault to .*/full: Resource temporarily unavailable'
rm -f "$tap_dir/full"

ok "as text: all messages right" hit flip UCX_VERITY_FAULT_TEXT=warn
contains "in UCX's log" "$(cat "$tap_dir/job")" 'WARN +ucx-verity: fault: kind=payload host=[^ ]+ peer_host=[^ ]+ transport=vftcp device=[^ ]+ direction=received'
ok "not more than ten of a process at a time" [ "$(grep -c 'ucx-verity: fault:' "$tap_dir/job")" -le $((2 * 30)) ]

# ---- the report -------------------------------------------------------------------------------------------------------------

report "$tap_dir" > "$tap_dir/report"
is "faults make the report's status 1" "$?" 1
contains "it counts them" "$(cat "$tap_dir/report")" "^ucx-verity report: $(faults) faults of machines"
contains "and has a suspect" "$(cat "$tap_dir/report")" '^  1\. '
ok "in 80 columns" [ "$(awk '{ if (length > n) n = length } END { print n }' "$tap_dir/report")" -le 80 ]
report --html "$tap_dir/page.html" "$tap_dir"/records.* > /dev/null
contains "as a page" "$(head -n 1 "$tap_dir/page.html")" '^<!DOCTYPE html>'
report /nowhere/at/all > /dev/null
is "a folder that is not there: status 2" "$?" 2
contains "with its name" "$(cat "$tap_dir/complaint")" '^ucx-verity report: /nowhere/at/all: No such file'
mkdir "$tap_dir/odd"
mkfifo "$tap_dir/odd/fifo"
ln -s /dev/zero "$tap_dir/odd/zero"
head -c 200 <(records) > "$tap_dir/odd/cut"
head -c 100000 /dev/urandom > "$tap_dir/odd/noise"
within 100 "$build/ucx-verity" report "$tap_dir/odd" > "$tap_dir/report" 2> "$tap_dir/complaint"
is "a folder with a pipe, a link to a device, noise and a line cut off: status 2, as no record is in it" "$?" 2
contains "what is no JSON is counted" "$(cat "$tap_dir/report")" 'lines? of no JSON'
contains "and what would help is said" "$(cat "$tap_dir/complaint")" 'UCX_VERITY_FAULT_LOG'

# A sparse file, too long to be read.
records > "$tap_dir/sparse"
if truncate -s 1T "$tap_dir/sparse" 2> /dev/null; then
  { echo; records; } >> "$tap_dir/sparse"
  within 20 "$build/ucx-verity" report --injected "$tap_dir/sparse" > "$tap_dir/report"
  is "what lies before and behind a terabyte of holes is read: status 1" "$?" 1
  contains "all of it" "$(cat "$tap_dir/report")" "^ucx-verity report: $((2 * $(faults))) faults of machines"
  report --topology "$tap_dir/sparse" "$tap_dir"/records.* > /dev/null
  contains "no topology is that long" "$(cat "$tap_dir/complaint")" '^ucx-verity report: --topology .*/sparse: it is longer than 64 MiB$'
else
  skip "a sparse file, too long to be read" "the file system has none of that length"
fi
rm -f "$tap_dir/sparse"

mkdir "$tap_dir/rotated"
records > "$tap_dir/rotated/1.jsonl"
gzip < "$tap_dir/rotated/1.jsonl" > "$tap_dir/rotated/1.jsonl.2.gz"
report "$tap_dir/rotated" > "$tap_dir/report"
contains "what logrotate has compressed is named" "$(cat "$tap_dir/complaint")" \
  '^ucx-verity report: .*/rotated: 1 file is compressed, and not read: zcat -f FILE\.\.\. \| ucx-verity report /dev/stdin$'
lacks "and is no line cut off" "$(cat "$tap_dir/report")" 'no JSON'
report "$tap_dir/rotated/1.jsonl.2.gz" > /dev/null
is "one that is given cannot be read" "$?" 2
zcat -f "$tap_dir/rotated"/* | report /dev/stdin > "$tap_dir/report"
contains "the command that it names reads all" "$(cat "$tap_dir/report")" "^ucx-verity report: $((2 * $(faults))) faults of machines"
rm -r "$tap_dir/rotated"

# ---- four hosts, of which one sends wrong -----------------------------------------------------------------------------------

# Each process has a host name of its own.
cat > "$tap_dir/host" << 'END'
#!/bin/sh
hostname "node$OMPI_COMM_WORLD_RANK"
exec "$@"
END
chmod +x "$tap_dir/host"
if ! unshare --uts hostname elsewhere 2> /dev/null; then
  skip "four hosts, one sends wrong" "no right to give a process a host name of its own"
  done_testing
  exit
fi
fresh
(
  verity_env vftcp,vself
  export UCX_FAULT_KINDS=flip UCX_FAULT_EVERY=20 UCX_FAULT_AM_IDS=29 UCX_FAULT_PLACE=payload UCX_FAULT_HEADER_SIZE=16 \
    UCX_FAULT_MIN_LEN=600 UCX_FAULT_RANKS=2 UCX_FAULT_REPORT="$tap_dir/fault.%p"
  timeout -k 5 200 "$openmpi" -np 4 unshare --uts "$tap_dir/host" "$build/test/mpi/mixed" -n 12000 -m 7000
) > "$tap_dir/job" 2>&1
contains "four hosts, one sends wrong: all messages right" "$(cat "$tap_dir/job")" '^messages [0-9]+ wrong 0 lost 0 '
is "as many records as faults" "$(records | wc -l)" "$(faults)"
is "each names the guilty sender" "$(with '"peer_host":"node2"')" "$(faults)"
report "$tap_dir" > "$tap_dir/report"
contains "the report names the guilty sender first" "$(sed -n '/^  1\./,/evidence/p' "$tap_dir/report" | xargs)" \
  '^1\. device vftcp/[^ ]+ of host node2, sending (strong|fair) evidence: '
is "and no other" "$(grep -c '^  [2-9]\.' "$tap_dir/report")" 0

# One that receives wrong, from whomever.
fresh
cat > "$tap_dir/guilty" << 'END'
#!/bin/sh
[ "$OMPI_COMM_WORLD_RANK" != 1 ] || export UCX_FAULT_EVERY=20
exec "$@"
END
chmod +x "$tap_dir/guilty"
(
  verity_env vftcp,vself
  export UCX_FAULT_KINDS=flip UCX_FAULT_SIDE=rx UCX_FAULT_AM_IDS=29 UCX_FAULT_PLACE=payload UCX_FAULT_HEADER_SIZE=16 \
    UCX_FAULT_MIN_LEN=600 UCX_FAULT_REPORT="$tap_dir/fault.%p"
  timeout -k 5 200 "$openmpi" -np 4 unshare --uts "$tap_dir/host" "$tap_dir/guilty" "$build/test/mpi/mixed" -n 12000 -m 7000
) > "$tap_dir/job" 2>&1
contains "one receives wrong: all messages right" "$(cat "$tap_dir/job")" '^messages [0-9]+ wrong 0 lost 0 '
report "$tap_dir" > "$tap_dir/report"
contains "the report names the guilty receiver first" "$(sed -n '/^  1\./,/evidence/p' "$tap_dir/report" | xargs)" \
  '^1\. device vftcp/[^ ]+ of host node1, receiving (strong|fair) evidence: '

done_testing

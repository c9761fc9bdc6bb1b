# SPDX-License-Identifier: BSD-3-Clause
#
# What an administrator of the two machines sees of jobs on their link: status, check, fault records and report must say the same as
# the jobs' attestations, where UCX's memory hooks are active, as they are wherever memory is registered for a device. Source it
# after verdicts.sh.
#
#   health_job NAME FAULTS SETTINGS LIST JOB...   a job of two processes, see attempt; FAULTS is none or some
#   health_perftest NAME LIST                     the same of ucx_perftest, on an undamaged link
# shellcheck shell=bash
# shellcheck disable=SC2154 # shared with the other files of the test

health_dir=/tmp/health # in the machines
health_tool="/share/$lab_prefix/bin/ucx-verity"
health_fault_keys="faults_payload faults_header faults_length read_chunks_damaged"

health_fresh() {
  local machine
  rm -f "$lab_share"/run/records.* "$attest_dir"/attest.*
  for machine in a b; do
    guest "$machine" "rm -rf $health_dir && mkdir $health_dir"
  done
}

# The counters of processes, not those of their paths and peers.
health_counters() { # health_counters a|b
  guest "$1" "$health_tool status --json $health_dir" | sed -n '/"state"/p; /^      "counters": {/,/^      }/p'
}
health_sum() { # health_sum COUNTERS KEY...
  local key names
  names=$(IFS='|' && echo "${*:2}")
  grep -Eo "\"($names)\": [0-9]+" <<< "$1" | awk '{ sum += $2 } END { print sum + 0 }'
}

health_check() { # health_check a|b: its line, then its exit code
  guest "$1" "$health_tool check --directory $health_dir; echo exit \$?" 2>&1
}

# The records of a job that has that many faults, and what is made of them. A damaged read whose source may have changed meanwhile is
# counted beside the faults of machines.
health_records() { # health_records NAME FAULTS
  local name=$1 faults=$2 report counted
  is "$name: as many records as faults" "$(cat "$lab_share"/run/records.* 2> /dev/null | grep -c '"event":"fault"')" "$faults"
  report=$("$link_build/ucx-verity" report "$lab_share/run")
  counted=$(sed -nE 's/^ucx-verity report: ([0-9]+) faults of machines.*/\1/p; s/^  ([0-9]+) reads damaged .*/\1/p' <<< "$report" |
    awk '{ sum += $1 } END { print sum + 0 }')
  is "$name: the report counts them" "$counted" "$faults"
  [ "$faults" -eq 0 ] || contains "$name: and names the device" "$report" '^ +1\. .*rxe0'
}

# The job has run: what its hosts say of it.
health_agrees() { # health_agrees NAME none|some LEAST-BYTES
  local name=$1 counters faults key line machine
  # shellcheck disable=SC2086 # words
  faults=$(attested $health_fault_keys)
  counters=$(health_counters a; health_counters b)
  is "$name: two processes, which ended" "$(grep -c '"state": "ended"' <<< "$counters")" 2
  for key in bytes_sent bytes_verified $health_fault_keys; do
    is "$name: status has the $key of the attestations" "$(health_sum "$counters" "$key")" "$(attested "$key")"
  done
  ok "$name: what was sent was counted" test "$(health_sum "$counters" bytes_verified read_bytes_verified)" -ge "$3"
  for machine in a b; do
    line=$(health_check $machine)
    if [ "$2" = none ]; then
      contains "$name: check says OK on $machine" "$line" '^UCX-VERITY OK: .*no faults'
      contains "$name: and exits with 0" "$line" '^exit 0$'
    else
      contains "$name: check does not say OK on $machine" "$line" '^UCX-VERITY (WARNING|CRITICAL): [0-9]+ faults'
      contains "$name: and exits with 1 or 2" "$line" '^exit [12]$'
      note "$machine: $(head -n 1 <<< "$line")"
    fi
  done
  if [ "$2" = none ]; then is "$name: no faults" "$faults" 0; else ok "$name: faults were found: $faults" test "$faults" -gt 0; fi
  health_records "$name" "$faults"
}

health_job() {
  local name=$1 expected=$2 settings=$3 list=$4
  shift 4
  health_fresh
  run_damaged ended "$settings" "$list" UCX_VERITY_HEALTH_DIR=$health_dir UCX_VERITY_FAULT_LOG=/share/run/records.%h.%p "$@" ||
    { skip "$name" "$spoiled"; return; }
  ok "$name: the job is right" ended_right
  health_agrees "$name" "$expected" 1000000
}

health_perftest() {
  local name=$1 list=$2 environment command status=0
  health_fresh
  forwarder > /dev/null
  environment="$(lab_environment "$list")
    export UCX_VERITY_HEALTH_DIR=$health_dir UCX_VERITY_FAULT_LOG=/share/run/records.%h.%p"
  command="timeout -k 5 120 ucx_perftest -p 13399"
  guest_limit=150 guest b "$environment
    export UCX_VERITY_ATTEST_FILE=/share/run/attest.b
    $command" > "$tap_dir/server" 2>&1 &
  sleep 3
  guest_limit=150 guest a "$environment
    export UCX_VERITY_ATTEST_FILE=/share/run/attest.a
    for try in \$(seq 20); do
      $command -t tag_lat -n 300 -w 1 -s 4000 10.55.0.2 && exit
      sleep 1
    done; exit 1" > "$tap_dir/client" 2>&1 || status=$?
  wait $! || status=1
  tap_result "$status" "$name: it runs"
  [ "$status" -eq 0 ] || { note "$(tail -n 15 "$tap_dir/client" "$tap_dir/server")"; return; }
  health_agrees "$name" none 2400000
}

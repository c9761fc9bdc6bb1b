# SPDX-License-Identifier: BSD-3-Clause
#
# Jobs on a link that damages packets, and what must be true of them. Source it after link.sh, with
#
#   mpi LIST [NAME=VALUE...] PROGRAM ARGUMENT...   a job of two processes with UCX_TLS=LIST, ended after
#                                                  $job_limit seconds
#   hosts_fault      prints why the hosts cannot run jobs any more; nothing when they can
#   hosts_restart    makes them able to
#   $attest_dir      where mpi has the plugin write its attestations, as attest.*
#
# What the test's surroundings do (a host that dies, no time left, stock UCX that hangs) is a skip with its
# reason. What the plugin does (wrong bytes, a job that fails or hangs) is a failure.
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154 # shared with the other files of the test

job_limit_most=300 # seconds; jobs take ten where they were written
stock_limit=180    # of those that stock UCX may not survive
job_limit=
job_settings=      # of the job that ran last: the forwarder's, then status and so on
hosts_lost=        # why no job can run any more
spoiled=           # why the last one says nothing

counter() { sed -n "s/^$1=//p" "$tap_dir/counters"; } # counter NAME: of the forwarder

attested() { # attested NAME...: sum of these counters over the plugin's attestations
  local names
  names=$(IFS='|' && echo "$*")
  grep -Eohs "\"($names)\":[0-9]*" "$attest_dir"/attest.* | awk -F: '{ sum += $2 } END { print sum + 0 }'
}
attested_faults() { attested faults_payload faults_header faults_length frames_dropped_unknown read_chunks_damaged; }

# Messages or checks that the job found wrong, by its own last line; nothing when it has none.
wrong_of() {
  sed -nE 's/.*: ([0-9]+) messages wrong,.*/\1/p; s/.*rma checks [0-9]+ wrong ([0-9]+).*/\1/p
    s/^messages [0-9]+ wrong ([0-9]+) lost 0 repeated 0 .*/\1/p' "$tap_dir/job" | tail -n 1
}

# It printed a last line that is not one of success: nothing else can explain that.
found_wrong() { [ "${wrong:-1}" != 0 ] && grep -Eq '^messages |messages wrong|rma checks' "$tap_dir/job"; }

# What of the job's failure is not UCX's nor the plugin's: the launcher, the lower transport's patience.
launch_fault() {
  grep -Eom 1 'the forwarder does not answer|unable to reliably start|ORTE has lost communication|kex_exchange.*|^ssh: .*|[Tt]ransport retry count' \
    "$tap_dir/job"
}

# attempt SETTINGS LIST JOB...: one job; sets status, wrong, corrupted and figures.
attempt() {
  local begin=$SECONDS
  job_settings=$1
  shift
  rm -f "$attest_dir"/attest.*
  : > "$tap_dir/job"
  status=0
  # shellcheck disable=SC2086 # words
  forwarder $job_settings > "$tap_dir/job" || status=$?
  [ "$status" -ne 0 ] || mpi "$@" > "$tap_dir/job" 2>&1 || status=$?
  forwarder_stats > "$tap_dir/counters" 2> /dev/null
  forwarder > /dev/null
  wrong=$(wrong_of)
  corrupted=$(counter corrupted)
  figures="$((SECONDS - begin)) s; wrong ${wrong:-unknown}; corrupted ${corrupted:-unknown} of:"
  local kind
  for kind in send write read datagram message; do
    [ "$(counter seen_$kind)" = 0 ] || figures+=" $kind $(counter corrupted_$kind)/$(counter seen_$kind)"
  done
}

# Sets spoiled to what of the surroundings spoiled the last job, if anything did, and makes them right again.
repair_hosts() {
  local reason
  reason=$(hosts_fault)
  if [ -n "$reason" ]; then
    hosts_restart > "$tap_dir/restart" 2>&1 || hosts_lost="$reason; $(head -n 1 "$tap_dir/restart")"
  elif [[ $status = 124 || $status = 137 ]] && [ "$job_limit" -lt "$job_limit_most" ]; then
    reason="no time left: $link_seconds s are for all"
    hosts_lost=$reason
  else
    reason=$(launch_fault)
  fi
  spoiled=$reason
}

# run_damaged UNTIL SETTINGS LIST JOB...: tries up to three times, until the condition UNTIL holds; for the
# plugin (UNTIL is ended) only what the surroundings spoiled is tried again. Fails, with the reason in spoiled, when
# they left no result.
run_damaged() {
  local until=$1 try
  shift
  for try in 1 2 3; do
    job_limit=$(($(link_left) - 30))
    [ "$job_limit" -gt 60 ] || hosts_lost=${hosts_lost:-no time left: $link_seconds s are for all}
    spoiled=$hosts_lost
    [ -z "$spoiled" ] || return 1
    [ "$job_limit" -lt "$job_limit_most" ] || job_limit=$job_limit_most
    attempt "$@"
    "$until" && return
    [ "$until" != ended ] || ! found_wrong || return 0
    repair_hosts
    [ -z "$spoiled" ] || note "try $try: $spoiled"
    [ -n "$spoiled" ] || [ "$until" != ended ] || return 0
  done
  [ -z "$spoiled" ]
}

last_words() { echo "exit status $status, $(tail -n 1 "$tap_dir/job" | cut -c 1-200)"; }

# Conditions: the job came to its end; it did and found all right; it found wrong bytes.
ended() { [ "$status" -eq 0 ] && [ -n "$wrong" ]; }
ended_right() { ended && [ "$wrong" -eq 0 ]; }
ended_wrong() { [ -n "$wrong" ] && [ "$wrong" -gt 0 ]; }

# verdict NAME REASON...: passes without reasons.
verdict() {
  local name=$1 failed=0
  shift
  [ $# -eq 0 ] || failed=1
  tap_result "$failed" "$name"
  note "$figures"
  [ "$failed" -ne 0 ] || return 0
  note "$(printf '%s\n' "$@"; echo "exit status $status; the job's last lines:"; tail -n 30 "$tap_dir/job")"
}

# What makes a run worthless: the damage has to happen, and to go unnoticed below.
doubts() { # doubts KIND LEAST: so many of that kind (or any) corrupted, at least
  local name=corrupted_$1
  [ "$1" != any ] || name=corrupted
  [ "$(counter "$name")" -ge "$2" ] || echo "fewer than $2 of kind $1 corrupted"
  [ "$(counter wrong)" = 0 ] || echo "the forwarder computes another checksum than the senders"
}

# undamaged NAME LIST JOB...: the link as it should be; what the runs below show is then the damage's doing.
# Of stock UCX that is no finding about the plugin: a host where it does not work can show nothing.
undamaged() {
  local name=$1 until=ended reasons=()
  shift
  [[ $1 = v* ]] || until=ended_right
  run_damaged $until "${faithful:-}" "$@" || { skip "$name" "$spoiled"; return; }
  [ $until = ended ] || ended_right || hosts_lost="stock UCX does not work here: $(last_words)"
  [ -z "$hosts_lost" ] || { skip "$name" "$hosts_lost"; return; }
  figures+="; checksums right in $(counter right), faults $(attested_faults)"
  mapfile -t reasons < <(
    [ "$(counter right)" -gt 0 ] || echo "no packets"
    [ "$(counter wrong)" = 0 ] || echo "the forwarder computes another checksum than the senders"
    ended || echo "the job failed"
    [ "${wrong:-1}" = 0 ] || echo "not all arrived right"
    [ "$(attested_faults)" = 0 ] || echo "the plugin found faults"
  )
  verdict "$name" "${reasons[@]}"
}

# stock NAME KIND LEAST SETTINGS LIST JOB...: stock UCX must deliver wrong bytes; KIND is what carried them, of
# which LEAST packets are to be corrupted.
stock() {
  local name="$1: stock UCX delivers wrong bytes" kind=$2 least=$3 reasons=() job_limit_most=$stock_limit
  shift 3
  run_damaged ended_wrong "$@" || { skip "$name" "$spoiled"; return; }
  [ -n "$wrong" ] || { skip "$name" "it came to no end, three times: $(last_words)"; return; }
  mapfile -t reasons < <(
    doubts "$kind" "$least"
    ended_wrong || echo "no wrong bytes were delivered"
  )
  verdict "$name" "${reasons[@]}"
}

# plugin NAME KIND LEAST SETTINGS LIST JOB...: everything must arrive right, with LEAST of KIND corrupted. What was
# damaged undetectably is found, but for what arrives at the very end, when no process reads any more.
plugin() {
  local name=$1 kind=$2 least=$3 reasons=()
  shift 3
  run_damaged ended "$@" || { skip "$name" "$spoiled"; return; }
  figures+="; found $(attested_faults), repaired $(attested segments_repaired) segments"
  figures+=", resent $(attested frames_resent) of $(attested frames_verified) frames"
  figures+=", repaired $(attested read_segments_repaired) segments of $(attested read_chunks_verified) parts of reads"
  mapfile -t reasons < <(
    ended || echo "the job failed"
    [ "${wrong:-1}" = 0 ] || echo "not all arrived right"
    doubts "$kind" "$least"
    case $job_settings in
      *stale=1*) [ "$(attested_faults)" = 0 ] || echo "what was lost reached the plugin" ;;
      *) [ "$(attested_faults)" -gt 0 ] || [ "${corrupted:-0}" -lt 5 ] || echo "no damage was found" ;;
    esac
    ! grep -qs '"raw_lanes":\["' "$attest_dir"/attest.* || echo "raw lanes were used"
  )
  verdict "$name" "${reasons[@]}"
}

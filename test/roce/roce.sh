#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# MPI between two hosts over RoCE whose packets are damaged on the way, with checksums that fit the damage.
# Stock UCX delivers wrong bytes; the plugin, on the same link with the same damage, does not. `make
# check-roce` runs it. The hosts are virtual machines, see lab.sh; the first run makes their image.
set -u
. "${abs_top_srcdir:?}/test/tap.sh"
. "$abs_top_srcdir/test/roce/lab.sh"
trap 'lab_down; rm -rf "$tap_dir"' EXIT

lab_job_limit=120
lab_command_limit=140

packages="qemu-system-x86 seabios ipxe-qemu debootstrap openssh-client"
missing=$(lab_missing | paste -sd ';' | sed 's/;/; /g')
[ -z "$missing" ] || skip_all "$missing (Debian packages: $packages)"
[ -z "${VERITY_SANITIZERS:-}" ] || skip_all "a module with sanitizers does not load into stock programs"
[ -x "$lab_build/test/mpi/rma" ] || skip_all "no MPI to compile the programs with"
[ -x "$lab_share/ucx-verity/bin/ucx-verity" ] || skip_all "not installed for the machines: make check-roce does it"

# ---- jobs ---------------------------------------------------------------------------------------

counter() { sed -n "s/^$1=//p" "$tap_dir/counters"; } # counter NAME: of the forwarder

attested() { # attested NAME: sum of a counter over the plugin's attestations
  grep -ohs "\"$1\":[0-9]*" "$lab_share"/run/attest.* | awk -F: '{ sum += $2 } END { print sum + 0 }'
}

# Messages or checks that the job found wrong, by its own last line; nothing when it has none.
wrong_of() {
  sed -nE 's/.*: ([0-9]+) messages wrong,.*/\1/p; s/.*rma checks [0-9]+ wrong ([0-9]+).*/\1/p
    s/^messages [0-9]+ wrong ([0-9]+) lost 0 repeated 0 .*/\1/p' "$tap_dir/job" | tail -n 1
}

# run_damaged SETTINGS LIST JOB...: sets status, wrong, corrupted and figures.
run_damaged() {
  local settings=$1 begin=$SECONDS
  shift
  rm -f "$lab_share"/run/attest.*
  status=0
  # shellcheck disable=SC2086 # words
  forwarder $settings > "$tap_dir/job" || status=$?
  [ "$status" -ne 0 ] || mpi "$@" > "$tap_dir/job" 2>&1 || status=$?
  forwarder_stats > "$tap_dir/counters"
  forwarder > /dev/null
  wrong=$(wrong_of)
  corrupted=$(counter corrupted)
  figures="packets $(counter roce), corrupted $corrupted (sends $(counter corrupted_send)"
  figures+=", writes $(counter corrupted_write), reads $(counter corrupted_read)"
  figures+=", datagrams $(counter corrupted_datagram)); wrong ${wrong:-unknown}; $((SECONDS - begin)) s"
}

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
doubts() {
  [ "${corrupted:-0}" -gt 0 ] || echo "nothing was corrupted"
  [ "$(counter icrc_wrong)" = 0 ] || echo "the forwarder computes another ICRC than the senders"
}

# undamaged NAME LIST JOB...: the link as it should be; what the runs below show is then the damage's doing.
undamaged() {
  local name=$1 reasons=()
  shift
  run_damaged "" "$@"
  figures+="; ICRC right in $(counter icrc_right), faults $(($(attested faults_payload) + $(attested faults_header)))"
  mapfile -t reasons < <(
    [ "$(counter icrc_right)" -gt 0 ] || echo "no packets"
    [ "$(counter icrc_wrong)" = 0 ] || echo "the forwarder computes another ICRC than the senders"
    [ "$status" -eq 0 ] || echo "the job failed"
    [ "${wrong:-1}" = 0 ] || echo "not all arrived right"
    [ "$(attested faults_payload)$(attested faults_header)" = 00 ] || echo "the plugin found faults"
  )
  verdict "$name" "${reasons[@]}"
}

# stock NAME OPERATION SETTINGS LIST JOB...: stock UCX must deliver wrong bytes; OPERATION is what carried them.
stock() {
  local name=$1 operation=$2 reasons=()
  shift 2
  run_damaged "$@"
  mapfile -t reasons < <(
    doubts
    [ "$(counter "corrupted_$operation")" -gt 0 ] || echo "no $operation among what was corrupted"
    [ "${wrong:-0}" -gt 0 ] || echo "no wrong bytes were delivered"
  )
  verdict "$name: stock UCX delivers wrong bytes" "${reasons[@]}"
}

# plugin NAME COUNTERS SETTINGS LIST JOB...: everything must arrive right; COUNTERS, joined by +, name what must
# have been counted in the attestations.
plugin() {
  local name=$1 counters=$2 counter sum=0 reasons=()
  shift 2
  run_damaged "$@"
  for counter in ${counters//+/ }; do
    sum=$((sum + $(attested "$counter")))
  done
  figures+="; $counters $sum; verified $(attested frames_verified) frames"
  figures+=", repaired $(attested segments_repaired) segments, resent $(attested frames_resent) frames"
  mapfile -t reasons < <(
    doubts
    [ "$status" -eq 0 ] || echo "the job failed"
    [ "${wrong:-1}" = 0 ] || echo "not all arrived right"
    [ "$sum" -gt 0 ] || echo "$counters: none in the attestations"
    ! grep -qs '"raw_lanes":\["' "$lab_share"/run/attest.* || echo "raw lanes were used"
  )
  verdict "$name" "${reasons[@]}"
}

# both NAME OPERATION SETTINGS LIST JOB...: stock UCX on LIST, then the plugin on the wrapped transports.
both() {
  local name=$1 operation=$2 settings=$3 list=$4
  shift 4
  stock "$name" "$operation" "$settings" "$list" "$@"
  plugin "$name: the plugin repairs it" segments_repaired "$settings" "v${list//,/,v}" "$@"
}

# ---- the machines -------------------------------------------------------------------------------

if ! "$abs_top_srcdir/test/roce/build-guest" "$lab_dir" > "$tap_dir/image" 2>&1; then
  tap_result 1 "the machines' image is made"
  note "$(tail -n 30 "$tap_dir/image")"
  done_testing
fi
mkdir -p "$lab_share/bin"
cp "$lab_build"/test/mpi/{hello_integrity,mixed,rma} "$lab_share/bin/"
if ! lab_up > "$tap_dir/up" 2>&1; then
  tap_result 1 "two machines start"
  note "$(tail -n 40 "$tap_dir/up")"
  done_testing
fi
contains "RoCE is up" "$(guest a ibv_devinfo -d rxe0 2>&1)" PORT_ACTIVE

raw=rc_verbs,ud_verbs,self
wrapped=vrc_verbs,vud_verbs,vself
mixed="mixed -n 1000 -m 65536 -t 100"

# ---- stock UCX and the plugin -------------------------------------------------------------------

undamaged "nothing damaged: stock UCX delivers all right" $raw hello_integrity 2000 4000
# shellcheck disable=SC2086 # words
undamaged "nothing damaged: the plugin delivers all right and finds no fault" $wrapped $mixed

# The first 64 bytes hold headers of UCX, which damage makes hang rather than deliver wrong bytes; small
# packets hold addresses while connections are made.
both "eager sends" send "operations=s least=900 skip=64 nth=10" $raw hello_integrity 2000 4000
both "UD" datagram "operations=u least=900 skip=64 nth=10" ud_verbs,self hello_integrity 2000 4000
# Wrapped transports carry rendezvous and one-sided operations in frames, that is in sends.
both "rendezvous by reads" read "operations=swr least=900 skip=64 nth=50" $raw \
  UCX_RNDV_SCHEME=get_zcopy hello_integrity 300 1048576
both "rendezvous by writes" write "operations=swr least=900 skip=64 nth=50" $raw \
  UCX_RNDV_SCHEME=put_zcopy hello_integrity 300 1048576
both "MPI_Put and MPI_Get" write "operations=swr least=700 skip=64 nth=10" $raw rma -o fence -n 60 -t 100

# ---- the plugin alone: what stock UCX does not survive ------------------------------------------

# Below the plugin are one byte of rc_verbs and eight of ud_verbs, which are its lower transport's own; then
# come the headers of its frames.
# shellcheck disable=SC2086 # words
{
  plugin "headers of frames over rc_verbs" faults_header+faults_payload+faults_length \
    "operations=s least=40 skip=1 within=32 nth=50" $wrapped $mixed
  plugin "headers of frames over ud_verbs" faults_header+faults_payload+faults_length \
    "operations=u least=100 skip=8 within=32 nth=50" vud_verbs,vself $mixed
  # An acknowledgement that travels alone has 33 bytes here.
  plugin "small frames, acknowledgements among them" faults_header+faults_payload+faults_length \
    "operations=s most=40 skip=1 nth=5" $wrapped $mixed
  is "acknowledgements travelled alone there" "$(($(attested acks_sent) > 0))" 1
  plugin "bursts in several packets after each other" segments_repaired \
    "operations=s least=500 skip=1 burst=200 run=3 nth=100" $wrapped $mixed
  plugin "lost packets, which soft-RoCE sends again" frames_verified \
    "operations=su least=200 stale=1 nth=20 limit=30" $wrapped $mixed
}
is "what was lost did not reach the plugin" "$(($(attested faults_payload) + $(attested faults_header)))" 0

done_testing

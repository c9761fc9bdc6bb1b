#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# MPI between two hosts over RoCE whose packets are damaged on the way, with checksums that fit the damage.
# Stock UCX delivers wrong bytes; the plugin, on the same link with the same damage, does not. `make
# check-roce` runs it. The hosts are virtual machines, see lab.sh; the first run makes their image. Where they
# cannot be had it is skipped, with the reason.
set -u
. "${abs_top_srcdir:?}/test/tap.sh"
. "$abs_top_srcdir/test/roce/link.sh"
. "$abs_top_srcdir/test/roce/lab.sh"
. "$abs_top_srcdir/test/roce/verdicts.sh"
. "$abs_top_srcdir/test/roce/health.sh"
. "$abs_top_srcdir/test/roce/acceptance.sh"
trap 'link_stop; rm -rf "$tap_dir"' EXIT

mkdir -p "$lab_share/bin"
packages="qemu-system-x86 seabios ipxe-qemu debootstrap e2fsprogs openssh-client"
missing=$(lab_missing | paste -sd ';' | sed 's/;/; /g')
[ -z "$missing" ] || skip_all "$missing (Debian packages: $packages)"
[ -z "${VERITY_SANITIZERS:-}" ] || skip_all "a module with sanitizers does not load into stock programs"
[ -x "$link_build/test/mpi/rma" ] || skip_all "no MPI to compile the programs with"
[ -x "$lab_share/ucx-verity/bin/ucx-verity" ] || skip_all "not installed for the machines: make check-roce does it"

# ---- the machines -------------------------------------------------------------------------------

# Its files are in use from here on.
exec 9> "$lab_dir/lock"
flock -w 5 9 || skip_all "another run uses $lab_dir"
trap 'link_stop; rm -rf "$tap_dir" "$lab_share/run"' EXIT
lab_image > "$tap_dir/image" 2>&1 || {
  note "$(tail -n 30 "$tap_dir/image")"
  reason=$(grep -m 1 '^E: ' "$tap_dir/image" || tail -n 1 "$tap_dir/image")
  skip_all "the machines' disk image could not be made: ${reason:0:200}"
}
note "image ready after $SECONDS s"
cp "$link_build"/test/mpi/{hello_integrity,mixed,rma} "$link_build/peer_death" "$lab_share/bin/"
if ! lab_up > "$tap_dir/up" 2>&1; then
  note "$(tail -n 40 "$tap_dir/up")"
  skip_all "the machines did not start: $(head -n 1 "$tap_dir/up")"
fi
note "machines ready after $SECONDS s"

long_form() { [ "${VERITY_TEST_LONG:-0}" != 0 ]; }
raw=rc_verbs,ud_verbs,self
wrapped=vrc_verbs,vud_verbs,vself
mixed="mixed -n 1000 -m 65536 -t 250"

# both NAME KIND LEAST WRAPPED-KIND SETTINGS LIST JOB...: stock UCX on LIST, then the plugin on the wrapped
# transports, which may carry it in packets of another kind.
both() {
  local name=$1 kind=$2 least=$3 wrapped_kind=$4 settings=$5 list=$6
  shift 6
  stock "$name" "$kind" "$least" "$settings" "$list" "$@"
  plugin "$name: the plugin repairs it" "$wrapped_kind" "$least" "$settings" "v${list//,/,v}" "$@"
}

# ---- what fits into a message -------------------------------------------------------------------

# am_bcopy LIST TRANSPORT: bytes of its longest copied message; 0 where that cannot be outcome.
am_bcopy() {
  local limit
  limit=$(guest a "$(lab_environment "$1")
    ucx_info -d" 2> /dev/null | sed -n "/Transport: $2\$/,/am_bcopy/s/.*am_bcopy: <= //p" | sed 's/K$/ * 1024/' | head -n 1)
  echo "$((${limit:-0}))"
}

longest=$(am_bcopy $raw rc_verbs)
if [ "$longest" -eq 0 ]; then
  skip "a message over rc_verbs is one over vrc_verbs" "stock UCX does not say how long it may be"
else
  is "a message over rc_verbs is one over vrc_verbs" "$(($(am_bcopy $wrapped vrc_verbs) >= longest))" 1
fi

# ---- a peer that is killed ----------------------------------------------------------------------

# killed NAME SETTINGS ARGUMENT...: peer_death with both processes on one machine, through its card.
killed() {
  local name=$1 settings=$2 outcome
  shift 2
  run_killed() { # run_killed LIST ARGUMENT...
    local list=$1
    shift
    guest_limit=200 guest a "$(lab_environment "$list")
      $settings
      exec timeout -k 5 180 /share/bin/peer_death $* -t 120 2>&1" || echo "exit status $?"
  }
  run_killed $raw "$@" > "$tap_dir/killed.stock" 2>&1
  if ! grep -q '^survivor: .* after' "$tap_dir/killed.stock" || grep -q '^exit status' "$tap_dir/killed.stock"; then
    skip "$name" "stock UCX does not tell either: $(tail -n 1 "$tap_dir/killed.stock" | cut -c 1-200)"
    return
  fi
  note "stock: $(grep -m 1 '^survivor: ' "$tap_dir/killed.stock")"
  run_killed $wrapped "$@" > "$tap_dir/killed" 2>&1
  outcome=$(cat "$tap_dir/killed")
  contains "$name: the plugin's survivor gets UCX's error" "$outcome" '^survivor: .* after'
  lacks "$name: and ends without a hang or UCX's assertion" "$outcome" '^exit status|HANG|Assertion'
  note "plugin: $(grep -m 1 '^survivor: ' <<< "$outcome")"
}
# One dies while 4 MB are read from its memory and into it, or while the other one only waits: then UCX's keepalive finds out.
soon='export UCX_KEEPALIVE_INTERVAL=1s UCX_RC_VERBS_TIMEOUT=30ms UCX_RC_VERBS_RETRY_COUNT=2'
! long_form || killed "killed in the middle of a rendezvous" : -s 4000000 -k 3 -x 5
killed "killed while the other one waits" "$soon" -q -k 3 -x 0

# ---- stock UCX and the plugin -------------------------------------------------------------------

undamaged "nothing damaged: stock UCX delivers all right" $raw hello_integrity 2000 4000
# shellcheck disable=SC2086 # words
undamaged "nothing damaged: the plugin delivers all right and finds no fault" $wrapped $mixed

# ---- what the machines' administrators see ------------------------------------------------------

# shellcheck disable=SC2086 # words
{
  health_job "health, nothing damaged" none "" $wrapped $mixed
  health_job "health, damaged sends" some "operations=s least=900 skip=64 nth=10" $wrapped $mixed
  health_job "health, damaged reads" some "operations=swr least=900 skip=64 nth=25" $wrapped \
    UCX_RNDV_SCHEME=get_zcopy hello_integrity 100 1048576
}
health_perftest "health, ucx_perftest" $wrapped
accepted "acceptance" rc_verbs

# ---- damaged, in all ways -----------------------------------------------------------------------

# The first 64 bytes hold headers of UCX, which damage makes hang rather than deliver wrong bytes; small
# packets hold addresses while connections are made. How many messages are how long is fixed, and with it how
# many packets are corrupted at least.
both "eager sends" send 100 send "operations=s least=900 skip=64 nth=3" $raw hello_integrity 4000 4000
both "UD" datagram 10 datagram "operations=u least=900 skip=64 nth=10" ud_verbs,self hello_integrity 2000 4000
# Wrapped transports read as the raw ones do, and carry what is written, and small reads, in frames, that is in
# sends: the plugin's runs damage those too.
both "rendezvous by reads" read 100 read "operations=swr least=900 skip=64 nth=25" $raw \
  UCX_RNDV_SCHEME=get_zcopy hello_integrity 300 1048576
both "rendezvous by writes" write 50 any "operations=swr least=900 skip=64 nth=50" $raw \
  UCX_RNDV_SCHEME=put_zcopy hello_integrity 300 1048576
both "MPI_Put and MPI_Get" write 10 any "operations=swr least=700 skip=64 nth=10" $raw rma -o fence -n 60 -t 250

# ---- by UCX's own names, and by an alias of them ------------------------------------------------

own=UCX_VERITY_TRANSPARENT=y
! long_form || plugin "by UCX's own names: sends" send 1 "operations=s least=900 skip=64 nth=10" $wrapped $own UCX_TLS=$raw hello_integrity 2000 4000
! long_form || plugin "by UCX's own names: reads" read 1 "operations=swr least=900 skip=64 nth=25" $wrapped $own UCX_TLS=$raw \
  UCX_RNDV_SCHEME=get_zcopy hello_integrity 100 1048576
plugin "by an alias" send 1 "operations=s least=900 skip=64 nth=10" $wrapped $own UCX_TLS=rc,self hello_integrity 2000 4000

# ---- the plugin alone: what stock UCX does not survive ------------------------------------------

# Below the plugin are one byte of rc_verbs and eight of ud_verbs, which are its lower transport's own; then
# come the headers of its frames. Byte 28 of those is 0xb2 in an acknowledgement that travels alone, 32 bytes
# in all. Whether one does is a matter of time: no number of them is asked for.
# shellcheck disable=SC2086 # words
{
  ! long_form || plugin "first bytes of frames over rc_verbs" send 1 "operations=s least=40 skip=1 within=4 nth=50" $wrapped $mixed
  ! long_form || plugin "first bytes of frames over ud_verbs" datagram 1 "operations=u least=100 skip=8 within=4 nth=50" vud_verbs,vself $mixed
  plugin "headers of frames over rc_verbs" send 1 "operations=s least=40 skip=1 within=32 nth=50" $wrapped $mixed
  plugin "headers of frames over ud_verbs" datagram 1 "operations=u least=100 skip=8 within=32 nth=50" vud_verbs,vself $mixed
  plugin "small frames" send 1 "operations=s most=40 skip=1 nth=5" $wrapped $mixed
  plugin "acknowledgements over rc_verbs" send 0 \
    "operations=s least=33 most=33 at=29 value=178 skip=1 nth=2" $wrapped $mixed
  ! long_form || plugin "acknowledgements over ud_verbs" datagram 0 \
    "operations=u least=40 most=40 at=36 value=178 skip=8 nth=2" vud_verbs,vself $mixed
  plugin "bursts in several packets after each other" send 1 \
    "operations=s least=500 skip=1 burst=200 run=3 nth=100" $wrapped $mixed
  ! long_form || plugin "lost packets, which rc_verbs sends again" send 1 "operations=s least=200 stale=1 nth=20 limit=30" $wrapped $mixed
  plugin "lost packets, which ud_verbs sends again" datagram 1 \
    "operations=u least=200 stale=1 nth=20 limit=30" vud_verbs,vself $mixed
  ! long_form || plugin "with the progress thread, over rc_verbs" send 1 "operations=sr least=700 skip=64 nth=40" $wrapped \
    UCX_VERITY_PROGRESS_THREAD=y $mixed
  plugin "with the progress thread, over ud_verbs" datagram 1 "operations=u least=700 skip=64 nth=40" vud_verbs,vself \
    UCX_VERITY_PROGRESS_THREAD=y $mixed
}

done_testing

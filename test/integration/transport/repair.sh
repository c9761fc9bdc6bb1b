#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# What the plugin is for: an MPI program and ucx_perftest over transports that damage one frame in a
# hundred, in every way the test transport knows. Stock UCX delivers wrong bytes there; the plugin
# none, and says what it repaired.
. "${abs_top_srcdir:?}/test/tap.sh"

modules=${VERITY_MODULES:-$abs_top_builddir/modules}
preload=${VERITY_PRELOAD:-$abs_top_builddir/.libs/libverity_preload.so}
program=$abs_top_builddir/test/mpi/hello_integrity
[ -z "$VERITY_SANITIZERS" ] || skip_all "a module with sanitizers does not load into stock programs"
mpirun=$(command -v mpirun.openmpi || command -v mpirun) || skip_all "no mpirun"
[ -x "$program" ] || skip_all "built without MPI"

export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 "$(oversubscribe_variable)"
export OMPI_MCA_pml=ucx OMPI_MCA_osc=ucx,sm OMPI_MCA_osc_ucx_priority=200 OMPI_MCA_opal_common_ucx_tls=any OMPI_MCA_opal_common_ucx_devices=any
export UCX_MODULE_DIR=$modules UCX_VERITY_EXTRA_MODULES=fault LD_PRELOAD=$preload
# Not where the machine's own jobs count.
mkdir "$tap_dir/health"
export UCX_VERITY_HEALTH_DIR=$tap_dir/health

every_kind=flip,burst,zero_line,truncate,drop,replace,repeat

# job TLS VARIABLE=VALUE...: sets $status, $out (stdout) and $err (stderr)
job() {
  local tls=$1
  shift
  out=$(env UCX_TLS="$tls" "$@" timeout 240 "$mpirun" -np 2 "$program" 600 2> "$tap_dir/err")
  status=$?
  err=$(cat "$tap_dir/err")
}
wrong() { sed -n 's/.* messages wrong, \([0-9]*\) bytes wrong$/\1/p' <<< "$out"; }

for lower in tcp posix sysv; do
  job "f$lower,self" UCX_FAULT_KINDS=flip UCX_FAULT_RATE=0.02 UCX_FAULT_PLACE=payload UCX_FAULT_HEADER_SIZE=128 \
    UCX_FAULT_MIN_LEN=1k UCX_FAULT_AFTER=20
  ok "$lower: stock UCX delivers wrong bytes on the corrupting transport" [ "$(wrong)" -gt 0 ]
  for mode in "" UCX_VERITY_SEGMENT_SIZE=512; do
    job "vf$lower,vself" UCX_FAULT_KINDS="$every_kind" UCX_FAULT_RATE=0.01 UCX_VERITY_ATTEST=always ${mode:+"$mode"}
    is "$lower: the job ends well with 1 frame in 100 damaged ${mode#UCX_VERITY_}" "$status" 0
    is "$lower: no wrong byte is delivered" "$(wrong)" 0
    contains "$lower: the attestation counts repairs" "$err" 'retransmitted .*received [1-9][0-9,]* segments?'
  done
  job "v$lower,vself"
  is "$lower: nothing on stderr in a healthy run" "$err" ""
  is "$lower: and all bytes are right" "$(wrong)" 0
done

job vftcp,vself UCX_FAULT_KINDS=flip UCX_FAULT_RATE=0.3 UCX_VERITY_MAX_REPAIRS=1000
is "nearly one frame in three damaged: still no wrong byte" "$status $(wrong)" "0 0"

job vtcp,vself UCX_VERITY_SEGMENT_SIZE=1000
contains "a bad option is named, with what is allowed" "$err" 'UCX_VERITY_SEGMENT_SIZE: bad value; allowed: a power of two'
ok "at most once per process" [ "$(grep -c 'UCX_VERITY_SEGMENT_SIZE' <<< "$err")" -le 2 ]
ok "and the job does not run" [ "$status" -ne 0 ]

perftest=$(command -v ucx_perftest) || { skip "ucx_perftest" "not installed"; done_testing; exit; }
no_mpi= # built with MPI it starts with MPI, unless told not to
"$perftest" -h 2>&1 | grep -q '^ *-P ' && no_mpi='-P 0'
port=$((20000 + $$ % 20000))
perf() { # perf TLS TEST: the client's exit status; a server and a client of one test
  local status pid
  port=$((port + 1))
  # shellcheck disable=SC2086 # words
  env UCX_TLS="$1" timeout 60 "$perftest" $no_mpi -p "$port" -t "$2" -s 3000 -n 500 -w 50 > /dev/null 2>&1 &
  pid=$!
  sleep 1
  # shellcheck disable=SC2086
  env UCX_TLS="$1" timeout 60 "$perftest" $no_mpi localhost -p "$port" -t "$2" -s 3000 -n 500 -w 50 > "$tap_dir/perf" 2>&1
  status=$?
  wait "$pid"
  return "$status"
}
for tls in vposix,vself vftcp,vself; do
  export UCX_FAULT_KINDS=$every_kind UCX_FAULT_RATE=0.003 UCX_VERITY_ATTEST=never
  for test in tag_lat tag_bw stream_lat stream_bw ucp_am_lat ucp_am_bw ucp_put_lat ucp_put_bw ucp_get; do
    ok "$tls: ucx_perftest $test ends well" perf "$tls" "$test"
  done
done
done_testing

#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# A bad value of any of the plugin's variables: one line names it and what is allowed, there is no
# wrapped transport, and UCX's own stay. Values at the edge of what is allowed are taken.
. "${abs_top_srcdir:?}/test/integration/lib.sh"
ucx_info=$(command -v "${UCX_INFO:-ucx_info}") || skip_all "no ucx_info"

listing() { with_tls vtcp,vself env "UCX_VERITY_$1" timeout 60 "$ucx_info" -d 2>&1; }
wrappers() { grep -c 'Transport: v' <<< "$1"; }

while read -r setting allowed; do
  output=$(listing "$setting")
  name=${setting%%=*}
  is "$setting: said once" "$(grep -c "ucx-verity: UCX_VERITY_$name: bad value; allowed: $allowed\$" <<< "$output")" 1
  is "$setting: nothing is wrapped, nor lost" "$(wrappers "$output") $(grep -c 'Transport: self$' <<< "$output")" "0 1"
done << 'END'
SEGMENT_SIZE=1000 a power of two from 256 to 65536
SEGMENT_SIZE=128 a power of two from 256 to 65536
SEGMENT_SIZE=128k a power of two from 256 to 65536
WINDOW=1 2 to 32768 frames
WINDOW=32769 2 to 32768 frames
WINDOW_BYTES=4095 4k to 1g
WINDOW_BYTES=inf 4k to 1g
MAX_REPAIRS=0 1 to 1000000
LINGER=-1 0 to 3600s
LINGER=inf 0 to 3600s
ACK_POLLS=0 1 or more
HEALTH_MODE=0777 0600 to 0666, readable and writable by its owner
HEALTH_MODE=rw 0600 to 0666, readable and writable by its owner
HEALTH_MODE=0400 0600 to 0666, readable and writable by its owner
HEALTH_KEEP=-1 0 to 1000000000s
COPY_AFTER=0 1us to 60s
PROBE_AFTER=61s 1us to 60s
POOL_LIMIT=1000 1m or more
HELD_LIMIT=1000 1m or more
END

# What UCX's parser cannot read it names itself.
for setting in MODE=foo ON_FAILURE=foo ATTEST=foo FAULT_TEXT=foo FAULT_LOG_LIMIT=-x WINDOW=x LINGER=abc; do
  output=$(listing "$setting")
  contains "$setting: UCX names it" "$output" "Invalid value for ${setting%%=*}: '${setting#*=}'. Expected:"
  is "$setting: nothing is wrapped" "$(wrappers "$output")" 0
done

for setting in MODE=observe MODE=off SEGMENT_SIZE=256 SEGMENT_SIZE=64k WINDOW=2 WINDOW=32768 \
  WINDOW_BYTES=4k WINDOW_BYTES=1g MAX_REPAIRS=1 LINGER=0 ACK_POLLS=1 COPY_AFTER=60s PROBE_AFTER=1us \
  HEALTH=n HEALTH_MODE=0666 HEALTH_KEEP=0 POOL_LIMIT=inf HELD_LIMIT=inf ON_FAILURE=error ATTEST=never ATTEST_RANKS=y FAULT_TEXT=none FAULT_LOG_LIMIT=0; do
  output=$(listing "$setting")
  is "$setting is taken" "$(($(wrappers "$output") > 0)) $(grep -c 'ucx-verity:' <<< "$output")" "1 0"
done

# And used: messages arrive with the smallest and the largest.
if [ -x "$build/uct_am" ]; then
  for setting in WINDOW=2 WINDOW_BYTES=4k SEGMENT_SIZE=256 SEGMENT_SIZE=64k POOL_LIMIT=1m HELD_LIMIT=1m \
    ACK_POLLS=4294967295 PROBE_AFTER=1us LINGER=0 MODE=observe MODE=off; do
    contains "$setting: messages of all kinds arrive" \
      "$(with_tls vtcp env "UCX_VERITY_$setting" timeout -k 5 100 "$build/uct_am" -r 10 -c mixed vtcp lo 2>&1)" \
      '^ok 1 '
  done
fi

# Checks of datatypes that are asked for, and the library that makes them is not there: one line of the whole job.
without_library() { # without_library LAUNCHER VALUE: the lines about it
  (
    export UCX_VERITY_TYPECHECK=$2
    mpi_run 120 "$1" 3 vposix,vself hello_integrity 100
  ) | grep 'ucx-verity: UCX_VERITY_TYPECHECK'
}
for launcher in $openmpi $mpich; do
  is "$(flavour "$launcher"): type checks without their library: said once, with the remedy" "$(without_library "$launcher" warn)" \
    "ucx-verity: UCX_VERITY_TYPECHECK=warn, but LD_PRELOAD has neither libverity_mpi_openmpi.so nor libverity_mpi_mpich.so: no datatype is compared (run: eval \"\$(ucx-verity env --typecheck warn)\")"
  is "$(flavour "$launcher"): nothing is said when they are off" "$(without_library "$launcher" off)" ""
  lacks "$(flavour "$launcher"): nor with the library" "$(UCX_VERITY_TYPECHECK=warn typechecked 120 "$launcher" 3 vposix,vself hello_integrity 100)" \
    'no datatype is compared'
done

# Where raw transports are left, an MPI job runs on them: its last line says so, and why.
if [ -n "$openmpi" ]; then
  output=$(verity_env all; unset UCX_TLS; UCX_VERITY_ATTEST=yes within 60 "$openmpi" -np 2 "$(mpi_program "$openmpi" mixed)" -n 100 2>&1)
  contains "a job with a value that UCX refuses has no silence" "$output" \
    '^ucx-verity: NOTHING VERIFIED: no message used the plugin \(a UCX_VERITY variable has a bad value, see above\)$'
  # Each process of it, and where the other variables say.
  for bad in ATTEST=yes WINDOW=1; do
    rm -rf "$tap_dir/elsewhere"
    mkdir "$tap_dir/elsewhere"
    (
      verity_env all
      unset UCX_TLS
      export UCX_VERITY_HEALTH_DIR=$tap_dir/elsewhere "UCX_VERITY_$bad"
      within 60 "$openmpi" -np 2 "$(mpi_program "$openmpi" mixed)" -n 100 > "$tap_dir/elsewhere.out" 2>&1
    )
    is "UCX_VERITY_$bad: its health files are where UCX_VERITY_HEALTH_DIR says" "$(find "$tap_dir/elsewhere" -name '[0-9]*.health' | wc -l)" 2
  done
  rm -rf "$tap_dir/elsewhere"
  mkdir "$tap_dir/elsewhere" "$tap_dir/conf"
  if reads_ucx_conf "$tap_dir/conf"; then
    echo "UCX_VERITY_HEALTH_DIR=$tap_dir/elsewhere" > "$tap_dir/conf/ucx.conf"
    (
      verity_env all
      unset UCX_TLS UCX_VERITY_HEALTH_DIR
      export UCX_CONFIG_DIR=$tap_dir/conf UCX_VERITY_ATTEST=yes
      within 60 "$openmpi" -np 2 "$(mpi_program "$openmpi" mixed)" -n 100 > "$tap_dir/elsewhere.out" 2>&1
    )
    is "  and where ucx.conf does" "$(find "$tap_dir/elsewhere" -name '[0-9]*.health' | wc -l)" 2
  else
    skip "  and where ucx.conf does" "this UCX reads none"
  fi
fi

done_testing

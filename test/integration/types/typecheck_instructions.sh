#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# What the checks of datatypes add to each message, in instructions: a message to oneself under callgrind, with the interposer and without
# it. The difference repeats exactly; it may exceed its row of test/perf_counts/instructions.table by 10 %, as in instructions.sh.
# To record rows for a new compiler: VERITY_PERF_RECORD=1 (they are printed, not written).
. "${abs_top_srcdir:?}/test/integration/lib.sh"
[ -n "$openmpi$mpich" ] || skip_all "neither Open MPI nor an MPICH on UCX"
command -v valgrind > /dev/null || skip_all 'valgrind is not installed'

VERITY_PERF_RECORD=${VERITY_PERF_RECORD:-}
table=$abs_top_srcdir/test/perf_counts/instructions.table
messages=1000 # as kCounted in test/mpi/datatypes/typecheck_cost.c
key=$("${PERF_COUNTS:-$build/perf_counts}" --key) || skip_all "perf_counts does not run"
key=${key%%/*} # the compiler: neither xxHash nor the kernel plays a part
[ "$key" != unoptimized ] || skip_all 'an unoptimized build: its counts mean nothing'

# count LAUNCHER KIND [COMPANION]: instructions per message; nothing when it does not run under valgrind.
count() (
  program=$(mpi_program "$1" typecheck_cost) || exit 1
  verity_env vposix,vself
  [ -z "${3:-}" ] || export LD_PRELOAD="$LD_PRELOAD:$3" UCX_VERITY_TYPECHECK=warn
  timeout -k 5 200 "$1" -np 1 valgrind --tool=callgrind --callgrind-out-file=/dev/null --toggle-collect=typecheck_counted \
    "$program" count "$2" 2>&1 | tee "$tap_dir/job" | awk -v n=$messages '/Collected *:/ { printf "%d\n", $NF / n }'
)

# shellcheck disable=SC2317 # called through ok
within_budget() { # within_budget WITHOUT WITH LIMIT
  [[ $1 =~ ^[1-9][0-9]*$ ]] && [[ $2 =~ ^[1-9][0-9]*$ ]] && [ $(($2 - $1)) -le "$3" ]
}

for launcher in $openmpi $mpich; do
  mpi=$(flavour "$launcher")
  for kind in basic derived; do
    name=typecheck-$mpi-$kind
    limit=$(awk -v key="$key" -v name="$name" '$1 == key && $2 == name { print $3 + int($3 / 10) }' "$table")
    [ -n "$limit$VERITY_PERF_RECORD" ] || { skip "$name" "no count recorded for $key"; continue; }
    without=$(count "$launcher" $kind)
    [ -n "$without" ] || { skip "$name" "valgrind does not run it: $(tail -n 1 "$tap_dir/job")"; continue; }
    with=$(count "$launcher" $kind "$(interposer_for "$launcher")")
    if [ -n "$VERITY_PERF_RECORD" ]; then
      skip "$(printf '%-28s %-24s %s' "$key" "$name" $((with - without)))" recording
    else
      ok "$name: $((with - without)) instructions, limit $limit" within_budget "$without" "$with" "$limit"
    fi
  done
done
[ -n "$mpich" ] || skip "MPICH" "no MPICH on UCX"

done_testing

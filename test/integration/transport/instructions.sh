#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Instruction counts of the core's hot paths, by callgrind: they repeat exactly where times do not.
# Each may exceed its row of test/perf_counts/instructions.table by 10 %.
# To record rows for a new compiler: VERITY_PERF_RECORD=1 (they are printed, not written).
. "${abs_top_srcdir:?}/test/tap.sh"

table=$abs_top_srcdir/test/perf_counts/instructions.table
driver=$tap_dir/perf_counts
runs=100 # as kRuns in driver.cc

command -v valgrind > /dev/null || skip_all 'valgrind is not installed'
[ -z "${VERITY_SANITIZERS:-}" ] || skip_all 'a sanitizer build: its counts mean nothing'
# Without debug information, which valgrind does not understand from every compiler.
strip -g -o "$driver" "${PERF_COUNTS:-${abs_top_builddir:?}/perf_counts}" 2> "$tap_dir/err" ||
  skip_all "strip does not work here: $(head -n 1 "$tap_dir/err")"
# Asked under valgrind: its CPU lacks some instruction sets of the real one.
key=$(valgrind --tool=none -q "$driver" --key 2> "$tap_dir/err") ||
  skip_all "valgrind cannot run the driver: $(head -n 1 "$tap_dir/err")"

# Prints instructions per run of case $1; 'fails' when the driver does.
count() {
  if ! valgrind --tool=callgrind --callgrind-out-file=/dev/null \
    --toggle-collect=verity_perf_counted "$driver" "$1" 2> "$tap_dir/err"; then
    echo fails
    return
  fi
  awk -v runs="$runs" '/Collected *:/ { printf "%d\n", $NF / runs }' "$tap_dir/err"
}

# shellcheck disable=SC2317 # called through ok
within() { # within COUNT LIMIT
  [[ $1 =~ ^[1-9][0-9]*$ ]] && [ "$1" -le "$2" ]
}

if [ -n "${VERITY_PERF_RECORD:-}" ]; then
  for name in $("$driver" --list); do
    note "$(printf '%-28s %-24s %s' "$key" "$name" "$(count "$name")")"
  done
  skip_all 'recording'
fi

# Of any compiler that optimizes: what a fault-free frame pays for being counted, both ends together.
[ "$key" = unoptimized ] || {
  got=$(count count-10-frames)
  ok "counting ten frames: $got instructions, at most 12 a frame" within "$got" 120
}

if ! grep -q "^$key " "$table"; then
  skip "the other paths" "no counts recorded for $key"
  done_testing
  exit
fi

for name in $("$driver" --list | grep -vx count-10-frames); do
  limit=$(awk -v key="$key" -v name="$name" '$1 == key && $2 == name { print $3 + int($3 / 10) }' "$table")
  if [ -z "$limit" ]; then
    skip "$name" "no count recorded for $key"
    continue
  fi
  got=$(count "$name")
  ok "$name: $got instructions, limit $limit, no allocation" within "$got" "$limit"
done

done_testing

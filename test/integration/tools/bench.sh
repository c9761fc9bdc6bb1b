#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# `ucx-verity bench` runs and reports; what it measures here says nothing.
. "${abs_top_srcdir:?}/test/tap.sh"

tool=$abs_top_builddir/ucx-verity
unset UCX_INFO # the harness's own; UCX warns of UCX_ variables that it does not know
bench() { timeout 120 "$tool" bench "$@"; }

csv=$tap_dir/figures.csv
table=$(bench --tls posix,self --sizes 8,4K --seconds 0.02 --csv "$csv" 2> "$tap_dir/stderr")
is "a short run ends well" $? 0
is "and writes nothing on stderr" "$(cat "$tap_dir/stderr")" ""
contains "table: UCT" "$table" '^uct/short posix +latency ns +8 '
contains "table: UCP, with the project's limit" "$table" '^ucp +posix +latency ns +8 .*<= \+45 ns'
contains "table: the tail of latencies" "$table" '^ucp +self +p99\.9 +4K '
contains "table: rates" "$table" '^ucp +posix +M msg/s +8 '
is "CSV: a line for each" "$(wc -l < "$csv")" 17
is "CSV: the same number of fields in each" "$(awk -F, '{print NF}' "$csv" | sort -u)" 25
is "CSV: no figure is missing" "$(awk -F, 'NR > 1 && !($9 > 0 && $10 > 0)' "$csv")" ""
contains "JSON" "$(bench --tls self --level ucp --tests latency --sizes 8 --seconds 0.02 --json)" \
  '"transport": "self"'
contains "raw on both sides: no limits" \
  "$(bench --null --tls self --level ucp --tests rate --sizes 8 --seconds 0.02)" '^raw against raw'
mpi_bench() { timeout 600 "$tool" bench --level mpi --tls posix --blocks 1 --mpicc "$MPICC" --mpirun "$(dirname "$MPICC")/mpirun" "$@" 2>&1; }
if [ -z "$MPICC" ]; then
  skip "MPI level" "no MPI compiler"
else
  contains "MPI level" "$(mpi_bench --tests latency --sizes 8 --seconds 0.1)" '^mpi +posix +latency ns +8 '
  axes=$(mpi_bench --tests rate --sizes 128,64K --segments 256,64K --ranks 2,4 --seconds 0.01)
  for axis in '2 +256' '2 +64K' '4 +256' '4 +64K'; do
    contains "MPI level: ranks and segment $axis" "$axes" "^mpi +posix +MB/s +$axis +64K +[0-9.]+ +[0-9.]+ "
  done
  one_sided=$(mpi_bench --tests put,get --sizes 1M --seconds 0.01)
  for test in put get; do
    contains "MPI level: $test" "$one_sided" "^mpi +posix +$test ns +1M +[0-9.]+ +[0-9.]+ "
  done
  is "MPI level: no line is wider than 100 columns" "$(awk 'length > 100' <<< "$axes")" ""
  contains "JSON has the axes" "$(mpi_bench --tests rate --sizes 8 --segments 256 --seconds 0.01 --json)" \
    '"segment": 256'
fi
contains "an odd number of ranks is refused" "$(bench --level mpi --ranks 3 2>&1)" 'even numbers'
contains "a wrong segment size is refused" "$(bench --level mpi --segments 300 2>&1)" "'300': a power of two"
contains "axes belong to the MPI level" "$(bench --segments 256 2>&1)" 'need --level mpi'
contains "and so do one-sided operations" "$(bench --tests put 2>&1)" 'level mpi'
contains "a missing MPI compiler is named" \
  "$(bench --level mpi --tls posix --mpicc /none/mpicc 2>&1; echo "status $?")" '/none/mpicc'
contains "a wrong size is refused" "$(bench --sizes 8Q 2>&1; echo "status $?")" "size '8Q'"
contains "an unknown transport is refused" "$(bench --tls nonsense 2>&1)" "'nonsense' does not exist"
done_testing

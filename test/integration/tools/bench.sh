#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# `ucx-verity bench` runs and reports; what it measures here says nothing.
. "${abs_top_srcdir:?}/test/tap.sh"

tool=$abs_top_builddir/ucx-verity
unset UCX_INFO # the harness's own; UCX warns of UCX_ variables that it does not know
# A run of the matrix may have turned it off. Without it UCX 1.23 crashes over self, also without the plugin.
unset UCX_RCACHE_ENABLE
bench() { timeout 120 "$tool" bench --openings 2 "$@"; }

csv=$tap_dir/figures.csv
table=$(bench --tls posix,self --sizes 8,4K --seconds 0.02 --csv "$csv" 2> "$tap_dir/stderr")
is "a short run ends well" $? 0
is "and writes nothing on stderr" "$(cat "$tap_dir/stderr")" ""
contains "table: UCT" "$table" '^uct/short posix +latency ns +8 '
contains "table: UCP, with the project's limit" "$table" '^ucp +posix +latency ns +8 .*<= \+45 ns'
contains "table: the tail of latencies" "$table" '^ucp +self +p99\.9 +4K '
contains "table: rates" "$table" '^ucp +posix +M msg/s +8 '
is "CSV: a line for each" "$(wc -l < "$csv")" 17
is "CSV: the same number of fields in each" "$(awk -F, '{print NF}' "$csv" | sort -u)" 37
is "CSV: no figure is missing" "$(awk -F, 'NR > 1 && !($9 > 0 && $10 > 0)' "$csv")" ""
contains "JSON" "$(bench --tls self --level ucp --tests latency --sizes 8 --seconds 0.02 --json)" \
  '"transport": "self"'
contains "raw on both sides: no limits" \
  "$(bench --null --tls self --level ucp --tests rate --sizes 8 --seconds 0.02)" '^raw against raw'

# A page without anything from elsewhere, which parses.
page=$tap_dir/page.html
markdown=$(bench --level ucp --tls posix,self --tests latency,rate --sizes 8,256 --seconds 0.02 --html "$page" --markdown)
is "Markdown: a row for each figure, under three columns" \
  "$(grep -cE '^\| (posix|self), (latency|message rate) (8|256) B \|( [0-9.]+ (ns|M/s) \|){2} (\+|-|x)' <<< "$markdown")" 8
contains "Markdown: names the command" "$markdown" '^`ucx-verity bench --openings 2 .*--markdown`$'
is "HTML: a drawing for each transport and kind of test" "$(grep -c '<svg ' "$page")" 4
is "HTML: a point for each figure" "$(grep -c '<circle class="new"' "$page")" 8
lacks "HTML: nothing from elsewhere" "$(cat "$page")" '<script|<img|<link|@import|url\(|src='
if command -v xmllint > /dev/null; then
  ok "HTML: well-formed" xmllint --noout "$page"
elif command -v python3 > /dev/null; then
  ok "HTML: well-formed" python3 -c 'import sys, xml.dom.minidom as m; m.parse(sys.argv[1])' "$page"
else
  skip "HTML: well-formed" "neither xmllint nor python3"
fi
contains "a page that cannot be written is named, before anything is measured" \
  "$(bench --tls self --seconds 3600 --html "$tap_dir/none/page.html" 2>&1; echo "status $?")" "cannot write $tap_dir/none/page.html"
contains "a full disk is no success" "$(bench --tls self --tests latency --sizes 8 --seconds 0.01 --html /dev/full 2>&1; echo "status $?")" '^status 2'

# However it ends, its folder is gone soon after.
mkdir "$tap_dir/tmp"
TMPDIR=$tap_dir/tmp "$tool" bench --tls self --level ucp --tests latency --sizes 8 --seconds 3600 > /dev/null 2>&1 &
measuring=$!
made() { [ -n "$(ls -A "$tap_dir/tmp")" ]; }
for _ in $(seq 600); do ! made || break; sleep 0.1; done
ok "a folder below TMPDIR, while it measures" made
kill -KILL $measuring
wait $measuring 2> /dev/null
for _ in $(seq 600); do made || break; sleep 0.1; done
is "which is gone after a SIGKILL" "$(ls -A "$tap_dir/tmp")" ""
contains "a folder that is not there is named" "$(TMPDIR=/none bench --tls self 2>&1; echo "status $?")" 'cannot write to /none: No such file or directory'

# Another plugin beside this one: that of this very build.
compared=$(bench --level ucp --tls self --tests latency --sizes 8 --seconds 0.02 --compare "$abs_top_builddir" --json)
contains "--compare: the older figure" "$compared" '"old": [1-9]'
contains "--compare: openings" "$compared" '"openings": 2'
table=$(bench --tls self --level ucp --tests rate --sizes 8 --seconds 0.02 --compare "$abs_top_builddir")
contains "--compare: a line for old and new" "$table" '^ucp +self +old, new +8 +[0-9.]+ +[0-9.]+ '
contains "--compare: a folder without a plugin is refused" \
  "$(bench --compare "$tap_dir" 2>&1; echo "status $?")" "no plugin for UCX .* in $tap_dir/lib/"
contains "--compare: with status 2" "$(bench --compare "$tap_dir" 2>&1; echo "status $?")" '^status 2'
contains "--compare and --null exclude each other" "$(bench --null --compare "$tap_dir" 2>&1)" 'excludes'
is "--limited: only figures with a limit" \
  "$(bench --level ucp --tls posix,self --sizes 8,16 --seconds 0.01 --limited | grep -cE 'latency|M msg')" 3
is "--limited: each with its limit" \
  "$(bench --level ucp --tls posix,self --sizes 8,16 --seconds 0.01 --limited | grep -cE '[<>]= ')" 3

# A host of --on that locks UCX's own names, by the file of the plugin's site: UCX's release decides which variable names that plugin;
# the other one is as a shell had it before.
read -ra cc <<< "${CC:-cc}"
if command -v "${cc[0]}" > /dev/null; then
  mkdir -p "$tap_dir/site/plugin" "$tap_dir/other/plugin"
  echo 'lock UCX_VERITY_TRANSPARENT=y' > "$tap_dir/site/ucx-verity.conf"
  chmod 644 "$tap_dir/site/ucx-verity.conf"
  echo 'const char *ucp_get_version_string(void) { return RELEASE; }' > "$tap_dir/release.c"
  opened() { # opened RELEASE FOLDER-OF-UCX_MODULE_DIR FOLDER-OF-UCX_PLUGIN_PATH: what it answers where vtcp is to be opened
    "${cc[@]}" -shared -fPIC "-DRELEASE=\"$1\"" -o "$tap_dir/release.so" "$tap_dir/release.c" &&
      echo '{"order": "open", "level": 1, "transport": "vtcp", "test": 0, "remote": true, "size": 8}' |
      LD_PRELOAD=$tap_dir/release.so UCX_MODULE_DIR=$tap_dir/$2/plugin UCX_PLUGIN_PATH=$tap_dir/$3/plugin:/none UCX_WARN_UNUSED_ENV_VARS=n \
        timeout 60 "$tool" bench --worker 2> /dev/null
  }
  for release in 1.13.1 1.21.0; do
    contains "a host with UCX $release: the plugin is that of UCX_MODULE_DIR" "$(opened $release site other)" '"address":'
    contains "a host with UCX $release: not that of UCX_PLUGIN_PATH" "$(opened $release other site)" '"problem":"UCP on vtcp'
  done
  contains "a host with UCX 1.22.0: the plugin is that of UCX_PLUGIN_PATH" "$(opened 1.22.0 other site)" '"address":'
  contains "a host with UCX 1.22.0: not that of UCX_MODULE_DIR" "$(opened 1.22.0 site other)" '"problem":"UCP on vtcp'
else
  skip "a host that locks UCX's own names" "no C compiler"
fi

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
  collectives=$(mpi_bench --tests allreduce,alltoall --sizes 6,4K --ranks 4 --seconds 0.01)
  for test in allreduce alltoall; do
    for size in 6 4K; do
      contains "MPI level: $test of $size" "$collectives" "^mpi +posix +$test ns +4 +default +$size +[1-9][0-9.]* +[1-9][0-9.]* "
    done
  done
  contains "JSON has the axes" "$(mpi_bench --tests rate --sizes 8 --segments 256 --seconds 0.01 --json)" \
    '"segment": 256'
fi
contains "an odd number of ranks is refused" "$(bench --level mpi --ranks 3 2>&1)" 'even numbers'
contains "a wrong segment size is refused" "$(bench --level mpi --segments 300 2>&1)" "'300': a power of two"
contains "axes belong to the MPI level" "$(bench --segments 256 2>&1)" 'need --level mpi'
contains "and so do one-sided operations and collectives" "$(bench --tests put,allreduce 2>&1)" 'level mpi'
contains "a missing MPI compiler is named" \
  "$(bench --level mpi --tls posix --mpicc /none/mpicc 2>&1; echo "status $?")" '/none/mpicc'
contains "a wrong size is refused" "$(bench --sizes 8Q 2>&1; echo "status $?")" '^--sizes: '
contains "an unknown transport is refused" "$(bench --tls nonsense 2>&1)" "'nonsense' does not exist"
done_testing

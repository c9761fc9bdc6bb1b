#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# contrib/tested-with: rows come from result files alone, and say what failed or did not run.
. "${abs_top_srcdir:?}/test/tap.sh"

mkdir -p "$tap_dir"/tree/{contrib,src/uct/compat} "$tap_dir"/cache/{ucx/results,trixie/tree/build/test}
cp "$abs_top_srcdir/contrib/tested-with" "$tap_dir/tree/contrib/"
tool=$tap_dir/tree/contrib/tested-with
run() { "$tool" --cache "$tap_dir/cache" "$@" 2>&1; }

ok "no results: no table" eval '! run > "$tap_dir/none"'
contains "no results: what to run" "$(cat "$tap_dir/none")" 'no results in .*cache: run contrib/check-matrix'

echo 'release=1.18.1 layout=142 ucx=built plugin=built by=preload transports=vposix,vtcp perftest=30/0/1 repair=52/0/0' > "$tap_dir/cache/ucx/results/1.18.1"
echo 'release=1.9.0 layout=failed ucx=built plugin=failed by=- transports=- perftest=- repair=3/2/0' > "$tap_dir/cache/ucx/results/1.9.0"
table=$(run)
contains "a release that passed" "$table" '^\| 1\.18\.1 \| 142 alike \| built \| preload \| vposix, vtcp \| 30 passed, 1 skipped \| 52 passed \|$'
contains "one that did not" "$table" '^\| 1\.9\.0 \| failed \| failed \| - \| - \| not run \| 3 passed, \*\*2 failed\*\* \|$'
is "releases in their order" "$(grep -oE '^\| 1\.[0-9.]+' <<< "$table" | paste -sd' ')" "| 1.9.0 | 1.18.1"
lacks "nothing of systems that have no result" "$table" 'Debian'

echo 'UCX 1.18.1, Open MPI 5.0.7' > "$tap_dir/cache/trixie/tree/build/versions"
printf ':test-result: PASS a\n:test-result: PASS b\n:test-result: SKIP c\n' > "$tap_dir/cache/trixie/tree/build/test/one.trs"
printf ':test-result: FAIL d\n' > "$tap_dir/cache/trixie/tree/build/test/two.trs"
contains "a Debian release" "$(run)" '^\| UCX 1\.18\.1, Open MPI 5\.0\.7 \| Debian trixie \| 2 \| 2 passed, \*\*1 failed\*\*, 1 skipped \|$'

# A launcher that is not called mpirun names its runtime: that of Debian 12, as mpirun.openmpi.
mkdir -p "$tap_dir"/{bin,here/test}
cp "$tap_dir/cache/trixie/tree/build/test/one.trs" "$tap_dir/here/test/"
echo 'VERITY_UCX_VERSION = 1.13.1' > "$tap_dir/here/Makefile"
printf '#!/bin/sh\necho "mpirun.openmpi (OpenRTE) 4.1.4"\n' > "$tap_dir/bin/mpirun.openmpi"
printf '#!/bin/sh\necho "MPICH Version:    	4.0.2"\n' > "$tap_dir/bin/mpichversion"
chmod +x "$tap_dir"/bin/*
contains "a build of this machine" "$(PATH=$tap_dir/bin:$PATH run --build "$tap_dir/here")" \
  '^\| UCX 1\.13\.1, Open MPI 4\.1\.4, MPICH 4\.0\.2, .* \| 1 \| 2 passed, 1 skipped \|$'

page=$tap_dir/tree/src/uct/compat/README.md
printf '# A page\n\n## Tested\n\nA sentence.\n\n' > "$page"
run --write
contains "written: what stood there stays" "$(head -n 5 "$page")" '^A sentence\.$'
contains "written: the table" "$(cat "$page")" '^\| 1\.18\.1 '
first=$(cat "$page")
run --write
is "written again: the same" "$(cat "$page")" "$first"
# Another cache, which has one of these releases, another one and no system.
mkdir -p "$tap_dir/other/ucx/results"
sed 's/repair=52/repair=53/' "$tap_dir/cache/ucx/results/1.18.1" > "$tap_dir/other/ucx/results/1.18.1"
sed 's/1\.18\.1/1.10.1/' "$tap_dir/cache/ucx/results/1.18.1" > "$tap_dir/other/ucx/results/1.10.1"
"$tool" --cache "$tap_dir/other" --add
is "added: rows that have no result here stay" "$(grep -oE '^\| [0-9.]+ |^\| UCX [0-9.]+' "$page" | paste -sd' ' | tr -s ' ')" \
  "| UCX 1.18.1 | 1.9.0 | 1.10.1 | 1.18.1 "
contains "  the others are those of here" "$(cat "$page")" '^\| 1\.18\.1 .* 53 passed \|$'
"$tool" --cache "$tap_dir/other" --write
is "written from there: nothing else" "$(grep -oE '^\| [0-9.]+ |^\| UCX [0-9.]+' "$page" | paste -sd' ' | tr -s ' ')" "| 1.10.1 | 1.18.1 "
run --nothing > "$tap_dir/wrong"
is "wrong use" $? 2

# The page of this tree is what the script wrote.
contains "the page names the script" "$(cat "$abs_top_srcdir/src/uct/compat/README.md")" 'contrib/tested-with'
done_testing

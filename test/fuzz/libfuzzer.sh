#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# libFuzzer on everything that reads received bytes, with what sanitizers the build has. VERITY_FUZZ_TOTAL: seconds in all, split
# over the targets (default 34), three shares for the link, two for remote memory access; as many run at a time as there are
# processors. What breaks a target is kept in the build tree and shown in base64.
. "${abs_top_srcdir:?}/test/tap.sh"

targets=(hub rma autolink compact health job policy report shapes signature text trailer validate wire)
declare -A shares=([hub]=3 [rma]=2)
share=$((${VERITY_FUZZ_TOTAL:-34} / 17))
declare -A seconds
for target in "${targets[@]}"; do seconds[$target]=$((share * ${shares[$target]:-1})); done
cd "${abs_top_builddir:?}" || exit 1
[ -x "./fuzz_${targets[0]}" ] || skip_all 'no libFuzzer programs: configure with --enable-fuzzers and clang'

# shellcheck disable=SC2317 # called through ok
fuzz() { # fuzz TARGET
  local corpus=$tap_dir/$1 known=$abs_top_srcdir/test/fuzz/corpus/$1
  mkdir "$corpus"
  [ -d "$known" ] || known=
  # No allocation of a target is larger than the frames it makes; none needs a second.
  # shellcheck disable=SC2086 # no folder, no argument
  timeout -k 10 $((seconds[$1] + 120)) "./fuzz_$1" -max_total_time="${seconds[$1]}" -max_len=4096 -timeout=60 -rss_limit_mb=2048 \
    -artifact_prefix="fuzz_$1-" -print_final_stats=1 "$corpus" $known > "$tap_dir/$1.log" 2>&1
}

running=0
for target in "${targets[@]}"; do
  (fuzz "$target"; echo $? > "$tap_dir/$target.status") &
  running=$((running + 1))
  if [ "$running" -ge "$(nproc)" ]; then
    wait -n
    running=$((running - 1))
  fi
done
wait
for target in "${targets[@]}"; do
  status=$(cat "$tap_dir/$target.status")
  runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$tap_dir/$target.log")
  cover=$(grep -oE 'cov: [0-9]+' "$tap_dir/$target.log" | tail -n 1)
  tap_result "$status" "fuzz_$target: nothing breaks in ${seconds[$target]} s"
  note "${runs:-?} runs, $cover"
  [ "$status" -eq 0 ] || note "$(grep -vE '^#[0-9]|NEW_FUNC' "$tap_dir/$target.log" | tail -n 40 | cut -c1-1000)"
done
done_testing

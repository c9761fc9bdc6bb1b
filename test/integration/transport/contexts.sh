#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Several threads, each with contexts and workers of its own, at the same time: made in that thread, or by the first one.
. "${abs_top_srcdir:?}/test/integration/lib.sh"

rounds=$(normal_or_long 10 100)
for list in vposix,vself vsysv,vself vtcp,vself vftcp,vfself; do
  case $list in vf*) damage_frames ;; *) no_damage ;; esac
  for form in 4 8 "4 given"; do
    threads=${form% given} given=${form#"$threads"} status=0
    UCX_HANDLE_ERRORS=none with_tls "$list" timeout -k 5 120 "$build/contexts" "$threads" "$rounds" ${given:+given} \
      > "$tap_dir/out" 2>&1 || status=$?
    is "$threads threads$given, $list" "$status $(grep -o 'wrong 0' "$tap_dir/out")" "0 wrong 0"
    [ "$status" -eq 0 ] || note "$(tail -n 20 "$tap_dir/out")"
  done
done

done_testing

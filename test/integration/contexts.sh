#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Several threads, each with contexts and workers of its own, at the same time.
. "${abs_top_srcdir:?}/test/integration/lib.sh"

rounds=$(normal_or_long 10 100)
for list in vposix,vself vsysv,vself vtcp,vself vftcp,vfself; do
  case $list in vf*) damage_frames ;; *) no_damage ;; esac
  for threads in 4 8; do
    status=0
    UCX_HANDLE_ERRORS=none with_tls "$list" timeout -k 5 120 "$build/contexts" "$threads" "$rounds" \
      > "$tap_dir/out" 2>&1 || status=$?
    is "$threads threads, $list" "$status $(grep -o 'wrong 0' "$tap_dir/out")" "0 wrong 0"
    [ "$status" -eq 0 ] || note "$(tail -n 20 "$tap_dir/out")"
  done
done

done_testing

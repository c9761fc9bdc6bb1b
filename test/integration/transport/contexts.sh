#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Several threads, each with contexts and workers of its own, at the same time: made in that thread, or by the first one.
. "${abs_top_srcdir:?}/test/integration/lib.sh"

rounds=$(normal_or_long 10 100)
contexts() { # contexts LIST THREADS [given | serialized]
  UCX_HANDLE_ERRORS=none with_tls "$1" timeout -k 5 120 "$build/contexts" "$2" "$rounds" "${@:3}" > "$tap_dir/out" 2>&1
}
# A UCX with assertions, as Debian's 1.23, aborts where a worker that is for one thread is used in another one.
owned='ucs_async_check_owner_thread.* failed'
stock_aborts() {
  ! (no_damage; contexts "$(sed -E 's/(^|,)vf?/\1/g' <<< "$list")" "$threads" given) && grep -q "$owned" "$tap_dir/out"
}
for list in vposix,vself vsysv,vself vtcp,vself vftcp,vfself; do
  case $list in vf*) damage_frames ;; *) no_damage ;; esac
  for form in 4 8 "4 given" "4 serialized"; do
    read -r threads how <<< "$form"
    name="$threads threads${how:+ $how}, $list" status=0
    contexts "$list" "$threads" ${how:+"$how"} || status=$?
    if [ "$how" = given ] && grep -q "$owned" "$tap_dir/out" && stock_aborts; then
      skip "$name" "stock fails too: $(grep -o "Assertion.*$owned" "$tap_dir/out" | head -n 1)"
      continue
    fi
    is "$name" "$status $(grep -o 'wrong 0' "$tap_dir/out")" "0 wrong 0"
    [ "$status" -eq 0 ] || note "$(tail -n 20 "$tap_dir/out")"
  done
done

done_testing

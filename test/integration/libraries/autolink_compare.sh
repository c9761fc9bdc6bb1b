#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The comparison of autolink with Boost.Serialization builds, and all three receive what was sent;
# what it measures here says nothing.
. "${abs_top_srcdir:?}/test/tap.sh"
[ -z "${VERITY_SANITIZERS:-}" ] || skip_all "a library with sanitizers does not load into stock programs"

output=$(cd "$abs_top_builddir" && timeout 300 "$abs_top_srcdir/test/bench/autolink_compare" 2000 3 2>&1)
status=$?
[ "$status" -ne 77 ] || skip_all "${output#skipped: }"
is "it ends well" "$status" 0
for shape in list tree graph; do
  contains "$shape" "$output" "^$shape +2000 +[0-9]+ +[0-9]+ +[0-9]+ +[0-9.]+ +[0-9.]+\$"
done
[ "$tap_failed" = 0 ] || note "$output"
done_testing

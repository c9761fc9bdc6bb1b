#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The manual pages against the programs: every option and every counter is described, and nothing else.
. "${abs_top_srcdir:?}/test/tap.sh"

tool=$abs_top_builddir/ucx-verity
pages=$abs_top_srcdir/src/tools/man
plain() { sed 's/\\-/-/g' "$1"; }

for command in env doctor bench report status top check export; do
  page=$pages/ucx-verity-$command.1
  in_help=$("$tool" "$command" --help | grep -Eo '^ +(-[a-z],)?--[a-z-]+' | grep -Eo -- '--[a-z-]+' | sort)
  in_page=$(plain "$page" | sed -n '/^\.SH OPTIONS/,/^\.SH EXIT/p' | grep -E '^\.B' |
    grep -Eo -- '--[a-z-]+' | sort -u)
  is "$command: the page has the options of --help" "$in_page" "$in_help"
done

counters=$(sed -n 's/^  X(\([a-z_]*\), .*/\1/p' "$abs_top_srcdir/src/health/counters.h" | sort)
described=$(sed -n '/^an object of numbers/,/^\.SH/p' "$pages/ucx-verity.1" | grep -E '^\.BR? [a-z]' |
  grep -Eo '[a-z_]+' | sort)
is "the page has the counters of the attestation" "$described" "$counters"

if command -v man > /dev/null; then
  for page in "$pages"/*.[17]; do
    is "$(basename "$page"): no warning of the formatter" \
      "$(LC_ALL=C.UTF-8 MANWIDTH=80 man --warnings -l "$page" 2>&1 > /dev/null)" ""
  done
else
  skip "the formatter's warnings" "man is not installed"
fi
done_testing

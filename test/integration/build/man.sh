#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The manual pages against the programs: every option and every counter is described, and nothing else.
. "${abs_top_srcdir:?}/test/tap.sh"

tool=$abs_top_builddir/ucx-verity
pages=$abs_top_srcdir/src/tools/man
plain() { sed 's/\\-/-/g' "$1"; }

for command in env doctor acceptance bench report status top check export; do
  page=$pages/ucx-verity-$command.1
  in_help=$("$tool" "$command" --help | grep -Eo '^ {1,10}(-[a-z], *)?--[a-z-]+' | grep -Eo -- '--[a-z-]+' | sort)
  in_page=$(plain "$page" | sed -n '/^\.SH OPTIONS/,/^\.SH EXIT/p' | grep -E '^\.B' |
    grep -Eo -- '--[a-z-]+' | sort -u)
  is "$command: the page has the options of --help" "$in_page" "$in_help"
done

# Every setting of the plugin that UCX lists, each as a term of a list. UCX lists the plugin's where it is loaded.
listed=$(eval "$("$tool" env 2> /dev/null)"; "${UCX_INFO:-ucx_info}" -cf 2> /dev/null | grep -oE '^#? ?UCX_VERITY_[A-Z_]+=' | grep -oE 'UCX_[A-Z_]+' | sort -u)
terms=$(plain "$pages/ucx-verity-config.7" | grep -A 1 '^\.TP' | grep -oE 'UCX_VERITY_[A-Z_]+' | sort -u)
if [ -n "$listed" ]; then
  is "the page has the settings that ucx_info -cf lists" "$terms" "$listed"
else
  skip "the settings that ucx_info -cf lists" "ucx_info does not load the plugin here"
fi
commands=$("$tool" --help | sed -n '/^Subcommands:/I,$p' | sed -n 's/^  \([a-z][a-z]*\) .*/\1/p' | sort)
terms=$(sed -n '/^\.SH COMMANDS/,/^\.SH OPTIONS/p' "$pages/ucx-verity.1" | grep -A 1 '^\.TP' | sed -n 's/^\.BR \([a-z]*\) .*/\1/p' | sort)
is "the page has the commands" "$terms" "$commands"

# verity-types has one page for all of its commands.
types=$abs_top_builddir/verity-types
options() { "$@" --help | grep -Eo '^ {1,10}(-[a-z], *)?--[a-z0-9-]+' | grep -Eo -- '--[a-z0-9-]+'; }
if [ -x "$types" ]; then
  in_help=$({ options "$types"
    for command in $("$types" --help | sed -n '/^Subcommands:/I,$p' | sed -n 's/^  \([a-z][a-z]*\) .*/\1/p'); do
      [ "$command" != automap ] || continue # it has its own
      options "$types" "$command"
      for inner in $("$types" "$command" --help | sed -n '/^Subcommands:/I,$p' | sed -n 's/^  \([a-z][a-z0-9]*\) .*/\1/p'); do
        options "$types" "$command" "$inner"
      done
    done; } | sort -u)
  in_page=$(plain "$abs_top_srcdir/src/types/man/verity-types.1" | sed -n '/^\.SH OPTIONS/,/^\.SH EXIT/p' | grep -E '^\.B' |
    grep -Eo -- '--[a-z0-9-]+' | sort -u)
  is "verity-types: the page has the options of its commands" "$in_page" "$in_help"
fi

if [ -x "$abs_top_builddir/verity-types-automap" ]; then
  in_help=$(options "$types" automap | sort -u)
  in_page=$(plain "$abs_top_srcdir/src/automap/man/verity-types-automap.1" | sed -n '/^\.SH OPTIONS/,/^\.SH EXIT/p' | grep -E '^\.B' |
    grep -Eo -- '--[a-z0-9-]+' | sort -u)
  is "verity-types automap: the page has the options of --help" "$in_page" "$in_help"
else
  skip "verity-types automap: the page has the options of --help" "built without libclang"
fi

counters=$(sed -n 's/^  X(\([a-z_]*\), .*/\1/p' "$abs_top_srcdir/src/health/counters.h" | sort)
described=$(sed -n '/^an object of numbers/,/^\.SH/p' "$pages/ucx-verity-attestation.7" | grep -E '^\.BR? [a-z]' |
  grep -Eo '[a-z_]+' | sort)
is "the page has the counters of the attestation" "$described" "$counters"

if command -v mandoc > /dev/null; then
  for page in "$pages"/*.[17] "$abs_top_srcdir"/src/{types,automap}/man/*.1 "$abs_top_srcdir"/src/{typelib,validate,autolink}/man/*.3; do
    is "$(basename "$page"): nothing for mandoc to say" "$(mandoc -Tlint "$page" 2>&1)" ""
  done
else
  skip "mandoc -Tlint" "mandoc is not installed"
fi
# The pages as web pages: each page that one names as a link is there.
if command -v mandoc > /dev/null; then
  web=$tap_dir/web
  "$abs_top_srcdir/contrib/man-to-html" "$web" "$pages"/*.[17] "$abs_top_srcdir"/src/{types,automap}/man/*.1 "$abs_top_srcdir"/src/{typelib,validate,autolink}/man/*.3
  missing=$(grep -ohE 'href="[^"#]+"' "$web"/*.html | sort -u | sed 's/href="\(.*\)"/\1/' | grep -E '^(ucx-verity|verity)' |
    while read -r link; do [ -s "$web/$link" ] || echo "$link"; done)
  is "every page of ours that a web page links to exists" "$missing" ""
  ok "pages link to each other" test "$(grep -ohE 'href="ucx-verity[^"]*"' "$web"/*.html | wc -l)" -gt 20
else
  skip "the manual as web pages" "mandoc is not installed"
fi
if command -v man > /dev/null; then
  for page in "$pages"/*.[17]; do
    is "$(basename "$page"): no warning of the formatter" \
      "$(LC_ALL=C.UTF-8 MANWIDTH=80 man --warnings -l "$page" 2>&1 > /dev/null)" ""
  done
else
  skip "the formatter's warnings" "man is not installed"
fi
done_testing

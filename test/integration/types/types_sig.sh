#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# `verity-types sig`: the tables' order and verdicts, their JSON, and wrong use.
. "${abs_top_srcdir:?}/test/tap.sh"

tool=$abs_top_builddir/verity-types
table=$("$tool" sig table1)
is "table1: exit status" $? 0
contains "table1: the sample" "$table" '6994 signatures, 6994 of them different'
contains "table1: the paper's figure beside ours" "$table" '^xor-bs1-16 .* 61\.1 '
contains "table1: - where the paper's figure is not known" "$table" '^gfd-8x1/11d .* - +- '
order=$(sed -n '/^Most collisions first, here/,/^and in the paper/p' <<< "$table" | tr -s '\n ' ' ')
contains "table1: xor-bs1, mmm-bs1, CRC-16, gfd of 16 bits" "$order" \
  'xor-bs1-16 > mmm-bs1-16 > crc-ccitt-16 > gfd-8x2/'
contains "table1: none with 32 bits" "$order" 'gfd-8x4/11d = gfd-8x4/187 = gfd-16x2/1100b = gfd-16x2/1002d = crc-32 '
contains "table1: so the order is the paper's" "$table" "^The order is the paper's"
contains "table1: nor with this project's" "$table" '^poly-2\^61-1 +61 +6994 +0\.0 '

table=$("$tool" sig gropp)
is "gropp: exit status" $? 0
contains "gropp: the sample" "$table" '4625 signatures, 4625 of them different'
lacks "gropp: '+' with rotation flags correct programs" "$table" '^gropp-add-32 .* 0\.0$'
is "gropp: and no other hash does" \
  "$(grep -E '^[a-z0-9^/-]+ +[0-9]+ +[0-9]+ ' <<< "$table" | awk '$NF != "0.0" { print $1 }' | tr '\n' ' ')" \
  "gropp-add-16 gropp-add-32 "

table=$("$tool" sig table2)
is "table2: exit status" $? 0
is "table2: what grows with n" "$(awk '/ linear$/ { print $1, $2 }' <<< "$table" | tr '\n' ',')" \
  "gropp-add-16 repeat,gropp-add-32 repeat,crc-ccitt-16 concat,crc-ccitt-16 repeat,crc-32 concat,crc-32 repeat,"
is "table2: all the others do not" "$(grep -c ' constant$' <<< "$table")" 36
lacks "table2: nothing unexpected" "$table" 'undecided|expected:'

for name in table1 table2 gropp; do
  "$tool" sig "$name" --json > "$tap_dir/$name.json"
  if command -v jq > /dev/null; then
    is "$name: --json parses, with a row for each hash" \
      "$(jq '.rows | map(.hash) | unique | length' "$tap_dir/$name.json")" 21
  else
    skip "$name: --json parses" "jq is not installed"
  fi
  lacks "$name: no line longer than a terminal's" \
    "$("$tool" sig "$name")" '.{81}'
done

text=$("$tool" sig of '100 x {int, 3 x double}')
is "of: exit status" $? 0
contains "of: the type in words" "$text" '^type +100 x \{MPI_INT, 3 x MPI_DOUBLE\}$'
contains "of: its elements and bytes" "$text" '^elements +400, 2800 bytes'
is "of: how it is written does not matter" "$("$tool" sig of '{99 x {int, {2 x double, double}}, int, 3 x double}' | grep -v ^type)" \
  "$(grep -v ^type <<< "$text")"
if command -v jq > /dev/null; then
  is "of: --json has the same hash" "$("$tool" sig of '100 x {int, 3 x double}' --json | jq -r .hash_layout)" \
    "$(awk '$1 == "hash" { print $2 }' <<< "$text")"
else
  skip "of: --json has the same hash" "jq is not installed"
fi

refused() { # refused NAME REGEX ARGUMENT...
  local name=$1 wanted=$2 output status=0
  shift 2
  output=$("$tool" "$@" 2>&1 > "$tap_dir/stdout") || status=$?
  is "$name: exit status 2" "$status" 2
  contains "$name: named" "$output" "$wanted"
  is "$name: and nothing on stdout" "$(cat "$tap_dir/stdout")" ""
}
refused "no command" 'A command \(sig, normalize or automap\) is required'
refused "no table" 'table1, table2, gropp or of\) is required' sig
refused "an unknown command" 'not expected: hash' hash
refused "an unknown table" 'not expected: table9' sig table9
refused "no expression" 'EXPRESSION is required' sig of
refused "an unknown type" "at character 5: no basic type of MPI is called 'foo'" sig of '2 x foo'
refused "too many elements" 'more elements or bytes than 64 bits' sig of '9999999999 x 9999999999 x int'
refused "an unknown option" '--fast' sig table2 --fast

contains "help" "$("$tool" sig --help)" 'table1.*Langou'
contains "version" "$("$tool" --version)" '^[0-9]+\.[0-9]+'
lacks "it needs neither UCX nor MPI" "$(ldd "$tool" 2> /dev/null)" 'libuc[pts]|libmpi'

page=$abs_top_srcdir/src/types/man/verity-types.1
is "the manual page has the commands of --help" \
  "$(sed -n '/^\.SH COMMANDS/,/^\.SH OPTIONS/p' "$page" | grep -Eo '^\.B "sig [a-z0-9]+' | awk '{ print $3 }' | sort)" \
  "$("$tool" sig --help | sed -n '/^[A-Z]*subcommands:/I,$p' | grep -Eo '^  [a-z0-9]+' | tr -d ' ' | sort)"
if command -v man > /dev/null; then
  is "the manual page: no warning of the formatter" \
    "$(LC_ALL=C.UTF-8 MANWIDTH=80 man --warnings -l "$page" 2>&1 > /dev/null)" ""
else
  skip "the formatter's warnings" "man is not installed"
fi
done_testing

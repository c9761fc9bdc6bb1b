#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The core builds for aarch64, where the hash kernel is NEON's, and its unit tests pass in an
# emulator: src/merkle and src/util, or with VERITY_TEST_LONG=1 all pure layers, which takes five to
# ten minutes. Neither UCX nor a configured tree for aarch64 is needed.
# Debian: apt install g++-aarch64-linux-gnu qemu-user googletest
. "${abs_top_srcdir:?}/test/tap.sh"

compiler=${VERITY_AARCH64_CXX:-aarch64-linux-gnu-g++}
gtest=${VERITY_GTEST_SOURCE:-/usr/src/googletest/googletest}
command -v "$compiler" > /dev/null || skip_all "no cross compiler $compiler (Debian: g++-aarch64-linux-gnu)"
emulator=$(command -v qemu-aarch64 || command -v qemu-aarch64-static) || skip_all 'no qemu-aarch64 (Debian: qemu-user)'
[ -e "$gtest/src/gtest-all.cc" ] || skip_all "no source of GoogleTest in $gtest (Debian: googletest)"
xxhash=$(echo '#include <xxhash.h>' | c_compiler -M -E - 2> "$tap_dir/err" | grep -o '/[^ ]*/xxhash\.h' | head -n 1)
[ -n "$xxhash" ] || skip_all "${CC:-cc} finds no xxhash.h by itself"

# The rest of /usr/include belongs to this machine's architecture.
mkdir "$tap_dir/include" "$tap_dir/objects"
ln -s "${xxhash%/*}"/xx*.h "$tap_dir/include/"

cd "$abs_top_srcdir" || exit 1
tested='merkle util'
[ "${VERITY_TEST_LONG:-0}" = 0 ] || tested='merkle util signature normalize wire link rma'
sources=$gtest/src/gtest-all.cc$'\n'$gtest/src/gtest_main.cc
for layer in $tested; do
  sources+=$'\n'$(find "src/$layer" -name '*.cc'; find "test/unit/$layer" -name '*_test.cc')
done
case $tested in *link*) sources+=$'\n'$(find src/health -name '*.cc') ;; esac # what link counts with

# shellcheck disable=SC2317 # called through ok
compile() { # compile FILE...: objects of one file after the other
  local file
  for file; do
    "$compiler" -std=gnu++20 -O1 -Wall -Wextra -DHAVE_CONFIG_H -Iinclude -Isrc -Itest \
      -I"$abs_top_builddir/include" -isystem "$tap_dir/include" -isystem "$gtest/include" -isystem "$gtest" -c "$file" \
      -o "$tap_dir/objects/$(tr / _ <<< "$file").o" || return
  done
}
export compiler gtest tap_dir abs_top_builddir
export -f compile
# shellcheck disable=SC2016,SC2317
build() { xargs -P "$(nproc)" -n 1 bash -c 'compile "$1"' _ <<< "$sources"; }

ok "they compile: ${tested// /, }" build
ok 'they link' "$compiler" -static "$tap_dir"/objects/*.o -o "$tap_dir/unit"
# An emulator needs a minute to hash five times 4 GiB.
left_out=
[ "${VERITY_TEST_LONG:-0}" != 0 ] || left_out='-*MoreThanFourGiB*'
"$emulator" "$tap_dir/unit" --gtest_brief=1 --gtest_filter="$left_out" > "$tap_dir/out" 2>&1
is 'the emulator ends well' "$?" 0
contains 'the tests pass' "$(cat "$tap_dir/out")" '^\[  PASSED  \] [0-9]+ tests'
lacks 'none fails' "$(cat "$tap_dir/out")" '^\[  FAILED'
contains 'one kernel is tested, and it is NEON' "$("$emulator" "$tap_dir/unit" --gtest_list_tests)" '^  GivesPublishedValues/neon'

done_testing

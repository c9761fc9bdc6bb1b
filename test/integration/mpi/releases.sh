#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Jobs over several releases. Releases of one protocol version work together: a second build of this source, under another number,
# runs one of the ranks. Those of different versions refuse each other in words that name both: one rank announces an older and a
# newer version. Releases lie side by side: job scripts find theirs after an upgrade and after it was taken back.
# VERITY_TEST_RELEASE names a prefix with another release for the same UCX, which then runs one of the ranks as well.
. "${abs_top_srcdir:?}/test/integration/lib.sh"
. "$abs_top_srcdir/test/integration/build/modules_lib.sh"
[ -n "$openmpi" ] || skip_all "no Open MPI"

release=$(made PACKAGE_VERSION)
preload=
! needs_preload || preload=$build/.libs/libverity_preload.so
protocol=$(sed -n 's/.*kVersion = \([0-9]*\);.*/\1/p' "$abs_top_srcdir/src/wire/frame.h")
program=$(mpi_program "$openmpi" hello_integrity)

# ---- the same source under another number ---------------------------------------------------------
# The build folder again, as links, but for what has the number in it; beside it, as it names the sources relative to itself.
other=$(mktemp -d "$(dirname "$build")/releases.XXXXXX")
trap 'rm -rf "$tap_dir" "$other"' EXIT
cp -as "$build/." "$other" 2> /dev/null
rm -rf "$other/modules" "$other"/libuct_verity.la "$other"/.libs/libuct_verity.* "$other/test"
numbered=$(cd "$abs_top_srcdir" && grep -rl VERITY_VERSION src/uct --include=*.cc)
for source in $numbered; do
  stem=$(dirname "$source")/libuct_verity_la-$(basename "$source" .cc)
  rm -f "$other/$stem".{lo,o} "$other/$(dirname "$source")/.libs/libuct_verity_la-$(basename "$source" .cc).o"
done
env -u MAKEFLAGS -u MAKELEVEL -u MFLAGS make -C "$other" PACKAGE_VERSION=0.77.3 modules/libuct_verity.so.0 > "$tap_dir/make.log" 2>&1
tap_result $? "a build under another number"
[ -e "$other/modules/libuct_verity.so.0" ] || note "$(tail -n 20 "$tap_dir/make.log")"

# mixed_job SECONDS TRANSPORTS ASSIGNMENT...: two ranks, the second with these variables besides.
mixed_job() {
  local seconds=$1 list=$2
  shift 2
  rm -f "$tap_dir/attest"
  (
    verity_env "$list"
    export UCX_VERITY_ATTEST_FILE=$tap_dir/attest
    timeout -k 5 "$seconds" "$openmpi" -np 1 "$program" 50 100000 : -np 1 env "$@" "$program" 50 100000 > "$tap_dir/job" 2>&1
  )
}
works_with() { # works_with NAME RELEASE ASSIGNMENT...
  local list
  for list in vtcp,vself vposix,vself; do
    mixed_job 100 "$list" "${@:3}"
    is "$1 over $list: the job ends well" "$?:$(grep -c ' 0 messages wrong' "$tap_dir/job")" "0:1"
    is "$1 over $list: both releases verified messages" \
      "$(grep '"frames_verified":[1-9]' "$tap_dir/attest" | grep '"raw_lanes":\[\],"mpi_components":\[\]' | sed 's/.*"version":"\([^"]*\)".*/\1/' | sort | paste -sd' ')" \
      "$(printf '%s\n' "$release" "$2" | sort | paste -sd' ')"
    is "$1 over $list: nothing to say" "$(grep -c 'ucx-verity: this side' "$tap_dir/job")" 0
  done
}
works_with "another release" 0.77.3 "$plugin_variable=$other/modules"
if [ -n "${VERITY_TEST_RELEASE:-}" ]; then
  folder=$(echo "$VERITY_TEST_RELEASE"/lib/ucx-verity/"$VERITY_UCX_VERSION")
  works_with "$VERITY_TEST_RELEASE" "$("$VERITY_TEST_RELEASE/bin/ucx-verity" --version | sed 's/ .*//')" "$plugin_variable=$folder"
else
  skip "a release that is installed" "VERITY_TEST_RELEASE names none"
fi

# ---- another protocol version ---------------------------------------------------------------------
refused() { # refused NAME ANNOUNCED WORDS
  local list status
  for list in vtcp,vself vposix,vself; do
    mixed_job 100 "$list" LD_PRELOAD="$build/.libs/libverity_other_release.so${preload:+:$preload}" VERITY_TEST_ANNOUNCES="$2"
    status=$?
    ok "$1 over $list: the job fails, in time (status $status)" test "$status" -ne 0 -a "$status" -ne 124 -a "$status" -ne 137
    contains "$1 over $list: a line names both, and what to do" "$(cat "$tap_dir/job")" \
      "ucx-verity: this side is ucx-verity $release \(protocol version $protocol\), $3: they cannot exchange messages; use one release on all hosts of the job \(module load ucx-verity/$release"
    # The process that announces it refuses itself as well.
    is "$1 over $list: once in each process" \
      "$(grep 'ucx-verity: this side' "$tap_dir/job" | grep -o '\[[^][ ]*:[0-9]*:[0-9]*\]' | sort | uniq -d)" ""
  done
}
# Version 5 was the last one whose addresses name no release.
refused "an older peer" "5 0 0 0" "the peer is older than 0.1.0 \(protocol version 5\)"
refused "a newer peer" "$((protocol + 1)) 3 14 15" "the peer is ucx-verity 3.14.15 \(protocol version $((protocol + 1))\)"
works_with "the same protocol announced" "$release" \
  LD_PRELOAD="$build/.libs/libverity_other_release.so${preload:+:$preload}" VERITY_TEST_ANNOUNCES="$protocol 3 14 15"

# ---- an upgrade, and back -------------------------------------------------------------------------
newer=$tap_dir/newer
install_into "$prefix" && cp -a "$prefix" "$newer" && rm -r "$newer"/share/{lmod,modulefiles} && # a prefix may be moved
  make_into "$newer" install-modulefiles PACKAGE_VERSION=0.77.3
tap_result $? "two releases are installed side by side"
script() { # script MODULE: as a job script that was queued before
  cat > "$tap_dir/script" << SH
. '$init/bash'
module use '$1'
[ ! -d '$2' ] || module use '$2'
module load $3 && dirname "\$(dirname "\$(command -v ucx-verity)")" && echo "\$LD_PRELOAD" && ucx-verity env > $tap_dir/env.out
SH
  env -i PATH=$base_path bash "$tap_dir/script" 2>&1 | paste -sd' '
}
try() { # try NAME MODULEPATH INIT-SCRIPTS
  local name=$1 path=$2 init=$3 new=$newer/${2#"$prefix/"}
  local old_one="$prefix $prefix/lib/ucx-verity/libverity_preload.so" new_one="$newer $newer/lib/ucx-verity/libverity_preload.so"
  is "$name: before the upgrade" "$(script "$path" /none ucx-verity)" "$old_one"
  is "$name: after it, a script that names the release has it" "$(script "$path" "$new" "ucx-verity/$release")" "$old_one"
  is "$name: one that names none has the new one" "$(script "$path" "$new" ucx-verity)" "$new_one"
  is "$name: the new one by its name" "$(script "$path" "$new" ucx-verity/0.77.3)" "$new_one"
  mv "$new" "$new.away"
  is "$name: after the upgrade was taken back, one that names none" "$(script "$path" "$new" ucx-verity)" "$old_one"
  contains "$name: and one that names the new one fails and says so" "$(script "$path" "$new" ucx-verity/0.77.3)" '0\.77\.3'
  mv "$new.away" "$new"
}
module_systems try

done_testing

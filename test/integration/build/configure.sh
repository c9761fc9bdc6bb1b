#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# configure says what is missing and what to do about it: a UCX source of another version, none at
# all, and something requested that is not there.
. "${abs_top_srcdir:?}/test/tap.sh"

export CONFIG_SHELL=/bin/bash
unset MPICC UCX_INFO # what this build found is not to be taken for granted
run_configure() { # run_configure ARGUMENT...: its error message; the tools are looked for once only
  (cd "$tap_dir" && "$abs_top_srcdir/configure" -q --cache-file="$tap_dir/cache" "$@" 2>&1 |
    sed -n '/error:/,$p' | tr -s '\n ' '  ')
}

contains "no source: names the script to run" \
  "$(run_configure --with-ucx-source="$tap_dir/none")" \
  "no UCX source at .*/none.* Run .*/contrib/get-ucx-source"

other=$tap_dir/other
mkdir -p "$other/src/uct/base"
touch "$other/src/uct/base/uct_iface.h"
printf 'define([ucx_ver_%s], %s)\n' major 1 minor 99 patch 7 > "$other/configure.ac"
contains "source of another version: names both" "$(run_configure --with-ucx-source="$other")" \
  "is UCX 1\.99\.7, but UCX ${VERITY_UCX_VERSION//./\\.} is installed"

contains "a private prefix without UCX" "$(run_configure --with-ucx="$tap_dir")" \
  "no ucx\.pc below $tap_dir"

same_version=$tap_dir/same
cp -r "$other" "$same_version"
IFS=. read -r major minor patch <<< "$VERITY_UCX_VERSION"
printf 'define([ucx_ver_%s], %s)\n' major "$major" minor "$minor" patch "$patch" > "$same_version/configure.ac"
mkdir "$tap_dir/pc"
cp "$(pkg-config --variable=pcfiledir ucx)"/ucx*.pc "$tap_dir/pc/"
contains "an absent library: names the package" \
  "$(run_configure --with-ucx-source="$same_version" --cache-file=/dev/null PKG_CONFIG_LIBDIR="$tap_dir/pc")" \
  "xxHash .* not found.* libxxhash-dev"
contains "MPI demanded but absent: names the package" \
  "$(run_configure --with-ucx-source="$same_version" --without-gtest --with-mpi="$tap_dir")" \
  "mpicc not found.* libopenmpi-dev"
contains "libclang demanded but absent: names the package" \
  "$(run_configure --with-ucx-source="$same_version" --without-gtest --with-libclang="$tap_dir")" \
  "libclang not found.* libclang-14-dev"

done_testing

#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# configure says what is missing and what to do about it: a UCX that is not known, or not installed
# as a whole, a UCX source of another version, and something requested that is not there.
. "${abs_top_srcdir:?}/test/tap.sh"

export CONFIG_SHELL=/bin/bash
unset MPICC UCX_INFO # what this build found is not to be taken for granted
run_configure() { # run_configure ARGUMENT...: its error message; the tools are looked for once only
  (cd "$tap_dir" && "$abs_top_srcdir/configure" -q --cache-file="$tap_dir/cache" "$@" 2>&1 |
    sed -n '/error:/,$p' | tr -s '\n ' '  ')
}

contains "no source where one is said to be" "$(run_configure --with-ucx-source="$tap_dir/none")" \
  "no UCX source at $tap_dir/none"

other=$tap_dir/other
mkdir -p "$other/src/uct/base"
touch "$other/src/uct/base/uct_iface.h"
printf 'define([ucx_ver_%s], %s)\n' major 1 minor 99 patch 7 > "$other/configure.ac"
contains "source of another version: names both" "$(run_configure --with-ucx-source="$other")" \
  "is UCX 1\.99\.7, but UCX ${VERITY_UCX_VERSION//./\\.} is installed"

contains "a private prefix without UCX" "$(run_configure --with-ucx="$tap_dir")" \
  "no ucx\.pc below $tap_dir"

# A UCX of its own that has nothing but what is given here.
prefix=$tap_dir/prefix
mkdir -p "$prefix"/{bin,include,lib/pkgconfig}
cat > "$prefix/lib/pkgconfig/ucx.pc" << END
prefix=$prefix
libdir=\${prefix}/lib
includedir=\${prefix}/include
Name: ucx
Description: none
Version: $VERITY_UCX_VERSION
Cflags: -I\${includedir}
Libs: -L\${libdir}
END
contains "a prefix without ucx_info: another UCX's is not asked" \
  "$(run_configure --with-ucx="$prefix" --cache-file=/dev/null)" \
  "ucx_info \(in $prefix/bin\) not found.* ucx-utils"

give_info() { # give_info VERSION CONFIGURATION
  printf '#!/bin/sh\ncase $1 in -v) echo "# Library version: %s" ;; -b) echo "%s" ;; esac\n' "$1" "$2" > "$prefix/bin/ucx_info"
  chmod +x "$prefix/bin/ucx_info"
}
give_version_header() { # give_version_header VERSION
  local major minor patch
  IFS=. read -r major minor patch <<< "$1"
  mkdir -p "$prefix/include/uct/api"
  printf '#define UCT_VERNO_%s %s\n' MAJOR "$major" MINOR "$minor" PATCH "$patch" > "$prefix/include/uct/api/version.h"
}
give_info 1.99.0 '#define HAVE_ALLOCA 1'
contains "a release that is not known: names those that are" "$(run_configure --with-ucx="$prefix")" \
  "UCX 1\.99\.0 is installed: this release of ucx-verity is for UCX 1\.13 to 1\.23.*--with-ucx=PREFIX"
give_info "$VERITY_UCX_VERSION" '#define HAVE_ALLOCA 1'
give_version_header 1.13.99
contains "headers of another release" "$(run_configure --with-ucx="$prefix")" \
  "the headers of UCX are not those of the library, which is ${VERITY_UCX_VERSION//./\\.} .*--with-ucx=PREFIX"
mkdir -p "$prefix/include/uct/api"
echo '#error unusable' > "$prefix/include/uct/api/uct.h"
contains "no headers: names the package" "$(run_configure --with-ucx="$prefix")" \
  "headers of UCX, .* not found.* libucx-dev"
rm "$prefix/include/uct/api/uct.h"
give_version_header "$VERITY_UCX_VERSION"
give_info "$VERITY_UCX_VERSION" ''
contains "a ucx_info that does not tell how UCX was built" "$(run_configure --with-ucx="$prefix")" \
  "ucx_info -b prints no configuration.*ucx-utils"

mkdir "$tap_dir/pc"
cp "$(pkg-config --variable=pcfiledir ucx)"/ucx*.pc "$tap_dir/pc/"
contains "an absent library: names the package" \
  "$(run_configure --cache-file=/dev/null PKG_CONFIG_LIBDIR="$tap_dir/pc")" \
  "xxHash .* not found.* libxxhash-dev"
contains "MPI demanded but absent: names the package" \
  "$(run_configure --without-gtest --with-mpi="$tap_dir")" "mpicc not found.* libopenmpi-dev"
contains "libclang demanded but absent: names the package" \
  "$(run_configure --without-gtest --with-libclang="$tap_dir")" "libclang not found.* libclang-14-dev"

done_testing

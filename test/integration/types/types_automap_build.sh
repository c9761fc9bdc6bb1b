#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The examples of projects that use automap, with Autotools and with CMake, built as a user would build them from what is installed.
. "${abs_top_srcdir:?}/test/tap.sh"
build=${abs_top_builddir:?}
[ -z "${VERITY_SANITIZERS:-}" ] || skip_all "the generated code is tested once, without sanitizers"
[ -x "$build/verity-types-automap" ] || skip_all "built without libclang"
command -v "${MPICC:-mpicc}" > /dev/null || skip_all "no MPI compiler"
mpicc=${MPICC:-mpicc}
unset MAKEFLAGS MFLAGS MAKELEVEL CC CPPFLAGS CFLAGS

site=$tap_dir/site
ok "what the examples need is installed" make -s -C "$build" install-verityincludeHEADERS install-pkglibexecPROGRAMS \
  install-dist_aclocalDATA install-dist_cmakeDATA prefix="$site"
is "public headers are where they are included from" "$(cd "$site/include/ucx-verity" && echo *)" \
  "$(cd "$abs_top_srcdir/include/ucx-verity" && echo *)"
mkdir -p "$site/bin"
cp "$build/verity-types" "$site/bin/"
ok "verity-types finds the program where it is installed" "$site/bin/verity-types" automap --version

runs() { # runs NAME PROGRAM
  contains "$1: the program sends structs" "$(timeout 60 "$2" 2>&1)" '^3 of 3 particles arrived, 19 basic elements each$'
}

if command -v automake > /dev/null && command -v autoconf > /dev/null; then
  cp -r "$abs_top_srcdir/test/examples/automap-autotools" "$tap_dir/autotools"
  chmod -R u+w "$tap_dir/autotools"
  mkdir "$tap_dir/autotools/build"
  cd "$tap_dir/autotools" || exit 1
  ok "Autotools: autoreconf" env ACLOCAL_PATH="$site/share/aclocal" autoreconf -fi
  cd build || exit 1
  ok "Autotools: configure" env PATH="$site/bin:$PATH" ../configure -q CC="$mpicc"
  ok "Autotools: make" make -s CFLAGS='-Wall -Wextra'
  runs Autotools ./particles
  ok "Autotools: nothing is generated twice" sh -c 'touch stamp && make -s && test stamp -nt particles_automap.h'
  # A change of the header reaches the generated one, which the program would not compile with otherwise.
  sed -i 's/PARTICLES_NAME = 12/PARTICLES_NAME = 20/' ../particles.h
  ok "Autotools: make after a change of the header" make -s
  ok "Autotools: the generated header has changed" grep -qF 'struct particle*)0)->name) == 20' particles_automap.h
  output=$(PATH="$site/bin:$PATH" ../configure -q CC="$mpicc" VERITY_TYPES=/bin/false 2>&1)
  is "Autotools: without automap configure fails" $? 1
  contains "Autotools: and says so" "$output" 'configure: error:'
else
  skip "Autotools" "automake or autoconf is not installed"
fi

if command -v cmake > /dev/null; then
  cp -r "$abs_top_srcdir/test/examples/automap-cmake" "$tap_dir/cmake"
  chmod -R u+w "$tap_dir/cmake"
  cd "$tap_dir/cmake" || exit 1
  ok "CMake: configure" cmake -S . -B build -DCMAKE_PREFIX_PATH="$site" -DMPI_C_COMPILER="$mpicc" -DCMAKE_C_FLAGS='-Wall -Wextra'
  ok "CMake: build" cmake --build build
  runs CMake build/particles
  sed -i 's/PARTICLES_NAME = 12/PARTICLES_NAME = 20/' particles.h
  ok "CMake: build after a change of the header" cmake --build build
  ok "CMake: the generated header has changed" grep -qF 'struct particle*)0)->name) == 20' build/particles_automap.h
  output=$(cmake -S . -B other -DCMAKE_PREFIX_PATH="$site" -DMPI_C_COMPILER="$mpicc" -DVERITY_TYPES=/bin/false 2>&1)
  is "CMake: without automap it fails" $? 1
  contains "CMake: and says so" "$output" 'verity-automap'
else
  skip "CMake" "cmake is not installed"
fi
done_testing

# SPDX-License-Identifier: BSD-3-Clause
#
# An installation of the build, and the distribution's Lmod and Environment Modules. The two packages conflict, so neither is
# installed: each is downloaded and unpacked into a folder of its own, and its files name that. Sourced after tap.sh or lib.sh.
# shellcheck shell=bash

prefix=$tap_dir/prefix
base_path=/usr/bin:/bin
downloads=${abs_top_builddir:?}/test/integration/debs # kept: later runs need no network

install_into() { make_into "$1" install "${@:2}"; } # install_into PREFIX [MAKE-ARGUMENT...]
make_into() { # make_into PREFIX TARGET [MAKE-ARGUMENT...]
  env -u MAKEFLAGS -u MAKELEVEL -u MFLAGS make -C "$abs_top_builddir" prefix="$1" exec_prefix="$1" \
    libdir="$1/lib" bindir="$1/bin" libexecdir="$1/libexec" datarootdir="$1/share" "${@:2}" > "$tap_dir/install.log" 2>&1
}

fetch() { # fetch PACKAGE
  mkdir -p "$downloads"
  compgen -G "$downloads/$1_*.deb" > /dev/null ||
    (cd "$downloads" && apt-get -o APT::Sandbox::User=root download "$1" > /dev/null 2>&1)
  compgen -G "$downloads/$1_*.deb" > /dev/null
}

# unpack PACKAGE: to $tap_dir/PACKAGE
unpack() {
  local root=$tap_dir/$1
  [ ! -d "$root" ] || return 0
  fetch "$1" || return 1
  mkdir -p "$root"
  dpkg -x "$(printf '%s\n' "$downloads/$1"_*.deb | sort -V | tail -n 1)" "$root"
  grep -rlIE '/usr/share/(lmod|modules)|/usr/lib/[^/]*/modulecmd.tcl|/etc/(lmod|environment-modules)' "$root" |
    xargs -r sed -i -E "s#(/usr/share/(lmod|modules)|/usr/lib/[^/' ]*/(modulecmd.tcl|libtclenvmodules)|/etc/(lmod|environment-modules))#$root\\1#g"
}

# module_systems FUNCTION: FUNCTION NAME MODULEPATH FOLDER-OF-INIT-SCRIPTS for each, or a skip.
module_systems() {
  if ! lua5.3 -e 'require("posix"); require("lfs"); require("term")' > /dev/null 2>&1; then
    skip "Lmod" "no lua5.3 with posix, lfs and term (lua5.3 lua-posix lua-filesystem lua-term lua-json)"
  elif ! unpack lmod; then
    skip "Lmod" "the package lmod cannot be downloaded"
  else
    "$1" "Lmod" "$prefix/share/lmod" "$tap_dir/lmod/usr/share/lmod/lmod/init"
  fi
  if ! command -v tclsh > /dev/null; then
    skip "Environment Modules" "no tclsh (tcl)"
  elif ! unpack environment-modules; then
    skip "Environment Modules" "the package environment-modules cannot be downloaded"
  else
    "$1" "Environment Modules" "$prefix/share/modulefiles" "$tap_dir/environment-modules/usr/share/modules/init"
  fi
}

# The environment, but for what differs from process to process or belongs to the module command itself. Lmod writes an empty entry
# at the end of a list as two colons.
cat > "$tap_dir/listing" <<'SH'
#!/bin/bash
env -0 | LC_ALL=C sort -z | tr '\n\0' '\001\n' |
  grep -Ev '^(_|PWD|OLDPWD|SHLVL|MODULESHOME|MODULEPATH|LOADEDMODULES|_LMFILES_|__MODULES_.*|_ModuleTable.*|_?_?LMOD_.*|MODULES_(CMD|FAMILY_.*)|BASH_FUNC_.*)=' |
  sed '/^MANPATH=/s/::$/:/'
SH
chmod +x "$tap_dir/listing"
listing=$tap_dir/listing

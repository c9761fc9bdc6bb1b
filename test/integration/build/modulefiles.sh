#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The modulefiles, under the distribution's Lmod and Environment Modules: loading sets what
# `ucx-verity env` prints, unloading restores what was there. The two packages conflict, so neither is
# installed: each is downloaded and unpacked into a folder of its own.
. "${abs_top_srcdir:?}/test/tap.sh"

prefix=$tap_dir/prefix
tool=$prefix/bin/ucx-verity
downloads=$abs_top_builddir/test/integration/debs # kept: later runs need no network
base_path=/usr/bin:/bin

install_output=$(env -u MAKEFLAGS -u MAKELEVEL -u MFLAGS make -C "$abs_top_builddir" install \
  prefix="$prefix" exec_prefix="$prefix" libdir="$prefix/lib" bindir="$prefix/bin" \
  datarootdir="$prefix/share" 2>&1)
tap_result $? "make install into another prefix"
[ -e "$prefix/share/lmod/ucx-verity" ] || note "$(tail -n 20 <<< "$install_output")"

ok "the installed ucx-verity env works there" env -i PATH=$base_path "$tool" env

contains "the installed doctor has a selftest" "$(env -i PATH=$base_path "$tool" doctor --selftest 2>&1 | tr -s '\n ' '  ')" \
  'ok selftest tcp: .* 1 found, 1 repaired; wrong bytes delivered: 0 .*not active in this shell'
is "the corrupting transport has no name that UCX looks for" "$(ls "$prefix"/lib/ucx-verity/*/selftest)" "libuct_fault.so"

# Variables that differ from shell to shell, or belong to the module command itself.
listing="bash $tap_dir/listing"
cat > "$tap_dir/listing" <<'SH'
# An empty entry of MANPATH is the system's own pages, however often it is there.
env | LC_ALL=C sort | sed '/^MANPATH=/s/:*$/:/' |
  grep -Ev '^(_|PWD|OLDPWD|SHLVL|MODULEPATH|LOADEDMODULES|_LMFILES_|VERITY_MODULE_TLS|__MODULES_.*|_ModuleTable.*|_?_?LMOD_.*)='
SH
# What the module sets beyond that.
man=$prefix/share/man: prolog=$prefix/libexec/ucx-verity/slurm-task-prolog

# What the command line gives, in an empty environment and in one where a user set some before.
user_settings="UCX_TLS=tcp,self OMPI_MCA_pml=ob1 UCX_MODULE_DIR=/some/where LD_PRELOAD=libc.so.6"
wanted() { # wanted OPTIONS VARIABLE=VALUE...
  env -i PATH=$base_path "${@:2}" bash -c "export PATH=$prefix/bin:\$PATH MANPATH=$man SLURM_TASK_PROLOG=$prolog
    eval \"\$('$tool' env $1)\"; $listing"
}

unpack() { # unpack PACKAGE: to $tap_dir/PACKAGE
  mkdir -p "$downloads" "$tap_dir/$1"
  compgen -G "$downloads/$1_*.deb" > /dev/null ||
    (cd "$downloads" && apt-get -o APT::Sandbox::User=root download "$1" > /dev/null 2>&1)
  compgen -G "$downloads/$1_*.deb" > /dev/null &&
    dpkg -x "$(ls "$downloads/$1"_*.deb | tail -n 1)" "$tap_dir/$1"
}

# The variant with checks of datatypes, and `env --typecheck` over the plain one.
try_typecheck() { # try_typecheck NAME MODULEPATH SCRIPT
  local name=$1 path=$2 script=$3 settings over before
  if ! [ -d "$path/ucx-verity-typecheck" ]; then
    skip "$name: the variant with checks of datatypes" "their libraries are not built"
    return
  fi
  for settings in "" "$user_settings"; do
    over=${settings:+, over settings of the user}
    # shellcheck disable=SC2086 # a list of settings
    before=$(env -i PATH=$base_path MODULEPATH="$path" $settings $listing)
    # shellcheck disable=SC2086
    is "$name: the variant sets what env --typecheck prints$over" "$(env -i PATH=$base_path MODULEPATH="$path" $settings bash -c "$script
      module load ucx-verity-typecheck; $listing" 2>&1)" "$(wanted "--typecheck warn" $settings)"
    # shellcheck disable=SC2086
    is "$name: its unload restores the environment$over" "$(env -i PATH=$base_path MODULEPATH="$path" $settings bash -c "$script
      module load ucx-verity-typecheck; module unload ucx-verity-typecheck; $listing" 2>&1)" "$before"
    # shellcheck disable=SC2086
    is "$name: unload after env --typecheck restores the environment$over" "$(env -i PATH=$base_path MODULEPATH="$path" $settings bash -c "$script
      module load ucx-verity; eval \"\$(ucx-verity env --typecheck warn)\"; module unload ucx-verity; $listing" 2>&1)" "$before"
  done
}

# What srun runs before each task: the node's own choice takes the place of the module's.
task_prolog() { env -i PATH=$base_path "$@" "$prolog"; }
is "the task prolog chooses the transports of this node" \
  "$(task_prolog UCX_TLS=vrc_mlx5,vself VERITY_MODULE_TLS=vrc_mlx5,vself)" "$(env -i PATH=$base_path "$tool" env --shell slurm | grep UCX_TLS)"
is "but not in place of the user's" "$(task_prolog UCX_TLS=vtcp VERITY_MODULE_TLS=vrc_mlx5,vself)" ""
contains "without the module it is a site's: the task gets the plugin" "$(task_prolog UCX_TLS=tcp)" '^export UCX_TLS=v'

try() { # try NAME MODULEPATH MODULE-COMMAND...: all that is asked of one module system
  local name=$1 path=$2 script settings over result before after
  shift 2
  script="module() { eval \"\$($* bash \"\$@\")\"; }"
  for settings in "" "$user_settings"; do
    over=${settings:+, over settings of the user}
    # shellcheck disable=SC2086 # a list of settings
    result=$(env -i PATH=$base_path MODULEPATH="$path" $settings bash -c "$script
      module load ucx-verity; $listing" 2>&1)
    # shellcheck disable=SC2086
    is "$name: load sets what env prints$over" "$result" "$(wanted "" $settings)"
    contains "$name: and that names wrapped transports$over" "$result" '^UCX_TLS=v'
    # shellcheck disable=SC2086
    before=$(env -i PATH=$base_path MODULEPATH="$path" $settings $listing)
    # shellcheck disable=SC2086
    after=$(env -i PATH=$base_path MODULEPATH="$path" $settings bash -c "$script
      module load ucx-verity; module unload ucx-verity; $listing" 2>&1)
    is "$name: unload restores the environment$over" "$after" "$before"
  done
  try_typecheck "$name" "$path" "$script"
  contains "$name: the manual pages are found, and the system's own" "$(env -i PATH=$base_path MODULEPATH="$path" bash -c "$script
      module load ucx-verity; man -w ucx-verity-doctor; man -w man" 2>&1 | tr '\n' ' ')" \
    "^$prefix/share/man/man1/ucx-verity-doctor.1 /usr/share/man/[^ ]*man.1"
  after=$(env -i PATH=$base_path MODULEPATH="$path" UCX_TLS=tcp bash -c "$script
    module load ucx-verity; export UCX_TLS=vtcp; module unload ucx-verity; echo \"\$UCX_TLS\"" 2>&1)
  is "$name: unload restores UCX_TLS also when it was changed in between" "$after" "tcp"
  contains "$name: avail lists the version" \
    "$(env -i PATH=$base_path MODULEPATH="$path" bash -c "$script; module avail" 2>&1)" \
    "ucx-verity/[0-9.]*-ucx$VERITY_UCX_VERSION"
  mv "$tool" "$tool.away"
  contains "$name: without the command the load fails and says so" \
    "$(env -i PATH=$base_path MODULEPATH="$path" bash -c "$script
      module load ucx-verity; echo \"preload: \$LD_PRELOAD.\"" 2>&1 | tr -s '\n ' '  ')" \
    'names no transports.*preload: \.'
  mv "$tool.away" "$tool"
}

if ! lua5.3 -e 'require("posix"); require("lfs"); require("term")' > /dev/null 2>&1; then
  skip "Lmod" "no lua5.3 with posix, lfs and term (lua5.3 lua-posix lua-filesystem lua-term lua-json)"
elif ! unpack lmod; then
  skip "Lmod" "the package lmod cannot be downloaded"
else
  lmod=$(ls "$tap_dir"/lmod/usr/share/lmod/*/libexec/lmod | head -n 1)
  try "Lmod" "$prefix/share/lmod" "LMOD_CMD=$lmod" lua5.3 "$lmod"
fi
if ! command -v tclsh > /dev/null; then
  skip "Environment Modules" "no tclsh (tcl)"
elif ! unpack environment-modules; then
  skip "Environment Modules" "the package environment-modules cannot be downloaded"
else
  try "Environment Modules" "$prefix/share/modulefiles" \
    tclsh "$(ls "$tap_dir"/environment-modules/usr/lib/*/modulecmd.tcl)"
fi
done_testing

#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# From a clean bash, zsh, csh and fish, with the distribution's Lmod and Environment Modules: load the module, run an unmodified MPI
# program on wrapped transports, which its attestation proves, unload the module, and the environment is what it was.
# VERITY_TEST_UCX names a prefix with plugins for several UCX, and the prefixes of these, whose libraries the program then runs with:
# one load serves all of them. (contrib/build-for-ucx --into=PREFIX UCX, for each; then VERITY_TEST_UCX="PREFIX UCX UCX")
. "${abs_top_srcdir:?}/test/integration/lib.sh"
. "$abs_top_srcdir/test/integration/build/modules_lib.sh"
[ -n "$openmpi$mpich" ] || skip_all "no Open MPI and no MPICH on UCX"

install_into "$prefix" || skip_all "cannot install: $(tail -n 1 "$tap_dir/install.log")"
mkdir -p "$tap_dir/home" "$tap_dir/health"

# The job: what it prints, and reports, is judged afterwards.
job() { # job LAUNCHER [LIBRARY-PATH]: writes a script
  local program
  program=$(mpi_program "$1" hello_integrity) || return 1
  cat > "$tap_dir/job.sh" << SH
#!/bin/sh
export UCX_VERITY_ATTEST_FILE=$tap_dir/attest UCX_VERITY_HEALTH_DIR=$tap_dir/health
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
exec timeout -k 5 100 '$1' -np 2 '$program' 50 1000 > '$tap_dir/job.out' 2>&1
SH
  chmod +x "$tap_dir/job.sh"
}

# One text for all shells.
cat > "$tap_dir/session" << 'SH'
source INIT
module use MODULES
LISTING > DIR/before
module load MODULE
LISTING > DIR/loaded
DIR/job.sh
module unload MODULE
LISTING > DIR/after
SH

verified() { # verified NAME [UCX-VERSION]: the job's output, and its attestation
  contains "$1: the program is right" "$(cat "$tap_dir/job.out")" ' 0 messages wrong'
  is "$1: both ranks verified messages, and none went past the plugin${2:+ for UCX $2}" \
    "$(grep -h "\"ucx\":\"${2:-$VERITY_UCX_VERSION}\"" "$tap_dir/attest" | grep '"raw_lanes":\[\],"mpi_components":\[\]' | grep -c '"frames_verified":[1-9]')" 2
}

try_shell() { # try_shell NAME MODULEPATH INIT COMMAND...: a shell's command that runs a script
  local name=$1 path=$2 init=$3 names='^UCX_TLS=v'
  shift 3
  [ "$module" != ucx-verity-transparent ] || names='^UCX_TLS=tcp,self$'
  rm -f "$tap_dir"/{attest,before,loaded,after,job.out}
  sed -e "s|INIT|$init|; s|MODULES|$path|; s|MODULE|$module|; s|LISTING|$listing|; s|DIR|$tap_dir|" "$tap_dir/session" > "$tap_dir/session.now"
  env -i PATH=$base_path HOME="$tap_dir/home" LD_PRELOAD=libc.so.6 UCX_TLS=tcp,self OMPI_MCA_osc=ucx \
    timeout -k 5 200 "$@" "$tap_dir/session.now" > "$tap_dir/session.out" 2>&1
  is "$name: nothing to say" "$(cat "$tap_dir/session.out")" ""
  contains "$name: load leaves transports that are verified" "$(cat "$tap_dir/loaded")" "$names"
  verified "$name"
  is "$name: unload restores the environment" "$(cat "$tap_dir/after")" "$(cat "$tap_dir/before")"
}

try() { # try NAME MODULEPATH INIT-SCRIPTS
  local launcher
  for launcher in $openmpi $mpich; do
    job "$launcher"
    for module in ucx-verity ucx-verity-transparent; do
      try_shell "$1, $module, bash, $(flavour "$launcher")" "$2" "$3/bash" bash --norc
    done
  done
  module=ucx-verity
  job "${openmpi:-$mpich}"
  if command -v zsh > /dev/null; then try_shell "$1, zsh" "$2" "$3/zsh" zsh -f; else skip "$1, zsh" "no zsh"; fi
  if command -v tcsh > /dev/null; then try_shell "$1, csh" "$2" "$3/csh" tcsh -f; else skip "$1, csh" "no csh (tcsh)"; fi
  if command -v fish > /dev/null; then try_shell "$1, fish" "$2" "$3/fish" fish --no-config; else skip "$1, fish" "no fish"; fi
}
module_systems try

# One load, several UCX.
try_versions() { # try_versions NAME MODULEPATH INIT-SCRIPTS
  local name=$1 init=$3 ucx version
  job "${openmpi:-$mpich}"
  cat > "$tap_dir/versions" << SH
. '$init/bash'
module use '$shared/${2#"$prefix/"}'
module load ucx-verity
for ucx; do
  LD_LIBRARY_PATH=\$(dirname "\$(find "\$ucx"/lib* -name libucp.so.0 | head -n 1)") $tap_dir/job.sh
  mv $tap_dir/job.out "$tap_dir/job.out.\${ucx##*/}"
  mv $tap_dir/attest "$tap_dir/attest.\${ucx##*/}"
done
SH
  env -i PATH=$base_path HOME="$tap_dir/home" bash "$tap_dir/versions" $others > "$tap_dir/versions.out" 2>&1
  is "$name, one load for several UCX: nothing to say" "$(cat "$tap_dir/versions.out")" ""
  for ucx in $others; do
    version=$(LD_LIBRARY_PATH=$(dirname "$(find "$ucx"/lib* -name libucp.so.0 | head -n 1)") "$ucx/bin/ucx_info" -v |
      sed -n 's/^# *\(Library version:\|Version\) *\([0-9.]*\).*/\2/p' | head -n 1)
    mv "$tap_dir/attest.${ucx##*/}" "$tap_dir/attest"
    mv "$tap_dir/job.out.${ucx##*/}" "$tap_dir/job.out"
    verified "$name" "$version"
  done
}
if [ -n "${VERITY_TEST_UCX:-}" ]; then
  # shellcheck disable=SC2086 # a list
  read -r shared others <<< $VERITY_TEST_UCX
  module_systems try_versions
else
  skip "one load for several UCX" "VERITY_TEST_UCX names none"
fi

done_testing

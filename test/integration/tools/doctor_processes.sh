#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# `ucx-verity doctor` where the shell is set up and its processes are not: what is preloaded gets lost on the way, limits of the
# host, a folder without permission, a container without the plugin, a plugin of another UCX, an MPI library on another UCX.
. "${abs_top_srcdir:?}/test/integration/lib.sh"

tool=$build/ucx-verity
bare bash -c "eval \"\$('$tool' env)\"" || skip_all "no environment to start from"
chmod 755 "$tap_dir"

# says NAME COMMANDS STATUS REGEX: what doctor prints after the commands in a shell with the variables of env. $report has it.
says() {
  report=$(bare bash -c "eval \"\$('$tool' env)\"; $2" 2>&1 | tr -s '\n ' '  '; exit "${PIPESTATUS[0]}")
  contains "$1: exit status" $? "^$3\$"
  contains "$1: what it says" "$report" "$4"
}
cc=(${CC:-cc})
compiles() { "${cc[@]}" -x c -o "$1" - -x none "${@:2}" 2> "$tap_dir/cc"; } # compiles OUTPUT FLAG... < source
nobody=65534
as_nobody() { setpriv --reuid=$nobody --regid=$nobody --clear-groups "$@"; }
can_be_nobody() { [ "$(id -u)" -eq 0 ] && as_nobody "$tool" --version > /dev/null 2>&1; }

if [ "$("$tool" env | grep -c '^export LD_PRELOAD=')" -eq 0 ]; then
  skip "what is preloaded" "this UCX loads the plugin by UCX_PLUGIN_PATH"
else
  # ---- the launcher, and programs on the way, remove LD_PRELOAD -----------------------------------
  printf '#!/bin/sh\nunset LD_PRELOAD\nexec "$@"\n' > "$tap_dir/stripping"
  chmod +x "$tap_dir/stripping"
  for launcher in $openmpi $mpich; do
    case $launcher in "$mpich") job="MPICH" pass="mpiexec -genv LD_PRELOAD " ;; *) job="Open MPI" pass="mpirun -x LD_PRELOAD=" ;; esac
    says "a wrapper of $job's job" "export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1; '$launcher' -np 1 '$tap_dir/stripping' '$tool' doctor" 2 \
      "BROKEN shell LD_PRELOAD is not set in this process of $job's job, .* removes it: UCX does not load the plugin, so jobs abort -> $pass[^ ]*libverity_preload\.so"
  done
  says "a batch script of Slurm, which is no process of srun's" "SLURM_PROCID=0 SLURM_STEP_ID=4294967291 '$tap_dir/stripping' '$tool' doctor" 2 \
    "BROKEN shell LD_PRELOAD is not set: .* -> export LD_PRELOAD="
  says "a wrapper of Slurm's job" "SLURM_PROCID=0 SLURM_STEP_ID=0 '$tap_dir/stripping' '$tool' doctor" 2 \
    "in this process of Slurm's job, .* -> srun --export=ALL,LD_PRELOAD=[^ ]*libverity_preload\.so"

  cp "$(type -P true)" "$tap_dir/mpirun"
  says "a program as any other" "'$tool' doctor --program '$tap_dir/mpirun'" '[01]' "ok program $tap_dir/mpirun: LD_PRELOAD reaches it"
  if [ "$(id -u)" -eq 0 ] && chown $nobody "$tap_dir/mpirun" && chmod 4755 "$tap_dir/mpirun"; then
    privileged="BROKEN program $tap_dir/mpirun is set-user-ID: the dynamic linker removes LD_PRELOAD there, so its jobs abort -> "
    says "a set-user-ID program" "'$tool' doctor --program '$tap_dir/mpirun'" 2 "$privileged"
    says "a set-user-ID launcher in PATH" "PATH='$tap_dir':\$PATH '$tool' doctor" 2 "$privileged"
    cp "$(type -P env)" "$tap_dir/printing" && chown $nobody "$tap_dir/printing" && chmod 4755 "$tap_dir/printing"
    is "and the dynamic linker does so" "$(LD_PRELOAD=$build/.libs/libverity_preload.so "$tap_dir/printing" | grep -c '^LD_PRELOAD=')" 0
    rm "$tap_dir/mpirun"
  else
    skip "set-user-ID programs" "only root makes one of another user"
  fi
  if compiles "$tap_dir/static" -static <<< 'int main(void) { return 0; }'; then
    says "a static program" "'$tool' doctor --program '$tap_dir/static'" 2 "BROKEN program $tap_dir/static is statically linked: LD_PRELOAD has no effect"
  else
    skip "a static program" "no static libc"
  fi
  says "a program that is not there" "'$tool' doctor --program /gone/app" 2 "BROKEN program /gone/app does not exist"

  # ---- a container without the plugin: an image that has the command alone is below -----------------
  says "a container whose image lacks the folder of LD_PRELOAD" \
    "export APPTAINER_CONTAINER=image.sif LD_PRELOAD=/opt/absent/libverity_preload.so; '$tool' doctor 2> /dev/null" 2 \
    "LD_PRELOAD names /opt/absent/libverity_preload.so, which does not exist in this container \(Apptainer\): UCX does not load the plugin, so jobs abort -> export LD_PRELOAD="
fi

# ---- limits and permissions -----------------------------------------------------------------------
if can_be_nobody; then
  mkdir -m 755 "$tap_dir/readonly"
  says "a limit of locked memory" "ulimit -l 64; $(declare -f as_nobody); nobody=$nobody; as_nobody '$tool' doctor" '[012]' "memlock at most 64 KiB may be locked"
  says "a health folder of another user" \
    "export UCX_VERITY_HEALTH_DIR=$tap_dir/readonly; $(declare -f as_nobody); nobody=$nobody; as_nobody '$tool' doctor" 2 \
    "BROKEN shell UCX_VERITY_HEALTH_DIR=$tap_dir/readonly: .*, so jobs count where .* -> unset UCX_VERITY_HEALTH_DIR"
else
  skip "limits and permissions" "needs root, setpriv, and a build that everybody may read"
fi
echo > "$tap_dir/file"
says "a health folder that is a file" "UCX_VERITY_HEALTH_DIR=$tap_dir/file '$tool' doctor" 2 "BROKEN shell UCX_VERITY_HEALTH_DIR=$tap_dir/file: it cannot be opened"

# ---- wrong builds: refused before anything of them runs ---------------------------------------------
libdir=$(sed -n 's|^libdir = ${exec_prefix}/||p' "$build/Makefile")
other=9${VERITY_UCX_VERSION#?}
if [ -n "$libdir" ]; then
  folder=$tap_dir/root/$libdir/ucx-verity
  mkdir -p "$tap_dir/root/bin" "$folder"
  cp "$tool" "$tap_dir/root/bin"
  cp "$build/.libs/libverity_preload.so" "$folder"
  report=$(APPTAINER_CONTAINER=image.sif "$tap_dir/root/bin/ucx-verity" doctor 2>&1 | tr -s '\n ' '  ')
  contains "a container without the plugin: what it says" "$report" \
    "BROKEN plugin none for UCX $VERITY_UCX_VERSION .* this is a container \(Apptainer\): make the host's installation visible in it \(--bind PREFIX\)"
  mkdir "$folder/$VERITY_UCX_VERSION"
  sed "s/\x00${VERITY_UCX_VERSION//./\\.}\x00/\x00$other\x00/g" "$build/.libs/libuct_verity.so" > "$folder/$VERITY_UCX_VERSION/libuct_verity.so"
  ln -s libuct_verity.so "$folder/$VERITY_UCX_VERSION/libuct_verity.so.0"
  report=$(bare "$tap_dir/root/bin/ucx-verity" doctor 2>&1)
  status=$?
  # A compiler may compare with the release by instructions, as gcc 16 does.
  if grep -Eq '^  ok +wrapped' <<< "$report" &&
    bare LD_PRELOAD="$build/.libs/libverity_preload.so" "$plugin_variable=$folder/$VERITY_UCX_VERSION" "${UCX_INFO:-ucx_info}" -d 2> /dev/null | grep -q 'Transport: v'; then
    skip "the plugin of another UCX" "a copy of this one with another release in its data works as before"
  else
    is "the plugin of another UCX in this one's folder: exit status" $status 2
    contains "the plugin of another UCX: what it says" "$(tr -s '\n ' '  ' <<< "$report")" \
      "BROKEN loader .*: ucx-verity: built for UCX $other but this process runs UCX $VERITY_UCX_VERSION"
    lacks "the plugin of another UCX: it offers nothing" "$report" 'wrapped +v'
  fi
else
  skip "the plugin of another UCX" "libdir is not below the prefix"
fi
if compiles "$tap_dir/sizes.so" -shared -fPIC << 'C'
#include <stddef.h>
struct { const char* name; size_t size; void *superclass, *init, *cleanup; }
    uct_base_iface_t_class = {"interface", 1288, 0, 0, 0}, uct_base_ep_t_class = {"endpoint", 16, 0, 0, 0};
C
then
  says "a UCX with other build options" "export LD_PRELOAD=\$LD_PRELOAD:$tap_dir/sizes.so; '$tool' doctor" 2 \
    "BROKEN [a-z]+ .*ucx-verity: this process runs another build of UCX $VERITY_UCX_VERSION \(.*; it has statistics, this plugin expects none\)"
  lacks "a UCX with other build options: nothing is opened" "$report" 'shell UCX opens'
else
  skip "a UCX with other build options" "no C compiler"
fi

# ---- an MPI library on another UCX ------------------------------------------------------------------
libucp=$(bare "$tool" doctor --json | sed -n 's/.*"text": ".*, \(\/.*libucp\.so.*\)",/\1/p' | head -n 1)
mkdir -p "$tap_dir/other" "$tap_dir/bin"
if [ -n "$libucp" ] && cp "$libucp" "$tap_dir/other/" &&
  compiles "$tap_dir/bin/mpichversion" "-Wl,--no-as-needed,-rpath,$tap_dir/other" "$tap_dir/other/$(basename "$libucp")" << 'C'
#include <stdio.h>
int main(void) { return puts("MPICH Version:    \t9.9\nMPICH Device:    \tch4:ucx") < 0; }
C
then
  says "an MPI library on another UCX" "PATH='$tap_dir/bin':\$PATH LD_LIBRARY_PATH= '$tool' doctor" 1 \
    "warn MPICH it uses another UCX: $tap_dir/other/libucp\.so[^ ]* -> run 'ucx-verity doctor' with that UCX in LD_LIBRARY_PATH"
else
  skip "an MPI library on another UCX" "no program can be linked with a copy of libucp"
fi
done_testing

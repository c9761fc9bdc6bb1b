#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The modulefiles, under the distribution's Lmod and Environment Modules: loading sets what `ucx-verity env` prints, unloading
# restores what was there, exactly; and one text serves all UCX releases.
. "${abs_top_srcdir:?}/test/tap.sh"
. "$abs_top_srcdir/test/integration/build/modules_lib.sh"

tool=$prefix/bin/ucx-verity
prolog=$prefix/libexec/ucx-verity/slurm-task-prolog
agent=$prefix/libexec/ucx-verity/launch-agent
release=$(sed -n 's/^PACKAGE_VERSION = //p' "$abs_top_builddir/Makefile")

install_into "$prefix"
tap_result $? "make install into another prefix"
[ -e "$prefix/share/lmod/ucx-verity" ] || note "$(tail -n 20 "$tap_dir/install.log")"

ok "the installed ucx-verity env works there" env -i PATH=$base_path "$tool" env

contains "the installed doctor has a selftest" "$(env -i PATH=$base_path "$tool" doctor --selftest 2>&1 | tr -s '\n ' '  ')" \
  'ok selftest tcp: .* 1 found, 1 repaired; wrong bytes delivered: 0 .*not active in this shell'
is "the corrupting transport has no name that UCX looks for" "$(ls "$prefix"/lib/ucx-verity/*/selftest)" "libuct_fault.so"

# ---- the texts ----------------------------------------------------------------------------------
install_into "$tap_dir/other" install-modulefiles VERITY_UCX_VERSION=1.22.0
for file in {lmod/ucx-verity{,-transparent}/$release.lua,modulefiles/ucx-verity{,-transparent}/$release}; do
  is "$file does not depend on the UCX of the build" "$(sed "s|$tap_dir/other|$prefix|g" "$tap_dir/other/share/$file")" "$(cat "$prefix/share/$file")"
  lacks "$file has all its places filled" "$(cat "$prefix/share/$file")" '@[a-z_]+@'
done
rm -rf "$tap_dir/other"
write="awk -v language=lua -v variant=plain -v prelude=/dev/null -f $abs_top_srcdir/contrib/modulefiles/write.awk"
# shellcheck disable=SC2016 # of awk
is "a module asks with the option of its variant" \
  "$(printf 'transparent ask a b c d --transparent /a b/tool\nplain ask a b c d /a b/tool\n' > "$tap_dir/asks"
    for variant in plain transparent; do ${write/plain/$variant} "$tap_dir/asks" | grep '^local'; done)" \
  'local a, b, c, d = ask("/a b/tool", "")
local a, b, c, d = ask("/a b/tool", "--transparent")'
printf 'prepend-path A b\nwrong A b\n' > "$tap_dir/wrong"
is "a directive that is none is refused" "$($write "$tap_dir/wrong" 2>&1 > "$tap_dir/written"; echo "status $?")" "$tap_dir/wrong:2: unknown directive wrong
status 1"

# What srun runs before each task: the node's own choice takes the place of the module's.
task_prolog() { env -i PATH=$base_path "$@" "$prolog"; }
is "the task prolog chooses the transports of this node" \
  "$(task_prolog UCX_TLS=vrc_mlx5,vself VERITY_MODULE_TLS=vrc_mlx5,vself)" "$(env -i PATH=$base_path "$tool" env --shell slurm | grep UCX_TLS)"
is "but not in place of the user's" "$(task_prolog UCX_TLS=vtcp VERITY_MODULE_TLS=vrc_mlx5,vself)" ""
contains "without the module it is a site's: the task gets the plugin" "$(task_prolog UCX_TLS=tcp)" '^export UCX_TLS=v'

# By UCX's own names: a prolog keeps the user's transports, and no task runs unverified by them.
is "by UCX's own names too" "$(task_prolog UCX_TLS=tcp UCX_VERITY_TRANSPARENT=y)" \
  "$(env -i PATH=$base_path UCX_TLS=tcp "$tool" env --transparent --shell slurm)"
contains "  which a site's prolog may ask for" "$(env -i PATH=$base_path "$prolog" --transparent)" '^export UCX_VERITY_TRANSPARENT=y$'
lacks "  and transports stay as they are" "$(task_prolog UCX_TLS=tcp UCX_VERITY_TRANSPARENT=y)" '^export UCX_TLS='
is "the prolog of a module by UCX's own names sets what the node needs" "$(task_prolog UCX_TLS=tcp UCX_VERITY_TRANSPARENT=y VERITY_MODULE_TLS=)" \
  "$(env -i PATH=$base_path UCX_TLS=tcp "$tool" env --transparent --shell slurm)"
mv "$tool" "$tool.away"
contains "  where there is no plugin the task says so" "$(task_prolog UCX_TLS=tcp UCX_VERITY_TRANSPARENT=y VERITY_MODULE_TLS=)" \
  '^print ucx-verity: not loaded on this node, and the task cannot run verified: .*ucx-verity'
# shellcheck disable=SC2016
contains "  and finds no transport" "$(eval "$(task_prolog VERITY_MODULE_TLS= UCX_TLS=tcp SLURM_PROCID=1)"; UCX_WARN_UNUSED_ENV_VARS=n \
  "${UCX_INFO:-ucx_info}" -epw -u t 2>&1)" 'ucx_verity_is_not_loaded.* not available|No such device|no usable transports'
is "  but runs, and says so, where that is a site's prolog" "$(task_prolog UCX_VERITY_TRANSPARENT=y | sed 's/: [^:]*not found.*//; s/: [^:]*\/.*//')" \
  "print ucx-verity: not loaded on this node, the messages of this job are NOT verified"
mv "$tool.away" "$tool"

# What mpirun starts on the other hosts of a job.
by_agent() { # by_agent VARIABLE=VALUE... -- [OPTION...] COMMAND...
  local settings=()
  while [ "$1" != -- ]; do settings+=("$1"); shift; done
  env -i PATH=$base_path "${settings[@]}" "$agent" "${@:2}" 2>&1
}
preload= # as env has it
! needs_preload || preload=libverity_preload.so
chosen=$(env -i PATH=$base_path "$tool" env | sed -n 's/^export UCX_TLS=\(.*\);/\1/p')
# shellcheck disable=SC2016 # for that shell
shows='echo "$UCX_TLS ${LD_PRELOAD##*/} ${UCX_VERITY_TYPECHECK-}"'
is "the launch agent: its command has what env sets" "$(by_agent -- sh -c "$shows")" "$chosen $preload "
is "its command and arguments stay as they are" "$(by_agent -- printf '%s|' 'a b' '' '$c')" 'a b||$c|'
is "the transports are those of this host, where the environment came along" \
  "$(by_agent UCX_TLS=vrc_mlx5,vself VERITY_MODULE_TLS=vrc_mlx5,vself -- sh -c "$shows")" "$chosen $preload "
is "but not in place of the user's" "$(by_agent UCX_TLS=vtcp,vself VERITY_MODULE_TLS=vrc_mlx5,vself -- sh -c "$shows")" "vtcp,vself  "
# shellcheck disable=SC2016
names='echo "${UCX_TLS-unset} ${LD_PRELOAD##*/} ${UCX_VERITY_TRANSPARENT-}"'
is "by UCX's own names no transports are chosen" "$(by_agent -- --transparent sh -c "$names")" "unset $preload y"
is "  also where the setting came along" "$(by_agent UCX_VERITY_TRANSPARENT=Yes UCX_TLS=tcp -- sh -c "$names")" "tcp $preload y"
is "  and names of wrapped ones are those of UCX" "$(by_agent UCX_TLS=vtcp,vself -- --transparent sh -c "$names")" "tcp,self $preload y"
is "an agent without a daemon says how to call it" "$(by_agent -- --transparent; echo "status $?")" \
  "ucx-verity: launch-agent: no daemon to start: launch-agent [--typecheck warn] [--transparent] DAEMON ARGUMENT...
status 1"
if [ -d "$prefix/share/lmod/ucx-verity-typecheck" ]; then
  contains "with checks of datatypes" "$(by_agent -- --typecheck warn sh -c "$shows")" ' libverity_mpi_.* warn$'
fi
mv "$tool" "$tool.away"
contains "without the plugin its command does not run, and a line says so" "$(by_agent -- echo runs; echo "status $?")" \
  '^ucx-verity: not loaded on [^ ]+: .*not started'
lacks "it did not" "$(by_agent -- echo runs)" '^runs'
is "and the status is 1" "$(by_agent -- true > "$tap_dir/said"; echo $?)" 1
mv "$tool.away" "$tool"

# ---- loading and unloading ----------------------------------------------------------------------
# What there may be before: nothing; values of what the module sets, with the characters that lists are made of; lists.
settings_none=()
settings_values=(UCX_TLS=rc_x,ud:aux OMPI_MCA_pml=ob1 "UCX_MODULE_DIR=/some/where:/a b" LD_PRELOAD=libc.so.6 "SLURM_TASK_PROLOG=/a b/prolog; x"
  UCX_VERITY_TYPECHECK=error)
settings_lists=(MANPATH=/my/man: LD_PRELOAD=libc.so.6:libm.so.6 PATH=$base_path:/my/bin)
settings_first=(MANPATH=:/my/man "LD_PRELOAD=libc.so.6 libm.so.6")
settings_names=(UCX_TLS=tcp,self OMPI_MCA_opal_common_ucx_tls=posix UCX_VERITY_TRANSPARENT=n UCX_PLUGIN_PATH=/my)
settings_wrapped=(UCX_TLS=vtcp,vself OMPI_MCA_opal_common_ucx_tls=any)
settings_only=(MANPATH=/my/man:/your/man)

# What the command line gives. Beyond that the module sets the folders of pages and, where there are none, an empty entry for the
# system's own, the scripts for srun and for Open MPI's daemons, and values that it needs itself. Where env names the plugin by
# UCX_PLUGIN_PATH, the module does as for any UCX.
for_any=
# shellcheck disable=SC2016 # for that shell
needs_preload || for_any='export UCX_MODULE_DIR=${UCX_PLUGIN_PATH%%:*} LD_PRELOAD='$prefix'/lib/ucx-verity/libverity_preload.so${LD_PRELOAD:+:${LD_PRELOAD// /:}}
    case $UCX_PLUGIN_PATH in *:*) UCX_PLUGIN_PATH=${UCX_PLUGIN_PATH#*:} ;; *) unset UCX_PLUGIN_PATH ;; esac'
wanted() { # wanted OPTIONS VARIABLE=VALUE...
  in_shell "eval \"\$('$tool' env $1)\"
    $for_any
    export PATH=$prefix/bin:\$PATH MANPATH=$prefix/share/man:\${MANPATH-} SLURM_TASK_PROLOG=$prolog
    export OMPI_MCA_orte_launch_agent='$agent ${1:+$1 }orted' PRTE_MCA_prte_launch_agent='$agent ${1:+$1 }prted'; $listing" "${@:2}"
}
# `env` makes colons of the spaces in LD_PRELOAD, which mean the same there.
shown() { grep -v '^VERITY_MODULE_' | sed '/^LD_PRELOAD=/s/ /:/g'; }

in_shell() { # in_shell COMMANDS [VARIABLE=VALUE...]: with $init and $path of the module system
  env -i PATH=$base_path "${@:2}" bash -c ". '$init/bash' && module use '$path' && { $1; }" 2>&1
}

try_variant() { # try_variant NAME MODULE OPTIONS-OF-ENV KIND...
  local name=$1 module=$2 options=$3 kind settings before
  for kind in "${@:4}"; do
    local -n settings=settings_$kind
    before=$(in_shell "$listing" "${settings[@]}")
    is "$name: load sets what env $options prints, over settings: $kind" \
      "$(in_shell "module load $module; $listing" "${settings[@]}" | shown)" "$(wanted "$options" "${settings[@]}")"
    is "$name: unload restores the environment, over settings: $kind" \
      "$(in_shell "module load $module; module unload $module; $listing" "${settings[@]}")" "$before"
    is "$name: a switch of the module by itself changes nothing, over settings: $kind" \
      "$(in_shell "module load $module; module switch $module $module; $listing" "${settings[@]}")" \
      "$(in_shell "module load $module; $listing" "${settings[@]}")"
    is "$name: and so after a switch of the module by itself, over settings: $kind" \
      "$(in_shell "module load $module; module switch $module $module; module unload $module; $listing" "${settings[@]}")" "$before"
  done
}

try() { # try NAME MODULEPATH INIT: all that is asked of one module system
  local name=$1 path=$2 init=$3 before other
  try_variant "$name" ucx-verity "" none values lists first only names wrapped
  # The other variants have the same text but for their own settings.
  try_variant "$name" ucx-verity-transparent "--transparent" values names wrapped
  is "$name: by UCX's own names UCX_TLS is not set" "$(in_shell "module load ucx-verity-transparent; echo \"\${UCX_TLS-unset} \$UCX_VERITY_TRANSPARENT\"")" "unset y"
  contains "$name: the name of that variant" "$(in_shell "module whatis ucx-verity-transparent")" "under UCX's own names"
  printf 'UCX_VERITY_TRANSPARENT=y\n' > "$prefix/lib/ucx-verity/ucx-verity.conf"
  try_variant "$name, by the site's policy" ucx-verity "" names wrapped
  is "$name: by the site's policy UCX_TLS is not set" "$(in_shell "module load ucx-verity; echo \"\${UCX_TLS-unset} \$UCX_VERITY_TRANSPARENT\"")" "unset y"
  is "$name: but for a user who wants other names" \
    "$(in_shell "module load ucx-verity; echo \"\$UCX_TLS \$UCX_VERITY_TRANSPARENT\"" UCX_VERITY_TRANSPARENT=n)" "$chosen n"
  rm "$prefix/lib/ucx-verity/ucx-verity.conf"
  contains "$name: it names wrapped transports" "$(in_shell "module load ucx-verity; env")" '^UCX_TLS=v'
  if [ -d "$path/ucx-verity-typecheck" ]; then
    try_variant "$name" ucx-verity-typecheck "--typecheck warn" none values
    before=$(in_shell "$listing" "${settings_lists[@]}")
    is "$name: unload after env --typecheck restores the environment" "$(in_shell "module load ucx-verity
      eval \"\$(ucx-verity env --typecheck warn)\"; module unload ucx-verity; $listing" "${settings_lists[@]}")" "$before"
    other=$(in_shell "module load ucx-verity; module load ucx-verity-typecheck || echo 'status: not 0'; echo \"has: \$UCX_VERITY_TYPECHECK.\"")
    contains "$name: the variants exclude each other" "$(tr -s '\n ' '  ' <<< "$other")" 'ucx-verity.*(status: not 0)? has: \.'
  else
    skip "$name: the variant with checks of datatypes" "their libraries are not built"
  fi
  is "$name: unload leaves what others added behind it" "$(in_shell "module load ucx-verity; export LD_PRELOAD=libm.so.6:\$LD_PRELOAD PATH=/new:\$PATH
    module unload ucx-verity; echo \$LD_PRELOAD \$PATH" LD_PRELOAD=libc.so.6)" "libm.so.6:libc.so.6 /new:$base_path"
  is "$name: unload restores UCX_TLS also when it was changed in between" \
    "$(in_shell "module load ucx-verity; export UCX_TLS=vtcp; module unload ucx-verity; echo \"\$UCX_TLS\"" UCX_TLS=tcp)" "tcp"
  contains "$name: the manual pages are found, and the system's own" \
    "$(in_shell "module load ucx-verity; man -w ucx-verity-doctor; man -w man" | tr '\n' ' ')" \
    "^$prefix/share/man/man1/ucx-verity-doctor.1 /usr/share/man/[^ ]*man.1"
  contains "$name: avail lists the release" "$(in_shell "module avail")" "ucx-verity/$release"
  contains "$name: help" "$(in_shell "module help ucx-verity")" '"ucx-verity doctor" checks that jobs started from this shell'
  contains "$name: whatis" "$(in_shell "module whatis ucx-verity")" 'Description: end-to-end verified transports for UCX'
  mv "$tool" "$tool.away"
  contains "$name: without the command the load fails and says so" \
    "$(in_shell "module load ucx-verity; echo \"preload: \$LD_PRELOAD.\"" | tr -s '\n ' '  ')" 'names no plugin.*preload: \.'
  mv "$tool.away" "$tool"
}

module_systems try
done_testing

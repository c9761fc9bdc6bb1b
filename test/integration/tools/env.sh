#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# `ucx-verity env`: its lines work in each shell, twice too, and what they set makes UCX offer the
# wrappers without a line on stderr.
. "${abs_top_srcdir:?}/test/tap.sh"

tool=$abs_top_builddir/ucx-verity
# Nothing of the caller's: the variables under test are the only ones.

wanted=$(bare "$tool" env --tls tcp,posix,self --json |
  sed -n 's/^    "\(.*\)": "\(.*\)",\{0,1\}$/\1=\2/p')
contains "json: the wrappers" "$wanted" '^UCX_TLS=vtcp,vposix,vself$'
contains "json: Open MPI's messaging layer" "$wanted" '^OMPI_MCA_pml=ucx$'
contains "json: Open MPI's one-sided layer" "$wanted" '^OMPI_MCA_osc=ucx,sm$'
contains "json: above osc/sm, whose priority is 100" "$wanted" '^OMPI_MCA_osc_ucx_priority=200$'
names=$(cut -d= -f1 <<< "$wanted" | tr '\n' '|')
show="env | grep -E '^(${names%|})='"

for shell in sh bash dash ksh zsh; do
  if ! command -v "$shell" > /dev/null; then
    skip "$shell: round trip" "$shell is not installed"
    continue
  fi
  is "$shell: round trip" \
    "$(bare "$shell" -c "eval \"\$($tool env --tls tcp,posix,self --shell $shell)\"; $show" | sort)" \
    "$(sort <<< "$wanted")"
done
if command -v csh > /dev/null; then
  is "csh: round trip" \
    "$(bare csh -fc "eval \`$tool env --tls tcp,posix,self --shell csh\`; $show" | sort)" \
    "$(sort <<< "$wanted")"
else
  skip "csh: round trip" "no csh (tcsh) is installed"
fi
if command -v fish > /dev/null; then
  is "fish: round trip" \
    "$(bare fish -c "$tool env --tls tcp,posix,self --shell fish | source; $show" | sort)" \
    "$(sort <<< "$wanted")"
else
  skip "fish: round trip" "fish is not installed"
fi

# UCX's libraries log to stdout as soon as they are loaded: there are the lines that are evaluated or parsed.
is "UCX_LOG_LEVEL=debug: no other line" \
  "$(bare UCX_LOG_LEVEL=debug "$tool" env --tls tcp,posix,self 2> /dev/null | sed 's/^export [A-Za-z_]*=.*;$/export/' | uniq)" "export"
contains "UCX_LOG_LEVEL=debug: the log is on stderr" "$(bare UCX_LOG_LEVEL=debug "$tool" status 2>&1 > /dev/null)" ' UCX +DEBUG '
mkdir "$tap_dir/none"
is "UCX_LOG_LEVEL=debug: nor what monitoring reads" \
  "$(bare UCX_LOG_LEVEL=debug "$tool" check --directory "$tap_dir/none" --ledger "$tap_dir/ledger" 2> /dev/null)" \
  "UCX-VERITY OK: nothing verified in the last 24 h"

twice="eval \"\$($tool env)\"; eval \"\$($tool env)\"; echo \"\$LD_PRELOAD\""
if needs_preload; then
  preload='libverity_preload\.so:'
  is "a second evaluation does not repeat the preload" \
    "$(bare bash -c "$twice" | grep -o libverity_preload.so | wc -l)" 1
  contains "an older preload stays, behind" \
    "$(bare LD_PRELOAD=libm.so.6 bash -c "$twice")" "${preload}libm\.so\.6\$"
else
  preload=
  is "a second evaluation does not repeat the plugin's folder" \
    "$(bare UCX_PLUGIN_PATH=/older bash -c "${twice/LD_PRELOAD/UCX_PLUGIN_PATH}" | grep -o : | wc -l)" 1
  is "nothing is preloaded" "$(bare LD_PRELOAD=libm.so.6 bash -c "$twice")" libm.so.6
fi

in_environment="eval \"\$($tool env --tls tcp,posix,self)\";"
listing=$(bare bash -c "$in_environment ${UCX_INFO:-ucx_info} -d" 2> "$tap_dir/stderr")
for transport in vtcp vposix vself; do
  contains "UCX offers $transport" "$listing" "Transport: $transport\$"
done
is "UCX writes nothing on stderr" "$(cat "$tap_dir/stderr")" ""
context=$(bare bash -c "$in_environment UCX_VERITY_EXTRA_MODULES= UCX_VERITY_HEALTH=n ${UCX_INFO:-ucx_info} -epw -u t" 2> "$tap_dir/stderr")
is "nor does a context that uses them" "$(cat "$tap_dir/stderr")" ""
# Its log goes to stdout: no warning of unknown variables there.
lacks "and UCX knows every variable that was set" "$context" 'UCX +(WARN|ERROR)'
# UCX logs to stdout, which a shell evaluates here.
is "what UCX logs is no part of the answer" \
  "$(bare bash -c "$in_environment UCX_VERITY_MODE=wrong UCX_LOG_LEVEL=info '$tool' env --tls tcp 2> /dev/null" |
    grep -v '^export [A-Z_a-z]*=')" ""
is "nor does the command itself" "$(bare "$tool" env 2>&1 > /dev/null)" ""
lacks "by default no raw transport" ",$(bare "$tool" env | sed -n 's/^export UCX_TLS=\(.*\);/\1/p')" ',[^v]'

refusal=$(bare "$tool" env --tls tcp,nonsense 2>&1; echo "status $?")
contains "an unknown transport is refused by name" "$refusal" "transport 'nonsense' does not exist"
contains "with a list of those that exist" "$refusal" 'this machine has: .*tcp'
contains "and exit status 2" "$refusal" '^status 2'
is "and for eval a command that fails, nothing else" "$(bare "$tool" env --tls tcp,nonsense 2> /dev/null)" "false;"
is "so that its evaluation fails" "$(bare bash -c "eval \"\$('$tool' env --tls ibv)\"; echo \$?" 2> /dev/null)" 1
is "and ends a script that ends with errors" "$(bare bash -ec "eval \"\$('$tool' env --tls ibv)\"; echo on" 2> /dev/null)" ""
is "but no JSON" "$(bare "$tool" env --tls tcp,nonsense --json 2> /dev/null)" ""
contains "a transport that only reads needs another one" \
  "$(bare "$tool" env --tls cma 2>&1)" "cma has no active messages of its own|'cma' does not exist"
contains "a transport that cannot be wrapped says why" \
  "$(bare "$tool" env --tls tcp,cuda_ipc 2>&1)" "'cuda_ipc' (cannot be wrapped|does not exist)"
contains "an unknown shell is refused" "$(bare "$tool" env --shell dos 2>&1)" "unknown shell 'dos'"
is "slurm: what a TaskProlog prints has no quotes and no semicolons" "$(bare "$tool" env --tls tcp,posix,self --shell slurm | sort)" \
  "$(sed 's/^/export /' <<< "$wanted" | sort)"
contains "help" "$(bare "$tool" env --help)" '--tls LIST'
interposers=$(bare "$tool" env --typecheck warn 2>&1)
if [ -e "$abs_top_builddir/.libs/libverity_mpi_openmpi.so" ] || [ -e "$abs_top_builddir/.libs/libverity_mpi_mpich.so" ]; then
  contains "type checks: the interposers behind the loader" "$interposers" "LD_PRELOAD=.*$preload[^:]*libverity_mpi_"
  contains "type checks: are requested" "$interposers" 'UCX_VERITY_TYPECHECK=warn'
  is "a second evaluation does not repeat the interposers" \
    "$(bare bash -c "${twice//env)/env --typecheck error)}" | grep -o libverity_mpi_ | wc -l)" \
    "$(grep -o libverity_mpi_ <<< "$interposers" | wc -l)"
  lacks "type checks: UCX knows the variables" \
    "$(bare bash -c "eval \"\$($tool env --typecheck warn)\"; UCX_VERITY_HEALTH=n ${UCX_INFO:-ucx_info} -epw -u t" 2>&1)" 'UCX +(WARN|ERROR)'
else
  contains "type checks: missing interposers are reported" "$interposers" 'no libverity_mpi_openmpi.so or libverity_mpi_mpich.so in'
fi
contains "an unknown type check is refused" "$(bare "$tool" env --typecheck maybe 2>&1)" "unknown type check 'maybe': warn or error"
lacks "no interposer unless requested" "$(bare "$tool" env)" 'libverity_mpi|TYPECHECK'
is "the option of older scripts for shared windows changes nothing" "$(bare "$tool" env --shared-windows)" "$(bare "$tool" env)"

# An installation that was moved as a whole.
mkdir -p "$tap_dir/moved/bin" "$tap_dir/moved/lib/ucx-verity/$VERITY_UCX_VERSION"
cp "$tool" "$tap_dir/moved/bin"
contains "without a plugin for this UCX: refused" "$(bare "$tap_dir/moved/bin/ucx-verity" env 2>&1)" \
  "no plugin for UCX"

done_testing

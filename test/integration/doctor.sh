#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# `ucx-verity doctor` on a healthy build, on a shell that is not set up, and on broken installations.
. "${abs_top_srcdir:?}/test/tap.sh"

tool=$abs_top_builddir/ucx-verity
clean() { env -i PATH="$PATH" HOME="$tap_dir" LD_LIBRARY_PATH="${LD_LIBRARY_PATH:-}" "$@"; }

report=$(clean "$tool" doctor)
is "a shell that is not set up: exit status 1" $? 1
contains "the plugin loads" "$report" '^  ok +loader'
contains "the wrapped transports by name" "$report" '^  ok +wrapped +.*vself'
contains "what is not set" "$report" '^  warn +environment +not set: LD_PRELOAD'
contains "what to do about it" "$report" '-> eval "\$\(ucx-verity env\)"'
contains "what would be unverified" "$report" '^  warn +unverified +without UCX_TLS'
# One word cannot be broken: a path where the tree lies deep.
is "no line longer than a terminal's" "$(awk 'length > 80 && NF > 1' <<< "$report")" ""

report=$(clean bash -c "eval \"\$($tool env)\"; '$tool' doctor" 2>&1)
status=$?
lacks "the environment of env: nothing is broken" "$report" 'BROKEN'
lacks "nor missing" "$report" 'not set|unverified +with'
[ $status -le 1 ] # 1 where this machine's MPI libraries leave something to say
tap_result $? "and the exit status says so"
contains "raw lanes beside wrapped ones are named" \
  "$(clean bash -c "eval \"\$($tool env)\"; UCX_TLS=vtcp,vself,tcp '$tool' doctor")" \
  'with this UCX_TLS UCX may use tcp'
contains "a bad value of the plugin's: UCX's words about it" \
  "$(clean bash -c "eval \"\$($tool env)\"; UCX_VERITY_MODE=wrong '$tool' doctor" 2> /dev/null | tr -s '\n ' '  ')" \
  "BROKEN loader .*Invalid value for MODE: 'wrong'"
contains "JSON" "$(clean "$tool" doctor --json)" '"grade": "warning"'

# The distribution's MPI libraries are built on the distribution's UCX.
for mpi in "Open MPI" MPICH; do
  line=$(grep -F " $mpi " <<< "$report")
  case $line in
    *ucx*) contains "$mpi: whose UCX it uses is known" "$line" 'on this UCX|it uses another UCX' ;;
    *) skip "$mpi: whose UCX it uses" "it is not here, or not built on UCX" ;;
  esac
done

libdir=$(sed -n 's|^libdir = ${exec_prefix}/||p' "$abs_top_builddir/Makefile")
if [ -z "$libdir" ]; then
  skip "broken installations" "libdir is not below the prefix"
  done_testing
fi
broken() { # broken NAME REGEX: with the installation in $tap_dir/root as it is now
  report=$(clean "$tap_dir/root/bin/ucx-verity" doctor 2>&1)
  is "$1: exit status 2" $? 2
  contains "$1: said so" "$(tr -s '\n ' '  ' <<< "$report")" "$2"
}
install=$tap_dir/root/$libdir/ucx-verity
plugin=$install/$VERITY_UCX_VERSION
mkdir -p "$tap_dir/root/bin" "$plugin"
cp "$tool" "$tap_dir/root/bin"
broken "no plugin" "BROKEN plugin none for UCX $VERITY_UCX_VERSION"
mkdir -p "$install/1.99.0" && touch "$install/1.99.0/libuct_verity.so"
broken "a plugin for another UCX" 'there are: 1\.99\.0'
echo "no library" > "$plugin/libuct_verity.so"
cp "$abs_top_builddir/.libs/libverity_preload.so" "$install"
broken "a plugin without the name that UCX looks for" "missing: UCX looks for modules that end in '.so"
ln -s libuct_verity.so "$plugin/libuct_verity.so.0"
broken "a plugin that is no library" 'BROKEN plugin cannot be loaded: .*(invalid ELF|too short)'
echo 'void absent(void); void present(void) { absent(); }' > "$tap_dir/lib.c"
if ${CC:-cc} -shared -fPIC -o "$plugin/libuct_verity.so" "$tap_dir/lib.c" 2> /dev/null; then
  broken "a plugin with a missing symbol" 'undefined symbol: absent'
  echo 'int nothing;' > "$tap_dir/lib.c"
  ${CC:-cc} -shared -fPIC -o "$plugin/libuct_verity.so" "$tap_dir/lib.c"
  broken "a plugin that offers nothing" 'UCX offers no wrapped transport'
else
  skip "a plugin with a missing symbol" "no C compiler"
fi
rm "$install/libverity_preload.so"
broken "no preload" 'no libverity_preload\.so in'
done_testing

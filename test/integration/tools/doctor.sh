#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# `ucx-verity doctor` on a healthy build, on a shell that is not set up, and on broken installations. Shells that are set up wrongly are
# doctor_setups.sh's.
. "${abs_top_srcdir:?}/test/tap.sh"

tool=$abs_top_builddir/ucx-verity

report=$(bare "$tool" doctor)
is "a shell that is not set up: exit status 3" $? 3
contains "the plugin loads" "$report" '^  ok +loader'
contains "the wrapped transports by name" "$report" '^  ok +wrapped +.*vself'
contains "that it is not active, and what to do" "$report" '^not active in this shell: .* -> eval "\$\(ucx-verity env\)"'
# One word cannot be broken: a path where the tree lies deep. The verdict, and what is wrong, are one line each.
is "no line longer than a terminal's" "$(grep -E '^  (ok|  )' <<< "$report" | awk 'length > 80 && NF > 1')" ""

report=$(bare bash -c "eval \"\$($tool env)\"; '$tool' doctor" 2>&1)
status=$?
lacks "the environment of env: nothing is broken" "$report" 'BROKEN|warn +shell'
set_up=$report
contains "what UCX opens in this shell" "$report" '^  ok +shell +UCX opens .*vself'
[ $status -le 1 ] # 1 where this machine's MPI libraries leave something to say
tap_result $? "and the exit status says so"
contains "JSON" "$(bare "$tool" doctor --json)" '"grade": "inactive"'

# Two processes connect, and UCP describes what it chose: in a line of limits, and in a table of its own.
for own in n y; do
  report=$(bare bash -c "eval \"\$($tool env --tls tcp,posix,self)\"; UCX_PROTO_ENABLE=$own '$tool' doctor --protocols" 2>&1)
  contains "protocols within this host, UCX_PROTO_ENABLE=$own" "$report" '^  8 B to [0-9]+ [KM]?i?B +eager short, posix/memory +eager short, vposix/memory$'
  contains "protocols between hosts, UCX_PROTO_ENABLE=$own" "$report" '^  8 B to [0-9]+ [KM]?i?B +eager [^,]*, tcp/[^ ]+ +eager [^,]*, vtcp/[^ ]+$'
  contains "protocols of the largest messages, UCX_PROTO_ENABLE=$own" "$report" '^  [0-9]+ [KM]?i?B to 16 MiB +(eager|rendezvous)[^,]*, tcp/.* (eager|rendezvous)[^,]*, vtcp/[^ ]+$'
done
lacks "protocols: all are known" "$report" 'unknown'
contains "protocols as JSON" "$(bare "$tool" doctor --protocols --json | tr -d ' \n')" \
  '"protocols":\[\{"messages":"withinthishost","error":"","sizes":\[\{"first":8,"last":[0-9]+,"without":\{"protocol":"eager'

# One frame of a message between two processes is damaged below the plugin.
selftest() { bare bash -c "eval \"\$($tool env)\"; $1 '$tool' doctor --selftest" 2>&1 | tr -s '\n ' '  ' | grep -o '[^ ]* selftest .*'; }
before=$(ls -d /tmp/ucx-verity-selftest-* 2> /dev/null)
mkdir "$tap_dir/health"
report=$(selftest "UCX_VERITY_HEALTH_DIR=$tap_dir/health")
for lower in posix tcp; do
  contains "selftest, $lower: the frame is found, repaired and counted; without the plugin it arrives damaged" "$report" \
    "ok selftest $lower: 1 frame of a message of 65536 bytes between two processes damaged, 1 found, 1 repaired; wrong bytes delivered: 0 \(without the plugin: 1\); counted as injected"
done
lacks "selftest: nothing is wrong" "$report" 'BROKEN selftest|warn selftest'
contains "selftest in mode observe: found and delivered" "$(selftest UCX_VERITY_MODE=observe)" \
  'warn selftest posix: .* 1 found, 0 repaired; wrong bytes delivered: 1 .*-> export UCX_VERITY_MODE=verify'
contains "selftest in mode off: nothing is found" "$(selftest UCX_VERITY_MODE=off)" 'BROKEN selftest posix: .* 0 found, .* nothing was found'
is "selftest leaves no folder" "$(ls -d /tmp/ucx-verity-selftest-* 2> /dev/null)" "$before"
is "and counts nothing where this shell's jobs count" "$(ls -A "$tap_dir/health")" ""

# The distribution's MPI libraries are built on the distribution's UCX.
for mpi in "Open MPI" MPICH; do
  line=$(grep -F " $mpi " <<< "$set_up")
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
  report=$(bare "$tap_dir/root/bin/ucx-verity" doctor 2>&1)
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
if needs_preload; then
  broken "no preload" 'no libverity_preload\.so in'
else
  skip "no preload" "this UCX needs none"
fi
done_testing

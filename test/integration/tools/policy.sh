#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# A site's policy file beside the plugin: defaults, locks, broken and untrustworthy files, and what env and doctor make of it.
. "${abs_top_srcdir:?}/test/integration/lib.sh"
command -v "${UCX_INFO:-ucx_info}" > /dev/null || skip_all "no ucx_info"
tool=$build/ucx-verity

# The plugin in a folder of its own: its policy is in the folder above.
site=$tap_dir/site
file=$site/ucx-verity.conf
mkdir -p "$site/modules"
for module in "$build"/modules/libuct_*; do
  ln -s "$(readlink -f "$module")" "$site/modules/${module##*/}"
done

# policy LINE...: writes the file.
policy() { printf '%s\n' "$@" > "$file" && chmod 644 "$file"; }

# at_site COMMAND...: with the plugin of the site, its output with that on stderr.
at_site() (
  verity_env "${tls:-vposix,vself}"
  export "$plugin_variable=$site/modules"
  [ -z "${health_unset:-}" ] || unset UCX_VERITY_HEALTH_DIR
  "$@" 2>&1
)
info() { at_site "${UCX_INFO:-ucx_info}" "$@"; }
# in_force VARIABLE: its value of a process that UCX configures.
in_force() { info -c | sed -n "s/^UCX_VERITY_$1=//p"; }

is "without a file the defaults are built in" "$(in_force WINDOW)" 512
policy '# of this site' 'UCX_VERITY_WINDOW=300' 'lock UCX_VERITY_MAX_REPAIRS=20' 'UCX_VERITY_ATTEST = always'
is "a default of the site" "$(in_force WINDOW)" 300
is "the environment comes before it" "$(UCX_VERITY_WINDOW=400 in_force WINDOW)" 400
lacks "  without a word" "$(UCX_VERITY_WINDOW=400 info -d)" 'is not used'
is "a locked value" "$(in_force MAX_REPAIRS)" 20
contains "who sets it is warned once, with the place" "$(UCX_VERITY_MAX_REPAIRS=30 info -d | grep -c 'is not used')" '^1$'
contains "  in these words" "$(UCX_VERITY_MAX_REPAIRS=30 info -d)" \
  "^ucx-verity: UCX_VERITY_MAX_REPAIRS=30 is not used: $file:3 locks it to 20\$"
lacks "the same value is no offence" "$(UCX_VERITY_MAX_REPAIRS=20 info -d)" 'is not used'

for folder in "$site/modules/" "$site/modules/../modules" ./modules modules; do
  is "the file is found by $plugin_variable=${folder#"$site/"}" \
    "$(cd "$site" && at_site env "$plugin_variable=$folder" "${UCX_INFO:-ucx_info}" -c | sed -n 's/^UCX_VERITY_WINDOW=//p')" 300
done

# As long as a value may be, and one that differs from it at the end alone.
long=/$(printf 'x%.0s' $(seq 4094))
policy "lock UCX_VERITY_FAULT_LOG=${long}1"
for given in "${long}2" "${long}12" "$long"; do
  contains "a locked value of 4096 bytes, and one of ${#given}" "$(UCX_VERITY_FAULT_LOG=$given info -d | tr -s x)" \
    "^ucx-verity: UCX_VERITY_FAULT_LOG=/x\.\.\. is not used: $file:1 locks it to /x1\$"
done
lacks "  the same value is no offence" "$(UCX_VERITY_FAULT_LOG=${long}1 info -d)" 'is not used'

# A job is verified although its user turned that off, and says so once.
policy 'lock UCX_VERITY_MODE=verify' 'UCX_VERITY_ATTEST=always'
for launcher in $openmpi $mpich; do
  program=$(mpi_program "$launcher" hello_integrity) || continue
  UCX_VERITY_MODE=off at_site within 60 "$launcher" -np 2 "$program" > "$tap_dir/job"
  contains "$(flavour "$launcher"): a locked mode counts" "$(cat "$tap_dir/job")" '^  verified +[1-9]'
  is "$(flavour "$launcher"): one line of the job says so" "$(grep -c 'UCX_VERITY_MODE=off is not used' "$tap_dir/job")" 1
done

# --- files that are not used ---
# broken NAME REGEX: the words, and verified transports all the same.
broken() {
  local name=$1 output
  output=$(UCX_VERITY_MODE=off info -d)
  contains "$name" "$output" "^ucx-verity: $2.*; the file is not used, and UCX_VERITY_MODE=verify is locked\$"
  contains "  the transports are there" "$output" 'Transport: vposix'
  contains "  and the mode cannot be turned off" "$output" 'UCX_VERITY_MODE=off is not used'
}
policy 'UCX_VERITY_WINDOW=300' 'UCX_VERITY_MODE'
broken "a line that is none" "$file:2: 'UCX_VERITY_MODE': expected UCX_VERITY_NAME=VALUE"
is "  nothing of that file counts" "$(in_force WINDOW)" 512
policy 'UCX_VERITY_WINDOW=1'
broken "a value out of bounds" "$file:1: UCX_VERITY_WINDOW=1: bad value; allowed for UCX_VERITY_WINDOW: 2 to 32768 frames"
policy 'lock UCX_VERITY_MODE=some'
broken "a value of another kind" "$file:1: UCX_VERITY_MODE=some: bad value; allowed: "
policy 'UCX_VERITY_NONE=1'
broken "an unknown variable" "$file:1: UCX_VERITY_NONE: there is no such variable"
policy 'UCX_VERITY_TYPECHECK=warn'
broken "a variable of the environment alone" "$file:1: UCX_VERITY_TYPECHECK: is read from the environment only"
policy 'UCX_VERITY_FAULT_LOG=/x/%q'
broken "a placeholder that there is not" "$file:1: UCX_VERITY_FAULT_LOG=/x/%q: bad value"
head -c 100000 /dev/urandom > "$file"
broken "any bytes" "$file:1: more than 65536 bytes"
policy 'UCX_VERITY_WINDOW=300'
chmod 666 "$file"
broken "a file that anybody may change" "$file: may be written to by group or others"
rm "$file" && mkfifo "$file"
broken "a FIFO" "$file: is no regular file"
rm "$file"
if [ "$(id -u)" -eq 0 ]; then
  policy 'UCX_VERITY_WINDOW=300'
  chown 12345 "$file"
  broken "a file of another user" "$file: is owned by user 12345: expected root, this user or the owner of its folder"
  chown 12345 "$site"
  is "  but for who owns the folder: an account that installs software" "$(in_force WINDOW)" 300
  chown 0 "$site"
  rm "$file"
else
  skip "a file of another user" "needs root"
fi

# --- limits ---
policy 'UCX_VERITY_CHUNK=64k' 'limit UCX_VERITY_CHUNK=32k..1m' 'limit UCX_VERITY_WINDOW=..200' 'limit UCX_VERITY_MODE=observe..'
is "a default within its limit" "$(in_force CHUNK)" 64K
is "a built-in default gives way to the nearest that is allowed" "$(in_force WINDOW)" 200
lacks "  without a word, nor for a value within" "$(UCX_VERITY_CHUNK=1m UCX_VERITY_MODE=observe info -d)" 'is not used'
contains "who goes beyond is warned once, with the place" "$(UCX_VERITY_CHUNK=2m info -d | grep -c 'is not used')" '^1$'
contains "  in these words" "$(UCX_VERITY_CHUNK=2m info -d)" \
  "^ucx-verity: UCX_VERITY_CHUNK=2M is not used: $file:2 limits it to 32k..1m; 1m is used\$"
contains "  the lowest, too" "$(UCX_VERITY_CHUNK=31k info -d)" "UCX_VERITY_CHUNK=31K is not used: $file:2 limits it to 32k..1m; 32k is used\$"
contains "  of modes" "$(UCX_VERITY_MODE=off info -d)" "UCX_VERITY_MODE=off is not used: $file:4 limits it to observe..; observe is used\$"
contains "a value that is none is refused as ever" "$(UCX_VERITY_WINDOW=1 info -d)" 'ucx-verity: UCX_VERITY_WINDOW: bad value; allowed: 2 to 32768 frames'
for launcher in $openmpi $mpich; do
  program=$(mpi_program "$launcher" hello_integrity) || continue
  policy 'limit UCX_VERITY_MODE=verify..' 'UCX_VERITY_ATTEST=always'
  UCX_VERITY_MODE=off at_site within 60 "$launcher" -np 2 "$program" > "$tap_dir/job"
  contains "$(flavour "$launcher"): a limited mode counts" "$(cat "$tap_dir/job")" '^  verified +[1-9]'
  is "$(flavour "$launcher"): one line of the job says so" "$(grep -c 'UCX_VERITY_MODE=off is not used' "$tap_dir/job")" 1
done
# All that policy/quantity.cc has an order for, by names and limits that exclude the built-in default.
while read -r name low high given used; do
  policy "limit UCX_VERITY_$name=$low..$high"
  contains "$name: limited to $low..$high" "$(export "UCX_VERITY_$name=$given"; info -d)" \
    "UCX_VERITY_$name=.* is not used: $file:1 limits it to $low..$high; $used is used"
done << 'LIMITS'
MODE observe verify off observe
SEGMENT_SIZE 512 4k 64k 4k
WINDOW 8 64 7 8
WINDOW_BYTES 8k 1m 2m 1m
CHUNK 16k 64k 65k 64k
THREADS 1 4 5 4
MAX_REPAIRS 2 5 1 2
LINGER 100ms 0.5s 1m 0.5s
FAULT_LOG_LIMIT 10 20 inf 20
HEALTH_KEEP 10 1m 2m 1m
ACK_POLLS 2 3 4 3
COPY_AFTER 10us 50us 1ms 50us
PROBE_AFTER 2ms 1s 1us 2ms
POOL_LIMIT 2m 4m 1m 2m
HELD_LIMIT 2mb 1g inf 1g
LIMITS
# A chunk holds a segment at least: what the site bounds of the two stays, the user's other one gives way.
for line in 'limit UCX_VERITY_CHUNK=..16k' 'lock UCX_VERITY_CHUNK=16k'; do
  policy "$line"
  output=$(UCX_VERITY_SEGMENT_SIZE=64k info -d)
  contains "$line: a larger segment size gives way" "$output" \
    "^ucx-verity: UCX_VERITY_SEGMENT_SIZE=64K is not used: $file:1 ${line%% *}s UCX_VERITY_CHUNK to .*16k; 16K is used\$"
  is "  said once" "$(grep -c 'is not used' <<< "$output")" 1
  contains "  and the transports are there" "$output" 'Transport: vposix'
done
policy 'limit UCX_VERITY_SEGMENT_SIZE=32k..'
output=$(UCX_VERITY_CHUNK=16k info -d)
contains "a lowest segment size: a smaller chunk gives way" "$output" \
  "^ucx-verity: UCX_VERITY_CHUNK=16K is not used: $file:1 limits UCX_VERITY_SEGMENT_SIZE to 32k..; 32K is used\$"
contains "  and the transports are there" "$output" 'Transport: vposix'
policy 'limit UCX_VERITY_CHUNK=..64k'
contains "both of the user's own are refused as ever" "$(UCX_VERITY_CHUNK=16k UCX_VERITY_SEGMENT_SIZE=64k info -d)" \
  'ucx-verity: UCX_VERITY_CHUNK: bad value; allowed: from UCX_VERITY_SEGMENT_SIZE to 32m'
for two in 'SEGMENT_SIZE=64k.. CHUNK=..16k' 'CHUNK=..16k SEGMENT_SIZE=64k..'; do
  policy "limit UCX_VERITY_${two% *}" "limit UCX_VERITY_${two#* }"
  broken "limits that no two values are within: $two" \
    "$file:2: UCX_VERITY_${two#* }: no value goes with the other limits; allowed for UCX_VERITY_CHUNK: from UCX_VERITY_SEGMENT_SIZE to 32m"
done
policy 'limit UCX_VERITY_WINDOW=1..10'
broken "a bound that cannot be" "$file:1: UCX_VERITY_WINDOW=1: bad value; allowed for UCX_VERITY_WINDOW: 2 to 32768 frames"
policy 'limit UCX_VERITY_SEGMENT_SIZE=300..64k'
broken "one that is no segment size" "$file:1: UCX_VERITY_SEGMENT_SIZE=300: bad value; allowed for UCX_VERITY_SEGMENT_SIZE: a power of two"
policy 'limit UCX_VERITY_ATTEST=auto..'
broken "a variable without an order" "$file:1: UCX_VERITY_ATTEST: its values have no order: lock it, or limit one of MODE, SEGMENT_SIZE"
policy 'UCX_VERITY_WINDOW=300' 'limit UCX_VERITY_WINDOW=..200'
broken "a default outside" "$file:2: UCX_VERITY_WINDOW: the default of line 1, 300, is outside the limit of line 2, ..200"

# --- the commands ---
policy 'limit UCX_VERITY_MODE=observe..' 'limit UCX_VERITY_WINDOW=16..512' 'UCX_VERITY_WINDOW=300'
output=$(UCX_VERITY_MODE=off at_site "$tool" doctor)
contains "doctor names a limit's place" "$(tr -s ' \n' ' ' <<< "$output")" "UCX_VERITY_WINDOW=300, from $file:3; limited to 16..512 by $file:2"
contains "  and what is outside" "$output" \
  "warn +setting +UCX_VERITY_MODE=off is not used: $file:1 limits it to observe.., so observe is used -> unset UCX_VERITY_MODE, or set it within observe.."
contains "--json has them as well" "$(at_site "$tool" doctor --json | tr -d ' \n')" \
  "\"source\":\"$file:3\",\"locked\":false,\"limit\":\"16..512\",\"limit_source\":\"$file:2\""
policy 'UCX_VERITY_WINDOW=1'
contains "doctor names what the plugin alone finds" "$(PMIX_RANK=3 at_site "$tool" doctor)" \
  "BROKEN +site +$file:1: UCX_VERITY_WINDOW=1: bad value; allowed .*the file is not used"
policy 'lock UCX_VERITY_MODE=verify' 'UCX_VERITY_WINDOW=300' 'UCX_VERITY_LINGER=2s'
output=$(UCX_VERITY_MODE=off UCX_VERITY_LINGER=3s at_site "$tool" doctor)
contains "doctor names a default's place" "$(tr -s ' \n' ' ' <<< "$output")" "UCX_VERITY_WINDOW=300, from $file:2"
contains "  what the environment sets" "$(tr -s ' \n' ' ' <<< "$output")" "UCX_VERITY_LINGER=3s, from environment, in place of $file:3"
contains "  and what it sets in vain" "$output" "warn +setting +UCX_VERITY_MODE=off is not used: $file:1 locks it to verify -> unset UCX_VERITY_MODE"
contains "--json has them as well" "$(UCX_VERITY_MODE=off at_site "$tool" doctor --json | tr -d ' \n')" \
  "\"name\":\"UCX_VERITY_MODE\",\"value\":\"verify\",\"source\":\"$file:1\",\"locked\":true,\"ignored\":\"off\""
policy 'lock UCX_VERITY_MODE'
contains "doctor names a broken file" "$(at_site "$tool" doctor)" "BROKEN +site +$file:1: .*the file is not used"

# --- transparent by the site's choice ---
policy 'UCX_VERITY_TRANSPARENT=y'
contains "a site chooses UCX's own names" "$(info -d)" 'Transport: posix'
# env finds the site's file where an installation has it; here it is that of a build tree in its own place.
mkdir -p "$tap_dir/tree/bin" "$tap_dir/tree/lib/ucx-verity/$VERITY_UCX_VERSION"
cp "$tool" "$tap_dir/tree/bin"
cp "$build/.libs/libverity_preload.so" "$tap_dir/tree/lib/ucx-verity"
cp "$(readlink -f "$build/modules/libuct_verity.so.0")" "$tap_dir/tree/lib/ucx-verity/$VERITY_UCX_VERSION/libuct_verity.so"
echo 'lock UCX_VERITY_TRANSPARENT=n' > "$tap_dir/tree/lib/ucx-verity/ucx-verity.conf"
is "env says what the site's lock does not let it do" "$(env -u UCX_TLS "$tap_dir/tree/bin/ucx-verity" env --transparent 2>&1; echo "status $?")" \
  "ucx-verity env: --transparent: $tap_dir/tree/lib/ucx-verity/ucx-verity.conf:1 locks UCX_VERITY_TRANSPARENT to n: evaluate without it
false;
status 2"
contains "  and without it sets transports that are verified" "$("$tap_dir/tree/bin/ucx-verity" env 2>&1)" '^export UCX_TLS=v'
mkdir "$tap_dir/tree/lib/ucx-verity/$VERITY_UCX_VERSION/selftest"
cp "$build/.libs/libuct_fault.so" "$tap_dir/tree/lib/ucx-verity/$VERITY_UCX_VERSION/selftest"
ln -s libuct_verity.so "$tap_dir/tree/lib/ucx-verity/$VERITY_UCX_VERSION/libuct_verity.so.0"
for line in 'UCX_VERITY_TRANSPARENT=y' 'lock UCX_VERITY_TRANSPARENT=y'; do
  echo "$line" > "$tap_dir/tree/lib/ucx-verity/ucx-verity.conf"
  # By the site's names in this shell.
  locked() ( eval "$("$tap_dir/tree/bin/ucx-verity" env)" && within 100 "$tap_dir/tree/bin/ucx-verity" "$@" 2>&1 )
  contains "$line: the selftest's damage is repaired" "$(locked doctor --selftest | tr -s ' \n' ' ')" \
    'ok selftest posix: [^>]* 1 found, 1 repaired; wrong bytes delivered: 0 .*ok selftest tcp: [^>]* 1 found, 1 repaired'
  contains "$line: protocols are shown with and without the plugin" "$(locked doctor --protocols | tr -s ' \n' ' ')" 'vposix'
  contains "$line: bench measures both" "$(locked bench --level ucp --tls tcp --openings 1 --sizes 8 --json | tr -d ' \n')" '"raw":[1-9].*"wrapped":[1-9]'
done
lacks "  for all of its users" "$(info -d)" 'Transport: vposix'

# --- meant to be verified by the site's choice alone, and the plugin never loaded: the preload says so ---
cp "$build/.libs/libverity_preload.so" "$site"
program=$build/test/mpi/vanish
# past [VARIABLE=VALUE...]: the lines of a job without the plugin, whose environment does not say that it was to be verified.
past() (
  tls=tcp,self
  verity_env tcp,self
  unset UCX_VERITY_ATTEST UCX_MODULE_DIR
  export LD_PRELOAD=$site/libverity_preload.so OMPI_MCA_btl=tcp,self OMPI_MCA_osc=^ucx
  within 60 env "$@" "$openmpi" --mca pml ob1 -np 2 "$program" 2>&1 < /dev/null | grep '^ucx-verity'
)
if ! needs_preload; then
  skip "a job without the plugin says so" "this UCX needs no preload: nothing of ours is in such a job"
elif [ -n "$openmpi" ]; then
  nothing='ucx-verity: NOTHING VERIFIED: no message used the plugin (pml/ob1, not pml/ucx)'
  is "a job without the plugin says so once" "$(past)" "$nothing"
  is "  also where UCX_MODULE_DIR names the folder" "$(past LD_PRELOAD="$build/.libs/libverity_preload.so" UCX_MODULE_DIR="$site/modules/")" "$nothing"
  is "  but not where the user turned it off" "$(past UCX_VERITY_TRANSPARENT=n)" ""
  is "  or wants no attestation" "$(past UCX_VERITY_ATTEST=never)" ""
  policy '# of this site' '' 'UCX_VERITY_WINDOW=300' '  lock	UCX_VERITY_TRANSPARENT = yes ' 'limit UCX_VERITY_MODE=observe..'
  is "a lock counts" "$(past UCX_VERITY_TRANSPARENT=n)" "$nothing"
  policy 'UCX_VERITY_TRANSPARENT=y' 'lock UCX_VERITY_ATTEST=never'
  is "a site may want no attestation" "$(past)" ""
  policy 'UCX_VERITY_ATTEST=always'
  is "or always one" "$(past)" "$nothing"
  # A read of the file that a signal interrupts, and those after it give one byte each.
  # shellcheck disable=SC2086 # a compiler may come with arguments
  ${CC:-cc} -x c -shared -fPIC -o "$tap_dir/interrupted.so" - -ldl << 'C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
ssize_t read(int fd, void* bytes, size_t size) {
  ssize_t (*next)(int, void*, size_t) = (ssize_t(*)(int, void*, size_t))dlsym(RTLD_NEXT, "read");
  static int interrupted;
  struct stat wanted, file;
  if (stat(getenv("INTERRUPTED_FILE"), &wanted) != 0 || fstat(fd, &file) != 0 || file.st_ino != wanted.st_ino)
    return next(fd, bytes, size);
  if (interrupted++ == 0) { errno = EINTR; return -1; }
  return next(fd, bytes, size > 0);
}
C
  is "also where the file is read in parts" \
    "$(past INTERRUPTED_FILE="$file" LD_PRELOAD="$tap_dir/interrupted.so:$site/libverity_preload.so")" "$nothing"
  for line in UCX_VERITY_MODE 'UCX_TLS=tcp' 'limit UCX_VERITY_WINDOW' 'UCX_VERITY_TRANSPARENT=n' 'locked UCX_VERITY_MODE=off' "UCX_VERITY_HOST=$(printf 'x%.0s' $(seq 5000))"; do
    policy 'UCX_VERITY_TRANSPARENT=y' "$line"
    is "as the plugin, it uses no file with the line '${line:0:40}'" "$(past)" ""
  done
  head -c 65537 /dev/zero | tr '\0' '\n' > "$file"
  echo 'UCX_VERITY_TRANSPARENT=y' >> "$file"
  is "  and none that is too large" "$(past)" ""
  rm "$file" && mkfifo "$file"
  is "  that is a FIFO" "$(past)" ""
  if [ "$(id -u)" -eq 0 ]; then
    rm "$file" && policy 'UCX_VERITY_TRANSPARENT=y' && chown 12345 "$file"
    is "  of another user" "$(past)" ""
    chown 12345 "$site"
    is "  who does not own the folder" "$(past)" "$nothing"
    chown 0 "$site"
  fi
  rm "$file" && policy 'UCX_VERITY_TRANSPARENT=y' && chmod 666 "$file"
  is "  or that anybody may change" "$(past)" ""
  rm "$file"
else
  skip "a job without the plugin says so" "no Open MPI"
fi

done_testing

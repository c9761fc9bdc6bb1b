#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The preload: UCX gets the extra module name, everybody else gets nothing. A stub stands in for the
# plugin: it writes one line when UCX opens it.
. "${abs_top_srcdir:?}/test/tap.sh"

preload=${VERITY_PRELOAD:-$abs_top_builddir/.libs/libverity_preload.so}
ucx_info=$(command -v "${UCX_INFO:-ucx_info}") || skip_all "no ucx_info"
# shellcheck disable=SC2206 # a compiler may come with arguments
cc=(${CC:-cc})
stubs=$tap_dir/modules
opened=$tap_dir/opened
seen=$tap_dir/seen
mkdir -p "$stubs"

# The suffix UCX looks for is that of its own library.
libucs=$(ldd "$ucx_info" | awk '$1 ~ /^libucs\./ { print $3 }')
suffix=.$(basename "$libucs" | cut -d. -f2-)

build() { # build OUTPUT FLAGS... < source
  local output=$1
  shift
  "${cc[@]}" -x c -o "$output" - "$@" || { echo "Bail out! cannot compile $output"; exit 1; }
}

for name in uct_verity uct_first uct_second ucm_verity uct_ib_verity ucx_perftest_verity; do
  build "$stubs/lib$name$suffix" -shared -fPIC "-DNAME=\"$name\"" <<'C'
#include <stdio.h>
#include <stdlib.h>
__attribute__((constructor)) static void opened(void) {
  const char* path = getenv("LOADER_TEST_OPENED");
  FILE* file = path ? fopen(path, "a") : NULL;
  if (file) { fprintf(file, "%s\n", NAME); fclose(file); }
}
C
done

# Another tool's preload on the same function: records what it is given and hands it on.
build "$tap_dir/recorder.so" -shared -fPIC -ldl <<'C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
typedef void load_fn(const char*, const char*, void*, unsigned);
void ucs_load_modules(const char* framework, const char* modules, void* once, unsigned flags) {
  load_fn* next = (load_fn*)dlsym(RTLD_NEXT, "ucs_load_modules");
  FILE* file = fopen(getenv("LOADER_TEST_SEEN"), "a");
  if (file) { fprintf(file, "%s %s\n", framework, modules); fclose(file); }
  if (next) next(framework, modules, once, flags);
}
C

with() { # with PRELOADS COMMAND...: runs it with the stubs as modules, fresh records
  local preloads=$1
  shift
  rm -f "$opened" "$seen"
  env LD_PRELOAD="$preloads" UCX_MODULE_DIR="$stubs" LOADER_TEST_OPENED="$opened" \
    LOADER_TEST_SEEN="$seen" "$@"
}
# From 1.22 on UCX opens all modules of the folder, in any order; modules that tests add are not shown then.
opened_modules() {
  local added='uct_first|uct_second'
  ! needs_preload || added=none
  [ ! -e "$opened" ] || grep -Evx "$added" "$opened" | paste -sd' '
}

# ---- what it is made of -------------------------------------------------------------------------
is "needs libc only" \
  "$(readelf -d "$preload" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | grep -v '^ld-linux' | paste -sd' ')" \
  "libc.so.6"
is "exports one symbol" \
  "$(nm -D --defined-only "$preload" | awk '{ print $NF }' | paste -sd' ')" "ucs_load_modules"
lacks "has no unresolved symbol of UCX" "$(nm -D --undefined-only "$preload")" ' U uc[pstm]_'

# ---- UCX ----------------------------------------------------------------------------------------
transports() { "$ucx_info" -d | sed -n 's/^#  *\(Transport\|Device\): *//p' | paste -sd' '; }
stock=$(transports)
with "$preload" true
is "a program without UCX opens no module" "$(opened_modules)" ""
loaded=$(with "$preload" "$ucx_info" -d 2> "$tap_dir/stderr" | sed -n 's/^#  *\(Transport\|Device\): *//p' | paste -sd' ')
is "ucx_info opens the verity module, once, and no other framework's" "$(opened_modules)" "uct_verity"
is "UCX's own modules stay" "$loaded" "$stock"
is "nothing on stderr" "$(cat "$tap_dir/stderr")" ""

if needs_preload; then
  UCX_VERITY_EXTRA_MODULES=first:second with "$preload" "$ucx_info" -d > /dev/null
  is "extra modules come first, in their order" "$(opened_modules)" "uct_first uct_second uct_verity"
else
  skip "extra modules come first, in their order" "this UCX opens all modules itself"
fi
UCX_VERITY_EXTRA_MODULES='' with "$preload" "$ucx_info" -d > /dev/null
is "an empty list of extra modules is none" "$(opened_modules)" "uct_verity"
long=$(printf 'x%.0s' $(seq 5000))
UCX_VERITY_EXTRA_MODULES=$long with "$preload" "$ucx_info" -d > /dev/null
is "a list too long to extend is left alone" "$?:$(opened_modules)" "0:$(needs_preload || echo uct_verity)"
rm -f "$opened"
is "without the plugin UCX goes on as ever" \
  "$(LD_PRELOAD=$preload UCX_MODULE_DIR=$tap_dir/none transports 2>&1)" "$stock"

# ---- beside others ------------------------------------------------------------------------------
with "$preload $tap_dir/recorder.so" "$ucx_info" -d > /dev/null
contains "chain: a preload behind it sees the longer list" "$(cat "$seen")" '^uct .*:verity$'
lacks "chain: other frameworks' lists are untouched" "$(grep -v '^uct ' "$seen")" 'verity'
is "chain: and the module is opened" "$(opened_modules)" "uct_verity"
with "$tap_dir/recorder.so $preload" "$ucx_info" -d > /dev/null
lacks "chain: a preload before it sees UCX's own list" "$(cat "$seen")" 'verity'
is "chain: and the module is opened" "$(opened_modules)" "uct_verity"
cp "$preload" "$tap_dir/second.so"
with "$preload $tap_dir/second.so" "$ucx_info" -d > /dev/null
is "two installations preloaded open it once" "$(opened_modules)" "uct_verity"

# ---- children, scripts, programs without UCX ----------------------------------------------------
with "$preload" bash -c "(bash -c '$ucx_info -d') | cat > /dev/null; ls / > /dev/null"
is "a grandchild of a shell gets it, the shells open nothing" "$(opened_modules)" "uct_verity"

same() { # same NAME COMMAND...: output, stderr and status do not change
  local name=$1 plain preloaded
  shift
  plain=$("$@" 2>&1; echo "status $?")
  preloaded=$(LD_PRELOAD=$preload "$@" 2>&1; echo "status $?")
  is "$name" "$preloaded" "$plain"
}
same "ls is unchanged" ls -l /usr
# shellcheck disable=SC2016
same "a bash script with pipes, subshells and a failing command is unchanged" \
  bash -c 'set -e; echo a | tr a b; (cd /; pwd); x=$(printf %s 1); echo "$x" >&2; exit 3'
same "an error message is unchanged" ls /does/not/exist

if build "$tap_dir/static" -static <<< '#include <stdio.h>
int main(void) { puts("static"); return 7; }' 2> /dev/null; then
  same "a static program is unchanged" "$tap_dir/static"
else
  skip "a static program is unchanged" "no static libc (libc6-dev)"
fi

if [ "$(id -u)" -eq 0 ] && command -v setpriv > /dev/null; then
  cp "$(command -v id)" "$tap_dir/id"
  chmod 4755 "$tap_dir/id"
  chmod 755 "$tap_dir"
  is "a setuid program runs as ever" \
    "$(LD_PRELOAD=$preload setpriv --reuid=65534 --clear-groups "$tap_dir/id" -u 2>&1)" "0"
else
  skip "a setuid program runs as ever" "needs root and setpriv"
fi

# ---- UCX opened by dlopen with RTLD_LOCAL, where RTLD_NEXT does not reach it --------------------
if command -v python3 > /dev/null; then
  with "$preload" python3 - "$(dirname "$libucs")/libucp.so.0" <<'PY' 2> "$tap_dir/stderr"
import ctypes, os, sys
ucp = ctypes.CDLL(sys.argv[1], mode=os.RTLD_LOCAL | os.RTLD_NOW)
components, count = ctypes.c_void_p(), ctypes.c_uint()
status = ucp.uct_query_components(ctypes.byref(components), ctypes.byref(count))
sys.exit(0 if status == 0 and count.value > 0 else 1)
PY
  is "ctypes with RTLD_LOCAL: UCX works" "$?:$(cat "$tap_dir/stderr")" "0:"
  is "ctypes with RTLD_LOCAL: the module is opened" "$(opened_modules)" "uct_verity"
else
  skip "ctypes with RTLD_LOCAL" "no python3"
fi

done_testing

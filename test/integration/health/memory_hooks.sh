#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Counters and the state of processes in which UCX has replaced the C library's memory functions, as it does wherever memory is
# registered for a device: what was sent is in the health files, for root and for an ordinary user, in both ways of replacing.
# A network device other than lo is one of a network namespace of this script.
[ -z "${VERITY_OWN_NETWORK:-}" ] || mount -t sysfs sys /sys # which shows UCX this network
. "${abs_top_srcdir:?}/test/integration/lib.sh"
tool=$build/ucx-verity
[ -x "$tool" ] || skip_all "the command is not built"

apart=(unshare --net --mount)
[ "$(id -u)" -eq 0 ] || apart+=(--user --map-root-user)
if [ -z "${VERITY_OWN_NETWORK:-}" ] && command -v ip > /dev/null &&
  "${apart[@]}" sh -c 'mount -t sysfs sys /sys && ip link add data0 type veth peer name data1' > /dev/null 2>&1; then
  rm -rf "$tap_dir"
  VERITY_ORDINARY=$(id -u) VERITY_OWN_NETWORK=yes exec "${apart[@]}" bash "$0"
fi
device=
if [ -n "${VERITY_OWN_NETWORK:-}" ]; then
  ip link set lo up && ip link add data0 type veth peer name data1 && ip addr add 10.57.0.1/24 dev data0 &&
    ip link set data0 up && ip link set data1 up && device=data0
fi
export -n VERITY_OWN_NETWORK VERITY_ORDINARY

# Asks UCX to report memory that goes away before anything else is opened, as a registration cache does.
cat > "$tap_dir/hooks.c" << 'C'
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static void unmapped(int type, void* event, void* arg) { (void)type, (void)event, (void)arg; }
__attribute__((constructor)) static void ask(void) {
  void* ucm;
  int (*set_handler)(int events, int priority, void (*handler)(int, void*, void*), void* arg);
  if (dlopen("libucs.so.0", RTLD_NOW | RTLD_GLOBAL) == NULL) return; /* which reads UCX_MEM_MMAP_HOOK_MODE */
  ucm = dlopen("libucm.so.0", RTLD_NOW | RTLD_GLOBAL);
  *(void**)&set_handler = ucm != NULL ? dlsym(ucm, "ucm_set_event_handler") : NULL;
  /* UCM_EVENT_VM_UNMAPPED */
  if (set_handler == NULL || set_handler(1 << 17, 0, unmapped, NULL) != 0) fprintf(stderr, "no memory hooks\n");
}
C
${CC:-cc} -shared -fPIC -o "$tap_dir/hooks.so" "$tap_dir/hooks.c" -ldl || skip_all "no compiler for the library that asks for hooks"
chmod 755 "$tap_dir"

# Users: root, or who runs this; and one without rights, where that can be. Each has a home and a folder of health files.
users=(self)
if [ "$(id -u)" -eq 0 ] && [ "${VERITY_ORDINARY:-0}" -eq 0 ]; then
  users=(root)
  if command -v setpriv > /dev/null && setpriv --reuid=54321 --regid=54321 --clear-groups test -r "$build/modules/libuct_verity.so.0" -a -r "$tap_dir/hooks.so"; then
    users+=(ordinary)
  else
    skip "an ordinary user" "no setpriv, or nobody else may read the build folder"
  fi
fi
for user in "${users[@]}"; do
  mkdir -m 700 "$tap_dir/$user" "$tap_dir/$user/health"
  [ "$user" != ordinary ] || chown -R 54321:54321 "$tap_dir/$user"
done

# as USER MODE LIST COMMAND...: as that user, with UCX's hooks of that mode.
as() (
  user=$1 mode=$2 prefix=()
  verity_env "$3"
  shift 3
  [ "$user" != ordinary ] || prefix=(setpriv --reuid=54321 --regid=54321 --clear-groups)
  export HOME=$tap_dir/$user TMPDIR=$tap_dir/$user LD_PRELOAD=$LD_PRELOAD:$tap_dir/hooks.so
  export UCX_VERITY_HEALTH_DIR=$tap_dir/$user/health UCX_VERITY_ATTEST_FILE=$tap_dir/$user/attest.%p
  export UCX_MEM_EVENTS=y UCX_MEM_MMAP_HOOK_MODE=$mode
  cd "$HOME" && exec "${prefix[@]}" timeout -k 5 60 "$@"
)

# counted NAME USER PROCESSES LEAST: what the files of the user's last job say; they go.
counted() {
  local name=$1 folder=$tap_dir/$2 processes=$3 least=$4 json key
  json=$("$tool" status --json "$folder/health" | sed -n '/"state"/p; /^      "counters": {/,/^      }/p')
  is "$name: $processes processes, which ended" "$(grep -c '"state": "ended"' <<< "$json")" "$processes"
  for key in bytes_sent bytes_verified; do
    sum=$(grep "\"$key\":" <<< "$json" | awk '{ sum += $2 } END { print sum + 0 }')
    is "$name: $key as the attestations have it" "$sum" "$(json_sum $key "$folder"/attest.*)"
    ok "$name: $sum are at least the $least that were sent" test "$sum" -ge "$least"
  done
  rm -f "$folder"/attest.* "$folder"/health/*
}

find_perftest || skip "ucx_perftest" "it is not installed"
perf_job() { # perf_job USER MODE LIST ADDRESS
  local user=$1 mode=$2 list=$3 address=$4 port server status=0
  port=$(free_port)
  as "$user" "$mode" "$list" "${perftest[@]}" -p "$port" < /dev/null > "$tap_dir/server" 2>&1 &
  server=$!
  await_listener "$port" "$server"
  as "$user" "$mode" "$list" "${perftest[@]}" -p "$port" -t tag_lat -n 300 -w 1 -s 4000 "$address" < /dev/null > "$tap_dir/client" 2>&1 || status=$?
  [ "$status" -eq 0 ] || kill "$server" 2> /dev/null
  wait "$server" || status=1
  cat "$tap_dir/client" "$tap_dir/server" > "$tap_dir/job"
  return "$status"
}
mpi_job() { # mpi_job USER MODE LIST
  as "$1" "$2" "$3" "$openmpi" -np 2 "$(mpi_program "$openmpi" hello_integrity)" 200 4000 > "$tap_dir/job" 2>&1
}

# runs NAME JOB USER MODE LIST...: its first tests; what it said is in $output. False: skipped, as the job fails and stock on the
# raw transports fails too: with UCX 1.23 and glibc 2.43 all processes abort in mode reloc, or do not end.
runs() {
  local name=$1 status=0
  shift
  "$@" || status=$?
  output=$(cat "$tap_dir/job")
  if [ "$status" -ne 0 ] && ! "$1" "$2" "$3" "${4//v/}" "${@:5}"; then
    skip "$name" "stock fails too: $(grep -aE 'Aborted|signal|rror' "$tap_dir/job" | sed 's/.* Aborted .*/Aborted/' | head -n 1)"
    rm -f "$tap_dir/$2"/attest.* "$tap_dir/$2"/health/*
    return 1
  fi
  lacks "$name: the hooks are there" "$output" 'no memory hooks'
  tap_result "$status" "$name: it runs"
  [ "$status" -eq 0 ] || note "$(tail -n 30 <<< "$output")"
}
perf() { # perf NAME USER MODE LIST ADDRESS
  runs "$1" perf_job "${@:2}" || return 0
  counted "$1" "$2" 2 2400000
}
mpi() { # mpi NAME USER MODE LIST
  runs "$1" mpi_job "${@:2}" || return 0
  contains "$1: it is right" "$output" ' 0 messages wrong'
  counted "$1" "$2" 2 50000
}

# In mode reloc UCX 1.13 replaces malloc as well, and libraries that it loads later free what they never got.
modes=()
for mode in bistro reloc; do
  if UCX_MEM_MMAP_HOOK_MODE=$mode LD_PRELOAD=$tap_dir/hooks.so within 10 "${UCX_INFO:-ucx_info}" -d > /dev/null 2>&1; then
    modes+=($mode)
  else
    skip "hooks of mode $mode" "stock ucx_info does not survive them"
  fi
done

for user in "${users[@]}"; do
  for mode in "${modes[@]}"; do
    if [ -n "${perftest[0]}" ]; then
      perf "ucx_perftest, posix, $user, $mode" "$user" $mode vposix,vself 127.0.0.1
      if [ -n "$device" ]; then
        UCX_NET_DEVICES=$device perf "ucx_perftest, tcp, $user, $mode" "$user" $mode vtcp,vself 10.57.0.1
      fi
    fi
    [ -n "$openmpi" ] || continue
    mpi "Open MPI, posix, $user, $mode" "$user" $mode vposix,vself
    [ -z "$device" ] || UCX_NET_DEVICES=$device mpi "Open MPI, tcp, $user, $mode" "$user" $mode vtcp,vself
  done
done
[ -n "$openmpi" ] || skip "Open MPI" "there is none"
[ -n "$device" ] || skip "tcp on a device other than lo" "no network namespace here, or no ip (Debian package: iproute2)"

done_testing

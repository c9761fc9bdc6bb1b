#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# UCX_VERITY_TRANSPARENT: wrapped transports under UCX's own names. What a site may have in UCX_TLS works as with stock UCX and
# is verified; peers without the plugin, or without the variable, are refused on both sides.
. "${abs_top_srcdir:?}/test/integration/lib.sh"
find_perftest || skip_all "no ucx_perftest"

# as KIND LIST COMMAND...: with the plugin transparent, wrapped (by its own names, a v before each of the list), or without it, stock.
# LIST -: UCX_TLS is not set.
as() (
  kind=$1 list=$2
  shift 2
  verity_env "$list"
  case $kind in
    transparent) export UCX_VERITY_TRANSPARENT=y; unset UCX_WARN_UNUSED_ENV_VARS; [ "$UCX_VERITY_ATTEST" != never ] || unset UCX_VERITY_ATTEST ;;
    wrapped) UCX_TLS=$(sed -E 's/(^|,)/\1v/g' <<< "$list") ;;
    stock) unset LD_PRELOAD UCX_MODULE_DIR UCX_PLUGIN_PATH; export UCX_WARN_UNUSED_ENV_VARS=n ;;
  esac
  [ "$list" != - ] || unset UCX_TLS
  "$@"
)

# Without the corrupting transport's, which UCX from 1.22 on finds beside the plugin.
names() { sed -n 's/.*Transport: \([^f]\)/\1/p' | sort -u | paste -s -d ' '; }
stock=$(as stock all "${UCX_INFO:-ucx_info}" -d 2> /dev/null | names)
is "ucx_info lists the names of stock UCX, each once" "$(as transparent all "${UCX_INFO:-ucx_info}" -d 2> /dev/null | names)" "$stock"
devices() { awk '/Transport:/ { ours = !/Transport: f/ } /Device:/ && ours { ++n } END { print n + 0 }'; }
is "and each device once" "$(as transparent all "${UCX_INFO:-ucx_info}" -d 2> /dev/null | devices)" \
  "$(as stock all "${UCX_INFO:-ucx_info}" -d 2> /dev/null | devices)"
lacks "their options are listed once" "$(as transparent all "${UCX_INFO:-ucx_info}" -c 2> /dev/null | sort | uniq -d)" '^UCX_(TCP|POSIX)_'
lacks "UCX warns of nothing" "$(as transparent - "${UCX_INFO:-ucx_info}" -u t -e 2>&1)" ' WARN |NOT verified'

# pair SERVER CLIENT LIST ARGUMENT...: a server and a client of these kinds; what they say is in $tap_dir/server and client.
pair() {
  local server_kind=$1 client_kind=$2 list=$3 port server status=0
  shift 3
  port=$(free_port)
  as "$server_kind" "$list" within 60 "${perftest[@]}" -p "$port" < /dev/null > "$tap_dir/server" 2>&1 &
  server=$!
  await_listener "$port" "$server"
  as "$client_kind" "$list" within 60 "${perftest[@]}" -p "$port" "$@" 127.0.0.1 < /dev/null > "$tap_dir/client" 2>&1 || status=$?
  client_status=$status server_status=0
  wait "$server" || server_status=$?
  grep -q '^Final:' "$tap_dir/client" || status=1
  [ "$server_status" -eq 0 ] || status=1
  return "$status"
}

# verified NAME LIST ARGUMENT...
verified() {
  local name=$1 status=0
  shift
  UCX_VERITY_ATTEST=always pair transparent transparent "$@" || status=$?
  if [ "$status" -eq 0 ]; then
    for side in server client; do
      grep -Eq '^  verified +[1-9]' "$tap_dir/$side" && grep -q '^  not verified: none known' "$tap_dir/$side" || status=1
    done
  fi
  tap_result "$status" "$name"
  [ "$status" -eq 0 ] || note "$(tail -n 15 "$tap_dir/client" "$tap_dir/server")"
}
for list in tcp sm,self all - ^tcp ^posix,sysv "\\tcp,self" tcp,self; do
  verified "UCX_TLS=$list: tag_lat is verified" "$list" -t tag_lat -s 64 -n 200 -w 10
  verified "UCX_TLS=$list: large messages are" "$list" -t tag_bw -s 300000 -n 40 -w 2
done
verified "UCX_TLS=posix,tcp:aux: with a transport for connections" posix,tcp:aux -t tag_lat -s 64 -n 200 -w 10
verified "UCX_TLS=sm: reads are verified" sm -t ucp_get -s 200000 -n 40 -w 2

# --- damage below the wrapper ---
repaired() {
  (
    export UCX_FAULT_KINDS=flip UCX_FAULT_RATE=0.02 UCX_FAULT_SEED=3 UCX_FAULT_MIN_LEN=200
    UCX_VERITY_ATTEST=always pair transparent transparent fposix,fself -t tag_bw -s 4000 -n 2000 -w 10
  )
}
ok "damage to a transport of that name is repaired" repaired
contains "and counted" "$(cat "$tap_dir/client" "$tap_dir/server")" 'repaired [1-9]'

# --- peers that cannot be verified ---
# refused NAME SERVER CLIENT LIST: both sides end soon, with an error. LIST has UCX's own names.
refused() {
  local name=$1 begin=$SECONDS
  shift
  pair "$@" -t tag_lat -s 64 -n 200 -w 10
  if [ "$client_status" -ne 124 ] && [ "$server_status" -ne 124 ] && ! grep -q '^Final:' "$tap_dir/client" &&
    ! grep -Eq 'Segmentation|Caught signal|Assertion' "$tap_dir/client" "$tap_dir/server"; then
    tap_result 0 "$name: no message, no hang ($((SECONDS - begin)) s)"
  else
    tap_result 1 "$name: no message, no hang"
    note "$(tail -n 15 "$tap_dir/client" "$tap_dir/server")"
  fi
}
for list in tcp posix,self all; do
  refused "a raw client, UCX_TLS=$list" transparent stock "$list"
  contains "  the server with the plugin says why" "$(cat "$tap_dir/server")" '^.*ucx-verity: a peer without the plugin.* is refused'
  contains "  the raw client gets an error" "$(cat "$tap_dir/client")" 'unreachable|failed'
  refused "a raw server, UCX_TLS=$list" stock transparent "$list"
  contains "  the client with the plugin says why" "$(cat "$tap_dir/client")" '^.*ucx-verity: a peer without the plugin.* is refused'
  contains "  the raw server gets an error" "$(cat "$tap_dir/server")" 'unreachable|failed'
done

# Here UCX finds no transport of the same name, and says so.
for kinds in "wrapped stock" "stock wrapped" "wrapped transparent" "transparent wrapped"; do
  # shellcheck disable=SC2086 # two
  refused "a $(sed 's/ / server and a /' <<< "$kinds") client" $kinds tcp
  contains "  UCX names the transports of the server" "$(cat "$tap_dir/server")" 'vtcp|tcp/.*unreachable|failed'
  contains "  and of the client" "$(cat "$tap_dir/client")" 'vtcp|tcp/.*unreachable|failed'
done

# --- connections by a socket's address, which are the lower transport's ---
client_server() { as "$1" "$2" within 60 "$build/client_server"; }
contains "stock UCX connects by a socket's address" "$(client_server stock tcp,self 2>&1)" '^client_server: 300 messages$'
contains "wrapped transports do" "$(UCX_VERITY_ATTEST=always client_server wrapped tcp,self 2>&1)" '^client_server: 300 messages$'
UCX_VERITY_ATTEST=always client_server transparent tcp,self > "$tap_dir/job" 2>&1
contains "and so they do by UCX's own names" "$(cat "$tap_dir/job")" '^client_server: 300 messages$'
contains "  verified" "$(cat "$tap_dir/job")" '^  verified +[1-9]'
for side in client server; do
  CLIENT_SERVER_RAW=$side client_server transparent tcp,self > "$tap_dir/job" 2>&1
  is "a raw $side: both sides end with an error" "$(grep -c 'ended with status 0x100' "$tap_dir/job")" 2
done

# --- MPI ---
# Open MPI's own filters know the names that there are.
for launcher in $openmpi $mpich; do
  for list in tcp,self sm,self all - ^tcp; do
    program=$(mpi_program "$launcher" mixed) || continue
    status=0
    OMPI_MCA_opal_common_ucx_tls=tcp,posix,sysv,self UCX_VERITY_ATTEST=always \
      as transparent "$list" within 100 "$launcher" -np 3 "$program" -n 2000 > "$tap_dir/job" 2>&1 || status=$?
    name="$(flavour "$launcher"), UCX_TLS=$list"
    is "$name: the job ends well" "$status" 0
    contains "$name: it is verified" "$(cat "$tap_dir/job")" '^  verified +[1-9]'
    contains "$name: and nothing is not" "$(cat "$tap_dir/job")" '^  not verified: none known'
    [ "$status" -eq 0 ] || note "$(tail -n 20 "$tap_dir/job")"
  done
done

# A value that UCX's parser refuses, of whichever variable, uncovers no raw transport.
for bad in ATTEST=yes MODE= WINDOW=abc LINGER=2sec TRANSPARENT=true; do
  is "UCX_VERITY_$bad: no raw transport is found" \
    "$(as transparent all env "UCX_VERITY_$bad" "${UCX_INFO:-ucx_info}" -d 2> /dev/null | names)" ""
done
is "UCX_VERITY_TRANSPARENT=false is no wish to be" \
  "$(as wrapped all env UCX_VERITY_TRANSPARENT=false "${UCX_INFO:-ucx_info}" -d 2> /dev/null | names)" "$stock"
# Also where ucx.conf alone has the wish, or what is no wish.
mkdir "$tap_dir/conf"
by_file() { # by_file LINE...: the raw names found with these lines of ucx.conf, and a value that is refused
  printf '%s\n' "$@" > "$tap_dir/conf/ucx.conf"
  as wrapped all env "UCX_CONFIG_DIR=$tap_dir/conf" UCX_VERITY_WINDOW=abc "${UCX_INFO:-ucx_info}" -d 2> /dev/null | names
}
if reads_ucx_conf "$tap_dir/conf"; then
  is "UCX_VERITY_TRANSPARENT=y in ucx.conf: no raw transport is found" "$(by_file UCX_VERITY_TRANSPARENT=y)" ""
  is "  nor with what is refused there" "$(by_file UCX_VERITY_TRANSPARENT=true)" ""
  is "  but with n, and with false" "$(by_file UCX_VERITY_TRANSPARENT=n); $(by_file UCX_VERITY_TRANSPARENT=false)" "$stock; $stock"
  is "  the environment goes before it" "$(UCX_VERITY_TRANSPARENT=n by_file UCX_VERITY_TRANSPARENT=y)" "$stock"
else
  skip "UCX_VERITY_TRANSPARENT=y in ucx.conf" "this UCX reads none"
fi
for launcher in $openmpi $mpich; do
  program=$(mpi_program "$launcher" mixed) || continue
  status=0
  as transparent tcp,posix,self env UCX_VERITY_ATTEST=yes timeout -k 5 60 "$launcher" -np 2 "$program" -n 2000 > "$tap_dir/job" 2>&1 || status=$?
  ok "$(flavour "$launcher"): nor does a job run on them" test "$status" -ne 0
  status=0
  as stock tcp,posix,self env UCX_VERITY_ATTEST=yes timeout -k 5 60 "$launcher" -np 2 "$program" -n 2000 > "$tap_dir/stock" 2>&1 || status=$?
  is "$(flavour "$launcher"): which stock UCX runs" "$status" 0
done

# A rank without the plugin ends the job. It is slow: each of the two finds the other, and the launcher may kill one before it says so.
cat > "$tap_dir/slow.c" << 'C'
#include <dlfcn.h>
#include <unistd.h>

int ucp_ep_create(void* worker, const void* params, void** ep) {
  int (*next)(void*, const void*, void**) = (int (*)(void*, const void*, void**))dlsym(RTLD_NEXT, "ucp_ep_create");
  sleep(3);
  return next(worker, params, ep);
}
C
ok "a rank can be made slow" c_compiler -D_GNU_SOURCE -shared -fPIC -o "$tap_dir/slow.so" "$tap_dir/slow.c" -ldl
cat > "$tap_dir/one_raw" << SH
#!/bin/bash
if [ "\${OMPI_COMM_WORLD_RANK:-\$PMI_RANK}" = 1 ]; then
  unset UCX_MODULE_DIR UCX_PLUGIN_PATH
  export LD_PRELOAD=$tap_dir/slow.so
fi
exec "\$@"
SH
chmod +x "$tap_dir/one_raw"
for launcher in $openmpi $mpich; do
  program=$(mpi_program "$launcher" mixed) || continue
  status=0
  as transparent all within 60 "$launcher" -np 2 "$tap_dir/one_raw" "$program" -n 2000 > "$tap_dir/job" 2>&1 || status=$?
  contains "$(flavour "$launcher"): a job with a raw rank ends with an error, soon" "$status" '^([1-9]|[1-9][0-9]|1[013-9][0-9]|12[0-35-9]|2..)$'
  contains "  and says why" "$(cat "$tap_dir/job")" 'ucx-verity: a peer without the plugin'
done

done_testing

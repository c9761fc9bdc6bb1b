#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# `ucx-verity doctor` in shells that are set up wrongly: each gets one line that says what is wrong, what follows and the remedy, and
# the exit status of its severity. A job's fate in each of them, tried by hand with Open MPI 4.1.4, is what the line says.
. "${abs_top_srcdir:?}/test/tap.sh"

tool=$abs_top_builddir/ucx-verity
[ -z "${VERITY_SANITIZERS:-}" ] || skip_all "a module with sanitizers does not load into stock programs"
bare bash -c "eval \"\$('$tool' env)\"" || skip_all "no environment to start from"

value() { bare "$tool" env | sed -n "s/^export $1=\(.*\);\$/\1/p"; } # value VARIABLE: as env sets it
preload=$(value LD_PRELOAD) modules=$(value UCX_MODULE_DIR) tls=$(value UCX_TLS)
unverified='BROKEN: jobs started from this shell run unverified'
abort='BROKEN: jobs started from this shell abort'
ignored='BROKEN: jobs started from this shell run verified, but without what the settings above ask for'

# What doctor says beyond what is well.
setup() { # setup NAME COMMANDS STATUS LINE... : after the commands in a shell with the variables of env
  local name=$1 commands=$2 status=$3
  shift 3
  report=$(bare bash -c "eval \"\$('$tool' env)\"; $commands; '$tool' doctor 2> '$tap_dir/stderr'")
  is "$name: exit status" $? "$status"
  is "$name: what it says" "$(grep -vE '^  ok |^      ' <<< "$report" | grep -v ' MPICH ' | sed 's/ in this container ([^)]*)//')" "$(printf '%s\n' "$@")"
  is "$name: and nothing on stderr" "$(grep -v '^ERROR: ld.so' "$tap_dir/stderr")" ""
}

if [ -n "$preload" ]; then # UCX up to 1.21
  setup "no LD_PRELOAD" 'unset LD_PRELOAD' 2 \
    "  BROKEN  shell       LD_PRELOAD is not set: UCX does not load the plugin, so jobs abort -> export LD_PRELOAD=$preload" "$abort"
  setup "LD_PRELOAD with another library" 'LD_PRELOAD=libm.so.6' 2 \
    "  BROKEN  shell       LD_PRELOAD has no libverity_preload.so: UCX does not load the plugin, so jobs abort -> export LD_PRELOAD=$preload:libm.so.6" "$abort"
  setup "LD_PRELOAD with a library that is gone" 'LD_PRELOAD=/gone/libverity_preload.so' 2 \
    "  BROKEN  shell       LD_PRELOAD names /gone/libverity_preload.so, which does not exist: UCX does not load the plugin, so jobs abort -> export LD_PRELOAD=$preload" "$abort"
  setup "wrong UCX_MODULE_DIR" 'UCX_MODULE_DIR=/gone' 2 \
    "  BROKEN  shell       UCX_MODULE_DIR=/gone has no libuct_verity.so.0: UCX does not load the plugin, so jobs abort -> export UCX_MODULE_DIR=$modules" "$abort"
fi
if command -v ompi_info > /dev/null && ompi_info --parsable | grep -q '^mca:pml:ucx:'; then
  setup "ob1" 'OMPI_MCA_pml=ob1' 2 \
    "  BROKEN  shell       OMPI_MCA_pml=ob1: Open MPI sends its messages past UCX, so jobs run unverified -> export OMPI_MCA_pml=ucx" "$unverified"
  mkdir "$tap_dir/.openmpi"
  echo 'pml = cm' > "$tap_dir/.openmpi/mca-params.conf"
  setup "a messaging layer in Open MPI's file" 'unset OMPI_MCA_pml' 2 \
    "  BROKEN  shell       pml=cm in $tap_dir/.openmpi/mca-params.conf:1: Open MPI sends its messages past UCX, so jobs run unverified -> export OMPI_MCA_pml=ucx" "$unverified"
  setup "the variable goes before the file" ':' 0 "ok: jobs started from this shell are verified"
  rm -r "$tap_dir/.openmpi"
  setup "Open MPI's filter of transports" 'unset OMPI_MCA_opal_common_ucx_tls' 2 \
    "  BROKEN  shell       OMPI_MCA_opal_common_ucx_tls is not set: pml/ucx refuses wrapped transports, so jobs of Open MPI abort -> export OMPI_MCA_opal_common_ucx_tls=any" \
    "BROKEN: some jobs started from this shell abort"
  for setting in ucx_priority=60 sm_priority=300; do
    remedy="export OMPI_MCA_osc_ucx_priority=200"
    [ $setting = ucx_priority=60 ] || remedy="unset OMPI_MCA_osc_sm_priority; $remedy"
    setup "osc/sm above: $setting" "export OMPI_MCA_osc_$setting" 1 \
      "  warn    shell       OMPI_MCA_osc_$setting: osc/sm is above osc/ucx, and gets windows of MPI_Win_allocate within a host, which are not verified -> $remedy" \
      "jobs started from this shell are verified, except for what the warnings above name"
    lacks "osc/sm above: $setting: no other line says the opposite" "$report" 'windows: osc/ucx, verified'
  done
else
  skip "Open MPI's messaging layer" "no Open MPI with UCX"
fi
setup "raw UCX_TLS" 'UCX_TLS=tcp,self' 2 \
  "  BROKEN  shell       UCX_TLS=tcp,self names no wrapped transport, so jobs run unverified -> export UCX_TLS=$tls" "$unverified"
setup "a raw transport beside wrapped ones" 'UCX_TLS=vtcp,vself,tcp' 1 \
  "  warn    shell       UCX_TLS=vtcp,vself,tcp: what tcp carries is not verified -> export UCX_TLS=vtcp,vself" \
  "jobs started from this shell are verified, except for what the warnings above name"
setup "a bad value" 'export UCX_VERITY_WINDOW=1' 2 \
  "  BROKEN  shell       UCX_VERITY_WINDOW=1: bad value, allowed: 2 to 32768 frames; the plugin refuses to work, so jobs abort -> unset UCX_VERITY_WINDOW, or correct it" "$abort"
setup "a bad word" 'export UCX_VERITY_ON_FAILURE=panic UCX_VERITY_HEALTH=perhaps' 2 \
  "  BROKEN  shell       UCX_VERITY_HEALTH=perhaps: bad value, allowed: <y|n>; the plugin refuses to work, so jobs abort -> unset UCX_VERITY_HEALTH, or correct it" \
  "  BROKEN  shell       UCX_VERITY_ON_FAILURE=panic: bad value, allowed: [auto|abort|error]; the plugin refuses to work, so jobs abort -> unset UCX_VERITY_ON_FAILURE, or correct it" "$abort"
setup "values that do not fit together" 'export UCX_VERITY_SEGMENT_SIZE=64k UCX_VERITY_CHUNK=32k' 2 \
  "  BROKEN  shell       UCX_VERITY_CHUNK=32k: bad value, allowed: from UCX_VERITY_SEGMENT_SIZE to 32m; the plugin refuses to work, so jobs abort -> unset UCX_VERITY_CHUNK, or correct it" "$abort"
setup "a bad word of the type checks" 'export UCX_VERITY_TYPECHECK=maybe' 2 \
  "  BROKEN  shell       UCX_VERITY_TYPECHECK=maybe: bad value, allowed: off, warn, error; the default is used instead -> unset UCX_VERITY_TYPECHECK, or correct it" "$ignored"
setup "a misspelt variable" 'export UCX_VERITY_MDOE=observe' 2 \
  "  BROKEN  shell       UCX_VERITY_MDOE is no variable of ucx-verity, so it has no effect; did you mean UCX_VERITY_MODE? -> unset UCX_VERITY_MDOE; export UCX_VERITY_MODE=observe" "$ignored"
setup "a folder that does not exist" 'export UCX_VERITY_HEALTH_DIR=/gone' 2 \
  "  BROKEN  shell       UCX_VERITY_HEALTH_DIR=/gone: the folder does not exist, so jobs count where 'status', 'top', 'check' and 'export' cannot see it -> mkdir -p /gone" "$ignored"
if unshare -m true 2> /dev/null; then
  folder=/dev/shm/ucx-verity-$EUID
  setup "no folder is named, and the usual one is another user's" \
    "exec unshare -m sh -c 'mount -t tmpfs none /dev/shm && mkdir $folder && chown 12345 $folder && exec \"\$0\" doctor' \
       '$tool' 2> '$tap_dir/stderr'" 1 \
    "  warn    shell       $folder: it belongs to user 12345, so jobs count where 'status', 'top', 'check' and 'export' cannot see it -> export UCX_VERITY_HEALTH_DIR=, a folder of yours on this host" \
    "jobs started from this shell are verified, except for what the warnings above name"
else
  skip "no folder is named, and the usual one is another user's" "no mount namespaces here"
fi
setup "a file in a folder that does not exist" 'export UCX_VERITY_ATTEST_FILE=/gone/%h.json' 2 \
  "  BROKEN  shell       UCX_VERITY_ATTEST_FILE=/gone/%h.json: the folder /gone does not exist, so attestations are lost -> mkdir -p /gone" "$ignored"
devices=$(bare "$tool" probe | grep -o '"tcp","[^"]*"' | cut -d'"' -f4 | paste -sd, | sed 's/,/, /g')
setup "a network device that no wrapped transport has" "export UCX_NET_DEVICES=none0:1 UCX_TLS=vtcp,vself" 2 \
  "  BROKEN  shell       UCX_NET_DEVICES=none0:1: no wrapped transport has such a device (there are: $devices), so jobs of several hosts abort -> unset UCX_NET_DEVICES" \
  "BROKEN: some jobs started from this shell abort"
remedy='eval "$(ucx-verity env --typecheck warn)"'
bare "$tool" env --typecheck warn > /dev/null 2>&1 || remedy="unset UCX_VERITY_TYPECHECK (the libraries are not installed)"
setup "type checks without their library" 'export UCX_VERITY_TYPECHECK=warn' 2 \
  "  BROKEN  shell       UCX_VERITY_TYPECHECK=warn, but LD_PRELOAD has neither libverity_mpi_openmpi.so nor libverity_mpi_mpich.so: no datatype is compared -> $remedy" "$ignored"
setup "observe" 'export UCX_VERITY_MODE=observe' 1 \
  "  warn    shell       UCX_VERITY_MODE=observe: damage is counted and delivered, not repaired -> unset UCX_VERITY_MODE" \
  "jobs started from this shell are verified, except for what the warnings above name"

# UCX reads its settings from a file, too.
mkdir "$tap_dir/conf"
file_says() { printf '%s\n' "$@" > "$tap_dir/conf/ucx.conf"; }
by_file="export UCX_CONFIG_DIR=$tap_dir/conf"
if reads_ucx_conf "$tap_dir/conf"; then
  file_says UCX_VERITY_MODE=off
  setup "ucx.conf: off" "$by_file" 2 \
    "  BROKEN  shell       UCX_VERITY_MODE=off in ucx.conf: nothing is checked, so jobs run unverified -> export UCX_VERITY_MODE=verify" "$unverified"
  setup "ucx.conf: the variable goes before it" "$by_file UCX_VERITY_MODE=verify" 0 "ok: jobs started from this shell are verified"
  file_says UCX_VERITY_MODE=observe
  setup "ucx.conf: observe" "$by_file" 1 \
    "  warn    shell       UCX_VERITY_MODE=observe in ucx.conf: damage is counted and delivered, not repaired -> export UCX_VERITY_MODE=verify" \
    "jobs started from this shell are verified, except for what the warnings above name"
  file_says "UCX_TLS=$tls"
  setup "ucx.conf: wrapped UCX_TLS" "$by_file; unset UCX_TLS" 0 "ok: jobs started from this shell are verified"
  file_says UCX_TLS=tcp,self
  setup "ucx.conf: raw UCX_TLS" "$by_file; unset UCX_TLS" 2 \
    "  BROKEN  shell       UCX_TLS=tcp,self in ucx.conf names no wrapped transport, so jobs run unverified -> export UCX_TLS=$tls" "$unverified"
  file_says UCX_VERITY_TRANSPARENT=y UCX_TLS=tcp,self
  setup "ucx.conf: UCX's own names" "$by_file; unset UCX_TLS" 0 "ok: jobs started from this shell are verified"
  with_file() { # with_file OPTION [COMMANDS]: what doctor prints then
    bare bash -c "eval \"\$('$tool' env)\"; $by_file; ${2:-:}; '$tool' doctor $1 2>&1" | tr -s ' \n' ' '
  }
  file_says UCX_VERITY_MODE=observe
  contains "ucx.conf: the selftest has its mode" "$(with_file --selftest)" \
    ' 1 found, .*: found and delivered all the same -> export UCX_VERITY_MODE=verify'
  contains "ucx.conf: but for the variable's" "$(with_file --selftest 'export UCX_VERITY_MODE=verify')" ' 1 found, 1 repaired; wrong bytes delivered: 0 '
  file_says UCX_NET_DEVICES=none UCX_TLS=all
  contains "ucx.conf: the selftest has devices of its own" "$(with_file --selftest "cd '$tap_dir/conf'")" 'ok selftest tcp: .* 1 found, 1 repaired'
  file_says UCX_TLS=vtcp,vself UCX_NET_DEVICES=lo
  output=$(with_file --protocols 'unset UCX_TLS')
  contains "ucx.conf: protocols are those of its transports" "$output" 'messages within this host .*vtcp/lo.* messages between hosts '
  lacks "ucx.conf: and of no others" "${output%% ok UCX*}" 'vposix|vsysv'
  lacks "ucx.conf: nor of other devices" "${output#*between hosts}" 'vtcp/[^l]'
else
  skip "ucx.conf" "this UCX reads none"
fi

report=$(bare "$tool" doctor)
is "not set up: exit status" $? 3
is "not set up: one line says so" "$(grep -vE '^  ok |^      ' <<< "$report" | grep -v ' MPICH ')" \
  'not active in this shell: jobs started from it run unverified -> eval "$(ucx-verity env)", or load the module'
done_testing

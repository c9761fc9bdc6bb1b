# SPDX-License-Identifier: BSD-3-Clause
#
# What `ucx-verity acceptance` runs on each of the two hosts: sh FOLDER/node VERB [ARGUMENT...]. FOLDER is removed by
# the verb `end`. Its words need no quotes, as they may pass through a shell of any kind on the way.
#
#   facts                        what this host is made of: lines of a key, a tab, a value
#   transports                   lines of transport, device and whether it reaches other hosts
#   doctor [--selftest]          its findings for --merge
#   run LABEL SECONDS KIND TLS WORD...   ucx-verity with these words. KIND: raw (stock UCX), clean (verified), and, on
#                                transports that flip bits, stock and verified. What it leaves is for `seen LABEL`
#   job SECONDS KIND TLS WORD... the MPI program, by the launcher's command; @x@ in it are Open MPI's options
#   launcher HOST HOST           the command of a launcher of MPI jobs that is there
#   seen LABEL                   lines of what was injected, and of what the health tools say of it
#   go WORD...                   a command with the environment of the caller
#   compile NAME                 the MPI program, from program.c in the folder above
#   put FILE                     FILE in the folder above, from the input
#   end
set -u
dir=$(cd "$(dirname "$0")" && pwd)
top=${dir%/*} # of both hosts, by the same name
. "$dir/settings" # the caller's variables, and $tool
export VERITY_ACCEPTANCE="$dir"

fact() { [ -z "$2" ] || printf '%s\t%s\n' "$1" "$2"; }
# Known to `end` before it makes anything: either that finds its number, or this finds the folder closed.
enter() {
  echo $$ 2> /dev/null > "$dir/pids/$$" && [ ! -e "$dir/closed" ] || exit 3
}
# From here on this process is the command.
become() { # become SECONDS COMMAND...
  seconds=$1
  shift
  exec timeout -k 5 "$seconds" "$@"
}

facts() {
  fact name "$(uname -n)"
  fact "operating system" "$(. /etc/os-release 2> /dev/null && echo "${PRETTY_NAME-}")"
  fact kernel "$(uname -sr) $(uname -m)"
  fact processor "$(sed -n 's/^model name[^:]*: *//p' /proc/cpuinfo | head -n 1), $(nproc) CPUs here"
  fact memory "$(awk '/^MemTotal:/ { printf "%.0f GiB\n", $2 / 1048576 }' /proc/meminfo)"
  fact "C library" "$(ldd --version 2> /dev/null | sed -n '1s/.* //p')"
  fact ucx-verity "$("$tool" --version)"
  fact UCX "$(LD_PRELOAD='' "$tool" probe 2> /dev/null | sed -n 's/.*"ucx":"\([^"]*\)".*/\1/p')"
  fact "Open MPI" "$(ompi_info --version 2> /dev/null | sed -n '1s/.* v//p')"
  fact MPICH "$(mpichversion 2> /dev/null | sed -n 's/^MPICH Version:[[:space:]]*//p')"
  fact Slurm "$(srun --version 2> /dev/null | sed 's/^slurm[a-z-]* //')"
  fact "locked memory" "$(ulimit -l)"
  for card in /sys/class/infiniband/*; do
    [ -d "$card" ] || continue
    name=${card##*/} text=
    for file in hca_type fw_ver board_id; do
      [ ! -r "$card/$file" ] || text="$text${text:+, }${file%_*} $(cat "$card/$file")"
    done
    for port in "$card"/ports/*; do
      text="$text${text:+; }port ${port##*/} $(sed 's/.*: //' "$port/state"), $(cat "$port/rate"), $(cat "$port/link_layer")"
    done
    fact "adapter $name" "$text"
  done
  fact "adapter software" "$(ofed_info -s 2> /dev/null | sed 's/:$//')"
}

# Of `ucx-verity env`; the transports are the caller's, with a v before their names, unless the site locks UCX's own names.
verified_environment() {
  unset UCX_MODULE_DIR UCX_PLUGIN_PATH # one of them is set again
  export UCX_VERITY_TRANSPARENT=n
  variables=$("$tool" env) || exit 2
  eval "$variables"
}
by_own_names() { [ "${UCX_VERITY_TRANSPARENT-}" = y ]; }

transports() {
  verified_environment
  "$tool" probe 2> /dev/null | sed -n 's/.*"devices":\[\[\(.*\)\]\].*/\1/p' | sed 's/\],\[/\n/g' | tr -d '"' |
    awk -F, -v named="$(! by_own_names || echo y)" '{ print $1 "\t" $2 "\t" $4 }
      named == "y" && $3 == "verity" { print "v" $1 "\t" $2 "\t" $4 }'
}

# The folder of the corrupting transport and, beside it, the plugin.
folder_of() { # folder_of stock|verified
  plugins=${UCX_MODULE_DIR:-${UCX_PLUGIN_PATH%%:*}}
  fault=$plugins/selftest/libuct_fault.so
  [ -e "$fault" ] || fault=$plugins/libuct_fault.so.0 # in a build tree
  [ -e "$fault" ] || fault=$(dirname "$tool")/.libs/libuct_fault.so
  [ -e "$fault" ] || { echo "no corrupting transport beside the plugin in $plugins" >&2; exit 2; }
  mkdir -p "$top/modules/$1"
  add_module "$fault" "$1/libuct_fault.so.0"
  [ "$1" = stock ] || add_module "$plugins/libuct_verity.so.0" "$1/libuct_verity.so.0"
}
add_module() { # add_module FILE NAME: where the other host has the same folder it may be there meanwhile
  [ -e "$top/modules/$2" ] || ln -s "$1" "$top/modules/$2" 2> /dev/null || [ -e "$top/modules/$2" ]
}

environment() { # environment LABEL KIND TLS
  if [ "$2" = raw ]; then
    unset LD_PRELOAD UCX_MODULE_DIR UCX_PLUGIN_PATH
  else
    verified_environment
  fi
  list=$3
  case $2 in clean | verified) ! by_own_names || list=$(echo "$3" | sed 's/^v//; s/,v/,/g') ;; esac
  export UCX_TLS="$list" UCX_WARN_UNUSED_ENV_VARS=n
  case $2 in
    stock | verified)
      folder_of "$2"
      [ -z "${UCX_PLUGIN_PATH-}" ] || export UCX_PLUGIN_PATH="$top/modules/$2"
      export UCX_MODULE_DIR="$top/modules/$2" UCX_VERITY_EXTRA_MODULES=fault
      # One long message in ten gets one bit flipped, beyond UCX's own headers: with those damaged stock UCX would crash
      # instead of delivering wrong bytes. The first ones, which connect, are left alone.
      export UCX_FAULT_KINDS=flip UCX_FAULT_EVERY=10 UCX_FAULT_PLACE=payload UCX_FAULT_HEADER_SIZE=128
      export UCX_FAULT_MIN_LEN=1k UCX_FAULT_AFTER=20 UCX_FAULT_REPORT="$dir/$1.damage.%h.%p" ;;
  esac
  # Where nobody who watches this host looks.
  mkdir -p "$dir/$1.health"
  export UCX_VERITY_HEALTH=y UCX_VERITY_HEALTH_DIR="$dir/$1.health" UCX_VERITY_ATTEST=never
  export UCX_VERITY_ATTEST_FILE="$dir/$1.log/attest.%h.%p" UCX_VERITY_FAULT_LOG="$dir/$1.log/faults.%h.%p"
  mkdir -p "$dir/$1.log"
}

# Both ranks get folders that are there on both hosts. Open MPI passes what -x names, others pass everything.
job() { # job SECONDS KIND TLS WORD...: a launcher's command; @x@ is replaced
  environment job "$2" "$3"
  unset UCX_VERITY_ATTEST_FILE UCX_VERITY_FAULT_LOG UCX_FAULT_REPORT
  export UCX_VERITY_HEALTH_DIR="$top/health" UCX_VERITY_ATTEST=always
  export OMPI_MCA_pml=ucx OMPI_MCA_opal_common_ucx_tls=any OMPI_MCA_opal_common_ucx_devices=any
  seconds=$1 exported=
  shift 3
  for name in LD_PRELOAD $(env | sed -n 's/^\(UCX_[A-Z0-9_]*\)=.*/\1/p'); do
    [ -z "$(printenv "$name")" ] || exported="$exported -x $name"
  done
  words=
  for word; do
    [ "$word" != @x@ ] || word=$exported
    words="$words $word"
  done
  # shellcheck disable=SC2086 # words
  become "$seconds" $words "$top/program" 400 262144
}

number() { grep -oh "\"$1\": *[0-9]*" | awk -F: '{ sum += $2 } END { print sum + 0 }'; }
seen() { # seen LABEL
  export UCX_VERITY_HEALTH_DIR="$dir/$1.health"
  echo "injected $(cat "$dir/$1".damage.* 2> /dev/null | number faults)"
  cat "$dir/$1".log/attest.* > "$dir/$1.attest" 2> /dev/null
  echo "verified $(number frames_verified < "$dir/$1.attest")"
  echo "attested $(number 'faults_payload' < "$dir/$1.attest") $(number faults_header < "$dir/$1.attest")" \
    "$(number faults_length < "$dir/$1.attest") $(number read_chunks_damaged < "$dir/$1.attest")"
  echo "twice $(number frames_duplicate < "$dir/$1.attest")"
  "$tool" status --json "$dir/$1.health" > "$dir/$1.status" 2>&1
  echo "status $(sed -n '/^      "counters": {/,/^      }/p' "$dir/$1.status" | grep -E 'faults_(payload|header|length)"|read_chunks_damaged"' |
    awk -F: '{ sum += $2 } END { print sum + 0 }')"
  "$tool" report --json --injected "$dir/$1.log" > "$dir/$1.report" 2>&1
  echo "report $(grep -m 1 '^  "faults":' "$dir/$1.report" | tr -dc 0-9) $(grep -m 1 '^  "ambiguous":' "$dir/$1.report" | tr -dc 0-9)"
  "$tool" check --json --directory "$dir/$1.health" --ledger "$dir/none" > "$dir/$1.check" 2>&1
  echo "check $? $(grep -m 1 '"injected_faults":' "$dir/$1.check" | tr -dc 0-9)"
}

launcher() { # launcher HOST HOST
  for mpirun in mpirun.openmpi mpirun; do
    ! $mpirun --version 2>&1 | grep -q 'Open MPI' || { echo "$mpirun -np 2 --host $1,$2 @x@"; exit; }
  done
  for mpiexec in mpiexec.mpich mpiexec mpirun; do
    ! $mpiexec --version 2>&1 | grep -q HYDRA || { echo "$mpiexec -n 2 -hosts $1,$2"; exit; }
  done
  exit 3
}

compile() {
  if command -v "$1" > /dev/null; then
    LD_PRELOAD='' exec "$1" -O2 -o "$top/program" "$top/program.c"
  fi
  echo "no mpicc in PATH (looked for $1)"
  exit 3
}

# A command, which has the variable, or still this script; no longer where the number was given away again.
ours() { # ours PID
  cat "/proc/$1/environ" "/proc/$1/cmdline" 2> /dev/null | tr '\0' '\n' | grep -qxF -e "VERITY_ACCEPTANCE=$dir" -e "$dir/node"
}
end() {
  : > "$dir/closed"
  # `timeout` ends what it started, and kills it after 5 s; it leads the group of both. This script leads none.
  for signal in TERM KILL; do
    try=0
    while [ $((try = try + 1)) -le 14 ]; do
      left=
      for file in "$dir"/pids/*; do
        ! ours "${file##*/}" || left="$left ${file##*/}"
      done
      [ -n "$left" ] || break 2
      for process in $left; do
        [ "$try" -gt 1 ] || kill -s $signal -- "-$process" 2> /dev/null || kill -s $signal "$process" 2> /dev/null
      done
      sleep 0.5
    done
  done
  # By another shell: on NFS a folder stays as long as something in it, such as this script, is open.
  cd / && exec sh -c 'rm -rf "$1" "$2/modules" "$2/health" "$2/program" "$2/program.c"
    rmdir "$2" 2> /dev/null
    [ ! -e "$1" ]' sh "$dir" "$top"
}

verb=$1
shift
[ "$verb" = end ] || enter
case $verb in
  facts | transports | launcher | compile | seen | job | end) "$verb" "$@" ;;
  doctor) verified_environment && become 120 "$tool" doctor --record "$@" ;;
  run)
    environment "$1" "$3" "$4"
    seconds=$2
    shift 4
    become "$seconds" "$tool" "$@" ;;
  go) become 600 "$@" ;;
  put) mkdir -p "$top/health" && cat > "$top/$1" && chmod 700 "$top/$1" ;;
  *) echo "no verb: $verb" >&2; exit 2 ;;
esac

# SPDX-License-Identifier: BSD-3-Clause
#
# What the tests with real UCX and MPI runs share. Source it in place of test/tap.sh.
#
# They run what is in the build tree: modules/ holds the plugin and the corrupting transport. Under
# sanitizers they are skipped, since stock programs cannot load such a module.
# VERITY_TEST_LONG=1 asks for the long forms, VERITY_TEST_SHORT=1 for short ones. By hand, in the build folder:
#   abs_top_srcdir=$PWD/.. abs_top_builddir=$PWD bash ../test/integration/NAME.sh
# shellcheck shell=bash

. "${abs_top_srcdir:?}/test/tap.sh"

build=${abs_top_builddir:?}
# By hand: what the harness would have exported.
made() { sed -n "s/^$1 = //p" "$build/Makefile" 2> /dev/null; }
MPICC=${MPICC-$(made MPICC)} VERITY_SANITIZERS=${VERITY_SANITIZERS-$(made VERITY_SANITIZERS)}
VERITY_UCX_VERSION=${VERITY_UCX_VERSION-$(made VERITY_UCX_VERSION)}
[ -z "${VERITY_SANITIZERS:-}" ] || skip_all "a module with sanitizers does not load into stock programs"
[ -e "$build/modules/libuct_verity.so.0" ] || skip_all "the plugin is not built"

# Names the plugin's folder.
if needs_preload; then plugin_variable=UCX_MODULE_DIR; else plugin_variable=UCX_PLUGIN_PATH; fi

# Exported by the harness; UCX would warn of a variable that it does not know.
export -n UCX_INFO

oversubscribe=$(oversubscribe_variable)

long_form() { [ "${VERITY_TEST_LONG:-0}" != 0 ]; }
# A second release, beside one on which all runs: without what depends on neither UCX nor MPI.
short_form() { [ "${VERITY_TEST_SHORT:-0}" != 0 ]; }
normal_or_long() { if long_form; then echo "$2"; else echo "$1"; fi; } # normal_or_long NORMAL LONG

# verity_env LIST: sets what a job needs whose UCX_TLS is LIST. Wrapped (vtcp), raw (tcp) and
# corrupting transports (ftcp, vftcp) may be named.
verity_env() {
  local line
  if [ -x "$build/ucx-verity" ] && line=$("$build/ucx-verity" env --tls tcp,posix,self --shell sh 2> /dev/null); then
    eval "$line"
    export LD_PRELOAD="${LD_PRELOAD-}" # none from UCX 1.22 on; tests add theirs
  else
    export LD_PRELOAD="$build/.libs/libverity_preload.so${LD_PRELOAD:+:$LD_PRELOAD}"
    export OMPI_MCA_pml=ucx OMPI_MCA_osc=ucx,sm OMPI_MCA_osc_ucx_priority=200
    export OMPI_MCA_opal_common_ucx_tls=any OMPI_MCA_opal_common_ucx_devices=any
  fi
  # UCX looks for modules in one folder; the build tree's has the corrupting transport as well.
  export "$plugin_variable=$build/modules" UCX_TLS="$1"
  case ,$1 in
    *,f* | *,vf*) export UCX_VERITY_EXTRA_MODULES=fault ;;
  esac
  # Not where the machine's own jobs count: see contrib/quickstart-demo.
  mkdir -p "$tap_dir/health"
  export UCX_VERITY_HEALTH_DIR="${UCX_VERITY_HEALTH_DIR-$tap_dir/health}"
  case ,$1 in
    *,v*) ;;
    *) # stock UCX knows none of the plugin's variables, and a job on raw transports is raw on purpose
      export UCX_WARN_UNUSED_ENV_VARS=n UCX_VERITY_ATTEST="${UCX_VERITY_ATTEST-never}" ;;
  esac
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 "$oversubscribe"
}

# with_tls LIST COMMAND...: runs it in that environment, which ends with it.
with_tls() (
  verity_env "$1"
  shift
  "$@"
)

# Damage of every kind, 1 frame in 1,000 (or $1): 0.001 by default. Before with_tls, in a subshell.
damage_frames() {
  export UCX_FAULT_RATE="${1:-0.001}" UCX_FAULT_SEED="${2:-1}"
  export UCX_FAULT_KINDS="${3:-flip,burst,zero_line,truncate,drop,replace,repeat}"
}

# shellcheck disable=SC2046 # the names
no_damage() { unset $(compgen -v UCX_FAULT_); }

# within SECONDS COMMAND...: ends it, and then kills it, when it takes longer (status 124 or 137).
within() {
  local seconds=$1
  shift
  timeout -k 5 "$seconds" "$@"
}

# A TCP port without a listener.
free_port() {
  local port hex
  while :; do
    port=$((20000 + RANDOM % 12000))
    printf -v hex '%04X' "$port"
    grep -q ":$hex " /proc/net/tcp /proc/net/tcp6 2> /dev/null || { echo "$port"; return; }
  done
}

# await_listener PORT PID: until a process listens on that TCP port, or PID has ended; ten seconds at most.
await_listener() {
  for _ in $(seq 500); do
    grep -qs ":$(printf '%04X' "$1") [0-9A-F:]* 0A " /proc/net/tcp /proc/net/tcp6 || ! kill -0 "$2" 2> /dev/null && return
    sleep 0.02
  done
}

# Sets the array `perftest` to UCX's program. Built with MPI it takes itself for a job, but for an option. False: it is not installed.
find_perftest() {
  perftest=("$(command -v ucx_perftest)") || return 1
  ! "${perftest[0]}" -h 2>&1 | grep -q '^ *-P ' || perftest+=(-P 0)
}

# Transports of this machine that the tests use: tcp posix sysv self, as far as there are.
lower_transports() {
  with_tls all "${UCX_INFO:-ucx_info}" -d 2> /dev/null | sed -n 's/.*Transport: \(tcp\|posix\|sysv\|self\)$/\1/p' | sort -u
}

# tap_of NAME COMMAND...: a program that prints TAP; its tests become this script's.
tap_of() {
  local name=$1 line status=0 reason=
  shift
  "$@" > "$tap_dir/tap" 2>&1 || status=$?
  while IFS= read -r line; do
    case $line in
      "ok "*" # SKIP"*) skip "$name: $(sed 's/^ok [0-9]* - //; s/ # SKIP.*//' <<< "$line")" "${reason:-no reason given}"; reason= ;;
      "ok "*) tap_result 0 "$name: ${line#ok * - }"; reason= ;;
      "not ok "*) tap_result 1 "$name: ${line#not ok * - }"; note "$reason"; reason= ;;
      1..*) ;;
      "# side "*) # the other side may say the same
        [ "$reason" = "${line#\# side ?: }" ] || reason="${reason:+$reason; }${line#\# side ?: }" ;;
      *) note "$line" ;;
    esac
  done < "$tap_dir/tap"
  grep -q '^1\.\.' "$tap_dir/tap" || { tap_result 1 "$name: ran to its end (status $status)"; }
}

# ---- MPI ----------------------------------------------------------------------------------------

# Open MPI's and MPICH's launchers: empty where there is none; MPICH only when built on UCX.
find_openmpi() {
  local name
  [ -n "${MPICC:-}" ] || return 0
  for name in mpirun.openmpi mpirun; do
    if command -v $name > /dev/null && $name --version 2>&1 | grep -q 'Open MPI'; then
      command -v $name
      return
    fi
  done
}
find_mpich() {
  command -v mpicc.mpich > /dev/null && command -v mpirun.mpich > /dev/null || return 0
  mpichversion 2> /dev/null | grep -q 'ch4:ucx' || return 0
  command -v mpirun.mpich
}
openmpi=$(find_openmpi)
mpich=$(find_mpich)

# mpi_program LAUNCHER NAME: path of the test program for that MPI, compiled when needed.
mpi_program() {
  local out=$tap_dir/mpich-$2
  if [ "$1" != "$mpich" ]; then
    echo "$build/test/mpi/$2"
    return
  fi
  # MPICH's header makes gcc warn about MPI_STATUSES_IGNORE.
  [ -x "$out" ] || mpicc.mpich -w -O2 -g -I"$abs_top_srcdir/test/mpi" -o "$out" \
    $(find "$abs_top_srcdir/test/mpi" -name "$2.c" -o -name "$2_*.c") || return 1
  echo "$out"
}

# finalize_waits LAUNCHER: from 4.2 on MPICH's MPI_Finalize waits for the other ranks before its last progress. What they still
# want of this one, as it came damaged, a thread has to retransmit (ucx-verity(7), SUPPORTED).
finalize_waits() {
  [ "$1" = "$mpich" ] &&
    [ "$(printf '%s\n' 4.2 "$(mpichversion | sed -n 's/^MPICH Version:[[:space:]]*//p')" | sort -V | head -n 1)" = 4.2 ]
}

# mpi_run SECONDS LAUNCHER RANKS LIST PROGRAM ARGUMENT...: output of a job, all of it on stdout.
mpi_run() {
  local seconds=$1 launcher=$2 ranks=$3 list=$4 name=$5 program
  shift 5
  if [ -n "${UCX_FAULT_RATE:-}" ] && finalize_waits "$launcher"; then local -x UCX_VERITY_PROGRESS_THREAD=y; fi
  program=$(mpi_program "$launcher" "$name") || return 1
  with_tls "$list" timeout -k 5 "$seconds" "$launcher" -np "$ranks" "$program" "$@" 2>&1
}

# end_job PID: ends a job that runs in the background, the shells around the launcher and what they started.
end_job() {
  local child
  for child in $(ps -o pid= --ppid "$1"); do
    end_job "$child"
  done
  kill "$1" 2> /dev/null
}

# ended_well STATUS WANTED-REGEX: whether the job whose output is in $tap_dir/job ended with 0 and printed such a line. On a
# busy machine Open MPI 4 may call a healthy end improper: its client of PMIx waits two seconds for mpirun's answer and
# exits without it (openpmix pull request 3650). The line and the status 1 are then all there is.
ended_well() {
  grep -Eq -- "$2" "$tap_dir/job" || return 1
  [ "$1" -ne 0 ] || return 0
  [ "$1" -eq 1 ] && grep -q 'exiting improperly' "$tap_dir/job" && ! grep -Eq 'WRONG|HANG|ERROR|on signal' "$tap_dir/job" &&
    note "mpirun was too busy to answer its processes' last message"
}

# mpi_clean NAME WANTED-REGEX SECONDS LAUNCHER RANKS LIST PROGRAM ARGUMENT...: passes when the job
# ends with 0 and a line matches. Its output stays in $tap_dir/job.
mpi_clean() {
  local name=$1 wanted=$2 status=0
  shift 2
  mpi_run "$@" > "$tap_dir/job" || status=$?
  if ended_well "$status" "$wanted"; then
    tap_result 0 "$name"
  else
    tap_result 1 "$name"
    note "exit status $status, wanted a line like: $wanted"
    note "$(tail -n 30 "$tap_dir/job")"
  fi
}

# stock_fails TRIES SECONDS LAUNCHER RANKS LIST PROGRAM ARGUMENT...: the job fails, in one of so many tries, with stock
# UCX on the raw transports and without damage. What it said last is in $stock_words.
stock_fails() {
  local tries=$1 seconds=$2 launcher=$3 ranks=$4 raw
  raw=$(sed -E 's/(^|,)vf?/\1/g' <<< "$5")
  shift 5
  for _ in $(seq "$tries"); do
    (no_damage; mpi_run "$seconds" "$launcher" "$ranks" "$raw" "$@") > "$tap_dir/stock" && continue
    stock_words=$(grep -aE 'HANG|WRONG|rror|Caught signal' "$tap_dir/stock" | head -n 1)
    return 0
  done
  return 1
}

# mpi_or_stock NAME WANTED-REGEX SECONDS LAUNCHER RANKS LIST PROGRAM ARGUMENT...: as mpi_clean; but when
# the job fails and stock UCX fails too, in one of three tries, that is a skip with stock's last words.
mpi_or_stock() {
  local name=$1 wanted=$2 status=0
  shift 2
  mpi_run "$@" > "$tap_dir/job" || status=$?
  if ended_well "$status" "$wanted"; then
    tap_result 0 "$name"
  elif stock_fails 3 "$@"; then
    skip "$name" "stock fails too: $stock_words"
  else
    tap_result 1 "$name"
    note "exit status $status, wanted a line like: $wanted; stock passes"
    note "$(tail -n 30 "$tap_dir/job")"
  fi
}

# Sum of a number in JSON lines: json_sum KEY FILE...
json_sum() {
  local key=$1
  shift
  grep -oh "\"$key\":[0-9]*" "$@" 2> /dev/null | awk -F: '{ sum += $2 } END { print sum + 0 }'
}

# interposer_for LAUNCHER: the library to preload for the datatype checks of that MPI.
interposer_for() {
  if [ "$1" = "$mpich" ]; then echo "$build/.libs/libverity_mpi_mpich.so"; else echo "$build/.libs/libverity_mpi_openmpi.so"; fi
}

flavour() { if [ "$1" = "$mpich" ]; then echo mpich; else echo openmpi; fi; } # flavour LAUNCHER

# typechecked SECONDS LAUNCHER RANKS LIST PROGRAM ARGUMENT...: as mpi_run, with the interposer for that MPI, or with those in $interposers.
# A program that the test has compiled itself is $tap_dir/FLAVOUR-PROGRAM. What the ranks and the launcher say on stderr comes last,
# past the launcher: where two streams meet, launchers cut lines. The job's exit status is in $tap_dir/status.
typechecked() {
  (
    verity_env "$4"
    if [ -n "${UCX_FAULT_RATE:-}" ] && finalize_waits "$2"; then export UCX_VERITY_PROGRESS_THREAD=y; fi
    LD_PRELOAD="$LD_PRELOAD:${interposers:-$(interposer_for "$2")}"
    program=$tap_dir/$(flavour "$2")-$5
    [ -x "$program" ] || program=$(LD_PRELOAD='' mpi_program "$2" "$5") || exit 1
    : > "$tap_dir/stderr"
    # shellcheck disable=SC2016 # each rank's own
    timeout -k 5 "$1" "$2" -np "$3" sh -c 'exec "$@" 2>> "$0"' "$tap_dir/stderr" "$program" "${@:6}" 2>> "$tap_dir/stderr"
  )
  echo $? > "$tap_dir/status"
  cat "$tap_dir/stderr"
}

# twins NAME LAUNCHER RAW-LIST: $tap_dir/job had no error; or the same ones as on stock UCX: MPICH 5.0.2 refuses MPI_Rget of some types.
twins() {
  local right='^types right cases [0-9]+ expected 0 errors 0 failed' stock=
  if ! grep -Eq "$right 0 others 0\$" "$tap_dir/job"; then
    stock=$(mpi_run 100 "$2" 2 "$3" types right | grep -E "$right")
  fi
  if [ -n "$stock" ] && grep -Fxq "$stock" "$tap_dir/job"; then
    skip "$1" "stock does the same: $stock"
  else
    contains "$1" "$(cat "$tap_dir/job")" "$right 0 others 0\$"
  fi
}

# storm_or_stock NAME LAUNCHER ROUNDS THREADS: correct messages of ever-changing types get through; the job's output is in $tap_dir/job.
# When the job fails and stock UCX fails too, in one of eight tries, that is a skip, and false: MPI_Waitall of Open MPI 5.0.7
# crashes now and then when several threads use it.
storm_or_stock() {
  typechecked 100 "$2" 3 vposix,vself storm -n "$3" -t "$4" > "$tap_dir/job"
  if [ "$(cat "$tap_dir/status")" -ne 0 ] && stock_fails 8 100 "$2" 3 vposix,vself storm -n 30 -t "$4"; then
    skip "$1" "stock fails too: $stock_words"
    return 1
  fi
  contains "$1" "$(cat "$tap_dir/job")" '^storm messages [0-9]+ errors 0$'
}

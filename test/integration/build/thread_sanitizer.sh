#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# What several threads touch, under ThreadSanitizer: MPI_THREAD_MULTIPLE, and threads with contexts of
# their own. Only the plugin is instrumented, but UCX's locks are seen, so a race between two accesses
# of the plugin is found. For builds with --enable-sanitizers=thread and gcc, by `make check-threads`.
abs_top_builddir=${abs_top_builddir:?}
[ "${VERITY_SANITIZERS:-}" = thread ] || { echo '1..0 # SKIP no build with --enable-sanitizers=thread'; exit 0; }
VERITY_SANITIZERS= # lib.sh leaves sanitizer builds alone; here the run-time library is preloaded
. "${abs_top_srcdir:?}/test/integration/lib.sh"

runtime=$($CC -print-file-name=libtsan.so)
[ -e "$runtime" ] || skip_all "$CC has no libtsan.so that could be preloaded"
messages=$(normal_or_long 3000 50000)
rounds=$(normal_or_long 5 50)

# Both replace functions that ThreadSanitizer needs as they are.
export UCX_MEM_EVENTS=n OMPI_MCA_memory=^patcher UCX_HANDLE_ERRORS=none
TSAN_OPTIONS="ignore_noninstrumented_modules=1 exitcode=66 halt_on_error=0 log_path=$tap_dir/report"

# shellcheck disable=SC2317 # called through clean
mpi_job() { # mpi_job LIST THREADS [PROGRAM [N]]
  with_tls "$1" sh -c 'exec timeout -k 5 200 "$1" -np 2 -x LD_PRELOAD="$2:$LD_PRELOAD" -x TSAN_OPTIONS="$3" \
    "$4" -n "$5" -k "$6"' sh "$openmpi" "$runtime" "$TSAN_OPTIONS" "$build/test/mpi/${3:-threads}" "${4:-$messages}" "$2"
}
# shellcheck disable=SC2317
contexts_job() { # contexts_job LIST THREADS [given]
  TSAN_OPTIONS=$TSAN_OPTIONS with_tls "$1" timeout -k 5 200 "$build/contexts" "$2" "$rounds" "${@:3}"
}

# shellcheck disable=SC2317
async_job() {
  UCX_FAULT_ASYNC=1ms TSAN_OPTIONS=$TSAN_OPTIONS with_tls vfposix timeout -k 5 200 "$build/uct_am" -r "$(normal_or_long 12 100)" \
    -c asynchronous vfposix
}

# shellcheck disable=SC2317
checked_job() ( # checked_job LAUNCHER LIST PROGRAM ARGUMENT...: with the datatype checks and digests
  program=$(mpi_program "$1" "$3") || exit 1
  verity_env "$2"
  export UCX_VERITY_TYPECHECK=error UCX_VERITY_TYPECHECK_DIGEST=y OMPI_MCA_pml=${pml:-ucx} TSAN_OPTIONS
  # shellcheck disable=SC2016 # each rank's own
  exec timeout -k 5 200 "$1" -np 2 sh -c 'LD_PRELOAD=$0 exec "$@"' "$runtime:$LD_PRELOAD:$(interposer_for "$1")" "$program" "${@:4}"
)

clean() { # clean NAME WANTED COMMAND...: ends well, says WANTED, and nothing is reported
  local name=$1 wanted=$2 status=0
  shift 2
  rm -f "$tap_dir"/report*
  "$@" > "$tap_dir/out" 2>&1 || status=$?
  is "$name" "$status $(grep -o "$wanted" "$tap_dir/out") $(find "$tap_dir" -name 'report*' | wc -l)" "0 $wanted 0"
  if [ "$status" -ne 0 ]; then
    note "$(tail -n 20 "$tap_dir/out")"
    note "$(cat "$tap_dir"/report* 2> /dev/null | head -n 120)"
  fi
}

for list in vposix,vself vtcp,vself vftcp,vfself; do
  case $list in vf*) damage_frames 0.003 ;; *) no_damage ;; esac
  for threads in $(normal_or_long 8 "4 8"); do
    if [ -n "$openmpi" ] && [ -x "$build/test/mpi/threads" ]; then
      clean "Open MPI, $threads threads, $list" 'wrong 0 lost 0' mpi_job "$list" "$threads"
    else
      skip "Open MPI, $threads threads, $list" "no Open MPI"
    fi
    # The corrupting component and the plugin look at one another's lists of transports while UCX asks for
    # them the first time, for which there is no lock of UCX.
    case $list in vf*) continue ;; esac
    clean "$threads threads with contexts of their own, $list" 'wrong 0' contexts_job "$list" "$threads"
  done
done

# UCX's thread, in which transports like InfiniBand's ud receive.
no_damage
clean "messages in the asynchronous thread" 'ok 4 - closing while asynchronous messages come' async_job

# The plugin's own threads: those that hash for reads, and the one that serves interfaces without progress calls. One-sided operations of
# several threads, and workers that are given from one thread to another.
no_damage
reads=vposix,vself
with_tls vposix,vcma "${UCX_INFO:-ucx_info}" -d 2> /dev/null | grep -q 'Transport: vcma' && reads=$reads,vcma
for threads in none UCX_VERITY_THREADS=2 UCX_VERITY_PROGRESS_THREAD=y; do
  [ "$threads" = none ] || export "${threads?}"
  for list in "$reads" vtcp,vself; do
    UCX_VERITY_ATTEST_FILE=$tap_dir/attested clean "workers given to 4 threads, $list, $threads" 'wrong 0' \
      contexts_job "$list" 4 given
    case $threads$list in
      UCX_VERITY_THREADS*vcma) is "and other threads hash" "$(($(json_sum digest_bytes_shared "$tap_dir/attested") > 0))" 1 ;;
    esac
    if [ -n "$openmpi" ] && [ -x "$build/test/mpi/thread_windows" ]; then
      clean "one-sided, 4 threads, $list, $threads" 'wrong 0' mpi_job "$list" 4 thread_windows "$(normal_or_long 10 200)"
    else
      skip "one-sided, 4 threads, $list, $threads" "no Open MPI"
    fi
  done
  unset UCX_VERITY_THREADS UCX_VERITY_PROGRESS_THREAD
done

# The datatype checks: signatures, digests, tables of handles, the workers of one-sided operations, and sessions of several threads.
no_damage
few=$(normal_or_long 10 200)
for launcher in $openmpi $mpich; do
  case $launcher in "$mpich") mpi=MPICH pmls=ucx ;; *) mpi="Open MPI" pmls="ucx ob1" ;; esac
  if [ ! -e "$(interposer_for "$launcher")" ]; then
    skip "checked: $mpi" "no datatype checks for it"
    continue
  fi
  for list in vposix,vself vtcp,vself; do
    clean "checked: $mpi, threads, $list" 'wrong 0 lost 0' checked_job "$launcher" "$list" threads -n "$messages" -k 4
    clean "checked: $mpi, types that are made and freed all the time, $list" 'errors 0' checked_job "$launcher" "$list" storm -n "$few" -t 4
    for pml in $pmls; do
      clean "checked: $mpi, one-sided, $list, messages by $pml" 'wrong 0' checked_job "$launcher" "$list" thread_windows -n "$few" -k 4
    done
    pml=
  done
done
name="checked: MPICH, 4 threads begin sessions"
if [ -z "$mpich" ] || ! mpi_program "$mpich" thread_sessions > /dev/null 2>&1; then
  skip "$name" "no MPICH with sessions"
elif mpi_run 60 "$mpich" 2 posix,self thread_sessions > "$tap_dir/stock"; then
  clean "$name" 'thread_sessions wrong 0' checked_job "$mpich" vposix,vself thread_sessions -n "$(normal_or_long 3 30)" -k 4
else
  skip "$name" "stock fails too: $(tail -n 1 "$tap_dir/stock")"
fi

done_testing

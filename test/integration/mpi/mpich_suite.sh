#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Programs of MPICH's test suite that once failed on the wrapped transports and not on stock UCX, by what was wrong then: the order
# of one-sided operations, the end of a job, buffered sends, sessions, persistent collectives under the datatype checks, shared
# windows. The suite comes from the distribution's source package, so that a network is needed. Its own configure takes a minute or
# two for each MPI and is not run: the programs are compiled as they are. They stay in suites/ of the build folder, or in
# $VERITY_SUITES. All of the suite: test/campaign/run --stock.
. "${abs_top_srcdir:?}/test/integration/lib.sh"
[ -n "$openmpi$mpich" ] || skip_all "neither Open MPI nor an MPICH on UCX"
command -v apt-get > /dev/null || skip_all "MPICH's sources are fetched with apt-get"
# shellcheck disable=SC2034 # of fetch.sh
cache=${VERITY_SUITES:-$build/suites} work=$cache
mkdir -p "$cache"
. "$abs_top_srcdir/test/campaign/fetch.sh"
reason=$(fetch_source mpich '*/test/mpi/*') || skip_all "MPICH's sources are not to be had: $reason"
sources=$cache/mpich/test/mpi

# What the suite's configure would have found on any system with this project's requirements.
settings() {
  printf '#define HAVE_%s 1\n' LONG_LONG LONG_DOUBLE STDLIB_H STDARG_H STDINT_H INTTYPES_H STRING_H STRDUP UNISTD_H SYS_TIME_H \
    SYS_TYPES_H SYS_STAT_H SYS_RESOURCE_H GETRUSAGE USLEEP LIMITS_H MEMORY_H PTHREAD_H
  printf '#define %s\n' 'THREAD_PACKAGE_NAME THREAD_PACKAGE_POSIX' 'POINTERINT_t long'
}

compiled() { # compiled MPI OPTION...: with that MPI's compiler; Open MPI's header lacks names of MPI 1 that one of the suite's has
  "mpicc.$1" -w -O1 -g -DOMPI_OMIT_MPI1_COMPAT_DECLS=0 -I"$cache/include" -I"$cache/include/dtpools" -I"$sources/include" \
    -I"$sources/dtpools/include" -I"$sources/util" "${@:2}"
}

build_common() ( # build_common MPI: what all programs are linked with
  mkdir -p "$cache/include/dtpools" "$cache/$1"
  settings > "$cache/include/mpitestconf.h"
  settings > "$cache/include/dtpoolsconf.h"
  cd "$cache/$1" && [ ! -e common.a ] || exit 0
  compiled "$1" -c "$sources"/util/mtest.c "$sources"/util/mtest_common.c "$sources"/util/mtest_thread.c "$sources"/dtpools/src/*.c &&
    ar rc common.a ./*.o
)

build_program() { # build_program MPI NAME: NAME is FOLDER/PROGRAM
  local program=$cache/$1/${2##*/} options=() files=("$sources/$2.c")
  [ ! -x "$program" ] || return 0
  case $2 in
    */mt_bsendrecv_huge) options=(-DHUGE_COUNT -DBSEND) ;;
    */mt_ibsendirecv_huge) options=(-DHUGE_COUNT -DNONBLOCKING -DIBSEND) ;;
  esac
  case $2 in
    threads/pt2pt/mt_*) files=("$sources"/threads/pt2pt/mt_{pt2pt_common,sendrecv_impl}.c) ;;
  esac
  compiled "$1" "${options[@]}" "${files[@]}" "$cache/$1/common.a" -lpthread -lm -o "$program"
}

job() ( # job MPI LIST RANKS NAME ARGUMENT...: in the programs' folder, from which some start new processes
  cd "$cache/$1" || exit 1
  export OMPI_MCA_mpi_yield_when_idle=1 # more processes than processors
  verity_env "$2"
  case ,$2 in
    *,v*) LD_PRELOAD="$LD_PRELOAD${interposers:+:$interposers}" ;;
    *) unset LD_PRELOAD UCX_MODULE_DIR UCX_PLUGIN_PATH ;;
  esac
  within 60 "mpirun.$1" -np "$3" "./${4##*/}" "${@:5}" 2>&1 < /dev/null
)
# "No Errors" and nothing else, but for what a launcher that was too busy says itself: see ended_well.
content() { # content STATUS
  ended_well "$1" 'No Errors' && ! sed '/^-----/,$d' "$tap_dir/job" | grep -Evq '^ *No Errors$|^$'
}

# passes ITEM TIMES MPI LIST RANKS NAME ARGUMENT...: "No Errors" and nothing else, each time; skipped where stock is not content.
passes() {
  local title="$1: $6 ${*:7}, $3, $5 ranks over $4" status count
  build_program "$3" "$6" > "$tap_dir/made" 2>&1 || { tap_result 1 "$title"; note "$(cat "$tap_dir/made")"; return; }
  for ((count = 0; count < $2; count++)); do
    status=0
    job "${@:3}" > "$tap_dir/job" || status=$?
    content "$status" && continue
    cp "$tap_dir/job" "$tap_dir/wrong"
    for _ in 1 2 3; do
      job "$3" "$(sed -E 's/(^|,)v/\1/g' <<< "$4")" "${@:5}" > "$tap_dir/job" && content 0 && continue
      skip "$title" "stock UCX: $(tail -n 1 "$tap_dir/job")"
      return
    done
    tap_result 1 "$title"
    note "run $((count + 1)), exit status $status; stock passes"
    note "$(tail -n 30 "$tap_dir/wrong")"
    return
  done
  tap_result 0 "$title"
}

# A machine that stalls for a second makes a link send a frame twice, and then report it: no difference between the programs.
export UCX_VERITY_ATTEST=never
chosen=$("$build/ucx-verity" env --shell sh | sed -n 's/^export UCX_TLS=\(.*\);$/\1/p') # as for users who choose nothing
for launcher in $openmpi $mpich; do
  mpi=$(flavour "$launcher")
  build_common "$mpi" > "$tap_dir/made" 2>&1 || { tap_result 1 "$mpi: the suite's own functions"; note "$(cat "$tap_dir/made")"; continue; }
  if [ "$mpi" = openmpi ] || long_form; then # MPICH never yields: a minute on two processors
    passes "a later put stays behind a get" 1 "$mpi" vtcp 4 rma/reqops
    passes "a later put stays behind a get" 1 "$mpi" vtcp 4 rma/flush
    passes "a later put stays behind a get" 1 "$mpi" vposix,vself 4 rma/reqops
  fi
  passes "reads are there when their request is" 1 "$mpi" "$chosen" 4 rma/req_example
  passes "reads are there when their request is" 1 "$mpi" "$chosen" 2 rma/rget_testall
  passes "a job ends" "$(normal_or_long 2 40)" "$mpi" vtcp 8 coll/allred3
  if [ "$mpi" = openmpi ]; then
    passes "a job ends, and UCX prints no error" "$(normal_or_long 3 20)" "$mpi" vposix,vself 16 coll/icgatherv
    export UCX_POSIX_RX_BUFS_GROW=8 # a last frame then needs a buffer that was not mapped before
    passes "a job ends, and UCX prints no error" 3 "$mpi" vposix,vself 16 coll/icgatherv
    unset UCX_POSIX_RX_BUFS_GROW
  fi
  for name in win_shared win_shared_noncontig win_shared_zerobyte; do
    passes "shared windows" 1 "$mpi" "$chosen" 4 "rma/$name"
  done
done
if [ -n "$openmpi" ]; then
  passes "a job with new processes ends" 1 openmpi vtcp 10 spawn/spawn_rootargs
  export UCX_NET_DEVICES=lo # over several devices an acknowledgement may come after the barrier: see mpi_buffered.sh
  passes "buffered sends" 2 openmpi vtcp 2 threads/pt2pt/mt_bsendrecv_huge -iter=8 -count=65536
  passes "buffered sends" 2 openmpi vtcp 2 threads/pt2pt/mt_ibsendirecv_huge -iter=8 -count=65536
  unset UCX_NET_DEVICES
fi
if [ -n "$mpich" ]; then
  passes "sessions without MPI_Init" 1 mpich vtcp 2 init/session
  interposers=$(interposer_for "$mpich")
  export UCX_VERITY_TYPECHECK=warn
  passes "sessions without MPI_Init, with the datatype checks" 1 mpich vtcp 2 init/session
  passes "persistent collectives, with the datatype checks" 2 mpich "$chosen" 6 coll/p_allred
fi
done_testing

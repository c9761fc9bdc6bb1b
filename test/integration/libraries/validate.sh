#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# verity_validate_*() under each MPI: buffers that differ between ranks are found and repaired, in one round, with few bytes.
# VERITY_TEST_LONG=1: larger buffers, 64 ranks.
. "${abs_top_srcdir:?}/test/tap.sh"
[ -z "${VERITY_SANITIZERS:-}" ] || skip_all "a library with sanitizers does not load into stock programs"

export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_mpi_yield_when_idle=1
export OMPI_MCA_pml=ob1 OMPI_MCA_btl=self,vader
export LD_LIBRARY_PATH=$abs_top_builddir/.libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
ranks=8
[ "${VERITY_TEST_LONG:-0}" = 0 ] || ranks=64

for mpi in openmpi mpich; do
  library=$abs_top_builddir/.libs/libverity_validate_$mpi.so
  [ -e "$library" ] || { skip "$mpi" "its library is not built: no $mpi when this was configured"; continue; }
  mpicc=$(command -v mpicc.$mpi || true)
  [ -n "$mpicc" ] || { skip "$mpi" "no mpicc.$mpi"; continue; }
  ok "$mpi: the library needs no MPI of its own" [ "$(objdump -p "$library" | grep -c 'NEEDED.*lib[op]*mpi')" -eq 0 ]
  is "$mpi: it exports the interface alone" "$(nm -D --defined-only "$library" | awk '{ print $3 }' | grep -vc '^verity_validate_')" 0
  if ! $mpicc -O2 -Wall -Wextra -Werror -I"$abs_top_srcdir/include" -o "$tap_dir/$mpi" "$abs_top_srcdir/test/mpi/validate.c" \
    -L"$abs_top_builddir/.libs" "-lverity_validate_$mpi" > "$tap_dir/log" 2>&1; then
    ok "$mpi: a program compiles with it" false
    note "$(head -n 20 "$tap_dir/log")"
    continue
  fi
  run() { timeout 300 "mpirun.$mpi" -np "$1" "$tap_dir/$mpi" "${@:2}" 2>&1 < /dev/null; } # run RANKS MODE ARGUMENT...
  checked() { # checked RANKS MODE ARGUMENT...: all expectations hold, and every rank that prints has no wrong byte
    local output
    output=$(run "$@")
    contains "$mpi: $2 of $1 ranks${3:+, $3 MiB}${4:+, $4 damaged segments each}" "$output" "^$2: 0 wrong expectations\$"
    lacks "$mpi: $2 of $1 ranks: nothing stays wrong" "$output" ', [1-9][0-9]* wrong$'
    ! grep -q WRONG <<< "$output" || note "$(grep WRONG <<< "$output" | head -n 8)"
  }
  # 256 MiB with 1,000 damaged segments of 8 KiB: one round, and no more than they are.
  contains "$mpi: 1,000 damaged segments of 256 MiB are repaired in one round, and nothing else is sent again" "$(run 2 p2p 256 1000)" \
    '^p2p rank 1: 268435533 bytes, 1000 damaged, 1 rounds, 8192000 sent again, 0 wrong$'
  checked 2 p2p 1 0
  checked 2 types
  checked 3 ring
  checked 2 errors
  checked 4 bcast 3 20
  checked "$ranks" allgather 0.3 7
done
done_testing

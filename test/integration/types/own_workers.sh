#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# A program's own use of UCP beside MPI: its workers pass the checks of datatypes untouched, in whichever thread and whenever they are
# made, and MPI's messages are checked all the same.
. "${abs_top_srcdir:?}/test/integration/lib.sh"
[ -n "$openmpi$mpich" ] || skip_all "neither Open MPI nor an MPICH on UCX"

export UCX_VERITY_TYPECHECK=warn UCX_VERITY_ATTEST=always
for launcher in $openmpi $mpich; do
  case $launcher in "$mpich") mpi=MPICH compiler=mpicc.mpich ;; *) mpi="Open MPI" compiler=${MPICC:-mpicc} ;; esac
  # shellcheck disable=SC2046 # words
  $compiler -w -O2 -g $(made UCX_CPPFLAGS) -o "$tap_dir/$(flavour "$launcher")-own_workers" \
    "$abs_top_srcdir/test/mpi/threading/own_workers.c" $(made UCX_LIBS) -lpthread || exit 1
  for list in vposix,vself vtcp,vself; do
    for how in before destroyed "thread 1" "thread 3" "earlier 1"; do
      name="$mpi, $list, own workers: $how"
      # shellcheck disable=SC2086 # words
      typechecked 90 "$launcher" 2 $list own_workers $how > "$tap_dir/job"
      contains "$name: it ends" "$(cat "$tap_dir/job")" '^own workers done$'
      is "$name: what is reported" "$(grep -c 'mismatch in' "$tap_dir/job")" 1
      contains "$name: MPI's messages are all checked" "$(cat "$tap_dir/job")" 'rank 1: datatypes of [1-9][0-9]* messages checked, 1 mismatched; 0 not checked$'
    done
  done
done

done_testing

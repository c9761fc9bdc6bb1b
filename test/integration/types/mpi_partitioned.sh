#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Partitioned communication: MPI_Psend_init and the MPI_Precv_init that it meets are compared, however many partitions and starts; right
# ones are silent. With MPICH, whose MPI_Psend_init sends a message of its own.
. "${abs_top_srcdir:?}/test/integration/lib.sh"
[ -n "$mpich" ] || skip_all "no MPICH on UCX"
typechecked 60 "$mpich" 2 vposix,vself partitioned right > "$tap_dir/job"
! grep -q '^partitioned none' "$tap_dir/job" || skip_all "this MPICH has no partitioned communication"

export UCX_VERITY_TYPECHECK=error UCX_VERITY_ATTEST=always
for list in vposix,vself vtcp,vself; do
  for protocols in n y; do
    export UCX_PROTO_ENABLE=$protocols
    name="$list, protocols v2 $protocols"
    typechecked 60 "$mpich" 3 "$list" partitioned wrong > "$tap_dir/job"
    contains "$name: each mismatch is reported" "$(cat "$tap_dir/job")" '^partitioned wrong cases 24 expected 30 failed 0 wrong values 0$'
    contains "$name: none is left out" "$(cat "$tap_dir/job")" '^ucx-verity: rank 0: datatypes of 36 messages checked, 30 mismatched; 0 not checked$'
    contains "$name: by both calls" "$(tr '\n' ' ' < "$tap_dir/job")" \
      "sent:        100 x MPI_INT +by MPI_Psend_init in [^)]*partitioned.c:[0-9]+\\)   received as: 100 x MPI_FLOAT +by MPI_Precv_init in [^)]*partitioned.c:[0-9]+\\)"
    typechecked 60 "$mpich" 3 "$list" partitioned right > "$tap_dir/job"
    contains "$name: right ones" "$(cat "$tap_dir/job")" '^partitioned right cases 24 expected 0 failed 0 wrong values 0$'
    contains "$name: are compared too" "$(cat "$tap_dir/job")" '^ucx-verity: rank 0: datatypes of 36 messages checked, 0 mismatched; 0 not checked$'
  done
done
# While the one to rank 1 waits for its connection, the library sends messages of its own to rank 2.
for protocols in n y; do
  UCX_PROTO_ENABLE=$protocols typechecked 60 "$mpich" 3 vtcp,vself psend_waits > "$tap_dir/job"
  contains "one that waits, protocols v2 $protocols" "$(cat "$tap_dir/job")" '^psend_waits wrong values 0$'
  is "is compared where it arrives" "$(grep -c ': datatypes of [1-3] messages checked, 0 mismatched; 0 not checked$' "$tap_dir/job")" 3
done
unset UCX_PROTO_ENABLE
UCX_VERITY_TYPECHECK=warn typechecked 60 "$mpich" 2 vposix,vself refused partitioned > "$tap_dir/job"
contains "in a communicator that is not freed: it ends" "$(cat "$tap_dir/job")" '^refused done$'
lacks "in a communicator that is not freed: MPI refuses it" "$(cat "$tap_dir/job")" '^rank 1: freed$'
is "in a communicator that is not freed: nothing is reported" "$(grep -c 'mismatch in' "$tap_dir/job")" 0
UCX_VERITY_TYPECHECK=warn typechecked 60 "$mpich" 2 vposix,vself refused beside > "$tap_dir/job"
contains "one that is refused beside another thread's: it ends" "$(cat "$tap_dir/job")" '^refused done$'
contains "one that is refused beside another thread's: the others are compared" "$(cat "$tap_dir/job")" \
  '^ucx-verity: rank 1: datatypes of 3 messages checked, 0 mismatched; 0 not checked$'
UCX_VERITY_TYPECHECK_DIGEST=y typechecked 60 "$mpich" 2 vposix,vself partitioned right > "$tap_dir/job"
contains "beside digests" "$(cat "$tap_dir/job")" '^ucx-verity: rank 0: datatypes of 36 messages checked, 0 mismatched; 0 not checked$'

done_testing

#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The end-to-end digest of messages: a buffer that changes while it is sent is reported, of every kind of datatype; correct programs are not.
. "${abs_top_srcdir:?}/test/integration/lib.sh"
[ -n "$openmpi$mpich" ] || skip_all "neither Open MPI nor an MPICH on UCX"

export UCX_VERITY_TYPECHECK_DIGEST=y UCX_RNDV_THRESH=32k

for launcher in $openmpi $mpich; do
  case $launcher in "$mpich") mpi=MPICH ;; *) mpi="Open MPI" ;; esac
  export UCX_VERITY_TYPECHECK=error UCX_VERITY_ATTEST=always
  for list in vposix,vself vtcp,vself; do
    typechecked 100 "$launcher" 2 $list digest > "$tap_dir/job"
    contains "$mpi, $list: reported when the data changed, and only then" "$(cat "$tap_dir/job")" \
      '^digest messages [0-9]+ changed ([1-9][0-9]+) reported \1 wrong 0$'
    typechecked 100 "$launcher" 2 $list digest shared > "$tap_dir/job"
    contains "$mpi, $list: nothing is reported of receives into one buffer" "$(cat "$tap_dir/job")" '^digest shared reported 0$'
    typechecked 100 "$launcher" 2 $list types right > "$tap_dir/job"
    twins "$mpi, $list: correct programs" "$launcher" "${list//v/}"
    contains "$mpi, $list: are compared" "$(cat "$tap_dir/job")" 'data of [1-9][0-9]+ messages compared end to end, 0 differed$'
  done
  if storm_or_stock "$mpi: a storm of wildcards and cancels" "$launcher" 30 4; then
    contains "$mpi: is compared" "$(cat "$tap_dir/job")" 'data of [1-9][0-9]+ messages compared end to end, 0 differed$'
  fi
  typechecked 100 "$launcher" 2 vposix,vself early_ends 60 20000000 > "$tap_dir/job"
  contains "$mpi: receives that end in another thread" "$(cat "$tap_dir/job")" '^wrong 0$'
  contains "$mpi: are compared, before the buffer changes" "$(cat "$tap_dir/job")" 'data of [1-9][0-9]+ messages compared end to end, 0 differed$'
  typechecked 100 "$launcher" 3 vtcp,vself mixed -n 1000 > "$tap_dir/job"
  contains "$mpi: mixed messages" "$(cat "$tap_dir/job")" '^messages [0-9]+ wrong 0 lost 0 repeated 0 reordered 0'
  is "$mpi: without a difference" "$(grep -c 'compared end to end, 0 differed$' "$tap_dir/job")" 3

  export UCX_VERITY_TYPECHECK=warn
  typechecked 60 "$launcher" 2 vposix,vself digest scribble > "$tap_dir/job"
  contains "$mpi: both sides, by place" "$(tr '\n' ' ' < "$tap_dir/job")" \
    'data mismatch in a message from rank 1 to rank 0 \(MPI_COMM_WORLD, tag 1\)   sent:        [0-9]+ x MPI_BYTE +by MPI_Isend in one \([^)]*digest.c:[0-9]+\)   received as: [0-9]+ x MPI_BYTE +by MPI_Recv in one \([^)]*digest.c:[0-9]+\)   difference:  [0-9]+ bytes arrived that are not those'
  UCX_VERITY_TYPECHECK_DIGEST=n typechecked 60 "$launcher" 2 vposix,vself digest scribble > "$tap_dir/job"
  is "$mpi: not unless it is asked for" "$(grep -c 'data mismatch' "$tap_dir/job")" 0
  typechecked 60 "$launcher" 2 vposix,vself digest refused > "$tap_dir/job"
  contains "$mpi: what MPI refuses to send is not read" "$(cat "$tap_dir/job")" '^digest refused 8 of 8$'
  unset UCX_VERITY_TYPECHECK UCX_VERITY_ATTEST
done
[ -n "$mpich" ] || skip "MPICH" "no MPICH on UCX"

done_testing

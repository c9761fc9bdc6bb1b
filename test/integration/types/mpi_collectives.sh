#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Collective operations that do not match are reported where their messages arrive, even when the job then hangs; correct ones are not.
. "${abs_top_srcdir:?}/test/integration/lib.sh"
[ -n "$openmpi$mpich" ] || skip_all "neither Open MPI nor an MPICH on UCX"

export UCX_VERITY_TYPECHECK=warn

# Told of rank 1 against another one, by calls and difference: regular expressions.
reported() { # reported NAME LAUNCHER OPERATION KIND CALL OTHER DIFFERENCE
  typechecked 60 "$2" 3 vposix,vself collectives wrong "$3" "$4" > "$tap_dir/job"
  contains "$1: $3, $4" "$(tr '\n' ' ' < "$tap_dir/job")" \
    "mismatch in a collective operation \\(ring, call 1\\)   rank [012] +($5|$6) +in [^ ]+ \\([^ ]*collectives.c:[0-9]+\\)   rank [012] +($5|$6) +in [^ ]+ \\([^ ]*collectives.c:[0-9]+\\)   difference: $7"
}

for launcher in $openmpi $mpich; do
  case $launcher in "$mpich") mpi=MPICH ;; *) mpi="Open MPI" ;; esac
  for list in vposix,vself vtcp,vself; do
    UCX_VERITY_ATTEST=always typechecked 100 "$launcher" 3 $list collectives right > "$tap_dir/job"
    contains "$mpi, $list: correct programs" "$(cat "$tap_dir/job")" '^collectives right [0-9]+ calls$'
    contains "$mpi, $list: their calls are compared" "$(cat "$tap_dir/job")" 'datatypes of [1-9][0-9]+ messages checked, 0 mismatched'
    is "$mpi, $list: and nothing is said of them" "$(grep -c 'mismatch in' "$tap_dir/job")" 0
  done

  typechecked 60 "$launcher" 3 vposix,vself collectives types > "$tap_dir/job"
  contains "$mpi: with other types it runs" "$(cat "$tap_dir/job")" '^collectives types [0-9]+ calls$'
  typechecked 60 "$launcher" 3 vposix,vself collectives types persistent > "$tap_dir/persistent"
  contains "$mpi: persistent ones with other types run" "$(cat "$tap_dir/persistent")" '^collectives types [0-9]+ calls$'
  for call in Bcast Reduce Allreduce Scan Exscan Reduce_scatter_block Reduce_scatter Gather Scatter Allgather Alltoall Gatherv \
    Scatterv Allgatherv Alltoallv Alltoallw Neighbor_allgather Neighbor_alltoall; do
    contains "$mpi: MPI_$call with another type" "$(grep -A 5 'mismatch in' "$tap_dir/job" | tr '\n' ' ')" \
      "MPI_$call \\([^)]*MPI_(FLOAT|INT)[^)]*\\) +in [^ ]+ [^ ]+   rank . +MPI_$call \\([^)]*MPI_(FLOAT|INT)[^)]*\\)"
  done
  # Those that send at once when they are started, in both libraries.
  for call in Bcast Allreduce Scan Exscan Reduce_scatter_block Reduce_scatter Gather Alltoall Gatherv Scatterv Alltoallv Alltoallw \
    Neighbor_allgather Neighbor_alltoall; do
    contains "$mpi: MPI_${call}_init with another type" "$(grep -A 5 'mismatch in' "$tap_dir/persistent" | tr '\n' ' ')" \
      "MPIX?_${call}_init \\([^)]*MPI_(FLOAT|INT)[^)]*\\) +in [^ ]+ [^ ]+   rank . +MPIX?_${call}_init \\([^)]*MPI_(FLOAT|INT)[^)]*\\)"
  done

  reported "$mpi" "$launcher" bcast root "MPI_Bcast \\(root 0\\)" "MPI_Bcast \\(root 1\\)" "another root"
  reported "$mpi" "$launcher" reduce reduction "MPI_Reduce \\(MPI_SUM, root 0\\)" "MPI_Reduce \\(MPI_MAX, root 0\\)" "another reduction"
  reported "$mpi" "$launcher" allreduce reduction "MPI_Allreduce \\(MPI_SUM\\)" "MPI_Allreduce \\(MPI_MAX\\)" "another reduction"
  reported "$mpi" "$launcher" allreduce operation "MPI_Allreduce \\(MPI_SUM\\)" "MPI_Scan \\(MPI_SUM\\)" "another operation"
  reported "$mpi" "$launcher" allgather operation "MPI_Allgather" "MPI_Alltoall" "another operation"
  reported "$mpi" "$launcher" barrier operation "MPI_Barrier" "MPI_Bcast \\(root 0\\)" "another operation"
  reported "$mpi" "$launcher" alltoall form "MPI_Alltoall" "MPI_Ialltoall" "another operation"
  reported "$mpi" "$launcher" allgather count "MPI_Allgather \\(8 x MPI_INT\\)" "MPI_Allgather \\(4 x MPI_INT\\)" ".*4.*8|.*8.*4"

  typechecked 60 "$launcher" 2 vposix,vself mismatch reduction > "$tap_dir/job"
  contains "$mpi: calls that differ count as compared" "$(cat "$tap_dir/job")" 'rank 0: datatypes of 1 messages checked, 1 mismatched;'
  typechecked 60 "$launcher" 2 vposix,vself mismatch symmetric > "$tap_dir/job"
  is "$mpi: two ranks that hear of each other report once" "$(grep -c 'mismatch in' "$tap_dir/job")" 1
  typechecked 60 "$launcher" 2 vposix,vself mismatch scans > "$tap_dir/job"
  is "$mpi: of the scans, too" "$(grep -c 'mismatch in' "$tap_dir/job")" 2
  for late in 0 1; do
    typechecked 60 "$launcher" 2 vposix,vself mismatch behind "$late" > "$tap_dir/job"
    is "$mpi: so they do where rank $late comes late" "$(grep -c 'mismatch in' "$tap_dir/job")" 4
  done
  typechecked 60 "$launcher" 2 vposix,vself mismatch turns > "$tap_dir/job"
  is "$mpi: and where they come late by turns" "$(grep -c 'mismatch in' "$tap_dir/job")" 1
  typechecked 60 "$launcher" 2 vposix,vself mismatch one_way > "$tap_dir/job"
  is "$mpi: what only the second one can find is reported" "$(grep -c 'mismatch in' "$tap_dir/job")" 2
  typechecked 60 "$launcher" 2 vposix,vself mismatch again > "$tap_dir/job"
  is "$mpi: in a communicator with the number of those of nonblocking operations that were complete" "$(grep -c 'mismatch in' "$tap_dir/job")" 1
  if [ "$launcher" != "$mpich" ]; then
    typechecked 60 "$launcher" 2 vposix,vself mismatch many > "$tap_dir/job"
    is "$mpi: beside very many communicators, and where these were freed" "$(grep -c 'mismatch in' "$tap_dir/job")" 2
  fi
  typechecked 60 "$launcher" 2 vposix,vself mismatch early > "$tap_dir/job"
  contains "$mpi: calls that others have made long before" "$(cat "$tap_dir/job")" 'rank 1: datatypes of 3001 messages checked, 1000 mismatched; 0 not'
  typechecked 60 "$launcher" 2 vposix,vself mismatch outstanding > "$tap_dir/job"
  is "$mpi: the first one of many that are under way" "$(grep -c 'mismatch in' "$tap_dir/job")" 1
  typechecked 60 "$launcher" 2 vposix,vself mismatch short return > "$tap_dir/job"
  is "$mpi: a call that failed when it had begun counts: no later one is reported" "$(grep -c 'mismatch in' "$tap_dir/job")" 1
  UCX_VERITY_TYPECHECK=error typechecked 60 "$launcher" 2 vposix,vself mismatch handler > "$tap_dir/job"
  contains "$mpi: the communicator's error handler is called, not MPI_COMM_WORLD's" "$(cat "$tap_dir/job")" '^rank 1 errors own 1 world 0$'

  for how in free disconnect world jump; do
    typechecked 60 "$launcher" 2 vposix,vself refused $how > "$tap_dir/job"
    contains "$mpi: a communicator that is not freed, $how: it ends" "$(cat "$tap_dir/job")" '^refused done$'
    # Open MPI refuses no MPI_Comm_disconnect, and goes on with the communicator.
    [ "$how $launcher" = "disconnect $openmpi" ] ||
      lacks "$mpi: a communicator that is not freed, $how: MPI refuses it" "$(cat "$tap_dir/job")" '^rank [01]: (freed|not left)$'
    is "$mpi: a communicator that is not freed, $how: nothing is reported" "$(grep -c 'mismatch in' "$tap_dir/job")" 0
  done

  typechecked 60 "$launcher" 3 vposix,vself collectives groups > "$tap_dir/job"
  contains "$mpi: between two groups" "$(cat "$tap_dir/job")" '^collectives groups right$'
  if [ "$launcher" = "$mpich" ]; then
    is "$mpi: which are not compared" "$(grep -c 'mismatch in' "$tap_dir/job")" 0
  else
    # Open MPI 6 can do it over UCX, and numbers such a communicator in each process by itself: the interposer's rule, where a library
    # stands for that.
    ${MPICC:-mpicc} -w -O2 -DLIBRARY -shared -fPIC -o "$tap_dir/from_group.so" "$abs_top_srcdir/test/mpi/datatypes/from_group.c" &&
      ${MPICC:-mpicc} -w -O2 -o "$tap_dir/openmpi-from_group" "$abs_top_srcdir/test/mpi/datatypes/from_group.c" "$tap_dir/from_group.so"
    for how in 0 1; do
      interposers="$(interposer_for "$launcher"):$tap_dir/from_group.so" \
        typechecked 60 "$launcher" 2 vposix,vself from_group "$how" > "$tap_dir/from_group"
      contains "$mpi: MPI_Comm_create_from_group, or a copy ($how): ends well" "$(cat "$tap_dir/from_group")" '^from group done$'
      is "$mpi: MPI_Comm_create_from_group, or a copy ($how): what is reported" "$(grep -c 'mismatch in' "$tap_dir/from_group")" "$how"
    done
    contains "$mpi: another operation in one of them" "$(tr '\n' ' ' < "$tap_dir/job")" \
      "mismatch in a collective operation \\(between, call 41\\)   rank [012] +MPI_All(gather|reduce \\(MPI_MAX\\)) .* difference: another operation"
    lacks "$mpi: each may have its own reduction" "$(cat "$tap_dir/job")" 'another reduction'
  fi
done

done_testing

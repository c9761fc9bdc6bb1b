#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Datatypes that do not match are told by the preloaded companion, whatever the MPI call, in words that help; their corrected
# twins are not.
. "${abs_top_srcdir:?}/test/integration/lib.sh"
[ -n "$openmpi$mpich" ] || skip_all "neither Open MPI nor an MPICH on UCX"

# All companions that there are: each has to leave the other MPI's processes alone.
companions=
for name in mpich openmpi; do
  [ ! -e "$build/.libs/libverity_mpi_$name.so" ] || companions=${companions:+$companions:}$build/.libs/libverity_mpi_$name.so
done

# Compiled as a user does; mpif.h of Open MPI has no interfaces, which gfortran wants to be told.
fortran_program() { # fortran_program LAUNCHER NAME
  local compiler
  compiler=mpifort.$(flavour "$1")
  command -v $compiler > /dev/null || { echo "$compiler is not there"; return 1; }
  $compiler -fallow-argument-mismatch -w -g -O1 -o "$tap_dir/$(flavour "$1")-$2" "$abs_top_srcdir/test/mpi/$2.f90"
}

# Every operation with every kind. With errors each mismatch counts, so that none can hide behind another.
matrix() { # matrix NAME LAUNCHER LIST
  local name=$1 launcher=$2 list=$3
  export UCX_VERITY_TYPECHECK=error
  typechecked 100 "$launcher" 2 "$list" types wrong > "$tap_dir/job"
  contains "$name: each mismatch is told" "$(grep '^types wrong messages' "$tap_dir/job")" \
    '^types wrong messages ([0-9]+) errors \1 failed 0 others 0$'
  typechecked 100 "$launcher" 2 "$list" types right > "$tap_dir/job"
  contains "$name: the corrected twins are not" "$(cat "$tap_dir/job")" '^types right messages [0-9]+ errors 0 failed 0 others 0$'
  is "$name: and nothing is said of them" "$(grep -c ucx-verity: "$tap_dir/job")" 0
}

# words NAME LAUNCHER OPERATION KIND SENT RECEIVED DIFFERENCE [WHERE]: regular expressions of the report's lines.
words() {
  local name=$1 launcher=$2 operation=$3 kind=$4 line where=${8:-MPI_COMM_WORLD, tag [0-9]+}
  export UCX_VERITY_TYPECHECK=warn
  typechecked 60 "$launcher" 2 vposix,vself types wrong "$operation" "$kind" > "$tap_dir/job"
  for line in "^ucx-verity: datatype mismatch in a message from rank [01] to rank 0 \\($where\\)$" \
    "^  sent:        $5$" "^  received as: $6$" "^  difference:  $7$"; do
    contains "$name: $operation, $kind: $line" "$(cat "$tap_dir/job")" "$line"
  done
}

for launcher in $openmpi $mpich; do
  case $launcher in "$mpich") mpi=MPICH ;; *) mpi="Open MPI" ;; esac
  for list in vposix,vself vtcp,vself; do
    matrix "$mpi, $list" "$launcher" "$list"
  done
  words "$mpi" "$launcher" send "another class" "100 x MPI_INT" "100 x MPI_FLOAT" \
    "element 1 is MPI_INT at the sender and MPI_FLOAT at the receiver.*"
  words "$mpi" "$launcher" isend "another size" "10 x MPI_DOUBLE" "20 x MPI_FLOAT" "element 1 .*"
  words "$mpi" "$launcher" irecv "order in a structure" "3 x \\{MPI_INT, 2 x MPI_DOUBLE\\}" \
    "4 x \\{MPI_DOUBLE, 2 x MPI_INT\\}" ".*"
  words "$mpi" "$launcher" mprobe "a pair as another" "3 x \\{MPI_DOUBLE, MPI_INT\\}" "3 x \\{MPI_LONG, MPI_INT\\}" ".*"
  words "$mpi" "$launcher" startall "blocks" "14 x MPI_INT" "14 x MPI_UNSIGNED" "element 1 .*"
  words "$mpi" "$launcher" other_comm "a subarray" "12 x MPI_INT" "12 x MPI_FLOAT" "element 1 .*" "ocean, tag [0-9]+"
  contains "$mpi: the receiving call by file and line" "$(cat "$tap_dir/job")" "by MPI_Recv in other_comm \\(.*types_p2p.c:[0-9]+\\)"
  contains "$mpi: the sending call by file and line" "$(cat "$tap_dir/job")" "by MPI_Send in other_comm \\(.*types_p2p.c:[0-9]+\\)"
  words "$mpi" "$launcher" any "unsigned" "3 x MPI_UNSIGNED" "3 x MPI_INT" "element 1 .*" "MPI_COMM_WORLD, MPI_ANY_TAG"

  UCX_VERITY_TYPECHECK=warn typechecked 60 "$launcher" 2 vposix,vself types wrong get "another class" > "$tap_dir/job"
  contains "$mpi: MPI_Get" "$(tr '\n' ' ' < "$tap_dir/job")" \
    'mismatch in MPI_Get by rank 0 from rank 1 \(halo\)   target:      100 x MPI_FLOAT   origin:      100 x MPI_INT .* at the origin'

  # Fortran: by its types, and by the place in the Fortran file.
  for program in types_fortran types_fortran08; do
    if ! fortran_program "$launcher" $program > "$tap_dir/compile" 2>&1; then
      skip "$mpi: $program" "no Fortran compiler for it: $(tail -n 1 "$tap_dir/compile")"
      continue
    fi
    UCX_VERITY_TYPECHECK=warn typechecked 60 "$launcher" 2 vposix,vself $program wrong > "$tap_dir/job"
    contains "$mpi: $program: the mismatch" "$(tr '\n' ' ' < "$tap_dir/job")" \
      "sent:        100 x MPI_INTEGER                by MPI_I?[Ss]end in MAIN__ \([^)]*$program.f90:[0-9]+\)   received as: 100 x MPI_REAL                by MPI_Recv in MAIN__ \([^)]*$program.f90:[0-9]+\)"
    UCX_VERITY_TYPECHECK=warn typechecked 60 "$launcher" 2 vposix,vself $program right > "$tap_dir/job"
    is "$mpi: $program: its twin" "$(cat "$tap_dir/job")" "types_fortran done"
  done

  # Once for each pair of places, with a sum at the end.
  typechecked 60 "$launcher" 2 vposix,vself types wrong send > "$tap_dir/job"
  contains "$mpi: sums at the end" "$(cat "$tap_dir/job")" "^ucx-verity: rank 0: datatypes of [0-9]+ messages checked, [0-9]+ mismatched; 0 not checked"

  UCX_VERITY_TYPECHECK_LOG=$tap_dir/log typechecked 60 "$launcher" 2 vposix,vself types wrong send "another class" > "$tap_dir/job"
  is "$mpi: a line of JSON" "$(wc -l < "$tap_dir/log")" 1
  contains "$mpi: with both sides" "$(cat "$tap_dir/log")" \
    '"sender":\{"rank":1,"call":"MPI_Send","site":"[^"]*","type":"100 x MPI_INT"\},"receiver":\{"rank":0,"call":"MPI_Recv",'
  rm -f "$tap_dir/log"

  # Types that change with each message: a signature that is given to another message would show.
  export UCX_VERITY_TYPECHECK=error UCX_VERITY_ATTEST=always
  for threads in 1 4; do
    typechecked 100 "$launcher" 3 vposix,vself storm -n "$(normal_or_long 30 3000)" -t $threads > "$tap_dir/job"
    contains "$mpi, $threads threads: each message has its own signature" "$(cat "$tap_dir/job")" '^storm messages [0-9]+ errors 0$'
    is "$mpi, $threads threads: and each is checked" \
      "$(grep -cE '^ucx-verity: rank [0-2]: datatypes of [0-9]+ messages checked, 0 mismatched; 0 not checked$' "$tap_dir/job")" 3
  done
  # Others' programs, on the same terms.
  typechecked 100 "$launcher" 3 vtcp,vself mixed -n 3000 > "$tap_dir/job"
  contains "$mpi: mixed messages pass" "$(cat "$tap_dir/job")" '^messages [0-9]+ wrong 0 lost 0 repeated 0 reordered 0'
  is "$mpi: no mismatch in them" "$(grep -c ', 0 mismatched' "$tap_dir/job")" 3
  unset UCX_VERITY_ATTEST

  UCX_VERITY_TYPECHECK=off typechecked 60 "$launcher" 2 vposix,vself types wrong send > "$tap_dir/job"
  is "$mpi: off: nothing is said" "$(grep -c ucx-verity: "$tap_dir/job")" 0
  UCX_VERITY_TYPECHECK=maybe typechecked 60 "$launcher" 2 vposix,vself types right send "another class" > "$tap_dir/job"
  contains "$mpi: a bad value is told" "$(cat "$tap_dir/job")" "UCX_VERITY_TYPECHECK=maybe: bad value; allowed: off, warn, error"
  unset UCX_VERITY_TYPECHECK
done
[ -n "$mpich" ] || skip "MPICH" "no MPICH on UCX"

# Harmless where there is no MPI.
export UCX_VERITY_TYPECHECK=error
is "a shell with the companions" "$(LD_PRELOAD=$companions bash -c 'echo fine' 2>&1)" fine

done_testing

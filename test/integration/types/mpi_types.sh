#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Datatypes that do not match are reported by the preloaded interposer, whatever the MPI call, in words that help; their corrected
# twins are not.
. "${abs_top_srcdir:?}/test/integration/lib.sh"
[ -n "$openmpi$mpich" ] || skip_all "neither Open MPI nor an MPICH on UCX"

# All interposers that there are: each has to leave the other MPI's processes alone.
interposers=
for name in mpich openmpi; do
  [ ! -e "$build/.libs/libverity_mpi_$name.so" ] || interposers=${interposers:+$interposers:}$build/.libs/libverity_mpi_$name.so
done

# Compiled as a user does; mpif.h of Open MPI has no interfaces, which gfortran has to accept by an option.
fortran_program() { # fortran_program LAUNCHER NAME
  local compiler
  compiler=mpifort.$(flavour "$1")
  command -v $compiler > /dev/null || { echo "$compiler is not there"; return 1; }
  $compiler -fallow-argument-mismatch -w -g -O1 -o "$tap_dir/$(flavour "$1")-$2" "$abs_top_srcdir/test/mpi/datatypes/$2.f90"
}

# exceptions NAME LAUNCHER: error handlers may throw, or end their thread.
exceptions() {
  local compiler
  compiler=mpicxx.$(flavour "$2")
  if ! command -v "$compiler" > /dev/null ||
    ! $compiler -w -g -O1 -o "$tap_dir/$(flavour "$2")-throws" "$abs_top_srcdir/test/mpi/datatypes/throws.cc" > "$tap_dir/compile" 2>&1; then
    skip "$1: exceptions" "no $compiler: $(tail -n 1 "$tap_dir/compile" 2> /dev/null)"
    return
  fi
  UCX_VERITY_TYPECHECK=error typechecked 60 "$2" 2 vposix,vself throws > "$tap_dir/job"
  contains "$1: an error handler may throw through a call" "$(cat "$tap_dir/job")" '^throws rank 1 caught 6 left 1$'
  contains "$1: and over a mismatch" "$(cat "$tap_dir/job")" '^throws rank 0 caught 8 left 1$'
  is "$1: calls that were left so count for nothing" "$(grep -c 'mismatch in a collective' "$tap_dir/job")" 0
  [ "$(flavour "$2")" != mpich ] ||
    is "$1: and over what is no handle" "$(grep -c '^throws rank [01] no handles 11 of 11$' "$tap_dir/job")" 2
}

# Every operation with every kind. With errors each mismatch counts, so that none can hide behind another.
matrix() { # matrix NAME LAUNCHER LIST
  local name=$1 launcher=$2 list=$3
  export UCX_VERITY_TYPECHECK=error
  typechecked 100 "$launcher" 2 "$list" types wrong > "$tap_dir/job"
  contains "$name: each mismatch is reported" "$(grep -o 'types wrong cases .*' "$tap_dir/job")" \
    '^types wrong cases [0-9]+ expected ([1-9][0-9]*) errors \1 failed 0 others 0$'
  typechecked 100 "$launcher" 2 "$list" types right > "$tap_dir/job"
  twins "$name: the corrected twins are not" "$launcher" "${list//v/}"
  is "$name: and nothing is said of them" "$(grep -c ucx-verity: "$tap_dir/job")" 0
}

# Which calls are named for each of the operations, in their order: the sender's and the receiver's, or the one-sided one; with these MPI
# libraries only.
named_calls() {
  cat << CALLS
Send Recv
Ssend Recv
Rsend Irecv
Bsend Recv
Isend Recv
Issend Recv
Irsend Irecv
Ibsend Recv
Send Irecv
Isend Irecv
Send Recv
Send_init Recv_init
Bsend_init, Recv
Bsend_init, Recv
Bsend_init, Irecv
Send_init Recv_init
Send Mrecv
Send Imrecv
Send Mrecv
Sendrecv Sendrecv
Sendrecv_replace Sendrecv_replace
Send Recv
Send Irecv openmpi
Send Recv
Send Recv_c mpich openmpi6
Isend Irecv_c mpich openmpi6
Isendrecv Isendrecv openmpi6
Send Recv
Send Recv
Send Irecv
Send Irecv
Send Recv
Send Recv
Send Irecv
Ssend Irecv
Isend Recv
Send_init Recv_init
Isend Irecv
Isend Irecv
Send Recv
Ssend Recv
Put
Get
Rput
Rget
Accumulate
Raccumulate
Get_accumulate
Get_accumulate
CALLS
}

# What the reports name: a line each.
calls_told() {
  awk '/^ucx-verity: datatype mismatch in MPI_/ { print $5 }
    /^  (sent|received as): / { sends = /^  sent/ }
    /^ +by MPI_/ { if (sends) sender = $2; else print sender, $2 }' "$1" | sed 's/MPI_//g'
}

# both_sides NAME LAUNCHER: each operation is reported with the calls and the types of both sides.
both_sides() {
  local flavour wanted release=
  flavour=$(flavour "$2")
  ! "$2" --version 2> /dev/null | grep -q '(Open MPI) [6-9]' || release=openmpi6 # MPI 4.1
  UCX_VERITY_TYPECHECK=warn typechecked 100 "$2" 2 vposix,vself types wrong all "another class" > "$tap_dir/job"
  wanted=$(named_calls | awk -v mpi="$flavour" -v release="$release" '
    { here = NF < 3; for (i = 3; i <= NF; ++i) here = here || $i == mpi || $i == release }
    here { print $1 ($2 == "" ? "" : " " $2) }')
  is "$1: the calls of both sides" "$(calls_told "$tap_dir/job")" "$wanted"
  is "$1: the types of both sides" \
    "$(grep -cE '^  (sent|origin): +100 x MPI_INT$' "$tap_dir/job") $(grep -cE '^  (received as|target): +(100|99) x MPI_FLOAT$' "$tap_dir/job")" \
    "$(wc -l <<< "$wanted") $(wc -l <<< "$wanted")"
}

# fortran NAME LAUNCHER PROGRAM: kinds and operations by Fortran's types, and by places in the Fortran file; the twin is silent.
fortran() {
  if ! fortran_program "$2" "$3" > "$tap_dir/compile" 2>&1; then
    skip "$1: $3" "no Fortran compiler for it: $(tail -n 1 "$tap_dir/compile")"
    return
  fi
  UCX_VERITY_TYPECHECK=warn typechecked 60 "$2" 2 vposix,vself "$3" wrong > "$tap_dir/job"
  is "$1: $3: the types of both sides" "$(sed -nE 's/^  (sent|received as): +[0-9]+ x MPI_//p' "$tap_dir/job" | head -n 14 | paste -s -d ' ')" \
    "INTEGER REAL REAL INTEGER DOUBLE_PRECISION COMPLEX LOGICAL INTEGER CHARACTER INTEGER1 INTEGER COMPLEX COMPLEX DOUBLE_PRECISION"
  is "$1: $3: the calls of both sides" "$(calls_told "$tap_dir/job" | tail -n 7 | paste -s -d ,)" \
    "Ssend Recv,Isend Irecv,Send_init Recv_init,Sendrecv Sendrecv,Bsend Recv,Send Mrecv,Sendrecv_replace Recv"
  is "$1: $3: each by its place" "$(grep -cE "^ +by MPI_[A-Z][a-z_]+ in [a-zA-Z_]+ \\([^)]*$3.f90:[0-9]+\\)\$" "$tap_dir/job")" 28
  UCX_VERITY_TYPECHECK=warn typechecked 60 "$2" 2 vposix,vself "$3" right > "$tap_dir/job"
  is "$1: $3: its twin" "$(cat "$tap_dir/job")" "types_fortran done"
}

line_of() { grep -n "$1(" "$abs_top_srcdir/test/mpi/datatypes/mismatch.c" | cut -d: -f1; } # line_of CALL: in mismatch.c

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
  UCX_VERITY_TYPECHECK_LEVEL=names matrix "$mpi, by names" "$launcher" vposix,vself
  both_sides "$mpi" "$launcher"
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
  words "$mpi" "$launcher" truncated "another class" "100 x MPI_INT" "99 x MPI_FLOAT" "element 1 .*"
  words "$mpi" "$launcher" cancelled "a part of a structure" "3 x MPI_SHORT" "5 x \\{2 x MPI_SHORT, 2 x MPI_CHAR\\}" "element 3 .*"
  words "$mpi" "$launcher" restarted "a pair as a structure" "3 x \\{MPI_FLOAT, MPI_INT\\}" "3 x \\{MPI_INT, MPI_FLOAT\\}" "element 1 .*"
  UCX_VERITY_TYPECHECK_LEVEL=names words "$mpi" "$launcher" freed "a sized name" "8 x MPI_INT" "8 x MPI_INT32_T" \
    "element 1 is MPI_INT at the sender and MPI_INT32_T at the receiver.*"
  UCX_VERITY_TYPECHECK_LEVEL=names words "$mpi" "$launcher" probe "bytes as numbers" "64 x MPI_BYTE" "8 x MPI_DOUBLE" ".*"
  words "$mpi" "$launcher" any "unsigned" "3 x MPI_UNSIGNED" "3 x MPI_INT" "element 1 .*" "MPI_COMM_WORLD, MPI_ANY_TAG"

  UCX_VERITY_TYPECHECK=warn typechecked 60 "$launcher" 2 vposix,vself types wrong get "another class" > "$tap_dir/job"
  contains "$mpi: MPI_Get" "$(tr '\n' ' ' < "$tap_dir/job")" \
    'mismatch in MPI_Get by rank 0 from rank 1 \(halo\)   target:      100 x MPI_FLOAT   origin:      100 x MPI_INT .* at the origin'

  exceptions "$mpi" "$launcher"
  for program in types_fortran types_fortran08; do fortran "$mpi" "$launcher" $program; done

  # Once for each pair of places, with a sum at the end.
  typechecked 60 "$launcher" 2 vposix,vself types wrong send > "$tap_dir/job"
  contains "$mpi: sums at the end" "$(cat "$tap_dir/job")" \
    "^ucx-verity: rank 0: datatypes of [0-9]+ messages checked, [0-9]+ mismatched; [0-9]+ not checked: [0-9]+ MPI_PACKED is not checked, [0-9]+ MPI_BYTE against"

  typechecked 60 "$launcher" 2 vposix,vself mismatch persistent > "$tap_dir/job"
  contains "$mpi: a persistent send by the line that made it" "$(cat "$tap_dir/job")" \
    "^ +by MPI_Bsend_init, MPI_Ssend_init or MPI_Rsend_init in persistent \\(.*mismatch.c:$(line_of MPI_Ssend_init)\\)"
  contains "$mpi: a persistent receive by the line that made it" "$(cat "$tap_dir/job")" \
    "^ +by MPI_Recv_init in persistent \\(.*mismatch.c:$(line_of MPI_Recv_init)\\)"

  # MPICH delivers these without UCX.
  UCX_VERITY_ATTEST=always typechecked 60 "$launcher" 2 vposix,vself mismatch alone > "$tap_dir/job"
  case $mpi in MPICH) counted='0 messages checked, 0 mismatched; 6 not checked: 6 not passed to UCX' ;; *) counted='6 messages checked, 6 mismatched; 0 not checked' ;; esac
  contains "$mpi: messages in a communicator of one process count" "$(cat "$tap_dir/job")" "^ucx-verity: rank 0: datatypes of $counted\$"

  # MPI itself refuses this one and ends the job.
  UCX_VERITY_TYPECHECK_LOG=$tap_dir/log typechecked 60 "$launcher" 2 vposix,vself mismatch truncated > "$tap_dir/job"
  is "$mpi: reported before MPI ends the job" "$(grep -c 'datatype mismatch in a message from rank 1 to rank 0' "$tap_dir/job")" 1
  is "$mpi: in the log, too" "$(grep -c '"event":"type_mismatch"' "$tap_dir/log")" 1
  is "$mpi: which ends with an error" "$(($(cat "$tap_dir/status") != 0))" 1
  rm -f "$tap_dir/log"

  UCX_VERITY_TYPECHECK_LOG=$tap_dir/log typechecked 60 "$launcher" 2 vposix,vself types wrong send "another class" > "$tap_dir/job"
  is "$mpi: a line of JSON" "$(wc -l < "$tap_dir/log")" 1
  contains "$mpi: with both sides" "$(cat "$tap_dir/log")" \
    '"sender":\{"rank":1,"call":"MPI_Send","site":"[^"]*","type":"100 x MPI_INT"\},"receiver":\{"rank":0,"call":"MPI_Recv",'
  rm -f "$tap_dir/log"

  mkfifo "$tap_dir/log"
  UCX_VERITY_TYPECHECK_LOG=$tap_dir/log typechecked 60 "$launcher" 2 vposix,vself types wrong send "another class" > "$tap_dir/job"
  is "$mpi: a log without a reader does not stop the job" "$(cat "$tap_dir/status")" 0
  is "$mpi: and is named" "$(grep -c "^ucx-verity: UCX_VERITY_TYPECHECK_LOG=$tap_dir/log: cannot be written" "$tap_dir/job")" 1
  rm -f "$tap_dir/log"

  # The library waits by calls of its own (Open MPI's ROMIO; its other component does not).
  export UCX_VERITY_TYPECHECK=error
  if [ "$mpi" = "Open MPI" ] && ! ompi_info --parsable | grep -q '^mca:io:romio'; then
    skip "$mpi: an error is never raised inside of the library" "this build has no ROMIO"
  else
    OMPI_MCA_io=^ompio typechecked 60 "$launcher" 2 vposix,vself file_waits "$tap_dir/rows" > "$tap_dir/job"
    contains "$mpi: an error is never raised inside of the library" "$(cat "$tap_dir/job")" '^file_waits errors 1 inside 0 result 0$'
  fi

  # Types that change with each message: a signature that is given to another message would show.
  export UCX_VERITY_TYPECHECK=error UCX_VERITY_ATTEST=always
  for threads in 1 4; do
    storm_or_stock "$mpi, $threads threads: each message has its own signature" "$launcher" "$(normal_or_long 30 3000)" $threads || continue
    is "$mpi, $threads threads: and each is checked" \
      "$(grep -cE '^ucx-verity: rank [0-2]: datatypes of [0-9]+ messages checked, 0 mismatched; 0 not checked$' "$tap_dir/job")" 3
  done
  # A process that ends after MPI_Init, before its first message, knows its rank.
  typechecked 60 "$launcher" 1 vposix,vself vanish early > "$tap_dir/job"
  contains "$mpi: a process that ends early is named" "$(cat "$tap_dir/job")" '^ucx-verity: rank 0: datatypes of 0 messages checked'
  # Others' programs, on the same terms.
  typechecked 100 "$launcher" 3 vtcp,vself mixed -n 3000 > "$tap_dir/job"
  contains "$mpi: mixed messages pass" "$(cat "$tap_dir/job")" '^messages [0-9]+ wrong 0 lost 0 repeated 0 reordered 0'
  is "$mpi: no mismatch in them" "$(grep -c ', 0 mismatched' "$tap_dir/job")" 3
  unset UCX_VERITY_ATTEST

  UCX_VERITY_TYPECHECK=off typechecked 60 "$launcher" 2 vposix,vself types wrong send > "$tap_dir/job"
  is "$mpi: off: nothing is said" "$(grep -c ucx-verity: "$tap_dir/job")" 0
  UCX_VERITY_TYPECHECK=maybe typechecked 60 "$launcher" 2 vposix,vself types right send "another class" > "$tap_dir/job"
  contains "$mpi: a bad value is reported" "$(cat "$tap_dir/job")" "UCX_VERITY_TYPECHECK=maybe: bad value; allowed: off, warn, error"
  unset UCX_VERITY_TYPECHECK
done
[ -n "$mpich" ] || skip "MPICH" "no MPICH on UCX"

# Each world of a job has a rank 0. (MPICH's launcher does not spawn everywhere; Open MPI 5 reaches other worlds by
# network transports only.)
export UCX_VERITY_TYPECHECK=warn
if [ -n "$openmpi" ]; then
  UCX_VERITY_TYPECHECK_LOG=$tap_dir/log typechecked 60 "$openmpi" 1 vtcp,vself spawned > "$tap_dir/job"
  contains "Open MPI: spawned worlds" "$(cat "$tap_dir/job")" '^spawned done$'
  for world in 1 2; do
    contains "Open MPI: a rank of spawned world $world" "$(cat "$tap_dir/job")" \
      "^ucx-verity: datatype mismatch in a message from rank 0 of spawned world $world to rank 0 \\("
    contains "Open MPI: in the log, too: $world" "$(cat "$tap_dir/log")" "\"sender\":\\{\"rank\":0,\"world\":$world,"
  done
fi

# An error, in which Open MPI crashes. It is that of the call alone.
if [ -n "$mpich" ]; then
  typechecked 60 "$mpich" 2 vposix,vself freed_comm > "$tap_dir/job"
  contains "MPICH: a communicator that was freed is refused" "$(cat "$tap_dir/job")" '^freed_comm refused 2 of 2 same 1$'
  contains "MPICH: a message of the one that has its handle" "$(cat "$tap_dir/job")" '^ucx-verity: datatype mismatch in a message'
  contains "MPICH: a collective operation of it" "$(cat "$tap_dir/job")" '^ucx-verity: mismatch in a collective operation .*call 1\)$'
  typechecked 60 "$mpich" 2 vposix,vself no_type > "$tap_dir/job"
  is "MPICH: what is no datatype is refused" "$(grep -c '^no_type rank [01] refused 24 of 24$' "$tap_dir/job")" 2
fi

# A program without MPI_Init.
if [ -n "$mpich" ] && mpi_program "$mpich" session > /dev/null 2>&1; then
  typechecked 60 "$mpich" 2 vposix,vself session wrong > "$tap_dir/job"
  contains "MPICH, sessions alone: ends as without checks" "$(cat "$tap_dir/job")" '^session done$'
  contains "MPICH, sessions alone: a message" "$(cat "$tap_dir/job")" '^ucx-verity: datatype mismatch in a message from rank 1 to rank 0 \(lake, tag 1\)$'
  contains "MPICH, sessions alone: a collective operation" "$(cat "$tap_dir/job")" '^ucx-verity: mismatch in a collective operation \(lake, call 1\)$'
  contains "MPICH, sessions alone: sums" "$(cat "$tap_dir/job")" '^ucx-verity: rank 0: datatypes of 1 messages checked, 1 mismatched'
  UCX_VERITY_ATTEST=always typechecked 60 "$mpich" 2 vposix,vself session right > "$tap_dir/job"
  is "MPICH, sessions alone: correct messages are compared" "$(grep -c 'datatypes of 1 messages checked, 0 mismatched' "$tap_dir/job")" 2
  typechecked 60 "$mpich" 2 vposix,vself session outlives > "$tap_dir/job"
  contains "MPICH, a session that outlives MPI_Finalize: ends as without checks" "$(cat "$tap_dir/job")" '^session done$'
  contains "MPICH, a session that outlives MPI_Finalize: a message" "$(cat "$tap_dir/job")" '^ucx-verity: datatype mismatch in a message'
  contains "MPICH, a session that outlives MPI_Finalize: a collective operation" "$(cat "$tap_dir/job")" '^ucx-verity: mismatch in a collective'
  contains "MPICH, a session that outlives MPI_Finalize: sums" "$(cat "$tap_dir/job")" '^ucx-verity: rank 0: datatypes of 1 messages checked, 1 mismatched'
  # Of stock MPICH 4.0 a process does not survive its second session.
  if mpi_run 60 "$mpich" 2 posix,self session right 3 | grep -q '^session done$'; then
    for list in vposix,vself vtcp,vself; do
      UCX_VERITY_ATTEST=always typechecked 60 "$mpich" 2 "$list" session right 3 > "$tap_dir/job"
      contains "MPICH, $list, one session after the other: ends as without checks" "$(cat "$tap_dir/job")" '^session done$'
      is "MPICH, $list, one session after the other: correct messages are compared" \
        "$(grep -c 'datatypes of 3 messages checked, 0 mismatched' "$tap_dir/job")" 2
      typechecked 60 "$mpich" 2 "$list" session wrong 3 > "$tap_dir/job"
      contains "MPICH, $list, one session after the other: each mismatch" "$(cat "$tap_dir/job")" \
        '^ucx-verity: rank 0: datatypes of 3 messages checked, 3 mismatched'
    done
  else
    skip "one session after the other" "not with this MPICH"
  fi
  # 4.2 does, where the second one makes no datatypes.
  if mpi_run 60 "$mpich" 3 posix,self session left 2 | grep -q '^session done$'; then
    for case in "vposix,vself left" "vtcp,vself left" "vposix,vself outlives_left"; do
      list=${case% *} how=${case#* }
      typechecked 60 "$mpich" 3 "$list" session "$how" 2 > "$tap_dir/job"
      contains "MPICH, $list, $how: what a session leaves: ends as without checks" "$(cat "$tap_dir/job")" '^session done$'
      is "MPICH, $list, $how: its communicators are not the next one's" "$(grep -c 'difference: another operation' "$tap_dir/job")" 0
      contains "MPICH, $list, $how: nor its requests" "$(cat "$tap_dir/job")" \
        'difference: element 1 is MPI_INT at the sender and MPI_FLOAT at the receiver'
    done
  else
    skip "what a session leaves" "not with this MPICH"
  fi
else
  skip "sessions" "no MPI 4 here"
fi

# Harmless where there is no MPI.
export UCX_VERITY_TYPECHECK=error
is "a shell with the interposers" "$(LD_PRELOAD=$interposers bash -c 'echo fine' 2>&1)" fine
# A call of a function that is nowhere ends the process, be its line read or not.
cc -w -D_GNU_SOURCE -o "$tap_dir/no_mpi" -xc - -ldl << 'PROGRAM'
#include <dlfcn.h>
int main(void) { return ((int (*)(int))dlsym(RTLD_DEFAULT, "MPI_Barrier"))(0); }
PROGRAM
no_mpi() { (ulimit -c 0; LD_PRELOAD=$interposers exec "$tap_dir/no_mpi" 2>&"$1"); } # no_mpi FD
contains "MPI without its library is named" "$(no_mpi 1)" '^ucx-verity: MPI_Barrier is called, but the MPI library of this process has no'
exec 9> >(:)
wait $!
no_mpi 9 2> /dev/null
is "and the process aborts also without a reader of it" $? 134
exec 9>&-

done_testing

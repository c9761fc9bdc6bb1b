#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The interposer beside others: a tool of the profiling interface preloaded before or after it, mpi4py, error handlers that do not
# return, errors of several threads, and handles that are used while they are freed.
. "${abs_top_srcdir:?}/test/integration/lib.sh"
[ -n "$openmpi$mpich" ] || skip_all "neither Open MPI nor an MPICH on UCX"

compile_tool() { # compile_tool LAUNCHER: prints its path
  local out=$tap_dir/tool-$(basename "$1").so compiler=${MPICC:-mpicc}
  [ "$1" != "$mpich" ] || compiler=mpicc.mpich
  $compiler -w -O2 -g -shared -fPIC -o "$out" "$abs_top_srcdir/test/mpi/datatypes/tool.c" && echo "$out"
}

# with_preloads LAUNCHER FIRST SECOND COMMAND...: a job of $ranks ranks with these libraries preloaded, in that order. What it says on
# stderr comes last, as launchers cut lines where two streams meet.
ranks=2
with_preloads() {
  (
    verity_env vposix,vself
    export LD_PRELOAD="$LD_PRELOAD:$2:$3"
    timeout -k 5 100 "$1" -np "$ranks" "${@:4}" 2> "$tap_dir/stderr"
  )
  cat "$tap_dir/stderr"
}

# tool_on_one_rank RANK LAUNCHER INTERPOSER TOOL PROGRAM: of four ranks, behind the interposer.
tool_on_one_rank() {
  (
    verity_env vposix,vself
    export LD_PRELOAD="$LD_PRELOAD:$3" TOOL_ALONE=$1
    # shellcheck disable=SC2016 # each rank's own
    timeout -k 5 100 "$2" -np 4 sh -c \
      '[ "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}" != "$TOOL_ALONE" ] || export LD_PRELOAD="$LD_PRELOAD:$0"; exec "$1"' "$4" "$5" 2> "$tap_dir/stderr"
  )
  cat "$tap_dir/stderr"
}

# threads NAME RANKS PROGRAM PATTERN: with MPI_THREAD_MULTIPLE, if the library of $launcher gives it.
threads() {
  typechecked 100 "$launcher" "$2" vposix,vself "$3" > "$tap_dir/job"
  case $(cat "$tap_dir/status") in
    0) contains "$1" "$(cat "$tap_dir/job")" "$4" ;;
    77) skip "$1" "no MPI_THREAD_MULTIPLE" ;;
    *)
      # Windows of Open MPI 5.0.7 do not survive several threads.
      if stock_fails 3 100 "$launcher" "$2" vposix,vself "$3"; then
        skip "$1" "stock fails too: $stock_words"
      else
        contains "$1" "$(cat "$tap_dir/job")" "$4"
      fi ;;
  esac
}

compile_ending() { # compile_ending LAUNCHER: with the library that stands between it and MPI
  local out compiler=${MPICC:-mpicc} source=$abs_top_srcdir/test/mpi/datatypes/ending.c
  out=$tap_dir/$(flavour "$1")-ending
  [ "$1" != "$mpich" ] || compiler=mpicc.mpich
  $compiler -w -O2 -g -I"$abs_top_srcdir/test/mpi" -DLIBRARY -shared -fPIC -o "$out.so" "$source" &&
    $compiler -w -O2 -g -I"$abs_top_srcdir/test/mpi" -pthread -o "$out" "$source" "$out.so"
}

# ending NAME LAUNCHER ARGUMENT...: a correct program that uses handles while they are freed. MPICH 4 does not survive some of them.
ending() {
  local name=$1 status
  typechecked 60 "$2" 2 vposix,vself ending "${@:3}" > "$tap_dir/job"
  status=$(cat "$tap_dir/status")
  if [ "$status" -eq 77 ]; then
    skip "$name" "no MPI_THREAD_MULTIPLE"
  elif [ "$status" -ne 0 ] && ending_fails_without "$2" "${@:3}"; then
    skip "$name" "stock fails too: $(tail -n 1 "$tap_dir/stock")"
  else
    contains "$name: it ends" "$(cat "$tap_dir/job")" '^ending done$'
    is "$name: nothing is reported" "$(grep -c 'mismatch in' "$tap_dir/job")" 0
  fi
}
ending_fails_without() { # ending_fails_without LAUNCHER ARGUMENT...: on stock UCX
  with_tls posix,self timeout -k 5 60 "$1" -np 2 "$tap_dir/$(flavour "$1")-ending" "${@:2}" > "$tap_dir/stock" 2>&1 || return 0
  ! grep -q '^ending done$' "$tap_dir/stock" # a rank that stands still may end with 0
}

for launcher in $openmpi $mpich; do
  case $launcher in "$mpich") mpi=MPICH ;; *) mpi="Open MPI" ;; esac
  interposer=$(interposer_for "$launcher")
  program=$(mpi_program "$launcher" types) tool=$(compile_tool "$launcher")
  export UCX_VERITY_TYPECHECK=error
  for order in "$tool $interposer" "$interposer $tool"; do
    case $order in "$tool "*) name="$mpi, a tool before it" ;; *) name="$mpi, a tool after it" ;; esac
    # shellcheck disable=SC2086 # two libraries
    with_preloads "$launcher" $order "$program" right > "$tap_dir/job"
    twins "$name: correct messages" "$launcher" posix,self
    contains "$name: the tool counts" "$(cat "$tap_dir/job")" '^tool sends [1-9][0-9]* receives [1-9][0-9]* starts [1-9][0-9]*$'
    # shellcheck disable=SC2086
    with_preloads "$launcher" $order "$program" wrong > "$tap_dir/job"
    contains "$name: each mismatch is reported" "$(grep -o 'types wrong cases .*' "$tap_dir/job")" \
      '^types wrong cases [0-9]+ expected ([1-9][0-9]*) errors \1 failed 0 others 0$'
  done
  for rank in 0 1; do
    tool_on_one_rank $rank "$launcher" "$interposer" "$tool" "$(mpi_program "$launcher" legal)" > "$tap_dir/job"
    contains "$mpi, a tool after it on rank $rank: ends as without checks" "$(cat "$tap_dir/job")" '^legal wrong 0$'
    is "$mpi, a tool after it on rank $rank: no report" "$(grep -c 'mismatch in' "$tap_dir/job")" 0
  done
  for _ in 1 2 3; do # what other ranks send meanwhile comes at any time
    TOOL_BARRIER=1 ranks=4 with_preloads "$launcher" "$interposer" "$tool" "$(mpi_program "$launcher" collectives)" right
  done > "$tap_dir/job"
  is "$mpi, a tool makes calls before those that it hands on: ends" "$(grep -c '^collectives right [0-9]* calls$' "$tap_dir/job")" 3
  is "$mpi, a tool makes calls before those that it hands on: no report" "$(grep -c 'mismatch in' "$tap_dir/job")" 0
  typechecked 60 "$launcher" 2 vposix,vself jump > "$tap_dir/job"
  contains "$mpi: an error handler that does not return is called each time" "$(cat "$tap_dir/job")" '^jump errors ([1-9][0-9]*) of \1$'
  typechecked 60 "$launcher" 2 vposix,vself jump deeper > "$tap_dir/job"
  contains "$mpi: also within a function, after a call outside of it" "$(cat "$tap_dir/job")" '^jump errors ([1-9][0-9]*) of \1$'
  typechecked 60 "$launcher" 2 vposix,vself jump again > "$tap_dir/job"
  is "$mpi: a collective operation that was left so" "$(grep -c '^jump sum 2$' "$tap_dir/job")" 2
  is "$mpi: is not compared with the others' next one" "$(grep -c 'mismatch in' "$tap_dir/job")" 0
  typechecked 60 "$launcher" 3 vposix,vself jump array > "$tap_dir/job"
  is "$mpi: the same beneath an array over its frame" "$(grep -c '^jump array sum 3$' "$tap_dir/job")" 3
  is "$mpi: is not compared either" "$(grep -c 'mismatch in' "$tap_dir/job")" 0
  typechecked 60 "$launcher" 2 vposix,vself fibers > "$tap_dir/job"
  is "$mpi: on a stack that is unmapped afterwards" "$(grep -c '^fibers 3 of 3$' "$tap_dir/job")" 2
  threads "$mpi: no communicator is freed under its error handler" 2 released '^released errors [1-9][0-9]* freed under the handler 0$'
  compile_ending "$launcher" > "$tap_dir/compile" 2>&1 || note "$(cat "$tap_dir/compile")"
  ending "$mpi: another thread uses a type that is freed" "$launcher" type
  UCX_VERITY_ATTEST=always UCX_VERITY_TYPECHECK=warn typechecked 60 "$launcher" 2 vposix,vself mismatch ending > "$tap_dir/job"
  case $mpi in MPICH) counted='1 messages checked, 1 mismatched; 0 not checked' ;; *) counted='0 messages checked, 0 mismatched; 1 not checked' ;; esac
  contains "$mpi: what is received as such a type counts" "$(cat "$tap_dir/job")" "^ucx-verity: rank 0: datatypes of $counted"
  contains "$mpi: so does what is sent as one" "$(cat "$tap_dir/job")" "^ucx-verity: rank 1: datatypes of $counted"
  ending "$mpi: types that are freed within each other" "$launcher" nest 9
  ending "$mpi: more of them than there is room for" "$launcher" nest 300
  ending "$mpi: another thread uses a communicator that is freed" "$launcher" comm
  ending "$mpi: a collective operation while one rank frees its communicator" "$launcher" mixed
  ending "$mpi: another thread has the next communicator before MPI_Comm_free returns" "$launcher" again
  threads "$mpi: no mismatched put is made while another thread leaves calls" 1 thread_puts '^puts [1-9][0-9]* made 0$'
  threads "$mpi: buffered sends that end in another thread's progress" 1 thread_bsends '^buffered sends 900 wrong 0$'
done

# A Python that has mpi4py for Open MPI: the first one in PATH, or the distribution's.
find_python() {
  local python
  for python in python3 /usr/bin/python3; do
    if $python -c 'import mpi4py; mpi4py.rc.initialize = False; from mpi4py import MPI; print(MPI.Get_library_version())' 2> /dev/null |
      grep -q 'Open MPI'; then
      echo $python
      return
    fi
  done
}
python=$(find_python)
if [ -n "$openmpi" ] && [ -n "$python" ]; then
  export UCX_VERITY_TYPECHECK=warn
  for what in right wrong; do
    with_preloads "$openmpi" "$(interposer_for "$openmpi")" "" "$python" "$abs_top_srcdir/test/mpi/datatypes/exchange.py" $what > "$tap_dir/job"
    contains "mpi4py: $what: runs" "$(cat "$tap_dir/job")" "^exchange $what$"
    is "mpi4py: $what: reports" "$(grep -c 'ucx-verity: datatype mismatch' "$tap_dir/job")" $([ $what = wrong ] && echo 1 || echo 0)
  done
  contains "mpi4py: in words" "$(tr '\n' ' ' < "$tap_dir/job")" 'sent:        100 x MPI_INT .* received as: 100 x MPI_FLOAT '
else
  skip "mpi4py" "python3-mpi4py for Open MPI is not installed"
fi
[ -n "$mpich" ] || skip "MPICH" "no MPICH on UCX"

done_testing

#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The plugin missing on one host of a job: nothing runs unverified, the job ends soon and says why.
# The host without it is a rank whose environment lacks the preload, or names an empty folder.
. "${abs_top_srcdir:?}/test/integration/lib.sh"
[ -n "$openmpi$mpich" ] || skip_all "neither Open MPI nor an MPICH on UCX"

mkdir "$tap_dir/empty"
job() { # job LAUNCHER FIRST SECOND: ranks 0 and 1, each with VARIABLE=VALUE set
  local status=0 begin=$SECONDS program
  program=$(mpi_program "$1" hello_integrity)
  with_tls vtcp,vself within 60 "$1" -np 1 env "$2" "$program" 5 1000 : -np 1 env "$3" "$program" 5 1000 > "$tap_dir/job" 2>&1 || status=$?
  echo "$status $((SECONDS - begin))"
}
fails() { # fails NAME LAUNCHER FIRST SECOND
  local status took
  read -r status took <<< "$(job "$2" "$3" "$4")"
  is "$1: the job fails" "$((status != 0 && status != 124 && status != 137))" 1
  is "$1: within 30 s" "$((took <= 30))" 1
  note "after $took s with status $status"
  contains "$1: a line says what is missing" "$(cat "$tap_dir/job")" \
    "transports 'vtcp','vself' are not available|ucx-verity: .*(plugin|loaded)"
  lacks "$1: no message went by another way" "$(cat "$tap_dir/job")" 'messages wrong'
}

for launcher in $openmpi $mpich; do
  case $launcher in "$mpich") mpi=MPICH ;; *) mpi="Open MPI" ;; esac
  is "$mpi, with the plugin everywhere the job runs" "$(job "$launcher" A=B A=B | cut -d' ' -f1)" 0
  if needs_preload; then
    fails "$mpi, rank 1 without the preload" "$launcher" A=B LD_PRELOAD=
    fails "$mpi, rank 0 without the preload" "$launcher" LD_PRELOAD= A=B
  else
    skip "$mpi, without the preload" "this UCX needs none"
  fi
  fails "$mpi, rank 1 without the plugin" "$launcher" A=B "$plugin_variable=$tap_dir/empty"
done

done_testing

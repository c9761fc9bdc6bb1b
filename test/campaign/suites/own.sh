# SPDX-License-Identifier: BSD-3-Clause
#
# The programs of test/mpi, which count what they send.
# shellcheck shell=bash disable=SC2154

own_program() { # own_program MPI FOLDER NAME
  mkdir -p "$2"
  [ ! -x "$2/$3" ] || [ -n "$(find "$top/test/mpi" -name "$3*.[ch]" -newer "$2/$3")" ] || return 0
  # MPICH's header makes gcc warn about MPI_STATUSES_IGNORE.
  "mpicc.$1" -w -O2 -g -I"$top/test/mpi" -o "$2/$3" $(find "$top/test/mpi" -name "$3.c" -o -name "$3_*.c")
}

suite_own() { # suite_own MPI FOLDER
  local name
  for name in collectives mixed threads rma finalize compute gaps passive storm types partitioned; do
    own_program "$1" "$2" "$name" || return 1
  done
  one_case own collectives "$1" 3 '^collectives right [0-9]+ calls$' - "$2/collectives right"
  one_case own gaps "$1" 2 '^gaps messages [0-9]+ wrong 0' - "$2/gaps"
  one_case own mixed "$1" 2 '^messages [0-9]+ wrong 0' - "$2/mixed -n 100000"
  one_case own mixed "$1" 3 '^messages [0-9]+ wrong 0' - "$2/mixed -n 20000 -s 2"
  one_case own threads "$1" 2 '^threads [0-9]+ messages [0-9]+ wrong 0' - "$2/threads -n 2000"
  one_case own rma "$1" 3 ' wrong 0' - "$2/rma"
  one_case own finalize "$1" 4 ' wrong 0' - "$2/finalize"
  one_case own compute "$1" 2 - - "$2/compute -k 1"
  one_case own storm "$1" 3 ' errors 0$' - "$2/storm -n 1000"
  one_case own storm "$1" 3 ' errors 0$' - "$2/storm -n 300 -t 4"
  one_case own partitioned "$1" 2 '^partitioned (none$|right .* wrong values 0$)' - "$2/partitioned right"
  one_case own types "$1" 2 '^types right cases [0-9]+ expected 0 errors 0 ' - "$2/types right"
}

# SPDX-License-Identifier: BSD-3-Clause
#
# What the tests of the libraries for programs share: MPI jobs without the plugin. Source it in place
# of test/tap.sh.
# shellcheck shell=bash

. "${abs_top_srcdir:?}/test/tap.sh"
[ -z "${VERITY_SANITIZERS:-}" ] || skip_all "a library with sanitizers does not load into stock programs"

build=${abs_top_builddir:?}
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 "$(oversubscribe_variable)" OMPI_MCA_mpi_yield_when_idle=1
export OMPI_MCA_pml=ob1 OMPI_MCA_btl=self,vader
export LD_LIBRARY_PATH=$build/.libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}

# compile OUTPUT COMPILER SOURCE ARGUMENT...: $tap_dir/OUTPUT, without a warning.
compile() {
  "$2" -O2 -Wall -Wextra -Werror -I"$abs_top_srcdir/include" -o "$tap_dir/$1" "$3" -L"$build/.libs" "${@:4}"
}

# usable_library NAME MPI [ARGUMENT...]: libverity_NAME for that MPI is as it should be, and
# test/mpi/libraries/NAME.c compiles with it to $tap_dir/MPI. False: it is not built, or does not compile.
usable_library() {
  local name=$1 mpi=$2 library=$build/.libs/libverity_$1_$2.so mpicc
  [ -e "$library" ] || { skip "$mpi" "its library is not built: no $mpi when this was configured"; return 1; }
  mpicc=$(command -v "mpicc.$mpi") || { skip "$mpi" "no mpicc.$mpi"; return 1; }
  ok "$mpi: the library needs no MPI of its own" [ "$(objdump -p "$library" | grep -c 'NEEDED.*lib[op]*mpi')" -eq 0 ]
  is "$mpi: it exports the interface alone" "$(nm -D --defined-only "$library" | awk '{ print $3 }' | grep -vc "^verity_${name}_")" 0
  compile "$mpi" "$mpicc" "$abs_top_srcdir/test/mpi/libraries/$name.c" "-lverity_${name}_$mpi" "${@:3}" > "$tap_dir/log" 2>&1 && return
  ok "$mpi: a program compiles with it" false
  note "$(head -n 20 "$tap_dir/log")"
  return 1
}

# job SECONDS MPI RANKS PROGRAM ARGUMENT...: output of $tap_dir/PROGRAM.
job() { timeout "$1" "mpirun.$2" -np "$3" "$tap_dir/$4" "${@:5}" 2>&1 < /dev/null; }

# expectations_hold NAME OUTPUT REGEX: a line matches; what was WRONG is noted.
expectations_hold() {
  contains "$1" "$2" "$3"
  ! grep -q WRONG <<< "$2" || note "$(grep WRONG <<< "$2" | head -n 8)"
}

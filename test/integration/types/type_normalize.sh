#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# verity_type_normalize() under each MPI: random datatypes against what is made of them, and the Fortran module.
. "${abs_top_srcdir:?}/test/tap.sh"
[ -z "${VERITY_SANITIZERS:-}" ] || skip_all "a library with sanitizers does not load into stock programs"

export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_pml=ob1 OMPI_MCA_btl=self,vader
export LD_LIBRARY_PATH=$abs_top_builddir/.libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
count=2000
[ "${VERITY_TEST_LONG:-0}" = 0 ] || count=200000

for mpi in openmpi mpich; do
  library=$abs_top_builddir/.libs/libverity_types_$mpi.so
  [ -e "$library" ] || { skip "$mpi" "its library is not built: no $mpi when this was configured"; continue; }
  mpicc=$(command -v mpicc.$mpi || true) mpifort=$(command -v mpifort.$mpi || true)
  [ -n "$mpicc" ] || { skip "$mpi" "no mpicc.$mpi"; continue; }
  ok "$mpi: the library needs no MPI of its own" [ "$(objdump -p "$library" | grep -c 'NEEDED.*lib[op]*mpi')" -eq 0 ]
  is "$mpi: it exports the interface alone" "$(nm -D --defined-only "$library" | awk '{ print $3 }' | sort | xargs)" \
    "verity_type_normalize verity_type_normalize_f"
  if ! $mpicc -O2 -Wall -Wextra -Werror -I"$abs_top_srcdir/include" -o "$tap_dir/$mpi" "$abs_top_srcdir/test/mpi/libraries/type_normalize.c" \
    -L"$abs_top_builddir/.libs" "-lverity_types_$mpi" > "$tap_dir/log" 2>&1; then
    ok "$mpi: a program compiles with it" false
    note "$(head -n 20 "$tap_dir/log")"
    continue
  fi
  output=$(timeout 300 "$tap_dir/$mpi" "$count" 2>&1)
  contains "$mpi: $count datatypes are the same" "$output" "^datatypes $count wrong 0\$"
  contains "$mpi: a million regular blocks are one vector" "$output" '^regular million of blocks: [1-4] arguments'
  note "$(grep million <<< "$output")"

  [ -n "$mpifort" ] || { skip "$mpi, Fortran" "no mpifort.$mpi"; continue; }
  cat > "$tap_dir/program.f90" << 'F'
program normalize
  use mpi_f08
  use verity_types
  type(MPI_Datatype) :: oldtype, newtype
  integer(MPI_ADDRESS_KIND) :: lb(2), extent(2)
  integer :: ierror, sizes(2)
  call MPI_Init()
  call MPI_Type_vector(3, 2, 2, MPI_INTEGER, oldtype)
  call verity_type_normalize(oldtype, newtype, ierror)
  call verity_type_normalize(oldtype, newtype)
  call MPI_Type_size(oldtype, sizes(1))
  call MPI_Type_size(newtype, sizes(2))
  call MPI_Type_get_extent(oldtype, lb(1), extent(1))
  call MPI_Type_get_extent(newtype, lb(2), extent(2))
  print *, 'fortran', ierror == MPI_SUCCESS, sizes(1) == sizes(2), extent(1) == extent(2)
  call MPI_Finalize()
end program
F
  if (cd "$tap_dir" && $mpifort -o "$mpi.f" "$abs_top_srcdir/src/typelib/verity_types.f90" program.f90 -L"$abs_top_builddir/.libs" \
    "-lverity_types_$mpi") > "$tap_dir/log" 2>&1; then
    contains "$mpi, Fortran: the module works" "$(timeout 60 "$tap_dir/$mpi.f" 2>&1)" 'fortran +T +T +T'
  else
    ok "$mpi, Fortran: the module compiles" false
    note "$(head -n 20 "$tap_dir/log")"
  fi
done
done_testing

! SPDX-License-Identifier: BSD-3-Clause
!
! Fortran 2008 interface of libverity_types: see verity_type_normalize(3). Compile this file with the compiler of the program, with its
! mpi_f08 module, and link with the library for its MPI.
module verity_types
  use mpi_f08, only : MPI_Datatype, MPI_SUCCESS
  implicit none
  private
  public :: verity_type_normalize

  interface
    subroutine normalize_handle(oldtype, newtype, ierror) bind(c, name="verity_type_normalize_f")
      integer, intent(in) :: oldtype
      integer, intent(out) :: newtype, ierror
    end subroutine
  end interface

contains

  ! Makes in newtype a datatype with the type map, bounds and signature of oldtype at less cost. Not committed; the caller's to free.
  subroutine verity_type_normalize(oldtype, newtype, ierror)
    type(MPI_Datatype), intent(in) :: oldtype
    type(MPI_Datatype), intent(out) :: newtype
    integer, optional, intent(out) :: ierror
    integer :: status
    call normalize_handle(oldtype%MPI_VAL, newtype%MPI_VAL, status)
    if (present(ierror)) then
      ierror = status
    else if (status /= MPI_SUCCESS) then
      error stop "verity_type_normalize failed"
    end if
  end subroutine

end module

! SPDX-License-Identifier: BSD-3-Clause
!
! A message whose datatypes do not match, and one whose do: by mpif.h.
!
!   types_fortran wrong|right
program types_fortran
  implicit none
  include 'mpif.h'
  integer :: rank, error, status(MPI_STATUS_SIZE)
  integer :: numbers(100)
  real :: values(100)
  character(len=8) :: how
  numbers = 7
  values = 0.0
  call get_command_argument(1, how)
  call MPI_INIT(error)
  call MPI_COMM_RANK(MPI_COMM_WORLD, rank, error)
  if (rank == 1) then
    call MPI_SEND(numbers, 100, MPI_INTEGER, 0, 3, MPI_COMM_WORLD, error)
  else if (rank == 0) then
    if (how == 'wrong') then
      call MPI_RECV(values, 100, MPI_REAL, 1, 3, MPI_COMM_WORLD, status, error)
    else
      call MPI_RECV(numbers, 100, MPI_INTEGER, 1, 3, MPI_COMM_WORLD, status, error)
    end if
    print '(a)', 'types_fortran done'
  end if
  call MPI_FINALIZE(error)
end program types_fortran

! SPDX-License-Identifier: BSD-3-Clause
!
! The same by the mpi_f08 module.
program types_fortran08
  use mpi_f08
  implicit none
  integer :: rank
  integer :: numbers(100)
  real :: values(100)
  type(MPI_Request) :: request
  character(len=8) :: how
  numbers = 7
  values = 0.0
  call get_command_argument(1, how)
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  if (rank == 1) then
    call MPI_Isend(numbers, 100, MPI_INTEGER, 0, 3, MPI_COMM_WORLD, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
  else if (rank == 0) then
    if (how == 'wrong') then
      call MPI_Recv(values, 100, MPI_REAL, 1, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    else
      call MPI_Recv(numbers, 100, MPI_INTEGER, 1, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    end if
    print '(a)', 'types_fortran done'
  end if
  call MPI_Finalize()
end program types_fortran08

! SPDX-License-Identifier: BSD-3-Clause
!
! The same by the mpi_f08 module.
program types_fortran08
  use mpi_f08
  use, intrinsic :: iso_c_binding, only : c_ptr
  implicit none
  integer, parameter :: kinds = 7, operations = 7
  integer :: rank
  integer :: i
  integer :: numbers(100)
  character(len=8) :: how
  logical :: wrong
  type(MPI_Datatype) :: sent(kinds), other(kinds)
  numbers = 7
  call get_command_argument(1, how)
  wrong = how == 'wrong'
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  sent = [MPI_INTEGER, MPI_REAL, MPI_DOUBLE_PRECISION, MPI_LOGICAL, MPI_CHARACTER, MPI_2INTEGER, MPI_COMPLEX]
  other = [MPI_REAL, MPI_INTEGER, MPI_COMPLEX, MPI_INTEGER, MPI_INTEGER1, MPI_COMPLEX, MPI_DOUBLE_PRECISION]
  do i = 1, kinds
    if (rank == 1) call MPI_Send(numbers, 6, sent(i), 0, i, MPI_COMM_WORLD)
    if (rank == 0) call MPI_Recv(numbers, 6, merged(i), 1, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
  end do
  do i = 1, operations
    if (rank == 1) call send(i)
    if (rank == 0) call receive(i, merged(1))
  end do
  if (rank == 0) print '(a)', 'types_fortran done'
  call MPI_Finalize()
contains
  function merged(kind) result(type)
    integer, intent(in) :: kind
    type(MPI_Datatype) :: type
    type = sent(kind)
    if (wrong) type = other(kind)
  end function merged

  subroutine send(operation)
    integer, intent(in) :: operation
    type(MPI_Request) :: request
    character(len=1000) :: space
    integer :: bytes
    type(c_ptr) :: address
    select case (operation)
    case (1)
      call MPI_Ssend(numbers, 100, sent(1), 0, 50, MPI_COMM_WORLD)
    case (2)
      call MPI_Isend(numbers, 100, sent(1), 0, 50, MPI_COMM_WORLD, request)
      call MPI_Wait(request, MPI_STATUS_IGNORE)
    case (3)
      call MPI_Send_init(numbers, 100, sent(1), 0, 50, MPI_COMM_WORLD, request)
      call MPI_Start(request)
      call MPI_Wait(request, MPI_STATUS_IGNORE)
      call MPI_Request_free(request)
    case (4)
      call MPI_Sendrecv(numbers, 100, sent(1), 0, 50, numbers, 0, MPI_INTEGER, 0, 51, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    case (5)
      call MPI_Buffer_attach(space, 1000)
      call MPI_Bsend(numbers, 100, sent(1), 0, 50, MPI_COMM_WORLD)
      call MPI_Buffer_detach(address, bytes)
    case (6)
      call MPI_Send(numbers, 100, sent(1), 0, 50, MPI_COMM_WORLD)
    case (7)
      call MPI_Sendrecv_replace(numbers, 100, sent(1), 0, 50, MPI_PROC_NULL, 50, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    end select
  end subroutine send

  subroutine receive(operation, type)
    integer, intent(in) :: operation
    type(MPI_Datatype), intent(in) :: type
    type(MPI_Request) :: request
    type(MPI_Message) :: message
    select case (operation)
    case (2)
      call MPI_Irecv(numbers, 100, type, MPI_ANY_SOURCE, 50, MPI_COMM_WORLD, request)
      call MPI_Wait(request, MPI_STATUS_IGNORE)
    case (3)
      call MPI_Recv_init(numbers, 100, type, 1, 50, MPI_COMM_WORLD, request)
      call MPI_Start(request)
      call MPI_Wait(request, MPI_STATUS_IGNORE)
      call MPI_Request_free(request)
    case (4)
      call MPI_Sendrecv(numbers, 0, MPI_INTEGER, 1, 51, numbers, 100, type, 1, 50, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    case (6)
      call MPI_Mprobe(1, 50, MPI_COMM_WORLD, message, MPI_STATUS_IGNORE)
      call MPI_Mrecv(numbers, 100, type, message, MPI_STATUS_IGNORE)
    case default
      call MPI_Recv(numbers, 100, type, 1, 50, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    end select
  end subroutine receive
end program types_fortran08

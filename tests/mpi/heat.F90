! Heat in a ring of cells, by nonblocking messages to both neighbours, with waits of every kind, a persistent pair, a reduction in place
! and one by an operation of the program. Whole numbers, so that the result is exact. MODULE says how MPI is known: 1 mpif.h,
! 2 use mpi, 3 use mpi_f08.
module operations
contains
#if MODULE == 3
  subroutine larger(a, b, n, kind)
    use mpi_f08
    use iso_c_binding
    type(c_ptr), value :: a, b
    integer :: n
    type(MPI_Datatype) :: kind
    integer, pointer :: x(:), y(:)
    call c_f_pointer(a, x, [n])
    call c_f_pointer(b, y, [n])
    y = max(x, y)
  end subroutine
#else
  subroutine larger(a, b, n, kind)
    integer :: n, kind, a(n), b(n)
    b = max(a, b)
  end subroutine
#endif
end module

program heat
#if MODULE == 3
  use mpi_f08
#elif MODULE == 2
  use mpi
#endif
  use operations
  implicit none
#if MODULE == 1
  include 'mpif.h'
#endif
  integer, parameter :: cells = 100, turns = 60
  integer :: rank, ranks, left, right, turn, i, error, n, place, total, most, got
  integer :: old(0:cells + 1), new(cells), places(4)
  logical :: done
#if MODULE == 3
  type(MPI_Request) :: r(4), again(2)
  type(MPI_Status) :: s, all(4)
  type(MPI_Op) :: op
#else
  integer :: r(4), again(2), s(MPI_STATUS_SIZE), all(MPI_STATUS_SIZE, 4), op
#endif
  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
  left = modulo(rank - 1, ranks)
  right = modulo(rank + 1, ranks)
  old = 0
  do i = 1, cells
    old(i) = 64 * modulo(rank * cells + i, 7)
  end do
  call MPI_Send_init(old(cells), 1, MPI_INTEGER, right, 3, MPI_COMM_WORLD, again(1), error)
  call MPI_Recv_init(old(0), 1, MPI_INTEGER, left, 3, MPI_COMM_WORLD, again(2), error)
  do turn = 1, turns
    call MPI_Irecv(old(cells + 1), 1, MPI_INTEGER, right, 2, MPI_COMM_WORLD, r(1), error)
    call MPI_Isend(old(1), 1, MPI_INTEGER, left, 2, MPI_COMM_WORLD, r(2), error)
    r(3) = MPI_REQUEST_NULL
    r(4) = MPI_REQUEST_NULL
    call MPI_Startall(2, again, error)
    select case (modulo(turn, 6))
    case (0)
      call MPI_Waitall(4, r, MPI_STATUSES_IGNORE, error)
    case (1)
      call MPI_Waitall(4, r, all, error)
#if MODULE == 3
      if (all(1)%MPI_SOURCE /= right .or. all(1)%MPI_TAG /= 2) stop 2
#else
      if (all(MPI_SOURCE, 1) /= right .or. all(MPI_TAG, 1) /= 2) stop 2
#endif
    case (2)
      do n = 1, 2
        call MPI_Waitany(4, r, place, s, error)
        if (place > 2) stop 3
      end do
    case (3)
      done = .false.
      do while (.not. done)
        call MPI_Testall(2, r, done, MPI_STATUSES_IGNORE, error)
      end do
    case (4)
      got = 0
      do while (got < 2)
        call MPI_Waitsome(4, r, n, places, all, error)
        got = got + n
      end do
    case (5)
      do n = 1, 2
        done = .false.
        do while (.not. done)
          call MPI_Test(r(n), done, s, error)
        end do
      end do
    end select
    do n = 1, 2
      if (r(n) /= MPI_REQUEST_NULL) stop 5
    end do
    call MPI_Wait(again(1), MPI_STATUS_IGNORE, error)
    call MPI_Wait(again(2), s, error)
    call MPI_Get_count(s, MPI_INTEGER, n, error)
    if (n /= 1 .or. again(1) == MPI_REQUEST_NULL) stop 6
    do i = 1, cells
      new(i) = (old(i - 1) + 2 * old(i) + old(i + 1)) / 4
    end do
    old(1:cells) = new
  end do
  call MPI_Request_free(again(1), error)
  call MPI_Request_free(again(2), error)
  total = sum(old(1:cells))
  call MPI_Allreduce(MPI_IN_PLACE, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
  call MPI_Op_create(larger, .true., op, error)
  call MPI_Allreduce(maxval(old(1:cells)), most, 1, MPI_INTEGER, op, MPI_COMM_WORLD, error)
  call MPI_Op_free(op, error)
  if (rank == 0) print '(a,i0,a,i0)', 'total ', total, ', most ', most
  call MPI_Finalize(error)
end program

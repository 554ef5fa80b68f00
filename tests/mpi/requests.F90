! Every Fortran function of requests, of matched messages, and of windows' attributes, by MPI_ and by PMPI_ names, on arrays with MPI's own requests and null ones.
! MODULE: 1 mpif.h, 2 use mpi, 3 use mpi_f08. Prints a total, which is right or the program stops.
#if MODULE == 3
#define WINDOW type(MPI_Win)
#define REQUEST type(MPI_Request)
#define STATUS_OF(s) type(MPI_Status) :: s
#define STATUSES_OF(s, n) type(MPI_Status) :: s(n)
#define COMM type(MPI_Comm)
#define MESSAGE type(MPI_Message)
#define SOURCE(s) s%MPI_SOURCE
#define TAG(s) s%MPI_TAG
#define SOURCE_AT(s, i) s(i)%MPI_SOURCE
#define TAG_AT(s, i) s(i)%MPI_TAG
#else
#define WINDOW integer
#define REQUEST integer
#define STATUS_OF(s) integer :: s(MPI_STATUS_SIZE)
#define STATUSES_OF(s, n) integer :: s(MPI_STATUS_SIZE, n)
#define COMM integer
#define MESSAGE integer
#define SOURCE(s) s(MPI_SOURCE)
#define TAG(s) s(MPI_TAG)
#define SOURCE_AT(s, i) s(MPI_SOURCE, i)
#define TAG_AT(s, i) s(MPI_TAG, i)
#endif
program requests
#if MODULE == 3
  use mpi_f08
  use, intrinsic :: iso_c_binding
#elif MODULE == 2
  use mpi
#endif
  implicit none
#if MODULE == 1
  include 'mpif.h'
#endif
  integer, parameter :: k = 6
  REQUEST :: r(2 * k), one, none
  STATUS_OF(s)
  STATUSES_OF(all, 2 * k)
  COMM :: apart
  MESSAGE :: m
  integer :: me, n, left, right, ierr, way, i, index, count, done_of, found(2 * k), total, sent(k), got(k), got_count
  logical :: flag, again, seen(k)
  WINDOW :: w
  integer(MPI_ADDRESS_KIND) :: number
#if MODULE == 3
  type(c_ptr) :: base
#else
  integer(MPI_ADDRESS_KIND) :: base
#endif

  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, n, ierr)
  right = mod(me + 1, n)
  left = mod(me + n - 1, n)
  call MPI_Comm_idup(MPI_COMM_WORLD, apart, one, ierr)
  call MPI_Wait(one, s, ierr)
  total = 0

  do way = 1, 14
    got = -1
    do i = 1, k
      sent(i) = 1000 * me + 10 * way + i
      r(2 * i) = MPI_REQUEST_NULL
      if (i == 3) then
        call MPI_Irecv(got(i), 1, MPI_INTEGER, left, i, apart, r(2 * i - 1), ierr)
      else if (i == 4) then
        call MPI_Recv_init(got(i), 1, MPI_INTEGER, left, i, MPI_COMM_WORLD, r(2 * i - 1), ierr)
        call MPI_Start(r(2 * i - 1), ierr)
      else if (mod(way, 2) == 0) then
        call PMPI_Irecv(got(i), 1, MPI_INTEGER, left, i, MPI_COMM_WORLD, r(2 * i - 1), ierr)
      else
        call MPI_Irecv(got(i), 1, MPI_INTEGER, left, i, MPI_COMM_WORLD, r(2 * i - 1), ierr)
      end if
    end do
    do i = 1, k
      if (i == 3) then
        call MPI_Send(sent(i), 1, MPI_INTEGER, right, i, apart, ierr)
      else
        call MPI_Send(sent(i), 1, MPI_INTEGER, right, i, MPI_COMM_WORLD, ierr)
      end if
    end do
    done_of = 0
    seen = .false.
    flag = .false.
    select case (way)
    case (1)
      call MPI_Waitall(2 * k, r, all, ierr)
    case (2)
      call PMPI_Waitall(2 * k, r, all, ierr)
    case (3)
      do while (.not. flag)
        call MPI_Testall(2 * k, r, flag, all, ierr)
      end do
    case (4)
      do while (.not. flag)
        call PMPI_Testall(2 * k, r, flag, MPI_STATUSES_IGNORE, ierr)
      end do
    case (5, 6)
      do while (done_of < k)
        if (way == 5) call MPI_Waitany(2 * k, r, index, s, ierr)
        if (way == 6) call PMPI_Waitany(2 * k, r, index, s, ierr)
        call saw(TAG(s), SOURCE(s)) ! the index of MPICH 4.0 is not always Fortran's
        done_of = done_of + 1
      end do
    case (7, 8)
      do while (done_of < k)
        if (way == 7) call MPI_Testany(2 * k, r, index, flag, s, ierr)
        if (way == 8) call PMPI_Testany(2 * k, r, index, flag, s, ierr)
        if (flag) then
          call saw(TAG(s), SOURCE(s))
          done_of = done_of + 1
        end if
      end do
    case (9, 10, 11, 12)
      do while (done_of < k)
        if (way == 9) call MPI_Waitsome(2 * k, r, count, found, all, ierr)
        if (way == 10) call PMPI_Waitsome(2 * k, r, count, found, MPI_STATUSES_IGNORE, ierr)
        if (way == 11) call MPI_Testsome(2 * k, r, count, found, all, ierr)
        if (way == 12) call PMPI_Testsome(2 * k, r, count, found, all, ierr)
        do i = 1, count
          if (way /= 10) call saw(TAG_AT(all, i), SOURCE_AT(all, i))
        end do
        done_of = done_of + count
      end do
      call MPI_Waitsome(2 * k, r, count, found, all, ierr)
      if (count /= MPI_UNDEFINED) call fail(way, 3)
    case default
      do i = 1, 2 * k
        again = .true.
        do while (again)
          if (way == 13) call MPI_Request_get_status(r(i), flag, s, ierr)
          if (way == 14) call PMPI_Test(r(i), flag, MPI_STATUS_IGNORE, ierr)
          again = .not. flag
        end do
        if (way == 13) call PMPI_Wait(r(i), MPI_STATUS_IGNORE, ierr)
      end do
    end select
    if (way <= 3) then
      do i = 1, k
        if (SOURCE_AT(all, 2 * i - 1) /= left .or. TAG_AT(all, 2 * i - 1) /= i) call fail(way, 4)
      end do
    end if
    do i = 1, k
      if (got(i) /= 1000 * left + 10 * way + i) call fail(way, 5)
      total = total + got(i)
    end do
    do i = 1, 2 * k
      if (i == 7) then
        if (r(i) == MPI_REQUEST_NULL) call fail(way, 6)
        if (mod(way, 2) == 0) call MPI_Request_free(r(i), ierr)
        if (mod(way, 2) == 1) call PMPI_Request_free(r(i), ierr)
      end if
      if (r(i) /= MPI_REQUEST_NULL) call fail(way, 7)
    end do
  end do

  ! Matched messages, cancelled receives, null requests.
  call MPI_Isend(me, 1, MPI_INTEGER, right, 20, MPI_COMM_WORLD, one, ierr)
  call MPI_Mprobe(left, 20, MPI_COMM_WORLD, m, s, ierr)
  call MPI_Get_count(s, MPI_INTEGER, got_count, ierr)
  call MPI_Mrecv(got(1), 1, MPI_INTEGER, m, s, ierr)
  if (got(1) /= left .or. got_count /= 1 .or. m /= MPI_MESSAGE_NULL) call fail(20, 1)
  call MPI_Wait(one, MPI_STATUS_IGNORE, ierr)
  call MPI_Isend(me, 1, MPI_INTEGER, right, 21, MPI_COMM_WORLD, one, ierr)
  flag = .false.
  do while (.not. flag)
    call MPI_Improbe(MPI_ANY_SOURCE, 21, MPI_COMM_WORLD, flag, m, s, ierr)
  end do
  call MPI_Imrecv(got(2), 1, MPI_INTEGER, m, none, ierr)
  call MPI_Wait(none, s, ierr)
  if (got(2) /= left .or. SOURCE(s) /= left) call fail(21, 1)
  call MPI_Wait(one, s, ierr)
  call MPI_Irecv(got(3), 1, MPI_INTEGER, left, 22, MPI_COMM_WORLD, one, ierr)
  call MPI_Cancel(one, ierr)
  call MPI_Wait(one, s, ierr)
  call MPI_Test_cancelled(s, flag, ierr)
  if (.not. flag) call fail(22, 1)
  none = MPI_REQUEST_NULL
  call MPI_Wait(none, s, ierr)
  if (SOURCE(s) /= MPI_ANY_SOURCE) call fail(23, 1)
  call MPI_Test(none, flag, s, ierr)
  if (.not. flag) call fail(23, 2)
  do i = 1, k
    call MPI_Send_init(sent(i), 1, MPI_INTEGER, right, i, MPI_COMM_WORLD, r(i), ierr)
    call MPI_Recv_init(got(i), 1, MPI_INTEGER, left, i, MPI_COMM_WORLD, r(k + i), ierr)
  end do
  do way = 1, 4
    do i = 1, k
      sent(i) = me + way * i
    end do
    if (way < 3) call MPI_Startall(2 * k, r, ierr)
    if (way >= 3) call PMPI_Startall(2 * k, r, ierr)
    call MPI_Waitall(2 * k, r, MPI_STATUSES_IGNORE, ierr)
    do i = 1, k
      if (got(i) /= left + way * i) call fail(24, way)
    end do
  end do
  do i = 1, 2 * k
    call MPI_Request_free(r(i), ierr)
  end do
  call MPI_Allreduce(MPI_IN_PLACE, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
  if (me == 0) print '(a,i0)', 'total ', total
  call MPI_Comm_free(apart, ierr)

  do way = 1, 2
    if (way == 1) call MPI_Win_allocate(int(64, MPI_ADDRESS_KIND), 4, MPI_INFO_NULL, MPI_COMM_WORLD, base, w, ierr)
    if (way == 2) call MPI_Win_create(got, int(8, MPI_ADDRESS_KIND), 4, MPI_INFO_NULL, MPI_COMM_WORLD, w, ierr)
    do i = 1, 2
      if (i == 1) call MPI_Win_get_attr(w, MPI_WIN_CREATE_FLAVOR, number, flag, ierr)
      if (i == 2) call PMPI_Win_get_attr(w, MPI_WIN_CREATE_FLAVOR, number, flag, ierr)
      if (.not. flag .or. ierr /= MPI_SUCCESS) call fail(25, way)
      if (way == 1 .and. number /= MPI_WIN_FLAVOR_ALLOCATE) call fail(26, i)
      if (way == 2 .and. number /= MPI_WIN_FLAVOR_CREATE) call fail(27, i)
    end do
    call MPI_Win_get_attr(w, MPI_WIN_SIZE, number, flag, ierr)
    if (.not. flag .or. number /= merge(64, 8, way == 1)) call fail(28, way)
    call MPI_Win_get_attr(w, MPI_WIN_DISP_UNIT, number, flag, ierr)
    if (.not. flag .or. number /= 4) call fail(29, way)
    call MPI_Win_free(w, ierr)
  end do
  call MPI_Finalize(ierr)
contains
  subroutine saw(tag_of_it, from)
    integer, intent(in) :: tag_of_it, from
    if (from /= left .or. tag_of_it < 1 .or. tag_of_it > k) call fail(way, 1)
    if (seen(tag_of_it)) call fail(way, 2)
    seen(tag_of_it) = .true.
  end subroutine
  subroutine fail(where, what)
    integer, intent(in) :: where, what
    print '(a,i0,a,i0,a,i0)', 'rank ', me, ': way ', where, ', requirement ', what
    call MPI_Abort(MPI_COMM_WORLD, 1, ierr)
  end subroutine
end program

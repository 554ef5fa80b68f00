/* MPI_THREAD_MULTIPLE: four threads a rank send, receive, wait in every way and call collectives at once. Plain MPI. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "require.h"

enum { threads = 4, most = 60000 };
static MPI_Comm own[threads]; /* of each thread */
static MPI_Comm apart;        /* known to MPI alone */
static MPI_Win window;
static int *window_memory;

typedef void work(int thread);

struct start {
  work *does;
  int thread;
};
static void *begin(void *s) {
  ((struct start *)s)->does(((struct start *)s)->thread);
  return NULL;
}
static void by_all_threads(work *does, const char *name) {
  pthread_t t[threads];
  struct start s[threads];
  OK(MPI_Barrier(MPI_COMM_WORLD));
  part = name;
  for (int i = 0; i < threads; ++i) {
    s[i] = (struct start){does, i};
    REQUIRE(pthread_create(&t[i], NULL, begin, &s[i]) == 0);
  }
  for (int i = 0; i < threads; ++i) pthread_join(t[i], NULL);
}

/* Between neighbours, of equal threads, told apart by tags or by communicators. */
static void exchange(int thread, MPI_Comm comm, int tag, int rounds) {
  int *const out = malloc(most * sizeof(int)), *const in = malloc(most * sizeof(int));
  for (int i = 0; i < rounds; ++i) {
    const int count = i % 20 == 19 ? most : 1 + (i * 37 + thread) % 500;
    MPI_Status s;
    MPI_Request r[2];
    int flag = 0, index;
    out[0] = me * 1000000 + thread * 10000 + i, out[count - 1] = out[0];
    switch (i % 6) {
      case 0: OK(MPI_Sendrecv(out, count, MPI_INT, right, tag, in, most, MPI_INT, left, tag, comm, &s)); break;
      case 1:
        OK(MPI_Isend(out, count, MPI_INT, right, tag, comm, &r[0]));
        OK(MPI_Recv(in, most, MPI_INT, left, tag, comm, &s));
        OK(MPI_Wait(&r[0], MPI_STATUS_IGNORE));
        break;
      case 2:
        OK(MPI_Irecv(in, most, MPI_INT, left, tag, comm, &r[0]));
        OK(MPI_Isend(out, count, MPI_INT, right, tag, comm, &r[1]));
        for (int k = 0; k < 2; ++k) {
          MPI_Status one;
          OK(MPI_Waitany(2, r, &index, &one));
          if (index == 0) s = one;
        }
        break;
      case 3:
        OK(MPI_Isend(out, count, MPI_INT, right, tag, comm, &r[0]));
        OK(MPI_Probe(left, tag, comm, &s));
        OK(MPI_Recv(in, most, MPI_INT, left, tag, comm, &s)); /* no other thread receives this tag */
        while (!flag) OK(MPI_Test(&r[0], &flag, MPI_STATUS_IGNORE));
        break;
      case 4: {
        MPI_Message m;
        OK(MPI_Issend(out, count, MPI_INT, right, tag, comm, &r[0]));
        OK(MPI_Mprobe(left, tag, comm, &m, &s));
        OK(MPI_Mrecv(in, most, MPI_INT, &m, &s));
        OK(MPI_Waitall(1, r, MPI_STATUSES_IGNORE));
        break;
      }
      default: {
        MPI_Status both[2];
        OK(MPI_Irecv(in, most, MPI_INT, left, tag, comm, &r[0]));
        OK(MPI_Isend(out, count, MPI_INT, right, tag, comm, &r[1]));
        while (!flag) OK(MPI_Testall(2, r, &flag, both));
        s = both[0];
      }
    }
    REQUIRE(status_is(&s, left, tag, 4 * count));
    const int wanted = left * 1000000 + thread * 10000 + i;
    REQUIRE(in[0] == wanted && in[count - 1] == wanted);
  }
  free(out), free(in);
}

static void tags(int thread) { exchange(thread, MPI_COMM_WORLD, 10 + thread, 60); }
static void communicators(int thread) { exchange(thread, own[thread], 5, 60); }
static void of_both_kinds(int thread) { exchange(thread, thread % 2 ? apart : MPI_COMM_WORLD, 20 + thread, 60); }

/* One thread waits in MPI_Recv, for what comes last, while the others send and receive. */
static void one_waits(int thread) {
  int number = -1;
  if (thread == 0) {
    OK(MPI_Recv(&number, 1, MPI_INT, left, 90, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    REQUIRE(number == left);
    return;
  }
  exchange(thread, MPI_COMM_WORLD, 30 + thread, 60);
  if (thread == 1) {
    usleep(20000);
    OK(MPI_Send(&me, 1, MPI_INT, right, 90, MPI_COMM_WORLD));
  }
}
/* The same, in MPI_Wait, MPI_Waitany, MPI_Probe and a barrier, of which the last thread ends all. */
static void most_wait(int thread) {
  int number = -1, index = -1;
  MPI_Request r[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  if (thread == 0) {
    OK(MPI_Irecv(&number, 1, MPI_INT, MPI_ANY_SOURCE, 91, MPI_COMM_WORLD, &r[1]));
    OK(MPI_Waitany(2, r, &index, MPI_STATUS_IGNORE));
    REQUIRE(index == 1 && number == left);
  } else if (thread == 1) {
    OK(MPI_Probe(left, 92, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    OK(MPI_Recv(&number, 1, MPI_INT, left, 92, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  } else if (thread == 2) {
    OK(MPI_Barrier(own[2]));
  } else {
    usleep(10000);
    OK(MPI_Send(&me, 1, MPI_INT, right, 91, MPI_COMM_WORLD));
    usleep(10000);
    OK(MPI_Send(&me, 1, MPI_INT, right, 92, MPI_COMM_WORLD));
  }
}

static void collectives(int thread) {
  MPI_Comm c = own[thread];
  for (int i = 0; i < 20; ++i) {
    int sum = 0, all[64], number = me + thread + i;
    OK(MPI_Allreduce(&number, &sum, 1, MPI_INT, MPI_SUM, c));
    REQUIRE(sum == n * (n - 1) / 2 + n * (thread + i));
    OK(MPI_Allgather(&number, 1, MPI_INT, all, 1, MPI_INT, c));
    for (int k = 0; k < n; ++k) REQUIRE(all[k] == k + thread + i);
    OK(MPI_Bcast(&number, 1, MPI_INT, i % n, c));
    REQUIRE(number == i % n + thread + i);
    MPI_Request r;
    OK(MPI_Ibarrier(c, &r));
    OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
  }
}

/* Types and communicators come and go meanwhile. */
static void makes_and_frees(int thread) {
  for (int i = 0; i < 6; ++i) {
    MPI_Datatype type;
    MPI_Comm c;
    int table[40], got[20];
    MPI_Request r;
    OK(MPI_Type_vector(10 + thread, 1, 2, MPI_INT, &type));
    OK(MPI_Type_commit(&type));
    OK(MPI_Comm_dup(own[thread], &c));
    for (int k = 0; k < 40; ++k) table[k] = me * 100 + k;
    OK(MPI_Isend(table, 1, type, right, 1, c, &r));
    OK(MPI_Type_free(&type));
    OK(MPI_Recv(got, 20, MPI_INT, left, 1, c, MPI_STATUS_IGNORE));
    for (int k = 0; k < 10 + thread; ++k) REQUIRE(got[k] == left * 100 + 2 * k);
    OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
    OK(MPI_Comm_free(&c));
  }
}

/* Windows as well: each thread of a rank waits for the same thread of the others, and not in the same order as theirs. */
static void windows_come_and_go(int thread) {
  for (int i = 0; i < 6; ++i) {
    MPI_Win w;
    int *mine;
    const int value = 100 * me + 10 * thread + i;
    OK(MPI_Win_allocate_shared(sizeof *mine, sizeof *mine, MPI_INFO_NULL, own[thread], &mine, &w));
    OK(MPI_Win_fence(0, w));
    OK(MPI_Put(&value, 1, MPI_INT, right, 0, 1, MPI_INT, w));
    OK(MPI_Win_fence(0, w));
    REQUIRE(*mine == 100 * left + 10 * thread + i);
    OK(MPI_Win_free(&w));
  }
}

/* Any thread may take any message. */
static int taken_sum;
static pthread_mutex_t sum_lock = PTHREAD_MUTEX_INITIALIZER;
static void share_of_all(int thread) {
  enum { each = 100 };
  MPI_Request r[each];
  int numbers[each], sum = 0;
  for (int i = 0; i < each; ++i) {
    numbers[i] = thread * each + i;
    OK(MPI_Isend(&numbers[i], 1, MPI_INT, right, 70, MPI_COMM_WORLD, &r[i]));
  }
  for (int i = 0; i < each; ++i) {
    int number = -1;
    if (i % 2) {
      OK(MPI_Recv(&number, 1, MPI_INT, left, 70, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    } else {
      MPI_Message m;
      OK(MPI_Mprobe(MPI_ANY_SOURCE, 70, MPI_COMM_WORLD, &m, MPI_STATUS_IGNORE));
      OK(MPI_Mrecv(&number, 1, MPI_INT, &m, MPI_STATUS_IGNORE));
    }
    REQUIRE(number >= 0);
    sum += number;
  }
  OK(MPI_Waitall(each, r, MPI_STATUSES_IGNORE));
  pthread_mutex_lock(&sum_lock);
  taken_sum += sum;
  pthread_mutex_unlock(&sum_lock);
}

/* A handler of errors waits for what another thread of the rank sends while it runs. */
static atomic_int handlers_run;
static int error_awaited;
static void told_of(int code) {
  int class = 0, number = 0;
  MPI_Error_class(code, &class);
  REQUIRE(class == error_awaited);
  ++handlers_run;
  OK(MPI_Recv(&number, 1, MPI_INT, me, 9, own[1], MPI_STATUS_IGNORE));
  REQUIRE(number == 42);
}
static void handler(MPI_Comm *comm, int *code, ...) { (void)comm, told_of(*code); }
static void window_handler(MPI_Win *w, int *code, ...) { (void)w, told_of(*code); }
static void handlers_wait(int thread) {
  enum { errors = 4 };
  const int numbers[2] = {42, 43};
  int one = 0;
  if (thread == 0) {
    MPI_Errhandler h;
    MPI_Request r;
    OK(MPI_Comm_create_errhandler(handler, &h));
    OK(MPI_Comm_set_errhandler(own[0], h));
    error_awaited = MPI_ERR_TRUNCATE;
    OK(MPI_Irecv(&one, 1, MPI_INT, (me + n - 1) % n, 8, own[0], &r));
    OK(MPI_Send(numbers, 2, MPI_INT, (me + 1) % n, 8, own[0]));
    REQUIRE(MPI_Wait(&r, MPI_STATUS_IGNORE) != MPI_SUCCESS && handlers_run == 1);
    error_awaited = MPI_ERR_TAG; /* of arguments that MPI tells of */
#ifdef OPEN_MPI /* MPICH 4.0.2 has its own lock then, and bears no call of the handler's */
    REQUIRE(MPI_Irecv(&one, 1, MPI_INT, 0, -7, own[0], &r) != MPI_SUCCESS && handlers_run == 2);
#else
    handler(NULL, &error_awaited);
#endif
    OK(MPI_Comm_set_errhandler(own[0], MPI_ERRORS_ARE_FATAL));
    error_awaited = MPI_ERR_REQUEST;
    OK(MPI_Recv_init(&one, 1, MPI_INT, me, 8, own[0], &r));
    OK(MPI_Start(&r));
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, h));
    if (by_tutti()) REQUIRE(MPI_Start(&r) != MPI_SUCCESS); /* other MPIs do not look */
    else handler(NULL, &error_awaited);
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
    OK(MPI_Send(&one, 1, MPI_INT, me, 8, own[0]));
    OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
    OK(MPI_Request_free(&r));
    OK(MPI_Errhandler_free(&h));
    OK(MPI_Win_create_errhandler(window_handler, &h));
    OK(MPI_Win_set_errhandler(window, h));
    error_awaited = MPI_ERR_RANK;
    OK(MPI_Win_lock_all(0, window));
    REQUIRE(MPI_Put(&one, 1, MPI_INT, n + 7, 0, 1, MPI_INT, window) != MPI_SUCCESS && handlers_run == errors);
    OK(MPI_Win_unlock_all(window));
    OK(MPI_Errhandler_free(&h));
  } else if (thread == 1) {
    for (int i = 1; i <= errors; ++i) {
      while (handlers_run < i) usleep(100);
      OK(MPI_Send(numbers, 1, MPI_INT, me, 9, own[1]));
    }
  }
}

/* An operation of the program takes a lock, as an interpreter's does, that another thread holds while it calls MPI. */
static pthread_mutex_t interpreter;
static atomic_int reduced;
static void add_locked(void *in, void *inout, int *length, MPI_Datatype *type) {
  (void)type;
  pthread_mutex_lock(&interpreter);
  usleep(200);
  for (int i = 0; i < *length; ++i) ((int *)inout)[i] += ((int *)in)[i];
  pthread_mutex_unlock(&interpreter);
}
static void operations_take_locks(int thread) {
  enum { count = 500 };
  static int ones[count], sums[count];
  if (thread == 0) {
    MPI_Op adds;
    OK(MPI_Op_create(add_locked, 1, &adds));
    for (int i = 0; i < count; ++i) ones[i] = 1;
    for (int round = 0; round < 30; ++round) {
      OK(MPI_Allreduce(ones, sums, count, MPI_INT, adds, own[0]));
      REQUIRE(sums[0] == n && sums[count - 1] == n);
    }
    OK(MPI_Op_free(&adds));
    reduced = 1;
  } else if (thread == 1) {
    while (!reduced) {
      int flag = 0, number = -1;
      MPI_Status s;
      pthread_mutex_lock(&interpreter);
      OK(MPI_Sendrecv(&me, 1, MPI_INT, me, 7, &number, 1, MPI_INT, me, 7, own[1], &s));
      OK(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, own[1], &flag, &s));
      pthread_mutex_unlock(&interpreter);
      REQUIRE(number == me && !flag);
      usleep(10);
    }
  }
}

int main(int argc, char **argv) {
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  find_place();
  if (provided != MPI_THREAD_MULTIPLE) {
    if (me == 0) puts("ok: without MPI_THREAD_MULTIPLE there is nothing to test");
    MPI_Finalize();
    return 0;
  }
  for (int i = 0; i < threads; ++i) OK(MPI_Comm_dup(MPI_COMM_WORLD, &own[i]));
  apart = of_mpi_alone();
  by_all_threads(tags, "tags");
  by_all_threads(communicators, "communicators");
  by_all_threads(of_both_kinds, "of_both_kinds");
  by_all_threads(one_waits, "one_waits");
  by_all_threads(most_wait, "most_wait");
  by_all_threads(collectives, "collectives");
  by_all_threads(makes_and_frees, "makes_and_frees");
  by_all_threads(windows_come_and_go, "windows_come_and_go");
  by_all_threads(share_of_all, "share_of_all");
  REQUIRE(taken_sum == threads * 100 * (threads * 100 - 1) / 2);
  OK(MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &window_memory, &window));
  by_all_threads(handlers_wait, "handlers_wait");
  OK(MPI_Win_free(&window));
  pthread_mutexattr_t again;
  pthread_mutexattr_init(&again);
  pthread_mutexattr_settype(&again, PTHREAD_MUTEX_RECURSIVE);
  pthread_mutex_init(&interpreter, &again);
  by_all_threads(operations_take_locks, "operations_take_locks");
  for (int i = 0; i < threads; ++i) OK(MPI_Comm_free(&own[i]));
  OK(MPI_Comm_free(&apart));
  MPI_Barrier(MPI_COMM_WORLD);
  if (me == 0) puts("ok");
  MPI_Finalize();
  return 0;
}

/* Communicators, types, operations and requests that end in any order, and many of them. Passes with the preloaded library and without.
 * Prints "ok" from rank 0. With the argument "few_files" a process may have 200 files open, which are not enough for a team for
 * each communicator: those without one are MPI's alone. With "late" a rank comes to the first collectives when others have waited a minute. */
#include <dirent.h>
#include <stddef.h>
#include <sys/resource.h>
#include <unistd.h>

#include "require.h"

static int open_files(void) {
  int files = 0;
  DIR *const all = opendir("/proc/self/fd");
  while (readdir(all)) ++files;
  closedir(all);
  return files;
}

/* What is left under way in a freed communicator keeps its team no longer than it lasts. */
static void freed_early_by_the_hundred(void) {
  int after_ten = 0;
  for (int round = 0; round < 200; ++round) {
    MPI_Comm c, some;
    MPI_Request r[3];
    int got[2] = {-1, -1};
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &c));
    OK(MPI_Irecv(&got[0], 1, MPI_INT, left, 1, c, &r[0]));
    OK(MPI_Comm_split(c, me % 2, me, &some));
    if (me % 3 == 0) OK(MPI_Irecv(&got[1], 1, MPI_INT, 0, 2, some, &r[1]));
    else r[1] = MPI_REQUEST_NULL;
    OK(MPI_Isend(&me, 1, MPI_INT, right, 1, c, &r[2]));
    OK(MPI_Comm_free(&c));
    int rank, size;
    OK(MPI_Comm_rank(some, &rank));
    OK(MPI_Comm_size(some, &size));
    if (rank == 0)
      for (int to = 0; to < size; ++to)
        if ((2 * to + me % 2) % 3 == 0) OK(MPI_Send(&round, 1, MPI_INT, to, 2, some));
    OK(MPI_Comm_free(&some));
    OK(MPI_Waitall(3, r, MPI_STATUSES_IGNORE));
    REQUIRE(got[0] == left && (me % 3 || got[1] == round));
    if (round == 10) after_ten = open_files();
  }
  REQUIRE(open_files() < after_ten + 20);
}

/* To free waits for nobody, though another member still needs this one's message, or makes other communicators before it frees. */
static void freed_by_some_before_others(void) {
  for (int round = 0; round < 20; ++round) {
    MPI_Comm c, later[3];
    MPI_Request r, sending = MPI_REQUEST_NULL;
    int got = -1, early = (me + round) % 2;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &c));
    OK(MPI_Irecv(&got, 1, MPI_INT, left, 1, c, &r));
    if (early) {
      OK(MPI_Isend(&me, 1, MPI_INT, right, 1, c, &sending));
      OK(MPI_Comm_free(&c));
    }
    OK(MPI_Barrier(MPI_COMM_WORLD));
    for (int i = 0; i < 3; ++i) {
      int sum = 0;
      OK(MPI_Comm_split(MPI_COMM_WORLD, 0, i ? n - me : me, &later[i]));
      OK(MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, later[i]));
      REQUIRE(sum == n * (n - 1) / 2);
    }
    if (!early) {
      OK(MPI_Ssend(&me, 1, MPI_INT, right, 1, c));
      OK(MPI_Comm_free(&c));
    }
    OK(MPI_Wait(&sending, MPI_STATUS_IGNORE));
    OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
    REQUIRE(got == left);
    for (int i = 3; i-- > 0;) OK(MPI_Comm_free(&later[i]));
  }
}

/* What nobody has received in a communicator is not received in the next. */
static void unreceived_stays_behind(void) {
  for (int round = 0; round < 3; ++round) {
    MPI_Comm c;
    MPI_Request r;
    MPI_Status s;
    int wrong = -2, got = -1, flag = 1;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &c));
    OK(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, c, &flag, MPI_STATUS_IGNORE));
    REQUIRE(!flag);
    OK(MPI_Barrier(c));
    OK(MPI_Irecv(&got, 1, MPI_INT, MPI_ANY_SOURCE, round % 2 ? 7 : MPI_ANY_TAG, c, &r));
    OK(MPI_Send(&me, 1, MPI_INT, right, 7, c));
    OK(MPI_Wait(&r, &s));
    REQUIRE(got == left && status_is(&s, left, 7, 4));
    OK(MPI_Send(&wrong, 1, MPI_INT, right, 7, c));
    OK(MPI_Barrier(c));
    OK(MPI_Comm_free(&c));
  }
}

static long resident_kib(void) {
  long pages = 0, all = 0;
  FILE *f = fopen("/proc/self/statm", "r");
  REQUIRE(f && fscanf(f, "%ld %ld", &all, &pages) == 2);
  fclose(f);
  return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

/* Teams of freed communicators are kept for the next ones of the same members in the same order, but not many: a team takes some 28 KiB. */
static void many_make_room_for_others(void) {
  enum { count = 150, most_kib = 4096 };
  static MPI_Comm c[count];
  long first = 0;
  for (int order = 0; order < n; ++order) {
    for (int i = 0; i < count; ++i) OK(MPI_Comm_split(MPI_COMM_WORLD, 0, (me + order) % n, &c[i]));
    OK(MPI_Barrier(c[0]));
    if (order == 0) first = resident_kib();
    for (int i = 0; i < count; ++i) OK(MPI_Comm_free(&c[(i * 7) % count]));
  }
  if (by_tutti()) REQUIRE(resident_kib() < first + most_kib);
}

static void many_at_once(void) {
  enum { count = 700 };
  static MPI_Comm c[count];
  for (int i = 0; i < count; ++i) OK(MPI_Comm_dup(i ? c[i - 1] : MPI_COMM_WORLD, &c[i]));
  for (int i = 0; i < count; i += 50) {
    int sum = 0, got = -1;
    OK(MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, c[i]));
    REQUIRE(sum == n * (n - 1) / 2);
    OK(MPI_Sendrecv(&me, 1, MPI_INT, right, i, &got, 1, MPI_INT, left, i, c[i], MPI_STATUS_IGNORE));
    REQUIRE(got == left);
  }
  for (int i = 0; i < count; ++i) OK(MPI_Comm_free(&c[i]));
}

/* A message that a probe has matched is received in a communicator that is gone. */
static void matched_outlives_its_communicator(void) {
  for (int round = 0; round < 3; ++round) {
    MPI_Comm c, other;
    MPI_Message m[2];
    MPI_Request r;
    int got[2] = {-1, -1}, sent[2] = {me, me + 100};
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &c));
    OK(MPI_Isend(&sent[0], 1, MPI_INT, right, 0, c, &r));
    OK(MPI_Mprobe(left, 0, c, &m[0], MPI_STATUS_IGNORE));
    OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
    OK(MPI_Isend(&sent[1], 1, MPI_INT, right, 1, c, &r));
    OK(MPI_Mprobe(left, 1, c, &m[1], MPI_STATUS_IGNORE));
    OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
    OK(MPI_Comm_free(&c));
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &other));
    OK(MPI_Mrecv(&got[0], 1, MPI_INT, &m[0], MPI_STATUS_IGNORE));
    OK(MPI_Imrecv(&got[1], 1, MPI_INT, &m[1], &r));
    OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
    REQUIRE(got[0] == left && got[1] == left + 100 && m[0] == MPI_MESSAGE_NULL);
    OK(MPI_Comm_free(&other));
  }
}

/* While MPI_Comm_free calls the callbacks of attributes, they may receive what was sent to them before. */
static int received_at_end, from_duplicate;
static int receives(MPI_Comm c, int key, void *value, void *extra) {
  int flag = 0, got = -1;
  (void)key, (void)value, (void)extra;
  while (!flag) OK(MPI_Iprobe(left, 3, c, &flag, MPI_STATUS_IGNORE));
  OK(MPI_Recv(&got, 1, MPI_INT, left, 3, c, MPI_STATUS_IGNORE));
  from_duplicate = got;
  ++received_at_end;
  return MPI_SUCCESS;
}
static void received_while_freed(void) {
  int key;
  OK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, receives, &key, NULL));
  for (int round = 0; round < 4; ++round) {
    MPI_Comm c;
    MPI_Request r;
    const int value = 10 * me + round;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &c));
    OK(MPI_Comm_set_attr(c, key, &key));
    OK(MPI_Isend(&value, 1, MPI_INT, right, 3, c, &r));
    OK(MPI_Comm_free(&c));
    OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
    REQUIRE(received_at_end == round + 1 && from_duplicate == 10 * left + round);
  }
  OK(MPI_Comm_free_keyval(&key));
}

/* An error of what is under way goes to the handler that the communicator had. */
static int handled;
static void handle(MPI_Comm *c, int *code, ...) {
  (void)c;
  handled = class_of(*code);
}
static void errors_outlive_their_communicator(void) {
  MPI_Errhandler counting;
  OK(MPI_Comm_create_errhandler(handle, &counting));
  for (int way = 0; way < 4; ++way) {
    MPI_Comm c;
    MPI_Request r;
    MPI_Status s;
    int flag = 0, code = MPI_SUCCESS;
    char room[4], sent[8] = "1234567";
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &c));
    OK(MPI_Comm_set_errhandler(c, way == 3 ? counting : MPI_ERRORS_RETURN));
    OK(MPI_Irecv(room, 4, MPI_CHAR, left, 1, c, &r));
    if (way == 1) OK(MPI_Barrier(c));
    OK(MPI_Send(sent, 8, MPI_CHAR, right, 1, c));
    OK(MPI_Comm_free(&c));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    handled = MPI_SUCCESS;
    if (way == 0 || way == 3) code = MPI_Wait(&r, &s);
    if (way == 1)
      while (!flag) code = MPI_Test(&r, &flag, &s);
    if (way == 2) code = MPI_Waitall(1, &r, &s) == MPI_ERR_IN_STATUS ? s.MPI_ERROR : MPI_SUCCESS;
    REQUIRE(class_of(code) == MPI_ERR_TRUNCATE && r == MPI_REQUEST_NULL);
    REQUIRE(handled == (way == 3 ? MPI_ERR_TRUNCATE : MPI_SUCCESS));
  }
  OK(MPI_Errhandler_free(&counting));
}

/* A reduction under way keeps the program's operation and type, in whatever order both are freed. */
struct pair {
  double value;
  int count;
};
static void add_pairs(void *in, void *inout, int *length, MPI_Datatype *type) {
  (void)type;
  struct pair *const a = in, *const b = inout;
  for (int i = 0; i < *length; ++i) b[i].value += a[i].value, b[i].count += a[i].count;
}
static void operation_and_type_freed_in_use(void) {
  enum { length = 300 };
  static struct pair mine[length], all[2][length];
  for (int round = 0; round < 30; ++round) {
    MPI_Datatype gapped, type, other;
    MPI_Op op, next;
    MPI_Request r[2];
    OK(MPI_Type_create_struct(2, (int[]){1, 1}, (MPI_Aint[]){0, offsetof(struct pair, count)}, (MPI_Datatype[]){MPI_DOUBLE, MPI_INT}, &gapped));
    OK(MPI_Type_create_resized(gapped, 0, sizeof(struct pair), &type));
    OK(MPI_Type_free(&gapped));
    OK(MPI_Type_commit(&type));
    OK(MPI_Op_create(add_pairs, 1, &op));
    for (int i = 0; i < length; ++i) mine[i] = (struct pair){me + i, 1};
    OK(MPI_Iallreduce(mine, all[0], length, type, op, MPI_COMM_WORLD, &r[0]));
    OK(MPI_Iscan(mine, all[1], length, type, op, MPI_COMM_WORLD, &r[1]));
    if (round % 2) OK(MPI_Op_free(&op));
    OK(MPI_Type_free(&type));
    if (round % 2 == 0) OK(MPI_Op_free(&op));
    OK(MPI_Type_contiguous(5, MPI_CHAR, &other)); /* handles come again */
    OK(MPI_Type_commit(&other));
    OK(MPI_Op_create(add_pairs, 0, &next));
    OK(MPI_Waitall(2, r, MPI_STATUSES_IGNORE));
    for (int i = 0; i < length; ++i) {
      REQUIRE(all[0][i].count == n && all[0][i].value == n * (n - 1) / 2 + n * i);
      REQUIRE(all[1][i].count == me + 1 && all[1][i].value == me * (me + 1) / 2 + (me + 1) * i);
    }
    OK(MPI_Op_free(&next));
    OK(MPI_Type_free(&other));
  }
}

/* The program has one thread, with data of its own: its operations are called by that one, wherever the rank waits meanwhile. */
static __thread int is_the_programs;
static int strangers;
static void add_here(void *in, void *inout, int *length, MPI_Datatype *type) {
  (void)type;
  if (!is_the_programs) ++strangers;
  for (int i = 0; i < *length; ++i) ((double *)inout)[i] += ((double *)in)[i];
}
enum { summands = 1 << 12 };
static double own_summands[summands], sums[4][summands];
static MPI_Op adds;
static int all_sums_are(const double *of, double wanted) {
  for (int i = 0; i < summands; ++i)
    if (of[i] != wanted) return 0;
  return 1;
}
static int reduces(MPI_Comm c, int key, void *value, void *extra) {
  (void)c, (void)key, (void)value, (void)extra;
  if (me == 0) usleep(3000);
  OK(MPI_Allreduce(own_summands, sums[0], summands, MPI_DOUBLE, adds, MPI_COMM_WORLD));
  return MPI_SUCCESS;
}
static void operations_are_called_by_the_program(void) {
  const double all = n * (n + 1) / 2;
  int key;
  is_the_programs = 1;
  for (int i = 0; i < summands; ++i) own_summands[i] = me + 1;
  OK(MPI_Op_create(add_here, 0, &adds));
  OK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, reduces, &key, NULL));
  for (int round = 0; round < 4; ++round) {
    MPI_Request r[3];
    MPI_Comm c;
    OK(MPI_Iallreduce(own_summands, sums[0], summands, MPI_DOUBLE, adds, MPI_COMM_WORLD, &r[0]));
    OK(MPI_Ireduce(own_summands, sums[1], summands, MPI_DOUBLE, adds, round % n, MPI_COMM_WORLD, &r[1]));
    OK(MPI_Iscan(own_summands, sums[2], summands, MPI_DOUBLE, adds, MPI_COMM_WORLD, &r[2]));
    if (me == round % n) usleep(20000);
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &c)); /* waits in MPI */
    OK(MPI_Waitall(3, r, MPI_STATUSES_IGNORE));
    REQUIRE(all_sums_are(sums[0], all) && (me != round % n || all_sums_are(sums[1], all)) && all_sums_are(sums[2], (me + 1) * (me + 2) / 2));
    OK(MPI_Comm_set_attr(c, key, NULL));
    OK(MPI_Comm_free(&c)); /* whose callback reduces, inside of MPI's function */
    REQUIRE(all_sums_are(sums[0], all));
    OK(MPI_Reduce_scatter_block(MPI_IN_PLACE, sums[0], summands / n, MPI_DOUBLE, adds, MPI_COMM_WORLD));
    REQUIRE(sums[0][0] == all * n);
  }
  REQUIRE(strangers == 0);
  OK(MPI_Comm_free_keyval(&key));
  OK(MPI_Op_free(&adds));
}

/* To cancel a receive that has its message, known to the program or not, changes nothing. */
static void cancelled_too_late(void) {
  for (int i = 0; i < 20; ++i) {
    MPI_Request r;
    MPI_Status s;
    int got = -1, flag = 1;
    OK(MPI_Irecv(&got, 1, MPI_INT, left, 1, MPI_COMM_WORLD, &r));
    OK(MPI_Send(&me, 1, MPI_INT, right, 1, MPI_COMM_WORLD));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Cancel(&r));
    OK(MPI_Wait(&r, &s));
    OK(MPI_Test_cancelled(&s, &flag));
    REQUIRE(!flag && got == left && status_is(&s, left, 1, 4));
  }
}

static void late_to_the_first(void) {
  int sum = 0, number = me == n - 1 ? 42 : 0;
  MPI_Comm c;
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &c));
  if (me == n - 1) sleep(65);
  OK(MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, c));
  OK(MPI_Bcast(&number, 1, MPI_INT, n - 1, MPI_COMM_WORLD));
  REQUIRE(sum == n * (n - 1) / 2 && number == 42);
  OK(MPI_Comm_free(&c));
}

int main(int argc, char **argv) {
  const int few = argc > 1 && strcmp(argv[1], "few_files") == 0, late = argc > 1 && strcmp(argv[1], "late") == 0;
  if (few) setrlimit(RLIMIT_NOFILE, &(struct rlimit){200, 200});
  MPI_Init(&argc, &argv);
  find_place();
  if (late) late_to_the_first();
  if (!few && !late) {
    RUN(freed_early_by_the_hundred);
    RUN(freed_by_some_before_others);
    RUN(matched_outlives_its_communicator);
    RUN(received_while_freed);
    if (by_tutti()) RUN(errors_outlive_their_communicator); /* Open MPI ends the job */
    RUN(operation_and_type_freed_in_use);
    RUN(operations_are_called_by_the_program);
    RUN(cancelled_too_late);
    if (by_tutti()) RUN(unreceived_stays_behind); /* not allowed: MPICH does not end then */
    RUN(many_make_room_for_others);
  }
  if (!late) RUN(many_at_once);
  MPI_Barrier(MPI_COMM_WORLD);
  if (me == 0) puts("ok");
  MPI_Finalize();
  return 0;
}

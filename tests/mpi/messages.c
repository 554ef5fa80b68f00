/* Messages: modes of sending, sizes, wildcards, order, probes, types, communicators, and what is wrong with calls. Plain MPI. */
#include <limits.h>

#include "require.h"

static const int sizes[] = {0, 1, 7, 64, 100, 1023, 4096, 8192, 8193, 65536, 65537, 1 << 20, 4 << 20};
enum { count_of_sizes = sizeof sizes / sizeof *sizes, largest = 4 << 20 };
static unsigned char *out, *in;

/* --- modes ----------------------------------------------------------------------------------------------------------------------- */

enum mode { SEND, SSEND, RSEND, BSEND, ISEND, ISSEND, IRSEND, IBSEND, modes };

static void send_as(enum mode m, const void *data, int bytes, int to, int tag, MPI_Comm comm) {
  MPI_Request r = MPI_REQUEST_NULL;
  switch (m) {
    case SEND: OK(MPI_Send(data, bytes, MPI_BYTE, to, tag, comm)); break;
    case SSEND: OK(MPI_Ssend(data, bytes, MPI_BYTE, to, tag, comm)); break;
    case RSEND: OK(MPI_Rsend(data, bytes, MPI_BYTE, to, tag, comm)); break;
    case BSEND: OK(MPI_Bsend(data, bytes, MPI_BYTE, to, tag, comm)); break;
    case ISEND: OK(MPI_Isend(data, bytes, MPI_BYTE, to, tag, comm, &r)); break;
    case ISSEND: OK(MPI_Issend(data, bytes, MPI_BYTE, to, tag, comm, &r)); break;
    case IRSEND: OK(MPI_Irsend(data, bytes, MPI_BYTE, to, tag, comm, &r)); break;
    default: OK(MPI_Ibsend(data, bytes, MPI_BYTE, to, tag, comm, &r));
  }
  if (r != MPI_REQUEST_NULL) OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
  REQUIRE(r == MPI_REQUEST_NULL);
}

static void all_modes_and_sizes(void) {
  for (int s = 0; s < count_of_sizes; ++s)
    for (int m = 0; m < modes; ++m) {
      MPI_Request r;
      MPI_Status status;
      const int bytes = sizes[s], tag = 10 * s + m;
      if (bytes > 100000 && m != s % modes && m != (s + 3) % modes) continue;
      fill(out, (size_t)bytes, (unsigned)(me + tag));
      memset(in, 0xEE, (size_t)bytes + 8);
      OK(MPI_Irecv(in, bytes, MPI_BYTE, left, tag, MPI_COMM_WORLD, &r));
      if (m == RSEND || m == IRSEND) OK(MPI_Barrier(MPI_COMM_WORLD)); /* the receive is there */
      send_as((enum mode)m, out, bytes, right, tag, MPI_COMM_WORLD);
      OK(MPI_Wait(&r, &status));
      REQUIRE(status_is(&status, left, tag, bytes));
      REQUIRE(filled(in, (size_t)bytes, (unsigned)(left + tag)) && all_are(in + bytes, 8, 0xEE));
    }
}

/* A buffered send ends before anyone receives, whatever its size, and its data may be overwritten then. */
static void buffered(void) {
  enum { bytes = 600000 };
  const int room = 3 * (bytes + MPI_BSEND_OVERHEAD);
  void *buffer = malloc((size_t)room), *back = NULL;
  int back_bytes = 0;
  OK(MPI_Buffer_attach(buffer, room));
  MPI_Request r;
  MPI_Status status;
  fill(out, bytes, (unsigned)me);
  OK(MPI_Bsend(out, bytes, MPI_BYTE, right, 1, MPI_COMM_WORLD));
  memset(out, 0, bytes);
  fill(out, bytes, (unsigned)me + 1);
  OK(MPI_Ibsend(out, bytes, MPI_BYTE, right, 2, MPI_COMM_WORLD, &r));
  OK(MPI_Wait(&r, &status));
  memset(out, 0, bytes);
  fill(out, bytes, (unsigned)me + 2);
  OK(MPI_Bsend_init(out, bytes, MPI_BYTE, right, 3, MPI_COMM_WORLD, &r));
  OK(MPI_Start(&r));
  OK(MPI_Wait(&r, &status));
  memset(out, 0, bytes);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  for (int tag = 3; tag >= 1; --tag) {
    OK(MPI_Recv(in, bytes, MPI_BYTE, left, tag, MPI_COMM_WORLD, &status));
    REQUIRE(status_is(&status, left, tag, bytes) && filled(in, bytes, (unsigned)(left + tag - 1)));
  }
  OK(MPI_Buffer_detach(&back, &back_bytes)); /* waits until all is gone */
  REQUIRE(back == buffer && back_bytes == room);
  OK(MPI_Buffer_attach(buffer, room));
  for (int i = 0; i < 5; ++i) { /* the same again, smaller and with a type */
    MPI_Datatype every_second;
    OK(MPI_Type_vector(100, 1, 2, MPI_INT, &every_second));
    OK(MPI_Type_commit(&every_second));
    int numbers[200], got[100];
    for (int j = 0; j < 200; ++j) numbers[j] = me * 1000 + j + i;
    OK(MPI_Bsend(numbers, 1, every_second, right, 4, MPI_COMM_WORLD));
    OK(MPI_Type_free(&every_second));
    memset(numbers, 0, sizeof numbers);
    OK(MPI_Recv(got, 100, MPI_INT, left, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    for (int j = 0; j < 100; ++j) REQUIRE(got[j] == left * 1000 + 2 * j + i);
  }
  for (int i = 0; i < 5 && by_tutti(); ++i) { /* Open MPI 4 sends wrong data from the second start on */
    fill(out, bytes, (unsigned)(me + i));
    OK(MPI_Start(&r));
    OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
    memset(out, 0, bytes);
    OK(MPI_Recv(in, bytes, MPI_BYTE, left, 3, MPI_COMM_WORLD, &status));
    REQUIRE(filled(in, bytes, (unsigned)(left + i)));
  }
  OK(MPI_Request_free(&r));
  OK(MPI_Buffer_detach(&back, &back_bytes));
  free(buffer);
}

static void synchronous_waits_for_its_receive(void) {
  for (int bytes = 0; bytes <= 100000; bytes += 50000) {
    MPI_Request r;
    int done = 0;
    OK(MPI_Issend(out, bytes, MPI_BYTE, right, 5, MPI_COMM_WORLD, &r));
    for (int i = 0; i < 200; ++i) {
      OK(MPI_Test(&r, &done, MPI_STATUS_IGNORE));
      REQUIRE(!done); /* nobody receives before the barrier */
    }
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Recv(in, bytes, MPI_BYTE, left, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
    OK(MPI_Barrier(MPI_COMM_WORLD));
  }
}

/* --- who and in which order --------------------------------------------------------------------------------------------------------- */

static void wildcards(void) {
  enum { each = 20 };
  if (me > 0) {
    for (int i = 0; i < each; ++i) {
      int numbers[3] = {me, i, -1};
      OK(MPI_Send(numbers, 2 + i % 2, MPI_INT, 0, 100 + i % 5, MPI_COMM_WORLD));
    }
  } else {
    int next[64] = {0};
    for (int i = 0; i < each * (n - 1); ++i) {
      int numbers[3];
      MPI_Status s;
      OK(MPI_Recv(numbers, 3, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &s));
      const int from = s.MPI_SOURCE, k = next[from]++;
      REQUIRE(status_is(&s, numbers[0], 100 + k % 5, (2 + k % 2) * (int)sizeof(int)));
      REQUIRE(numbers[1] == k); /* in the order in which they were sent */
    }
  }
  OK(MPI_Barrier(MPI_COMM_WORLD));
  /* One wildcard at a time: all tags of a source, all sources of a tag. */
  MPI_Request r[2];
  OK(MPI_Isend(&me, 1, MPI_INT, right, 7, MPI_COMM_WORLD, &r[0]));
  OK(MPI_Isend(&me, 1, MPI_INT, right, 8, MPI_COMM_WORLD, &r[1]));
  int got = -1;
  MPI_Status s;
  OK(MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, 8, MPI_COMM_WORLD, &s));
  REQUIRE(got == left && status_is(&s, left, 8, 4));
  OK(MPI_Recv(&got, 1, MPI_INT, left, MPI_ANY_TAG, MPI_COMM_WORLD, &s));
  REQUIRE(got == left && status_is(&s, left, 7, 4));
  OK(MPI_Waitall(2, r, MPI_STATUSES_IGNORE));
}

/* Messages of one sender are matched in their order, long ones among short ones, by receives with and without wildcards. */
static void order(void) {
  enum { messages = 60, most = 100000 };
  static int data[messages][most / 4], got[messages][most / 4];
  MPI_Request sends[messages], receives[messages];
  MPI_Status statuses[messages];
  for (int early = 0; early < 2; ++early) { /* receives before the sends, and after them */
    for (int phase = 0; phase < 2; ++phase) {
      if (phase != early)
        for (int i = 0; i < messages; ++i) {
          /* Receives in this order take: the next of tag i % 3, the next of all, ... : sends are laid out so that message i fits both. */
          OK(MPI_Irecv(got[i], most / 4, MPI_INT, i % 4 ? left : MPI_ANY_SOURCE, i % 2 ? MPI_ANY_TAG : i % 3, MPI_COMM_WORLD, &receives[i]));
        }
      else
        for (int i = 0; i < messages; ++i) {
          data[i][0] = i, data[i][1] = me;
          OK(MPI_Isend(data[i], i % 7 == 3 ? most / 4 : 2 + i % 5, MPI_INT, right, i % 3, MPI_COMM_WORLD, &sends[i]));
        }
      OK(MPI_Barrier(MPI_COMM_WORLD));
    }
    OK(MPI_Waitall(messages, receives, statuses));
    OK(MPI_Waitall(messages, sends, MPI_STATUSES_IGNORE));
    for (int i = 0; i < messages; ++i) {
      REQUIRE(got[i][0] == i && got[i][1] == left);
      REQUIRE(status_is(&statuses[i], left, i % 3, 4 * (i % 7 == 3 ? most / 4 : 2 + i % 5)));
    }
  }
}

static void self(void) {
  for (int s = 0; s < count_of_sizes; ++s) {
    MPI_Request r[2];
    MPI_Status status;
    fill(out, (size_t)sizes[s], 3);
    memset(in, 0, (size_t)sizes[s]);
    OK(MPI_Isend(out, sizes[s], MPI_BYTE, me, 3, MPI_COMM_WORLD, &r[0]));
    OK(MPI_Recv(in, largest, MPI_BYTE, me, 3, MPI_COMM_WORLD, &status));
    REQUIRE(status_is(&status, me, 3, sizes[s]) && filled(in, (size_t)sizes[s], 3));
    OK(MPI_Wait(&r[0], MPI_STATUS_IGNORE));
    memset(in, 0, (size_t)sizes[s]);
    OK(MPI_Irecv(in, largest, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, &r[0]));
    OK(MPI_Issend(out, sizes[s], MPI_BYTE, 0, 4, MPI_COMM_SELF, &r[1]));
    OK(MPI_Waitall(2, r, MPI_STATUSES_IGNORE));
    REQUIRE(filled(in, (size_t)sizes[s], 3));
    OK(MPI_Sendrecv(out, sizes[s], MPI_BYTE, 0, 6, in, largest, MPI_BYTE, 0, 6, MPI_COMM_SELF, &status));
    REQUIRE(status_is(&status, 0, 6, sizes[s]));
  }
}

/* The same tag on several communicators, received in another order than sent. */
static void communicators(void) {
  enum { kinds = 6 };
  MPI_Comm c[kinds];
  c[0] = MPI_COMM_WORLD;
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &c[1]));
  OK(MPI_Comm_split(MPI_COMM_WORLD, 0, -me, &c[2])); /* backwards */
  c[3] = of_mpi_alone();
  OK(MPI_Comm_dup(c[3], &c[4]));
  const int dimensions[1] = {n}, periods[1] = {1};
  OK(MPI_Cart_create(MPI_COMM_WORLD, 1, dimensions, periods, 0, &c[5]));
  MPI_Request r[kinds];
  int numbers[kinds];
  for (int k = 0; k < kinds; ++k) {
    numbers[k] = 100 * me + k;
    OK(MPI_Isend(&numbers[k], 1, MPI_INT, k == 2 ? n - 1 - right : right, 9, c[k], &r[k]));
  }
  for (int k = kinds - 1; k >= 0; --k) {
    int got = -1;
    MPI_Status s;
    OK(MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, c[k], &s));
    REQUIRE(got == 100 * left + k && status_is(&s, k == 2 ? n - 1 - left : left, 9, 4));
  }
  OK(MPI_Waitall(kinds, r, MPI_STATUSES_IGNORE));
  for (int k = 1; k < kinds; ++k) OK(MPI_Comm_free(&c[k]));
  /* Halves, of which each has its own ranks; and messages between them. */
  MPI_Comm half, between;
  OK(MPI_Comm_split(MPI_COMM_WORLD, me % 2, me, &half));
  int rank, size;
  MPI_Comm_rank(half, &rank), MPI_Comm_size(half, &size);
  int got = -1;
  OK(MPI_Sendrecv(&me, 1, MPI_INT, (rank + 1) % size, 1, &got, 1, MPI_INT, (rank + size - 1) % size, 1, half, MPI_STATUS_IGNORE));
  REQUIRE(got % 2 == me % 2 && got == 2 * ((rank + size - 1) % size) + me % 2);
  if (n > 1) {
    OK(MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - me % 2, 11, &between));
    int remote;
    MPI_Comm_remote_size(between, &remote);
    if (rank < remote) {
      OK(MPI_Sendrecv(&me, 1, MPI_INT, rank, 1, &got, 1, MPI_INT, rank, 1, between, MPI_STATUS_IGNORE));
      REQUIRE(got == 2 * rank + 1 - me % 2);
    }
    OK(MPI_Comm_free(&between));
  }
  OK(MPI_Comm_free(&half));
}

/* --- both at once --------------------------------------------------------------------------------------------------------------------- */

static void sendrecv(void) {
  MPI_Status s;
  for (int k = 0; k < count_of_sizes; ++k) {
    const int bytes = sizes[k];
    fill(out, (size_t)bytes, (unsigned)me);
    OK(MPI_Sendrecv(out, bytes, MPI_BYTE, right, k, in, largest, MPI_BYTE, left, k, MPI_COMM_WORLD, &s));
    REQUIRE(status_is(&s, left, k, bytes) && filled(in, (size_t)bytes, (unsigned)left));
    OK(MPI_Sendrecv_replace(out, bytes, MPI_BYTE, right, k, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &s));
    REQUIRE(status_is(&s, left, k, bytes) && filled(out, (size_t)bytes, (unsigned)left));
    OK(MPI_Barrier(MPI_COMM_WORLD)); /* for the wildcard */
  }
  /* An open chain: its ends speak with nobody. */
  const int to = me + 1 < n ? me + 1 : MPI_PROC_NULL, from = me > 0 ? me - 1 : MPI_PROC_NULL;
  int got = -1, mine = me;
  OK(MPI_Sendrecv(&me, 1, MPI_INT, to, 1, &got, 1, MPI_INT, from, 1, MPI_COMM_WORLD, &s));
  REQUIRE(got == me - 1 && (me ? status_is(&s, from, 1, 4) : status_is(&s, MPI_PROC_NULL, MPI_ANY_TAG, 0)));
  OK(MPI_Sendrecv_replace(&mine, 1, MPI_INT, to, 2, from, 2, MPI_COMM_WORLD, &s));
  REQUIRE(mine == (me ? me - 1 : 0) && (me ? status_is(&s, from, 2, 4) : status_is(&s, MPI_PROC_NULL, MPI_ANY_TAG, 0)));
  /* With a type that leaves gaps, and a shorter message than there is room. */
  MPI_Datatype column;
  OK(MPI_Type_vector(50, 1, 3, MPI_INT, &column));
  OK(MPI_Type_commit(&column));
  int table[150];
  for (int i = 0; i < 150; ++i) table[i] = 1000 * me + i;
  OK(MPI_Sendrecv_replace(table, 1, column, right, 3, left, 3, MPI_COMM_WORLD, &s));
  for (int i = 0; i < 150; ++i) REQUIRE(table[i] == 1000 * (i % 3 ? me : left) + i);
  REQUIRE(status_is(&s, left, 3, 200));
  OK(MPI_Type_free(&column));
}

/* --- probes --------------------------------------------------------------------------------------------------------------------------- */

static void probes(void) {
  for (int k = 0; k < count_of_sizes; ++k)
    for (int way = 0; way < 4; ++way) {
      const int bytes = sizes[k], tag = 20 + way;
      MPI_Request send, receive;
      MPI_Message m = MPI_MESSAGE_NULL;
      MPI_Status s;
      int found = 0;
      fill(out, (size_t)bytes, (unsigned)me);
      memset(in, 0, (size_t)bytes);
      OK(MPI_Isend(out, bytes, MPI_BYTE, right, tag, MPI_COMM_WORLD, &send));
      if (way == 0) OK(MPI_Probe(k % 2 ? MPI_ANY_SOURCE : left, k % 3 ? tag : MPI_ANY_TAG, MPI_COMM_WORLD, &s));
      if (way == 1)
        while (!found) OK(MPI_Iprobe(k % 2 ? MPI_ANY_SOURCE : left, k % 3 ? tag : MPI_ANY_TAG, MPI_COMM_WORLD, &found, &s));
      if (way == 2) OK(MPI_Mprobe(k % 2 ? MPI_ANY_SOURCE : left, k % 3 ? tag : MPI_ANY_TAG, MPI_COMM_WORLD, &m, &s));
      if (way == 3)
        while (!found) OK(MPI_Improbe(k % 2 ? MPI_ANY_SOURCE : left, k % 3 ? tag : MPI_ANY_TAG, MPI_COMM_WORLD, &found, &m, &s));
      REQUIRE(status_is(&s, left, tag, bytes));
      if (way < 2) OK(MPI_Recv(in, bytes, MPI_BYTE, s.MPI_SOURCE, s.MPI_TAG, MPI_COMM_WORLD, &s));
      if (way >= 2) m = MPI_Message_f2c(MPI_Message_c2f(m));
      if (way == 2) OK(MPI_Mrecv(in, bytes, MPI_BYTE, &m, &s));
      if (way == 3) {
        OK(MPI_Imrecv(in, bytes, MPI_BYTE, &m, &receive));
        OK(MPI_Wait(&receive, &s));
      }
      REQUIRE(m == MPI_MESSAGE_NULL && status_is(&s, left, tag, bytes) && filled(in, (size_t)bytes, (unsigned)left));
      OK(MPI_Wait(&send, MPI_STATUS_IGNORE));
      OK(MPI_Barrier(MPI_COMM_WORLD));
    }
  int found = 1;
  OK(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE));
  REQUIRE(!found);
  OK(MPI_Barrier(MPI_COMM_WORLD));
}

/* A matched message is out of the reach of other receives and probes; messages may be received in any order, into types. */
static void matched(void) {
  int numbers[3] = {1, 2, 3}, got = 0, found = 1, scattered[6] = {0};
  MPI_Request r[3];
  MPI_Message m[3];
  MPI_Status s;
  for (int i = 0; i < 3; ++i) OK(MPI_Isend(&numbers[i], 1, MPI_INT, right, 30, MPI_COMM_WORLD, &r[i]));
  OK(MPI_Mprobe(left, 30, MPI_COMM_WORLD, &m[0], MPI_STATUS_IGNORE));
  OK(MPI_Mprobe(left, 30, MPI_COMM_WORLD, &m[1], &s));
  OK(MPI_Recv(&got, 1, MPI_INT, left, 30, MPI_COMM_WORLD, &s));
  REQUIRE(got == 3);
  OK(MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &found, &m[2], &s));
  REQUIRE(!found);
  OK(MPI_Mrecv(&got, 1, MPI_INT, &m[1], &s));
  REQUIRE(got == 2 && status_is(&s, left, 30, 4));
  OK(MPI_Mrecv(&got, 1, MPI_INT, &m[0], MPI_STATUS_IGNORE));
  REQUIRE(got == 1);
  OK(MPI_Waitall(3, r, MPI_STATUSES_IGNORE));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  MPI_Datatype pair;
  OK(MPI_Type_vector(3, 1, 2, MPI_INT, &pair));
  OK(MPI_Type_commit(&pair));
  OK(MPI_Isend(numbers, 3, MPI_INT, right, 31, MPI_COMM_WORLD, &r[0]));
  OK(MPI_Mprobe(MPI_ANY_SOURCE, 31, MPI_COMM_WORLD, &m[0], &s));
  OK(MPI_Imrecv(scattered, 1, pair, &m[0], &r[1]));
  OK(MPI_Type_free(&pair));
  OK(MPI_Waitall(2, r, MPI_STATUSES_IGNORE));
  for (int i = 0; i < 6; ++i) REQUIRE(scattered[i] == (i % 2 ? 0 : 1 + i / 2));
  OK(MPI_Mprobe(MPI_PROC_NULL, 1, MPI_COMM_WORLD, &m[0], &s));
  REQUIRE(m[0] == MPI_MESSAGE_NO_PROC && status_is(&s, MPI_PROC_NULL, MPI_ANY_TAG, 0));
  OK(MPI_Mrecv(&got, 1, MPI_INT, &m[0], &s));
  REQUIRE(m[0] == MPI_MESSAGE_NULL && status_is(&s, MPI_PROC_NULL, MPI_ANY_TAG, 0));
  OK(MPI_Improbe(MPI_PROC_NULL, 1, MPI_COMM_WORLD, &found, &m[0], &s));
  REQUIRE(found && m[0] == MPI_MESSAGE_NO_PROC);
  OK(MPI_Imrecv(&got, 1, MPI_INT, &m[0], &r[0]));
  OK(MPI_Wait(&r[0], &s));
  REQUIRE(status_is(&s, MPI_PROC_NULL, MPI_ANY_TAG, 0));
}

/* --- nobody and nothing ------------------------------------------------------------------------------------------------------------------ */

static void nobody(void) {
  int number = 5, found = 0;
  MPI_Status s;
  MPI_Request r[4];
  OK(MPI_Send(&number, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD));
  OK(MPI_Ssend(&number, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD));
  OK(MPI_Recv(&number, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &s));
  REQUIRE(number == 5 && status_is(&s, MPI_PROC_NULL, MPI_ANY_TAG, 0));
  OK(MPI_Isend(&number, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &r[0]));
  OK(MPI_Irecv(&number, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &r[1]));
  OK(MPI_Isend(&number, 1, MPI_INT, right, 1, MPI_COMM_WORLD, &r[2]));
  OK(MPI_Irecv(&number, 1, MPI_INT, left, 1, MPI_COMM_WORLD, &r[3]));
  MPI_Status all[4]; /* MPI_Waitall of MPICH 4.0 leaves that of nobody as it was */
  OK(MPI_Waitall(4, r, all));
  REQUIRE(status_is(&all[3], left, 1, 4));
  OK(MPI_Probe(MPI_PROC_NULL, 1, MPI_COMM_WORLD, &s));
  REQUIRE(status_is(&s, MPI_PROC_NULL, MPI_ANY_TAG, 0));
  OK(MPI_Iprobe(MPI_PROC_NULL, 1, MPI_COMM_WORLD, &found, &s));
  REQUIRE(found);
  OK(MPI_Send_init(&number, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &r[0]));
  OK(MPI_Recv_init(&number, 1, MPI_INT, left, 2, MPI_COMM_WORLD, &r[1]));
  OK(MPI_Send_init(&me, 1, MPI_INT, right, 2, MPI_COMM_WORLD, &r[2]));
  for (int i = 0; i < 3; ++i) {
    OK(MPI_Startall(3, r));
    OK(MPI_Waitall(3, r, all));
    REQUIRE(number == left && status_is(&all[1], left, 2, 4));
  }
  for (int i = 0; i < 3; ++i) OK(MPI_Request_free(&r[i]));
}

static void nothing(void) {
  MPI_Datatype empty, gaps;
  OK(MPI_Type_contiguous(0, MPI_INT, &empty));
  OK(MPI_Type_commit(&empty));
  OK(MPI_Type_vector(3, 1, 2, MPI_INT, &gaps));
  OK(MPI_Type_commit(&gaps));
  const MPI_Datatype types[] = {MPI_INT, empty, gaps, MPI_BYTE};
  for (int a = 0; a < 4; ++a)
    for (int b = 0; b < 4; ++b) {
      MPI_Status s;
      MPI_Request r;
      OK(MPI_Isend(NULL, types[a] == empty ? 3 : 0, types[a], right, 1, MPI_COMM_WORLD, &r));
      OK(MPI_Recv(NULL, types[b] == empty ? 2 : 0, types[b], left, 1, MPI_COMM_WORLD, &s));
      REQUIRE(status_is(&s, left, 1, 0));
      OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
      OK(MPI_Sendrecv(NULL, 0, types[a], right, 2, NULL, 0, types[b], left, 2, MPI_COMM_WORLD, &s));
      REQUIRE(status_is(&s, left, 2, 0));
      OK(MPI_Sendrecv_replace(NULL, 0, types[a], right, 2, left, 2, MPI_COMM_WORLD, &s));
      REQUIRE(status_is(&s, left, 2, 0));
    }
  OK(MPI_Type_free(&empty));
  OK(MPI_Type_free(&gaps));
}

/* --- what is wrong -------------------------------------------------------------------------------------------------------------------------- */

static void truncation(void) {
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  const int sent[] = {2, 100, 5000, 70000, 1 << 20}, rooms[] = {0, 1, 40, 4096, 60000};
  MPI_Datatype every_second;
  OK(MPI_Type_vector(1, 1, 2, MPI_BYTE, &every_second));
  MPI_Datatype resized;
  OK(MPI_Type_create_resized(every_second, 0, 2, &resized));
  OK(MPI_Type_commit(&resized));
  for (int i = 0; i < 5; ++i)
    for (int k = 0; k < 5; ++k) {
      const int bytes = sent[i], room = rooms[k];
      if (room >= bytes) continue;
      for (int early = 0; early < 2; ++early)
        for (int with_type = 0; with_type < 2; ++with_type) {
          MPI_Request send, receive;
          const MPI_Datatype type = with_type ? resized : MPI_BYTE;
          const size_t end = (size_t)(with_type ? 2 * room : room);
          fill(out, (size_t)bytes, (unsigned)me);
          memset(in, 0xEE, end + 64);
          if (early) OK(MPI_Irecv(in, room, type, left, 1, MPI_COMM_WORLD, &receive));
          OK(MPI_Barrier(MPI_COMM_WORLD));
          OK(MPI_Isend(out, bytes, MPI_BYTE, right, 1, MPI_COMM_WORLD, &send));
          OK(MPI_Barrier(MPI_COMM_WORLD));
          if (early) FAILS(MPI_Wait(&receive, MPI_STATUS_IGNORE), MPI_ERR_TRUNCATE);
          else FAILS(MPI_Recv(in, room, type, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE), MPI_ERR_TRUNCATE);
          REQUIRE(all_are(in + end, 64, 0xEE) || !by_tutti()); /* Open MPI 4 writes there */
          if (with_type && by_tutti())
            for (size_t b = 1; b < end; b += 2) REQUIRE(in[b] == 0xEE);
          OK(MPI_Wait(&send, MPI_STATUS_IGNORE));
          /* The next message is as ever. */
          int got = -1;
          OK(MPI_Sendrecv(&me, 1, MPI_INT, right, 1, &got, 1, MPI_INT, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
          REQUIRE(got == left);
        }
    }
  OK(MPI_Type_free(&every_second));
  OK(MPI_Type_free(&resized));
  /* One of three, in MPI_Waitall. */
  MPI_Request r[4];
  MPI_Status s[4];
  int got[3][4];
  const int four[4] = {1, 2, 3, 4};
  memset(got, 0xEE, sizeof got);
  for (int i = 0; i < 3; ++i) OK(MPI_Irecv(got[i], i == 1 ? 2 : 4, MPI_INT, left, 50 + i, MPI_COMM_WORLD, &r[i]));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  for (int i = 0; i < 3; ++i) OK(MPI_Send(four, 4, MPI_INT, right, 50 + i, MPI_COMM_WORLD));
  r[3] = MPI_REQUEST_NULL;
  FAILS(MPI_Waitall(4, r, s), MPI_ERR_IN_STATUS);
  REQUIRE(class_of(s[1].MPI_ERROR) == MPI_ERR_TRUNCATE);
  REQUIRE((s[0].MPI_ERROR == MPI_SUCCESS && s[2].MPI_ERROR == MPI_SUCCESS) || !by_tutti()); /* MPICH 4.0 leaves them as they were */
  for (int i = 0; i < 3; ++i) {
    REQUIRE(r[i] == MPI_REQUEST_NULL || !by_tutti());
    if (r[i] != MPI_REQUEST_NULL) OK(MPI_Wait(&r[i], &s[i])); /* so is allowed: its error was MPI_ERR_PENDING */
  }
  REQUIRE(got[1][2] == (int)0xEEEEEEEE && got[0][3] == 4 && got[2][3] == 4);
  REQUIRE(status_is(&s[0], left, 50, 16) && status_is(&s[2], left, 52, 16));
  /* MPI_Mrecv and MPI_Sendrecv. */
  MPI_Message m;
  OK(MPI_Isend(four, 4, MPI_INT, right, 60, MPI_COMM_WORLD, &r[0]));
  OK(MPI_Mprobe(left, 60, MPI_COMM_WORLD, &m, MPI_STATUS_IGNORE));
  FAILS(MPI_Mrecv(got[0], 1, MPI_INT, &m, MPI_STATUS_IGNORE), MPI_ERR_TRUNCATE);
  OK(MPI_Wait(&r[0], MPI_STATUS_IGNORE));
  FAILS(MPI_Sendrecv(four, 4, MPI_INT, right, 61, got[0], 1, MPI_INT, left, 61, MPI_COMM_WORLD, MPI_STATUS_IGNORE), MPI_ERR_TRUNCATE);
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
}

static void wrong_arguments(void) {
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  int number = 3, found = 0;
  MPI_Request r = MPI_REQUEST_NULL;
  MPI_Message m;
  MPI_Status s;
  FAILS(MPI_Send(&number, 1, MPI_INT, n, 1, MPI_COMM_WORLD), MPI_ERR_RANK);
  FAILS(MPI_Send(&number, 1, MPI_INT, -77, 1, MPI_COMM_WORLD), MPI_ERR_RANK);
  FAILS(MPI_Send(&number, 1, MPI_INT, right, -77, MPI_COMM_WORLD), MPI_ERR_TAG);
  FAILS(MPI_Send(&number, -1, MPI_INT, right, 1, MPI_COMM_WORLD), MPI_ERR_COUNT);
  FAILS(MPI_Send(&number, 1, MPI_DATATYPE_NULL, right, 1, MPI_COMM_WORLD), MPI_ERR_TYPE);
  FAILS(MPI_Send(&number, 1, MPI_INT, right, 1, MPI_COMM_NULL), MPI_ERR_COMM);
  FAILS(MPI_Ssend(&number, 1, MPI_INT, n, 1, MPI_COMM_WORLD), MPI_ERR_RANK);
  FAILS(MPI_Isend(&number, 1, MPI_INT, n, 1, MPI_COMM_WORLD, &r), MPI_ERR_RANK);
  FAILS(MPI_Isend(&number, 1, MPI_INT, right, MPI_ANY_TAG, MPI_COMM_WORLD, &r), MPI_ERR_TAG);
  FAILS(MPI_Isend(&number, -2, MPI_INT, right, 1, MPI_COMM_WORLD, &r), MPI_ERR_COUNT);
  FAILS(MPI_Send_init(&number, 1, MPI_INT, n, 1, MPI_COMM_WORLD, &r), MPI_ERR_RANK);
  FAILS(MPI_Recv(&number, 1, MPI_INT, n, 1, MPI_COMM_WORLD, &s), MPI_ERR_RANK);
  FAILS(MPI_Recv(&number, 1, MPI_INT, left, -77, MPI_COMM_WORLD, &s), MPI_ERR_TAG);
  FAILS(MPI_Recv(&number, -1, MPI_INT, left, 1, MPI_COMM_WORLD, &s), MPI_ERR_COUNT);
  FAILS(MPI_Irecv(&number, 1, MPI_INT, -88, 1, MPI_COMM_WORLD, &r), MPI_ERR_RANK);
  FAILS(MPI_Recv_init(&number, 1, MPI_INT, left, -77, MPI_COMM_WORLD, &r), MPI_ERR_TAG);
  FAILS(MPI_Send(NULL, 1, MPI_INT, right, 1, MPI_COMM_WORLD), MPI_ERR_BUFFER);
  FAILS(MPI_Irecv(NULL, 2, MPI_INT, left, 1, MPI_COMM_WORLD, &r), MPI_ERR_BUFFER);
  if (by_tutti()) { /* Open MPI reads from there */
    FAILS(MPI_Allreduce(NULL, &number, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD), MPI_ERR_BUFFER);
    FAILS(MPI_Bcast(NULL, 1, MPI_INT, 0, MPI_COMM_WORLD), MPI_ERR_BUFFER);
  }
  const int *largest_tag;
  OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &largest_tag, &found));
  if (*largest_tag < INT_MAX) {
    FAILS(MPI_Send(&number, 1, MPI_INT, right, *largest_tag + 1, MPI_COMM_WORLD), MPI_ERR_TAG);
    FAILS(MPI_Recv(&number, 1, MPI_INT, left, *largest_tag + 1, MPI_COMM_WORLD, &s), MPI_ERR_TAG);
  }
  FAILS(MPI_Probe(n, 1, MPI_COMM_WORLD, &s), MPI_ERR_RANK);
  FAILS(MPI_Iprobe(left, -77, MPI_COMM_WORLD, &found, &s), MPI_ERR_TAG);
  FAILS(MPI_Improbe(n, 1, MPI_COMM_WORLD, &found, &m, &s), MPI_ERR_RANK);
  /* A call with one wrong half leaves nothing of the other behind. */
  int got = -1, stale[2] = {-5, -5};
  FAILS(MPI_Sendrecv(&me, 1, MPI_INT, n, 1, stale, 1, MPI_INT, left, 1, MPI_COMM_WORLD, &s), MPI_ERR_RANK);
  FAILS(MPI_Sendrecv(&me, 1, MPI_INT, right, -77, stale, 1, MPI_INT, left, 1, MPI_COMM_WORLD, &s), MPI_ERR_TAG);
  FAILS(MPI_Sendrecv(&stale, 1, MPI_INT, right, 1, stale, 1, MPI_INT, n, 1, MPI_COMM_WORLD, &s), MPI_ERR_RANK);
  FAILS(MPI_Sendrecv_replace(stale, 1, MPI_INT, right, 1, n, 1, MPI_COMM_WORLD, &s), MPI_ERR_RANK);
  FAILS(MPI_Sendrecv_replace(stale, 1, MPI_INT, n, 1, left, 1, MPI_COMM_WORLD, &s), MPI_ERR_RANK);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_Sendrecv(&me, 1, MPI_INT, right, 1, &got, 1, MPI_INT, left, 1, MPI_COMM_WORLD, &s));
  REQUIRE(got == left && stale[0] == -5);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &found, &s));
  REQUIRE(!found);
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
}

/* Sends to a rank that receives none of them yet are complete all the same, as by MPI alone. */
static void ahead_of_their_receives(void) {
  enum { count = 20000 };
  int got;
  for (int i = 0; i < count; ++i) OK(MPI_Send(&i, i % 4 > 0, MPI_INT, right, 70 + i % 3, MPI_COMM_WORLD));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  for (int tag = 2; tag >= 0; --tag)
    for (int i = tag; i < count; i += 3) {
      OK(MPI_Recv(&got, 1, MPI_INT, left, 70 + tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
      REQUIRE(i % 4 == 0 || got == i);
    }
}

static int handled, handled_class;
static void handle(MPI_Comm *comm, int *code, ...) {
  int same = MPI_UNEQUAL;
  MPI_Comm_compare(*comm, MPI_COMM_WORLD, &same);
  handled += same != MPI_UNEQUAL;
  handled_class = class_of(*code);
}
static void handlers(void) {
  MPI_Errhandler own;
  MPI_Comm dup;
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &dup));
  OK(MPI_Comm_create_errhandler(handle, &own));
  OK(MPI_Comm_set_errhandler(dup, own));
  MPI_Request r;
  const int two[2] = {1, 2};
  int got = 0;
  OK(MPI_Isend(two, 2, MPI_INT, right, 1, dup, &r));
  FAILS(MPI_Recv(&got, 1, MPI_INT, left, 1, dup, MPI_STATUS_IGNORE), MPI_ERR_TRUNCATE);
  REQUIRE(handled == 1 && handled_class == MPI_ERR_TRUNCATE);
  FAILS(MPI_Send(two, 1, MPI_INT, n, 1, dup), MPI_ERR_RANK);
  REQUIRE(handled == 2 && handled_class == MPI_ERR_RANK);
  OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  OK(MPI_Error_string(MPI_ERR_TRUNCATE, text, &length));
  REQUIRE(length > 0);
  OK(MPI_Errhandler_free(&own));
  OK(MPI_Comm_free(&dup));
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  find_place();
  out = malloc(largest + 64), in = malloc(largest + 64);
  const int room = largest + 2 * MPI_BSEND_OVERHEAD;
  void *buffer = malloc((size_t)room);
  MPI_Buffer_attach(buffer, room);
  RUN(all_modes_and_sizes);
  void *back;
  int back_bytes;
  MPI_Buffer_detach(&back, &back_bytes);
  free(buffer);
  RUN(buffered);
  RUN(synchronous_waits_for_its_receive);
  RUN(wildcards);
  RUN(order);
  RUN(self);
  RUN(communicators);
  RUN(sendrecv);
  RUN(probes);
  RUN(matched);
  RUN(nobody);
  RUN(nothing);
  RUN(truncation);
  RUN(ahead_of_their_receives);
  RUN(wrong_arguments);
  RUN(handlers);
  free(out), free(in);
  MPI_Barrier(MPI_COMM_WORLD);
  if (me == 0) puts("ok");
  MPI_Finalize();
  return 0;
}

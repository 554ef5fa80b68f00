/* Requests: every function that waits for them or tests them, on arrays that mix null, inactive and persistent ones, messages, messages of
 * communicators that only MPI knows, and generalized requests; freeing and cancelling. Plain MPI. */
#include <time.h>

#include "require.h"

static MPI_Comm apart; /* of all ranks, of MPI's alone */

static double now(void) {
  struct timespec t;
  timespec_get(&t, TIME_UTC);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* --- generalized requests ---------------------------------------------------------------------------------------------------------------- */

static int made_states, freed_states;
static int query_state(void *state, MPI_Status *s) {
  MPI_Status_set_elements(s, MPI_BYTE, *(int *)state);
  MPI_Status_set_cancelled(s, 0);
  s->MPI_SOURCE = 5, s->MPI_TAG = *(int *)state;
  return MPI_SUCCESS;
}
static int free_state(void *state) {
  ++freed_states;
  free(state);
  return MPI_SUCCESS;
}
static int cancel_state(void *state, int complete) {
  (void)state, (void)complete;
  return MPI_SUCCESS;
}
static MPI_Request generalized(int number) {
  int *state = malloc(sizeof *state);
  MPI_Request r;
  *state = number, ++made_states;
  OK(MPI_Grequest_start(query_state, free_state, cancel_state, state, &r));
  return r;
}

/* --- arrays that mix all kinds ------------------------------------------------------------------------------------------------------------- */

enum { NONE, INACTIVE, INACTIVE_APART, SENDS, RECEIVES, SENDS_APART, RECEIVES_APART, GENERALIZED, STARTED, STARTED_RECEIVE, LONG_SEND,
       LONG_RECEIVE, kinds_of_requests };
enum { slots = 24, long_bytes = 300000 };
struct mix {
  MPI_Request r[slots];
  MPI_Status s[slots];
  int kind[slots], sent[slots], got[slots], done[slots], to_come;
  char *long_sent[slots], *long_got[slots];
};

static struct mix *mixed(unsigned seed) {
  struct mix *m = calloc(1, sizeof *m);
  for (int i = 0; i < slots; ++i) {
    /* The ranks' arrays agree: a receive of slot i is of a send of slot i - 1. */
    const int kind = seed % 7 == 6 && i % 2 == 0 ? SENDS : (int)((unsigned)(i * 5 + (i / 12)) % kinds_of_requests);
    m->kind[i] = kind;
    m->sent[i] = 1000 * me + i, m->got[i] = -1;
    m->r[i] = MPI_REQUEST_NULL;
  }
  for (int i = 0; i < slots; ++i) {
    const int tag = 100 + i;
    switch (m->kind[i]) {
      case NONE: break;
      case INACTIVE: OK(MPI_Recv_init(&m->got[i], 1, MPI_INT, left, tag, MPI_COMM_WORLD, &m->r[i])); break;
      case INACTIVE_APART: OK(MPI_Send_init(&m->sent[i], 1, MPI_INT, right, tag, apart, &m->r[i])); break;
      case SENDS: OK(MPI_Isend(&m->sent[i], 1, MPI_INT, right, tag, MPI_COMM_WORLD, &m->r[i])); break;
      case RECEIVES: OK(MPI_Irecv(&m->got[i], 1, MPI_INT, left, tag, MPI_COMM_WORLD, &m->r[i])); break;
      case SENDS_APART: OK(MPI_Isend(&m->sent[i], 1, MPI_INT, right, tag, apart, &m->r[i])); break;
      case RECEIVES_APART: OK(MPI_Irecv(&m->got[i], 1, MPI_INT, left, tag, apart, &m->r[i])); break;
      case GENERALIZED: m->r[i] = generalized(tag); break;
      case STARTED: OK(MPI_Ssend_init(&m->sent[i], 1, MPI_INT, right, tag, MPI_COMM_WORLD, &m->r[i])); break;
      case STARTED_RECEIVE: OK(MPI_Recv_init(&m->got[i], 1, MPI_INT, left, tag, MPI_COMM_WORLD, &m->r[i])); break;
      case LONG_SEND:
        m->long_sent[i] = malloc(long_bytes);
        fill(m->long_sent[i], long_bytes, (unsigned)(me + i));
        OK(MPI_Issend(m->long_sent[i], long_bytes, MPI_BYTE, right, tag, i % 2 ? MPI_COMM_WORLD : apart, &m->r[i]));
        break;
      default:
        m->long_got[i] = malloc(long_bytes);
        OK(MPI_Irecv(m->long_got[i], long_bytes, MPI_BYTE, left, tag, i % 2 ? MPI_COMM_WORLD : apart, &m->r[i]));
    }
    if (m->kind[i] == STARTED || m->kind[i] == STARTED_RECEIVE) OK(MPI_Start(&m->r[i]));
    if (m->kind[i] > INACTIVE_APART) ++m->to_come;
  }
  return m;
}

/* What the slots of the first mix wait for is sent or received by a second call, in which each has the other half. */
static void other_half(const struct mix *m) {
  for (int i = 0; i < slots; ++i) {
    const int tag = 100 + i, kind = m->kind[i], number = 1000 * me + i;
    int got = -1;
    if (kind == RECEIVES || kind == STARTED_RECEIVE) OK(MPI_Send(&number, 1, MPI_INT, right, tag, MPI_COMM_WORLD));
    if (kind == RECEIVES_APART) OK(MPI_Send(&number, 1, MPI_INT, right, tag, apart));
    if (kind == SENDS || kind == STARTED) OK(MPI_Recv(&got, 1, MPI_INT, left, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    if (kind == SENDS_APART) OK(MPI_Recv(&got, 1, MPI_INT, left, tag, apart, MPI_STATUS_IGNORE));
    if (got >= 0) REQUIRE(got == 1000 * left + i);
    if (kind == GENERALIZED) OK(MPI_Grequest_complete(m->r[i]));
  }
}
static void other_half_long(const struct mix *m, MPI_Request *r, char **rooms) {
  for (int i = 0; i < slots; ++i) {
    const int tag = 100 + i;
    r[i] = MPI_REQUEST_NULL, rooms[i] = NULL;
    if (m->kind[i] != LONG_SEND && m->kind[i] != LONG_RECEIVE) continue;
    rooms[i] = malloc(long_bytes);
    if (m->kind[i] == LONG_SEND) OK(MPI_Irecv(rooms[i], long_bytes, MPI_BYTE, left, tag, i % 2 ? MPI_COMM_WORLD : apart, &r[i]));
    else {
      fill(rooms[i], long_bytes, (unsigned)(me + i));
      OK(MPI_Isend(rooms[i], long_bytes, MPI_BYTE, right, tag, i % 2 ? MPI_COMM_WORLD : apart, &r[i]));
    }
  }
}

/* Slot i has ended, with this status. */
static void ended(struct mix *m, int i, const MPI_Status *s) {
  const int kind = m->kind[i], tag = 100 + i;
  REQUIRE(!m->done[i]);
  m->done[i] = 1, --m->to_come;
  REQUIRE(kind > INACTIVE_APART);
  REQUIRE((m->r[i] == MPI_REQUEST_NULL) == (kind != STARTED && kind != STARTED_RECEIVE));
  if (kind == RECEIVES || kind == RECEIVES_APART || kind == STARTED_RECEIVE) {
    REQUIRE(m->got[i] == 1000 * left + i);
    REQUIRE(!s || status_is(s, left, tag, 4));
  }
  if (kind == LONG_RECEIVE) {
    REQUIRE(filled(m->long_got[i], long_bytes, (unsigned)(left + i)));
    REQUIRE(!s || status_is(s, left, tag, long_bytes));
  }
  if (kind == GENERALIZED && s) REQUIRE(status_is(s, 5, tag, tag));
}
static void over(struct mix *m) {
  REQUIRE(m->to_come == 0);
  for (int i = 0; i < slots; ++i) {
    if (m->kind[i] == INACTIVE || m->kind[i] == INACTIVE_APART || m->kind[i] == STARTED || m->kind[i] == STARTED_RECEIVE) {
      REQUIRE(m->r[i] != MPI_REQUEST_NULL);
      OK(MPI_Request_free(&m->r[i]));
    }
    REQUIRE(m->r[i] == MPI_REQUEST_NULL);
    free(m->long_sent[i]), free(m->long_got[i]);
  }
  free(m);
}

enum way { WAITALL, WAITANY, WAITSOME, TESTALL, TESTANY, TESTSOME, WAIT, TEST, ways };

static void end_all(struct mix *m, enum way way, int with_statuses) {
  MPI_Status *const all = with_statuses ? m->s : MPI_STATUSES_IGNORE, one, *const s = with_statuses ? &one : MPI_STATUS_IGNORE;
  int found[slots], flag = 0, index, count;
  if (way == WAITALL || way == TESTALL) {
    if (way == WAITALL) OK(MPI_Waitall(slots, m->r, all));
    else
      while (!flag) OK(MPI_Testall(slots, m->r, &flag, all));
    for (int i = 0; i < slots; ++i) {
      if (m->kind[i] > INACTIVE_APART) ended(m, i, with_statuses ? &m->s[i] : NULL);
      else if (with_statuses) REQUIRE(status_is_empty(&m->s[i]));
    }
  } else if (way == WAITANY || way == TESTANY) {
    while (m->to_come > 0) {
      flag = way == WAITANY;
      if (flag) OK(MPI_Waitany(slots, m->r, &index, s));
      while (!flag) OK(MPI_Testany(slots, m->r, &index, &flag, s));
      REQUIRE(index >= 0 && index < slots);
      ended(m, index, with_statuses ? s : NULL);
    }
    if (way == WAITANY) OK(MPI_Waitany(slots, m->r, &index, s));
    else OK(MPI_Testany(slots, m->r, &index, &flag, s));
    REQUIRE(index == MPI_UNDEFINED && flag);
    REQUIRE(!with_statuses || status_is_empty(s) || !by_tutti()); /* MPICH 4.0 leaves it as it was */
  } else if (way == WAITSOME || way == TESTSOME) {
    while (m->to_come > 0) {
      if (way == WAITSOME) OK(MPI_Waitsome(slots, m->r, &count, found, all));
      else OK(MPI_Testsome(slots, m->r, &count, found, all));
      REQUIRE(count <= slots && (count > 0 || way == TESTSOME));
      for (int i = 0; i < count; ++i) ended(m, found[i], with_statuses ? &m->s[i] : NULL);
    }
    if (way == WAITSOME) OK(MPI_Waitsome(slots, m->r, &count, found, all));
    else OK(MPI_Testsome(slots, m->r, &count, found, all));
    REQUIRE(count == MPI_UNDEFINED);
  } else {
    for (int i = slots - 1; i >= 0; --i) {
      flag = way == WAIT;
      if (flag) OK(MPI_Wait(&m->r[i], s));
      while (!flag) OK(MPI_Test(&m->r[i], &flag, s));
      if (m->kind[i] > INACTIVE_APART) ended(m, i, with_statuses ? s : NULL);
      else if (with_statuses) REQUIRE(status_is_empty(s));
    }
  }
}

static void mixed_arrays(void) {
  for (int way = 0; way < ways; ++way)
    for (unsigned seed = 0; seed < 8; ++seed) {
      struct mix *const m = mixed(seed);
      MPI_Request others[slots];
      char *rooms[slots];
      if (seed % 2) { /* nothing can be complete but sends */
        int flag = 1, index = -1;
        OK(MPI_Testall(slots, m->r, &flag, MPI_STATUSES_IGNORE));
        REQUIRE(!flag);
        for (int i = 0; i < slots; ++i)
          if (m->kind[i] == RECEIVES || m->kind[i] == RECEIVES_APART || m->kind[i] == GENERALIZED || m->kind[i] == LONG_RECEIVE) {
            OK(MPI_Testany(1, &m->r[i], &index, &flag, MPI_STATUS_IGNORE));
            REQUIRE(!flag && m->r[i] != MPI_REQUEST_NULL);
          }
        OK(MPI_Barrier(apart));
      }
      other_half_long(m, others, rooms);
      other_half(m);
      end_all(m, (enum way)way, seed % 4 != 3);
      OK(MPI_Waitall(slots, others, MPI_STATUSES_IGNORE));
      for (int i = 0; i < slots; ++i) {
        if (m->kind[i] == LONG_SEND) REQUIRE(filled(rooms[i], long_bytes, (unsigned)(left + i)));
        free(rooms[i]);
      }
      over(m);
      OK(MPI_Barrier(MPI_COMM_WORLD));
    }
}

static void empty_arrays(void) {
  MPI_Request r[3] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  MPI_Status s[3];
  int index, flag, count, found[3], number = 0;
  for (int round = 0; round < 2; ++round) { /* all null; then one is inactive */
    for (int k = round ? 3 : 0; k <= 3; ++k) {
      OK(MPI_Waitall(k, r, s));
      flag = 0;
      OK(MPI_Testall(k, r, &flag, s));
      REQUIRE(flag);
      OK(MPI_Waitany(k, r, &index, &s[0]));
      REQUIRE(index == MPI_UNDEFINED);
      flag = 0;
      OK(MPI_Testany(k, r, &index, &flag, &s[0]));
      REQUIRE(index == MPI_UNDEFINED && flag);
      OK(MPI_Waitsome(k, r, &count, found, s));
      REQUIRE(count == MPI_UNDEFINED);
      OK(MPI_Testsome(k, r, &count, found, s));
      REQUIRE(count == MPI_UNDEFINED);
    }
    OK(MPI_Wait(&r[1], &s[0]));
    REQUIRE(status_is_empty(&s[0]));
    flag = 0;
    OK(MPI_Test(&r[1], &flag, &s[0]));
    REQUIRE(flag && status_is_empty(&s[0]));
    flag = 0;
    OK(MPI_Request_get_status(r[1], &flag, &s[0]));
    REQUIRE(flag && status_is_empty(&s[0]));
    if (!round) OK(MPI_Recv_init(&number, 1, MPI_INT, left, 1, MPI_COMM_WORLD, &r[1]));
  }
  REQUIRE(r[1] != MPI_REQUEST_NULL);
  OK(MPI_Request_free(&r[1]));
}

/* --- persistent ones ----------------------------------------------------------------------------------------------------------------------- */

static void restarted(void) {
  enum { requests = 8, rounds = 60, most = 20000 };
  static int sent[requests / 2][most], got[requests / 2][most];
  const int counts[requests / 2] = {1, 100, 3000, most};
  MPI_Request r[requests];
  MPI_Status s[requests];
  for (int i = 0; i < requests / 2; ++i) {
    OK(MPI_Recv_init(got[i], most, MPI_INT, i % 2 ? MPI_ANY_SOURCE : left, i, MPI_COMM_WORLD, &r[2 * i]));
    if (i == 0) OK(MPI_Send_init(sent[i], counts[i], MPI_INT, right, i, MPI_COMM_WORLD, &r[2 * i + 1]));
    if (i == 1) OK(MPI_Ssend_init(sent[i], counts[i], MPI_INT, right, i, MPI_COMM_WORLD, &r[2 * i + 1]));
    if (i == 2) OK(MPI_Rsend_init(sent[i], counts[i], MPI_INT, right, i, MPI_COMM_WORLD, &r[2 * i + 1]));
    if (i == 3) OK(MPI_Send_init(sent[i], counts[i], MPI_INT, right, i, MPI_COMM_WORLD, &r[2 * i + 1]));
  }
  for (int round = 0; round < rounds; ++round) {
    int flag = 0, index = -1, left_over = requests, found[requests];
    for (int i = 0; i < requests / 2; ++i) sent[i][0] = 100 * round + i, sent[i][counts[i] - 1] = 100 * round + i;
    for (int i = 0; i < requests; i += 2) OK(MPI_Start(&r[i])); /* receives */
    OK(MPI_Barrier(MPI_COMM_WORLD));                            /* for the ready send */
    if (round % 3) OK(MPI_Startall(requests / 2, (MPI_Request[]){r[1], r[3], r[5], r[7]}));
    else
      for (int i = 1; i < requests; i += 2) OK(MPI_Start(&r[i]));
    switch (round % 4) {
      case 0: OK(MPI_Waitall(requests, r, s)); break;
      case 1:
        while (!flag) OK(MPI_Testall(requests, r, &flag, s));
        break;
      case 2:
        for (; left_over > 0; --left_over) {
          MPI_Status one;
          OK(MPI_Waitany(requests, r, &index, &one));
          REQUIRE(index >= 0 && r[index] != MPI_REQUEST_NULL);
          s[index] = one;
        }
        break;
      default:
        while (left_over > 0) {
          MPI_Status some[requests];
          int count = 0;
          OK(MPI_Waitsome(requests, r, &count, found, some));
          REQUIRE(count > 0 && count <= left_over);
          for (int i = 0; i < count; ++i) s[found[i]] = some[i];
          left_over -= count;
        }
    }
    for (int i = 0; i < requests / 2; ++i) {
      REQUIRE(got[i][0] == 100 * round + i && got[i][counts[i] - 1] == 100 * round + i);
      REQUIRE(status_is(&s[2 * i], left, i, 4 * counts[i]));
    }
  }
  for (int i = 0; i < requests; ++i) OK(MPI_Request_free(&r[i]));
}

/* A persistent request keeps its type and its communicator. */
static void persistent_outlives_its_type(void) {
  MPI_Datatype column, other;
  MPI_Request r[2];
  int table[30], got[30];
  for (int i = 0; i < 30; ++i) table[i] = 100 * me + i, got[i] = -1;
  OK(MPI_Type_vector(10, 1, 3, MPI_INT, &column));
  OK(MPI_Type_commit(&column));
  OK(MPI_Send_init(table, 1, column, right, 1, MPI_COMM_WORLD, &r[0]));
  OK(MPI_Recv_init(got, 1, column, left, 1, MPI_COMM_WORLD, &r[1]));
  OK(MPI_Type_free(&column));
  OK(MPI_Type_contiguous(3, MPI_CHAR, &other)); /* may get the same handle */
  OK(MPI_Type_commit(&other));
  for (int round = 0; round < 3; ++round) {
    OK(MPI_Startall(2, r));
    OK(MPI_Waitall(2, r, MPI_STATUSES_IGNORE));
    for (int i = 0; i < 30; ++i) REQUIRE(got[i] == (i % 3 ? -1 : 100 * left + i));
  }
  OK(MPI_Type_free(&other));
  OK(MPI_Request_free(&r[0]));
  OK(MPI_Request_free(&r[1]));
}

/* What is under way when its communicator is freed ends as ever. */
static void communicator_freed_early(void) {
  enum { bytes = 200000 };
  char *const sent = malloc(bytes), *const got = malloc(bytes);
  for (int round = 0; round < 3; ++round) {
    MPI_Comm c;
    MPI_Request r[2];
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &c));
    fill(sent, bytes, (unsigned)(me + round));
    OK(MPI_Irecv(got, bytes, MPI_BYTE, left, 1, c, &r[0]));
    OK(MPI_Isend(sent, bytes, MPI_BYTE, right, 1, c, &r[1]));
    OK(MPI_Comm_free(&c));
    OK(MPI_Waitall(2, r, MPI_STATUSES_IGNORE));
    REQUIRE(filled(got, bytes, (unsigned)(left + round)));
  }
  free(sent), free(got);
}

/* --- freed, cancelled, looked at -------------------------------------------------------------------------------------------------------------- */

static void freed_while_active(void) {
  enum { bytes = 300000 };
  char *const sent = malloc(bytes);
  static volatile int got;
  static char room[bytes];
  MPI_Request r;
  fill(sent, bytes, (unsigned)me);
  got = -1;
  OK(MPI_Irecv((void *)&got, 1, MPI_INT, left, 1, MPI_COMM_WORLD, &r));
  OK(MPI_Request_free(&r));
  REQUIRE(r == MPI_REQUEST_NULL);
  OK(MPI_Isend(sent, bytes, MPI_BYTE, right, 2, MPI_COMM_WORLD, &r));
  OK(MPI_Request_free(&r));
  /* Neither waits for them, nor takes them back. */
  void *buffer = malloc(100 + MPI_BSEND_OVERHEAD), *back;
  int size;
  OK(MPI_Buffer_attach(buffer, 100 + MPI_BSEND_OVERHEAD));
  OK(MPI_Buffer_detach(&back, &size));
  free(buffer);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_Recv(room, bytes, MPI_BYTE, left, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  REQUIRE(filled(room, bytes, (unsigned)left));
  OK(MPI_Send(&me, 1, MPI_INT, right, 1, MPI_COMM_WORLD));
  for (const double began = now(); got != left;) {
    int flag;
    REQUIRE(now() - began < 20);
    OK(MPI_Iprobe(MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
  }
  OK(MPI_Barrier(MPI_COMM_WORLD)); /* `sent` is no longer needed: left has received, as we have */
  OK(MPI_Barrier(MPI_COMM_WORLD));
  free(sent);
  for (int i = 0; i < 300; ++i) { /* many, of which most are complete at once */
    OK(MPI_Isend(&me, 1, MPI_INT, right, 3, MPI_COMM_WORLD, &r));
    OK(MPI_Request_free(&r));
  }
  for (int i = 0; i < 300; ++i) {
    int number;
    OK(MPI_Recv(&number, 1, MPI_INT, left, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    REQUIRE(number == left);
  }
}

static void status_without_ending(void) {
  MPI_Request r;
  MPI_Status s;
  int got = -1, flag = 1;
  OK(MPI_Irecv(&got, 1, MPI_INT, left, 4, MPI_COMM_WORLD, &r));
  OK(MPI_Request_get_status(r, &flag, &s));
  REQUIRE(!flag);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_Send(&me, 1, MPI_INT, right, 4, MPI_COMM_WORLD));
  while (!flag) OK(MPI_Request_get_status(r, &flag, &s));
  REQUIRE(status_is(&s, left, 4, 4) && r != MPI_REQUEST_NULL && got == left);
  for (int i = 0; i < 3; ++i) {
    OK(MPI_Request_get_status(r, &flag, &s)); /* as often as one likes */
    REQUIRE(flag && status_is(&s, left, 4, 4));
    OK(MPI_Request_get_status(r, &flag, MPI_STATUS_IGNORE));
  }
  OK(MPI_Wait(&r, &s));
  REQUIRE(status_is(&s, left, 4, 4) && r == MPI_REQUEST_NULL);
}

static void cancelled(void) {
  MPI_Request r;
  MPI_Status s;
  int got = -1, flag = 0;
  for (int way = 0; way < 3; ++way) {
    OK(MPI_Irecv(&got, 1, MPI_INT, way ? left : MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, &r));
    OK(MPI_Cancel(&r));
    if (way == 0) OK(MPI_Wait(&r, &s));
    flag = 0;
    if (way == 1)
      while (!flag) OK(MPI_Test(&r, &flag, &s));
    if (way == 2) OK(MPI_Waitall(1, &r, &s));
    OK(MPI_Test_cancelled(&s, &flag));
    REQUIRE(flag && r == MPI_REQUEST_NULL);
  }
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_Sendrecv(&me, 1, MPI_INT, right, 5, &got, 1, MPI_INT, left, 5, MPI_COMM_WORLD, &s)); /* none of those takes it */
  REQUIRE(got == left);
  /* One that has its message stays as it is. */
  OK(MPI_Irecv(&got, 1, MPI_INT, left, 6, MPI_COMM_WORLD, &r));
  OK(MPI_Send(&me, 1, MPI_INT, right, 6, MPI_COMM_WORLD));
  flag = 0;
  while (!flag) OK(MPI_Request_get_status(r, &flag, MPI_STATUS_IGNORE));
  OK(MPI_Cancel(&r));
  OK(MPI_Wait(&r, &s));
  REQUIRE(status_is(&s, left, 6, 4));
  /* A persistent one is restarted after it. */
  OK(MPI_Recv_init(&got, 1, MPI_INT, left, 7, MPI_COMM_WORLD, &r));
  for (int i = 0; i < 3; ++i) {
    OK(MPI_Start(&r));
    OK(MPI_Cancel(&r));
    OK(MPI_Wait(&r, &s));
    OK(MPI_Test_cancelled(&s, &flag));
    REQUIRE(flag && r != MPI_REQUEST_NULL);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Start(&r));
    OK(MPI_Send(&i, 1, MPI_INT, right, 7, MPI_COMM_WORLD));
    OK(MPI_Wait(&r, &s));
    REQUIRE(got == i && status_is(&s, left, 7, 4));
    OK(MPI_Barrier(MPI_COMM_WORLD));
  }
  OK(MPI_Request_free(&r));
  /* Cancelled and freed. */
  OK(MPI_Irecv(&got, 1, MPI_INT, left, 8, MPI_COMM_WORLD, &r));
  OK(MPI_Cancel(&r));
  OK(MPI_Request_free(&r));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  int other = -1;
  got = -2;
  OK(MPI_Sendrecv(&me, 1, MPI_INT, right, 8, &other, 1, MPI_INT, left, 8, MPI_COMM_WORLD, &s));
  REQUIRE(other == left && got == -2);
}

static void in_fortran(void) {
  enum { requests = 200 };
  static int sent[requests], got[requests];
  MPI_Fint numbers[2 * requests];
  MPI_Request r[2 * requests];
  for (int i = 0; i < requests; ++i) {
    sent[i] = 100 * me + i;
    OK(MPI_Irecv(&got[i], 1, MPI_INT, left, i, i % 3 ? MPI_COMM_WORLD : apart, &r[i]));
    OK(MPI_Isend(&sent[i], 1, MPI_INT, right, i, i % 3 ? MPI_COMM_WORLD : apart, &r[requests + i]));
  }
  for (int i = 0; i < 2 * requests; ++i) {
    numbers[i] = MPI_Request_c2f(r[i]);
    REQUIRE(MPI_Request_f2c(numbers[i]) == r[i]);
    for (int k = 0; k < i; ++k) REQUIRE(numbers[k] != numbers[i] || r[k] == r[i]);
  }
  for (int i = 0; i < 2 * requests; ++i) {
    MPI_Request x = MPI_Request_f2c(numbers[i]);
    OK(MPI_Wait(&x, MPI_STATUS_IGNORE));
    REQUIRE(x == MPI_REQUEST_NULL);
  }
  for (int i = 0; i < requests; ++i) REQUIRE(got[i] == 100 * left + i);
  REQUIRE(MPI_Request_f2c(MPI_Request_c2f(MPI_REQUEST_NULL)) == MPI_REQUEST_NULL);
}

/* Of an error among several: which one it was. */
static void errors_in_arrays(void) {
  const int four[4] = {1, 2, 3, 4};
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  for (int way = 0; way < ways; ++way) {
    int got[2][4] = {{0}}, index = -1, flag = 0, count = 0, found[2], failures = 0, code = MPI_SUCCESS;
    MPI_Request r[2];
    MPI_Status s[2];
    for (int i = 0; i < 2; ++i) OK(MPI_Irecv(got[i], i ? 2 : 4, MPI_INT, left, 20 + i, MPI_COMM_WORLD, &r[i]));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    for (int i = 0; i < 2; ++i) OK(MPI_Send(four, 4, MPI_INT, right, 20 + i, MPI_COMM_WORLD));
    switch (way) {
      case WAITALL: FAILS(MPI_Waitall(2, r, s), MPI_ERR_IN_STATUS); break;
      case TESTALL:
        while (!flag && (code = MPI_Testall(2, r, &flag, s)) == MPI_SUCCESS) continue;
        FAILS(code, MPI_ERR_IN_STATUS);
        break;
      case WAITANY:
      case TESTANY:
        for (int i = 0; i < 2; ++i) {
          for (flag = 0; !flag;) {
            code = way == WAITANY ? MPI_Waitany(2, r, &index, &s[0]) : MPI_Testany(2, r, &index, &flag, &s[0]);
            if (way == WAITANY || code != MPI_SUCCESS) flag = 1;
          }
          REQUIRE(index == 0 || index == 1);
          FAILS(code, index ? MPI_ERR_TRUNCATE : MPI_SUCCESS);
          REQUIRE(r[index] == MPI_REQUEST_NULL);
        }
        break;
      case WAITSOME:
      case TESTSOME:
        for (int k = 0; k < 2;) {
          code = way == WAITSOME ? MPI_Waitsome(2, r, &count, found, s) : MPI_Testsome(2, r, &count, found, s);
          for (int i = 0; i < count; ++i) {
            if (found[i] == 1) FAILS(code, MPI_ERR_IN_STATUS);
            if (found[i] == 1) FAILS(s[i].MPI_ERROR, MPI_ERR_TRUNCATE);
            failures += found[i] == 1;
          }
          k += count;
        }
        REQUIRE(failures == 1);
        break;
      case WAIT:
        OK(MPI_Wait(&r[0], &s[0]));
        FAILS(MPI_Wait(&r[1], &s[1]), MPI_ERR_TRUNCATE);
        break;
      default:
        while (!flag) OK(MPI_Test(&r[0], &flag, &s[0]));
        for (flag = 0, code = MPI_SUCCESS; !flag && code == MPI_SUCCESS;) code = MPI_Test(&r[1], &flag, &s[1]);
        FAILS(code, MPI_ERR_TRUNCATE);
    }
    for (int i = 0; i < 2; ++i) {
      if (by_tutti()) REQUIRE(r[i] == MPI_REQUEST_NULL);
      else if (r[i] != MPI_REQUEST_NULL) MPI_Wait(&r[i], MPI_STATUS_IGNORE); /* MPI may leave others pending */
    }
    REQUIRE(got[0][3] == 4 && got[1][2] == 0);
    OK(MPI_Barrier(MPI_COMM_WORLD));
  }
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  find_place();
  apart = of_mpi_alone();
  RUN(empty_arrays);
  RUN(mixed_arrays);
  RUN(restarted);
  RUN(persistent_outlives_its_type);
  RUN(communicator_freed_early);
  RUN(freed_while_active);
  RUN(status_without_ending);
  RUN(cancelled);
  RUN(in_fortran);
  RUN(errors_in_arrays);
  REQUIRE(made_states > 0 && freed_states == made_states);
  MPI_Comm_free(&apart);
  MPI_Barrier(MPI_COMM_WORLD);
  if (me == 0) puts("ok");
  MPI_Finalize();
  return 0;
}

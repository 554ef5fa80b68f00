/* Random messages from a seed, checked against a model: every rank draws the same plan, so each knows what all the others send, and what
 * its own receives are to get. Usage: random_messages [SEED [STEPS]]. Plain MPI.
 *
 * A step has a list of messages, in an order that is that of every sender's sends and of every receiver's receives. A receive with
 * wildcards stands where the model says that it can match its message alone: of those of its receiver that are still to come, and that
 * its source and tag admit, the first of each sender must be its own; with more than one sender that is not certain, so there the source
 * is named. */
#include "require.h"

enum { most_messages = 40, most_bytes = 120000, communicators = 4 };

static unsigned long long state;
static unsigned draw(unsigned below) {
  state ^= state << 13, state ^= state >> 7, state ^= state << 17;
  return (unsigned)((state * 0x2545F4914F6CDD1Dull) >> 33) % below;
}

struct message {
  int from, to, tag, comm, bytes, salt;
  int send_way, receive_way, send_type, receive_type; /* drawn for all, used by the two */
  int any_source, any_tag;
};

static unsigned long seed;
static int step;
static MPI_Comm comms[communicators];
static MPI_Datatype types[4]; /* of four bytes each: four plain ones, and with gaps */
static MPI_Aint extents[4];

#define HOLDS(condition, m)                                                                                                         \
  do {                                                                                                                              \
    if (!(condition)) {                                                                                                             \
      fprintf(stderr, "%s:%d: seed %lu, step %d, rank %d of %d, message from %d to %d tag %d comm %d bytes %d ways %d %d: %s\n",     \
              __FILE__, __LINE__, seed, step, me, n, (m)->from, (m)->to, (m)->tag, (m)->comm, (m)->bytes, (m)->send_way,            \
              (m)->receive_way, #condition);                                                                                        \
      MPI_Abort(MPI_COMM_WORLD, 1);                                                                                                 \
    }                                                                                                                               \
  } while (0)

static unsigned char byte_of(const struct message *m, int i) { return (unsigned char)(m->salt + i * 5 + (i >> 8)); }

/* Memory of a message of `bytes`, which are a multiple of four, by type: byte i of the data lies here. */
static size_t place_of(int type, int i) { return (size_t)(i / 4) * (size_t)extents[type] + (size_t)(type == 2 ? i % 4 + i % 4 / 2 * 2 : i % 4); }

static unsigned char *memory_of(const struct message *m, int type, int filled_in) {
  const size_t bytes = (size_t)m->bytes / 4 * (size_t)extents[type] + 16;
  unsigned char *const p = malloc(bytes);
  memset(p, 0xEE, bytes);
  if (filled_in)
    for (int i = 0; i < m->bytes; ++i) p[place_of(type, i)] = byte_of(m, i);
  return p;
}

/* --- receives ------------------------------------------------------------------------------------------------------------------------------- */

static void check(const struct message *m, const unsigned char *memory, const MPI_Status *s) {
  const int wanted_source = m->from;
  int count = -1;
  MPI_Get_count(s, MPI_BYTE, &count);
  HOLDS(s->MPI_SOURCE == wanted_source && s->MPI_TAG == m->tag && count == m->bytes, m);
  if (!memory) return;
  MPI_Get_count(s, types[m->receive_type], &count);
  HOLDS(count == m->bytes / 4, m);
  for (int i = 0; i < m->bytes; ++i) HOLDS(memory[place_of(m->receive_type, i)] == byte_of(m, i), m);
  for (size_t i = 0, end = (size_t)m->bytes / 4 * (size_t)extents[m->receive_type]; i < 16; ++i) HOLDS(memory[end + i] == 0xEE, m);
}

/* Whether receive k may leave out its tag, or its source, and still get message k alone. */
static void choose_wildcards(struct message *plan, int count) {
  for (int k = 0; k < count; ++k) {
    struct message *const m = &plan[k];
    m->any_source &= 1, m->any_tag &= 1;
    for (int i = 0; i < count; ++i) { /* what may be there beside it: all messages of later receives, whoever sends them */
      const struct message *const o = &plan[i];
      if (i == k || o->to != m->to || o->comm != m->comm) continue;
      if (o->from != m->from && i > k && (o->tag == m->tag || m->any_tag)) m->any_source = 0;
    }
  }
}

static void begin_send(const struct message *m, MPI_Request *r, unsigned char **memory) {
  const int type = m->send_type, count = m->bytes / 4;
  *memory = memory_of(m, type, 1);
  switch (m->send_way) {
    case 0: OK(MPI_Issend(*memory, count, types[type], m->to, m->tag, comms[m->comm], r)); break;
    case 1:
      OK(MPI_Send_init(*memory, count, types[type], m->to, m->tag, comms[m->comm], r));
      OK(MPI_Start(r));
      break;
    case 2: OK(MPI_Ibsend(*memory, count, types[type], m->to, m->tag, comms[m->comm], r)); break;
    default: OK(MPI_Isend(*memory, count, types[type], m->to, m->tag, comms[m->comm], r));
  }
}

/* A receive is begun (the request is not null), or done at once, where that cannot keep others waiting. */
static int begin_receive(const struct message *m, MPI_Request *r, unsigned char **memory, int may_block) {
  const int type = m->receive_type, count = m->bytes / 4, source = m->any_source ? MPI_ANY_SOURCE : m->from, tag = m->any_tag ? MPI_ANY_TAG : m->tag;
  MPI_Status s;
  MPI_Message message;
  int flag = 0;
  *memory = memory_of(m, type, 0);
  if (!may_block || m->receive_way < 3) {
    if (m->receive_way == 0) {
      OK(MPI_Recv_init(*memory, count, types[type], source, tag, comms[m->comm], r));
      OK(MPI_Start(r));
    } else {
      OK(MPI_Irecv(*memory, count, types[type], source, tag, comms[m->comm], r));
    }
    return 0;
  }
  switch (m->receive_way) {
    case 3: OK(MPI_Recv(*memory, count, types[type], source, tag, comms[m->comm], &s)); break;
    case 4:
      OK(MPI_Probe(source, tag, comms[m->comm], &s));
      check(m, NULL, &s);
      OK(MPI_Recv(*memory, count, types[type], s.MPI_SOURCE, s.MPI_TAG, comms[m->comm], &s));
      break;
    case 5:
      while (!flag) OK(MPI_Iprobe(source, tag, comms[m->comm], &flag, &s));
      check(m, NULL, &s);
      OK(MPI_Recv(*memory, count, types[type], s.MPI_SOURCE, s.MPI_TAG, comms[m->comm], &s));
      break;
    case 6:
      OK(MPI_Mprobe(source, tag, comms[m->comm], &message, &s));
      check(m, NULL, &s);
      OK(MPI_Mrecv(*memory, count, types[type], &message, &s));
      break;
    default:
      while (!flag) OK(MPI_Improbe(source, tag, comms[m->comm], &flag, &message, &s));
      check(m, NULL, &s);
      OK(MPI_Imrecv(*memory, count, types[type], &message, r));
      return 0;
  }
  check(m, *memory, &s);
  return 1;
}

/* --- a step ---------------------------------------------------------------------------------------------------------------------------------- */

static struct message plan[most_messages];
static MPI_Request requests[2 * most_messages];
static const struct message *of[2 * most_messages];
static unsigned char *memories[2 * most_messages];
static int receives[2 * most_messages];

static void finish_one(int i, const MPI_Status *s) {
  HOLDS(of[i] != NULL, &plan[0]);
  if (receives[i]) check(of[i], memories[i], s);
  if (requests[i] != MPI_REQUEST_NULL) OK(MPI_Request_free(&requests[i])); /* persistent */
  free(memories[i]);
  of[i] = NULL;
}

static void one_step(void) {
  const int count = 1 + (int)draw(most_messages), few_tags = 1 + (int)draw(4), receive_first = (int)draw(3), way_of_waiting = (int)draw(7);
  for (int k = 0; k < count; ++k) {
    struct message *const m = &plan[k];
    m->from = (int)draw((unsigned)n), m->to = draw(6) ? (int)draw((unsigned)n) : m->from;
    m->tag = (int)draw((unsigned)few_tags), m->comm = (int)draw(communicators), m->salt = (int)draw(256);
    const unsigned size = draw(20);
    m->bytes = 4 * (int)(size == 0 ? draw(most_bytes / 4) : size < 4 ? draw(3000) : draw(40));
    m->send_way = (int)draw(6), m->receive_way = (int)draw(8), m->send_type = (int)draw(4), m->receive_type = (int)draw(4);
    m->any_source = (int)draw(2), m->any_tag = 0;
  }
  choose_wildcards(plan, count);
  /* Any tag: where this receive is the next of all that this sender sends to this receiver by this communicator, which it is in this
   * order if none before it is posted later; so always, as receives are posted in the order of the plan. */
  for (int k = 0; k < count; ++k) plan[k].any_tag = !plan[k].any_source && draw(2);

  int held = 0, blocking = 0;
  const int order[2] = {receive_first == 0, receive_first != 0}; /* 1: sends */
  for (int phase = 0; phase < 2; ++phase) {
    if (receive_first < 2 || phase == 0) blocking = 0;
    for (int k = 0; k < count; ++k) {
      const struct message *const m = &plan[k];
      const int sends_now = receive_first == 2 ? phase == 0 : !order[phase] == 0 ? 1 : 0;
      if (sends_now && m->from == me) {
        of[held] = m, receives[held] = 0;
        begin_send(m, &requests[held], &memories[held]);
        ++held;
      }
      if (!sends_now && m->to == me) {
        blocking = phase == 1; /* all sends of this rank are begun, and so are, sooner or later, those of the others */
        of[held] = m, receives[held] = 1;
        requests[held] = MPI_REQUEST_NULL;
        if (begin_receive(m, &requests[held], &memories[held], blocking)) free(memories[held]), of[held] = NULL;
        else ++held;
      }
    }
  }

  MPI_Status s[2 * most_messages], one;
  int index, flag = 0, some, found[2 * most_messages], left_over = held;
  switch (way_of_waiting) {
    case 0:
      OK(MPI_Waitall(held, requests, s));
      for (int i = 0; i < held; ++i) finish_one(i, &s[i]);
      break;
    case 1:
      while (!flag) OK(MPI_Testall(held, requests, &flag, s));
      for (int i = 0; i < held; ++i) finish_one(i, &s[i]);
      break;
    case 2:
      for (; left_over > 0; --left_over) {
        OK(MPI_Waitany(held, requests, &index, &one));
        HOLDS(index >= 0 && index < held, &plan[0]);
        finish_one(index, &one);
      }
      break;
    case 3:
      while (left_over > 0) {
        OK(MPI_Testany(held, requests, &index, &flag, &one));
        if (flag) finish_one(index, &one), --left_over;
      }
      break;
    case 4:
      while (left_over > 0) {
        OK(MPI_Waitsome(held, requests, &some, found, s));
        for (int i = 0; i < some; ++i) finish_one(found[i], &s[i]);
        left_over -= some;
      }
      break;
    case 5:
      for (int i = held - 1; i >= 0; --i) {
        OK(MPI_Wait(&requests[i], &one));
        finish_one(i, &one);
      }
      break;
    default:
      for (int i = 0; left_over > 0; i = (i + 7) % held) {
        if (held % 7 == 0 && i == 0) i = (int)((unsigned)left_over % (unsigned)held); /* 7 steps over some */
        for (int k = 0; k < held; ++k) {
          if (!of[k]) continue;
          OK(MPI_Test(&requests[k], &flag, &one));
          if (flag) finish_one(k, &one), --left_over;
        }
      }
  }
  for (int i = 0; i < held; ++i) HOLDS(requests[i] == MPI_REQUEST_NULL, &plan[0]);
  if (draw(4) == 0) {
    int number = (int)draw(1000), sum = 0;
    OK(MPI_Allreduce(&number, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    HOLDS(sum == n * number, &plan[0]);
  }
  /* Steps are apart, or a wildcard could get what another step sends. */
  for (int c = 0; c < communicators; ++c) OK(MPI_Barrier(comms[c]));
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  find_place();
  seed = argc > 1 ? strtoul(argv[1], NULL, 10) : 1;
  const int steps = argc > 2 ? atoi(argv[2]) : 120;
  state = 88172645463325252ull + seed * 0x9E3779B97F4A7C15ull;
  for (int i = 0; i < 20; ++i) draw(2);
  comms[0] = MPI_COMM_WORLD, comms[2] = of_mpi_alone();
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &comms[1]));
  OK(MPI_Comm_split(MPI_COMM_WORLD, 0, me, &comms[3]));
  OK(MPI_Type_contiguous(4, MPI_BYTE, &types[0]));
  OK(MPI_Type_create_resized(types[0], 0, 7, &types[1]));
  OK(MPI_Type_vector(2, 2, 4, MPI_BYTE, &types[3]));
  OK(MPI_Type_create_resized(types[3], 0, 6, &types[2])); /* bytes 0, 1, 4, 5 of six */
  OK(MPI_Type_free(&types[3]));
  OK(MPI_Type_contiguous(4, MPI_CHAR, &types[3]));
  for (int i = 0; i < 4; ++i) {
    MPI_Aint low;
    OK(MPI_Type_commit(&types[i]));
    OK(MPI_Type_get_extent(types[i], &low, &extents[i]));
  }
  const int room = 64 * (most_bytes + MPI_BSEND_OVERHEAD);
  void *const buffer = malloc((size_t)room), *back;
  int back_bytes;
  OK(MPI_Buffer_attach(buffer, room));
  part = "random messages";
  for (step = 0; step < steps; ++step) one_step();
  OK(MPI_Buffer_detach(&back, &back_bytes));
  free(buffer);
  for (int i = 0; i < 4; ++i) OK(MPI_Type_free(&types[i]));
  for (int i = 1; i < communicators; ++i) OK(MPI_Comm_free(&comms[i]));
  MPI_Barrier(MPI_COMM_WORLD);
  if (me == 0) puts("ok");
  MPI_Finalize();
  return 0;
}

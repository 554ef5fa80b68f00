/* Tagged messages through the C API: every function, alone and in lists with requests of other kinds, and every wrong call. */
#include <stdint.h>

#include "check.h"

static tutti_t ctx;
static tutti_team_t world;
static uint32_t me, n, next, before;

#define WHOLE TUTTI_WHOLE_TAG

static void fill(unsigned char *data, size_t bytes, unsigned with) {
  for (size_t i = 0; i < bytes; ++i) data[i] = (unsigned char)(with + i * 7 + i / 256);
}
static int filled(const unsigned char *data, size_t bytes, unsigned with) {
  for (size_t i = 0; i < bytes; ++i)
    if (data[i] != (unsigned char)(with + i * 7 + i / 256)) return 0;
  return 1;
}

enum { most = 200000 };
static unsigned char out[most], in[most + 64];

/* Around a ring, each length by each pair of calls. */
static void around(void) {
  static const size_t lengths[] = {0, 1, 8, 300, 5000, 40000, most};
  tutti_request_t requests[2];
  tutti_envelope_t found;
  for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; ++i) {
    const size_t bytes = lengths[i];
    fill(out, bytes, me);
    for (int way = 0; way < 3; ++way) {
      memset(in, 0, sizeof in);
      if (way == 0) {
        OK(tutti_sendrecv(world, next, 5, out, bytes, before, 5, WHOLE, in, most, &found));
      } else if (way == 1) {
        OK(tutti_irecv(world, TUTTI_ANY, 6, 6, in, most, &found, &requests[0]));
        OK(tutti_isend(world, next, 6 + 8, out, bytes, &requests[1]));
        OK(tutti_wait_all(requests, 2, 60));
        CHECK(found.tag == 14);
        OK(tutti_barrier(world)); /* nobody sends the next one before all have this */
      } else {
        OK(tutti_irecv(world, before, 0, TUTTI_ANY_TAG, in, most, &found, &requests[0]));
        if (n == 1 || me % 2) {
          OK(tutti_issend(world, next, 1, out, bytes, &requests[1]));
          OK(tutti_wait(&requests[1], 60));
        } else {
          OK(tutti_ssend(world, next, 1, out, bytes));
        }
        OK(tutti_wait(&requests[0], 60));
      }
      CHECK(found.source == before && found.bytes == bytes && filled(in, bytes, before) && in[bytes] == 0);
    }
  }
}

static void truncation(void) {
  tutti_envelope_t found;
  static const size_t lengths[] = {100, 50000, most};
  for (size_t i = 0; i < 3; ++i) {
    const size_t bytes = lengths[i], room = bytes / 3;
    tutti_request_t sent;
    fill(out, bytes, 1);
    memset(in, 0xEE, sizeof in);
    OK(tutti_isend(world, next, 9, out, bytes, &sent));
    REFUSED(tutti_recv(world, before, 9, WHOLE, in, room, &found), TUTTI_TRUNCATED, ctx, "tutti_recv", i == 0 ? "100" : i == 1 ? "50000" : "200000");
    CHECK(found.bytes == bytes && found.source == before && found.tag == 9);
    CHECK(filled(in, room, 1) && in[room] == 0xEE && in[bytes] == 0xEE);
    OK(tutti_wait(&sent, 60));
  }
}

/* A send that is complete at once or was not begun at all. */
static void tried(void) {
  enum { messages = 20 };
  tutti_envelope_t found;
  int sent = -1, yes = 1;
  for (unsigned i = 0; i < messages; ++i) {
    fill(out, 40 + i, i);
    for (sent = 0; !sent; tutti_progress(ctx)) OK(tutti_try_send(world, next, 15, out, 40 + i, &sent));
    memset(out, 0, 40 + i); /* it is the program's again */
  }
  for (unsigned i = 0; i < messages; ++i) {
    OK(tutti_recv(world, before, 15, WHOLE, in, most, &found));
    CHECK(found.bytes == 40 + i && filled(in, 40 + i, i));
  }
  OK(tutti_try_send(world, next, 15, out, most, &sent));
  CHECK(sent == 0);
  OK(tutti_barrier(world));
  OK(tutti_iprobe(world, TUTTI_ANY, 15, WHOLE, &yes, NULL));
  CHECK(yes == 0);
}

static void probes(void) {
  tutti_envelope_t found;
  tutti_message_t taken, copy;
  tutti_request_t requests[2];
  int yes = 1;
  OK(tutti_iprobe(world, TUTTI_ANY, 77, WHOLE, &yes, &found));
  CHECK(yes == 0);
  fill(out, most, 3);
  OK(tutti_isend(world, next, 20, out, 10, &requests[0]));
  OK(tutti_isend(world, next, 21, out, most, &requests[1]));
  OK(tutti_probe(world, before, 21, WHOLE, &found));
  CHECK(found.bytes == most && found.source == before && found.tag == 21);
  OK(tutti_mprobe(world, TUTTI_ANY, 0, TUTTI_ANY_TAG, &taken, &found));
  CHECK(found.tag == 20 && found.bytes == 10);
  OK(tutti_iprobe(world, TUTTI_ANY, 20, WHOLE, &yes, NULL));
  CHECK(yes == 0);
  copy = taken;
  OK(tutti_mrecv(&taken, in, most, &found));
  CHECK(taken.slot == NULL && found.tag == 20 && filled(in, 10, 3));
  INVALID(tutti_mrecv(&copy, in, most, &found), "tutti_mrecv", "stale");
  for (yes = 0; !yes;) OK(tutti_improbe(world, before, 21, WHOLE, &yes, &taken, &found));
  tutti_request_t receiving;
  OK(tutti_imrecv(&taken, in, most, &found, &receiving));
  OK(tutti_wait(&receiving, 60));
  CHECK(found.bytes == most && filled(in, most, 3));
  OK(tutti_wait_all(requests, 2, 60));
  REFUSED(tutti_mrecv(&taken, in, most, &found), TUTTI_INVALID, NULL, "message", "NULL");
}

/* Persistent ones, and lists that mix messages with a collective and a put. */
static void again_and_mixed(void) {
  tutti_request_t list[5], barrier;
  tutti_envelope_t found;
  tutti_window_t window;
  uint64_t word = 4;
  size_t index, indices[5], done;
  int yes;
  OK(tutti_window_create(world, 8, NULL, &window));
  OK(tutti_recv_init(world, before, 30, WHOLE, in, most, &found, &list[0]));
  OK(tutti_send_init(world, next, 30, out, 60000, &list[1]));
  OK(tutti_ssend_init(world, next, 31, out, 8, &list[2]));
  for (unsigned round = 0; round < 3; ++round) {
    unsigned char small[8];
    fill(out, 60000, round);
    OK(tutti_start(&list[0]));
    OK(tutti_start(&list[1]));
    OK(tutti_start(&list[2]));
    INVALID(tutti_start(&list[0]), "tutti_start", "under way");
    OK(tutti_ibarrier(world, &list[3]));
    OK(tutti_put(window, next, 0, &word, 8, &list[4]));
    OK(tutti_recv(world, before, 31, WHOLE, small, 8, NULL));
    OK(tutti_wait_any(list, 5, &index, 60));
    CHECK(index < 5);
    OK(tutti_wait_some(list, 5, indices, &done, 60));
    OK(tutti_wait_all(list, 5, 60));
    OK(tutti_test_all(list, 5, &yes));
    CHECK(yes && found.bytes == 60000 && filled(in, 60000, round) && filled(small, 8, round));
    CHECK(list[0].slot && list[3].slot == NULL && list[4].slot == NULL);
  }
  OK(tutti_ibarrier(world, &barrier));
  OK(tutti_wait(&barrier, 60));
  for (int i = 0; i < 3; ++i) OK(tutti_request_free(&list[i]));
  OK(tutti_window_free(&window));
}

static void taking_back(void) {
  tutti_request_t request, copy;
  int cancelled = 0, yes;
  OK(tutti_irecv(world, TUTTI_ANY, 40, WHOLE, in, 8, NULL, &request));
  REFUSED(tutti_wait(&request, 0.01), TUTTI_TIMED_OUT, ctx, "tutti_wait", "");
  OK(tutti_test(&request, &yes));
  CHECK(!yes);
  copy = request;
  INVALID(tutti_cancel(&request, NULL), "cancelled", "NULL");
  OK(tutti_cancel(&request, &cancelled));
  CHECK(cancelled && request.slot == NULL);
  INVALID(tutti_cancel(&copy, &cancelled), "tutti_cancel", "complete already");
  OK(tutti_recv_init(world, before, 41, WHOLE, in, 8, NULL, &request));
  OK(tutti_start(&request));
  OK(tutti_cancel(&request, &cancelled));
  CHECK(cancelled && request.slot);
  fill(out, 8, 6);
  OK(tutti_barrier(world)); /* nobody sends before all have taken theirs back */
  OK(tutti_start(&request)); /* and it is as new */
  OK(tutti_send(world, next, 41, out, 8));
  OK(tutti_wait(&request, 60));
  CHECK(filled(in, 8, 6));
  OK(tutti_request_free(&request));
  OK(tutti_isend(world, next, 42, out, most, &request));
  INVALID(tutti_cancel(&request, &cancelled), "tutti_cancel", "no receive");
  OK(tutti_recv(world, before, 42, WHOLE, in, most, NULL));
  OK(tutti_wait(&request, 60));
}

/* A team that goes takes with it what was not received; one made after it hears nothing of that. */
static void teams(void) {
  tutti_team_t team;
  tutti_request_t waiting, kept;
  for (int round = 0; round < 3; ++round) {
    const uint32_t to = n - 1 - next, from = n - 1 - before; /* the team's order is the reverse */
    tutti_envelope_t found;
    OK(tutti_team_split(world, 0, (int32_t)(n - me), &team));
    fill(out, 16, (unsigned)round);
    OK(tutti_send(team, to, 1, out, 16));
    OK(tutti_send(team, to, 2, out, 16)); /* nobody receives it */
    OK(tutti_recv(team, TUTTI_ANY, 1, WHOLE, in, 16, &found));
    CHECK(found.source == from && filled(in, 16, (unsigned)round));
    OK(tutti_irecv(team, from, 3, WHOLE, in, 16, NULL, &waiting));
    OK(tutti_recv_init(team, from, 3, WHOLE, in, 16, NULL, &kept));
    OK(tutti_team_free(&team));
    REFUSED(tutti_wait(&waiting, 60), TUTTI_CANCELLED, ctx, "team", "freed");
    INVALID(tutti_start(&kept), "tutti_start", "team was freed");
    OK(tutti_request_free(&kept));
  }
}

/* A column of a matrix goes to where the other end wants it: in one piece, in a column, or in a list of pieces in reverse. */
static void layouts(void) {
  static uint64_t matrix[300][100], column[300], list_target[300][2];
  static ptrdiff_t addresses[300];
  static const size_t rows_of[] = {3, 300};
  tutti_request_t requests[2];
  tutti_envelope_t found;
  for (int i = 0; i < 2; ++i)
    for (size_t width = 1; width <= 80; width += 79) { /* elements of a row that are sent: up to 192,000 bytes */
      const size_t rows = rows_of[i];
      const ptrdiff_t stride = sizeof matrix[0];
      const tutti_layout_t part = {.kind = TUTTI_STRIDED, .block_bytes = 8 * width, .count = 1, .counts = &rows, .strides = &stride};
      size_t bytes;
      OK(tutti_layout_bytes(ctx, &part, &bytes));
      CHECK(bytes == rows * width * 8);
      for (size_t r = 0; r < rows; ++r)
        for (size_t c = 0; c < width; ++c) matrix[r][c] = me * 1000000 + r * 1000 + c;
      OK(tutti_irecv(world, before, 60, WHOLE, in, bytes, &found, &requests[0])); /* in one piece */
      OK(tutti_isend_layout(world, next, 60, matrix, &part, &requests[1]));
      OK(tutti_wait_all(requests, 2, 60));
      CHECK(found.bytes == bytes);
      for (size_t r = 0; r < rows; ++r)
        for (size_t c = 0; c < width; ++c) {
          uint64_t got;
          memcpy(&got, in + 8 * (r * width + c), 8);
          CHECK(got == before * 1000000 + r * 1000 + c);
        }
      memcpy(out, in, bytes); /* and on, into a part of the matrix */
      memset(matrix, 0, sizeof matrix);
      OK(tutti_irecv_layout(world, before, 61, WHOLE, &matrix[0][5], &part, &found, &requests[0]));
      OK(tutti_isend(world, next, 61, out, bytes, &requests[1]));
      OK(tutti_wait_all(requests, 2, 60));
      CHECK(found.bytes == bytes && found.source == before);
      const uint32_t origin = (before + n - 1) % n;
      for (size_t r = 0; r < rows; ++r) {
        CHECK(matrix[r][4] == 0 && matrix[r][5 + width] == 0);
        for (size_t c = 0; c < width; ++c) CHECK(matrix[r][5 + c] == origin * 1000000 + r * 1000 + c);
      }
    }
  for (size_t r = 0; r < 300; ++r) column[r] = me + r, addresses[r] = (ptrdiff_t)(intptr_t)&list_target[299 - r][1];
  const tutti_layout_t pieces = {.kind = TUTTI_INDEXED, .block_bytes = 8, .count = 300, .offsets = addresses};
  OK(tutti_irecv_layout(world, before, 62, WHOLE, NULL, &pieces, NULL, &requests[0]));
  OK(tutti_isend(world, next, 62, column, sizeof column, &requests[1]));
  OK(tutti_wait_all(requests, 2, 60));
  for (size_t r = 0; r < 300; ++r) CHECK(list_target[299 - r][1] == before + r && list_target[r][0] == 0);
  const tutti_layout_t unknown = {.kind = 9};
  INVALID(tutti_isend_layout(world, next, 1, out, &unknown, &requests[0]), "tutti_isend_layout", "9");
  INVALID(tutti_irecv_layout(world, next, 1, WHOLE, in, NULL, NULL, &requests[0]), "tutti_irecv_layout", "NULL");
  INVALID(tutti_isend_layout(world, n, 1, out, &pieces, &requests[0]), "tutti_isend_layout", "is not in the team");
  const tutti_layout_t plain = {.kind = TUTTI_CONTIGUOUS, .block_bytes = 8};
  INVALID(tutti_irecv_layout(world, next, 1, WHOLE, NULL, &plain, NULL, &requests[0]), "base", "NULL");
}

/* From and into windows, where one copy does; and lists of requests that are longer than what is kept. */
static void windows(void) {
  enum { bytes = 150000 };
  tutti_window_t window;
  tutti_request_t requests[2];
  void *base;
  OK(tutti_window_create(world, 2 * bytes, &base, &window));
  unsigned char *const part = base;
  for (int from_window = 0; from_window < 2; ++from_window)
    for (int into_window = 0; into_window < 2; ++into_window) {
      unsigned char *const source = from_window ? part : out, *const target = into_window ? part + bytes : in;
      fill(source, bytes, me + 3);
      memset(target, 0, bytes);
      for (int round = 0; round < 2; ++round) {
        OK(tutti_irecv(world, before, 65, WHOLE, target, bytes, NULL, &requests[0]));
        OK(tutti_isend(world, next, 65, source, bytes, &requests[1]));
        OK(tutti_wait_all(requests, 2, 60));
        CHECK(filled(target, bytes, before + 3));
      }
    }
  OK(tutti_window_free(&window));
  fill(out, bytes, 9); /* nobody takes the old window's memory for this */
  OK(tutti_sendrecv(world, next, 66, out, bytes, before, 66, WHOLE, in, bytes, NULL));
  CHECK(filled(in, bytes, 9));
}

static void wrong_calls(void) {
  tutti_request_t request = {NULL, 0};
  tutti_message_t message = {NULL, 0};
  tutti_envelope_t found;
  int yes;
  INVALID(tutti_send(world, n, 1, out, 8), "tutti_send", "is not in the team");
  INVALID(tutti_ssend(world, TUTTI_ANY, 1, out, 8), "tutti_ssend", "is not in the team");
  INVALID(tutti_isend(world, n, 1, out, 8, &request), "tutti_isend", "is not in the team");
  INVALID(tutti_issend(world, n, 1, out, 8, &request), "tutti_issend", "is not in the team");
  INVALID(tutti_send_init(world, n, 1, out, 8, &request), "tutti_send_init", "is not in the team");
  INVALID(tutti_ssend_init(world, n, 1, out, 8, &request), "tutti_ssend_init", "is not in the team");
  INVALID(tutti_recv(world, n, 1, WHOLE, in, 8, NULL), "tutti_recv", "TUTTI_ANY");
  INVALID(tutti_irecv(world, n, 1, WHOLE, in, 8, NULL, &request), "tutti_irecv", "TUTTI_ANY");
  INVALID(tutti_recv_init(world, n, 1, WHOLE, in, 8, NULL, &request), "tutti_recv_init", "TUTTI_ANY");
  INVALID(tutti_sendrecv(world, n, 1, out, 8, 0, 1, WHOLE, in, 8, NULL), "tutti_sendrecv", "is not in the team");
  INVALID(tutti_sendrecv(world, 0, 1, out, 8, n, 1, WHOLE, in, 8, NULL), "tutti_sendrecv", "TUTTI_ANY");
  INVALID(tutti_probe(world, n, 1, WHOLE, &found), "tutti_probe", "TUTTI_ANY");
  INVALID(tutti_iprobe(world, n, 1, WHOLE, &yes, &found), "tutti_iprobe", "TUTTI_ANY");
  INVALID(tutti_mprobe(world, n, 1, WHOLE, &message, &found), "tutti_mprobe", "TUTTI_ANY");
  INVALID(tutti_improbe(world, n, 1, WHOLE, &yes, &message, &found), "tutti_improbe", "TUTTI_ANY");
  INVALID(tutti_send(world, next, 1, NULL, 8), "data", "NULL");
  INVALID(tutti_recv(world, next, 1, WHOLE, NULL, 8, NULL), "data", "NULL");
  INVALID(tutti_try_send(world, n, 1, out, 8, &yes), "tutti_try_send", "is not in the team");
  INVALID(tutti_try_send(world, next, 1, out, 8, NULL), "sent", "NULL");
  INVALID(tutti_isend(world, next, 1, out, 8, NULL), "request", "NULL");
  INVALID(tutti_irecv(world, next, 1, WHOLE, in, 8, NULL, NULL), "request", "NULL");
  INVALID(tutti_send(world, next, 1, out, SIZE_MAX), "tutti_send", "more than memory");
  INVALID(tutti_recv(world, next, 1, WHOLE, in, SIZE_MAX, NULL), "tutti_recv", "more than memory");
  INVALID(tutti_iprobe(world, next, 1, WHOLE, NULL, &found), "found", "NULL");
  INVALID(tutti_improbe(world, next, 1, WHOLE, &yes, NULL, &found), "message", "NULL");
  REFUSED(tutti_send(NULL, 0, 1, out, 8), TUTTI_INVALID, NULL, "tutti_send", "NULL");
  REFUSED(tutti_recv(NULL, 0, 1, WHOLE, in, 8, NULL), TUTTI_INVALID, NULL, "tutti_recv", "NULL");
  REFUSED(tutti_cancel(NULL, &yes), TUTTI_INVALID, NULL, "tutti_cancel", "NULL");
  REFUSED(tutti_cancel(&request, &yes), TUTTI_INVALID, NULL, "tutti_cancel", "NULL");
  CHECK(request.slot == NULL && message.slot == NULL);
}

int main(void) {
  begin();
  ctx = check_ctx, world = tutti_world(ctx), me = tutti_rank(ctx), n = tutti_size(ctx);
  next = (me + 1) % n, before = (me + n - 1) % n;
  wrong_calls();
  around();
  truncation();
  tried();
  probes();
  again_and_mixed();
  taking_back();
  teams();
  layouts();
  windows();
  OK(tutti_finalize(&check_ctx));
  return 0;
}

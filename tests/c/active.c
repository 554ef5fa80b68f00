/* Active messages from C: what handlers are given, what they may do, and every wrong call. With one rank it talks to itself. */
#include "check.h"

static uint32_t me, n, right, left;
static tutti_team_t world;
static int runs[16];
static uint64_t last_word;
static tutti_am_t kept;
static char notices[4096];
static tutti_window_t window;
static unsigned char *mine, *long_base;

static void note(void *context, const char *text) {
  (void)context;
  strncat(notices, text, sizeof notices - strlen(notices) - 2);
  strcat(notices, "\n");
}

enum { ECHO = 1, ECHOED = 2, ONE_WAY = 3, LIMITS = 4, LONG = 5, LONG_DONE = 6, ASK = 7, NOBODY = 900 };

static void echo(tutti_am_t m, const uint64_t *a, size_t count, void *payload, size_t bytes, void *context) {
  CHECK(context == runs && tutti_am_context(m) == check_ctx && tutti_am_source(m) == left);
  CHECK((uintptr_t)payload % 8 == 0);
  for (size_t i = 0; i < count; ++i) CHECK(a[i] == 100 + i);
  ++runs[ECHO];
  OK(tutti_am_reply(m, ECHOED, a, count, payload, bytes));
  INVALID(tutti_am_reply(m, ECHOED, a, count, payload, bytes), "has its reply", "a request has one");
  kept = m;
}

static size_t wanted_count, wanted_bytes;
static void echoed(tutti_am_t m, const uint64_t *a, size_t count, void *payload, size_t bytes, void *context) {
  (void)context;
  CHECK(tutti_am_source(m) == right && count == wanted_count && bytes == wanted_bytes);
  for (size_t i = 0; i < count; ++i) CHECK(a[i] == 100 + i);
  for (size_t i = 0; i < bytes; ++i) CHECK(((unsigned char *)payload)[i] == (unsigned char)(i * 5));
  INVALID(tutti_am_reply(m, ECHOED, a, count, NULL, 0), "no request", "tutti_am_request()");
  ++runs[ECHOED];
}

static void one_way(tutti_am_t m, const uint64_t *a, size_t count, void *payload, size_t bytes, void *context) {
  (void)context, (void)payload;
  CHECK(count == 1 && bytes == 0 && payload == NULL);
  INVALID(tutti_am_reply(m, ECHOED, NULL, 0, NULL, 0), "no request", "tutti_am_request()");
  last_word = a[0];
  ++runs[ONE_WAY];
}

/* What a handler may not call, and what it may. */
static void limits(tutti_am_t m, const uint64_t *a, size_t count, void *payload, size_t bytes, void *context) {
  (void)m, (void)a, (void)count, (void)payload, (void)bytes, (void)context;
  tutti_request_t request = {NULL, 0}, other = {NULL, 0};
  int flag;
  uint64_t word = 5, old;
  tutti_window_t no_window = NULL;
#define NOT_HERE(call) INVALID(call, "handler", "once the handler has returned")
  NOT_HERE(tutti_barrier(world));
  NOT_HERE(tutti_broadcast(world, 0, &word, 8));
  NOT_HERE(tutti_allreduce(world, &word, &old, 1, TUTTI_UINT64, TUTTI_SUM));
  NOT_HERE(tutti_progress(check_ctx));
  NOT_HERE(tutti_flush(window, 0, -1));
  NOT_HERE(tutti_quiet(check_ctx, -1));
  NOT_HERE(tutti_wait_signal(window, 0, TUTTI_REACHED, 1, 0, -1));
  NOT_HERE(tutti_test_signal(window, 0, TUTTI_REACHED, 1, &flag));
  NOT_HERE(tutti_window_create(world, 8, NULL, &no_window));
  NOT_HERE(tutti_send(world, me, 1, &word, 8));
  NOT_HERE(tutti_recv(world, me, 1, TUTTI_WHOLE_TAG, &word, 8, NULL));
  tutti_t same = check_ctx;
  NOT_HERE(tutti_finalize(&same));
  CHECK(same == check_ctx);
  INVALID(tutti_am_request_long(window, me, 0, &word, 8, LONG, NULL, 0, NULL), "request is NULL", "handler");
  OK(tutti_put(window, me, 64, &word, 8, &request));
  NOT_HERE(tutti_wait(&request, -1));
  NOT_HERE(tutti_test(&request, &flag));
  other = request;
  NOT_HERE(tutti_wait_all(&other, 1, -1));
  CHECK(request.slot != NULL);
  *(tutti_request_t *)context = request;
  OK(tutti_load_signal(window, 64, &old));
  CHECK(tutti_rank(check_ctx) == me);
  ++runs[LIMITS];
}

static void long_arrived(tutti_am_t m, const uint64_t *a, size_t count, void *payload, size_t bytes, void *context) {
  (void)context;
  CHECK(payload == (bytes ? long_base + 1024 : NULL));
  for (size_t i = 0; i < bytes; ++i) CHECK(((unsigned char *)payload)[i] == (unsigned char)(i * 3 + left));
  ++runs[LONG];
  OK(tutti_am_reply(m, LONG_DONE, a, count, NULL, 0));
}
static void long_done(tutti_am_t m, const uint64_t *a, size_t count, void *payload, size_t bytes, void *context) {
  (void)m, (void)payload, (void)bytes, (void)context;
  CHECK(count == wanted_count);
  for (size_t i = 0; i < count; ++i) CHECK(a[i] == 100 + i);
  ++runs[LONG_DONE];
}

/* A handler that asks on, around all ranks. */
static void ask(tutti_am_t m, const uint64_t *a, size_t count, void *payload, size_t bytes, void *context) {
  (void)m, (void)count, (void)payload, (void)bytes, (void)context;
  const uint64_t less = a[0] - 1;
  ++runs[ASK];
  if (a[0] > 0) OK(tutti_am_request(check_ctx, right, ASK, &less, 1, NULL, 0));
}

static void until(const int *count, int wanted) {
  while (*count < wanted) OK(tutti_progress(check_ctx));
  CHECK(*count == wanted);
}

static void echoes(void) {
  const size_t most = tutti_am_max_medium(check_ctx);
  CHECK(most >= 960);
  unsigned char *data = malloc(most);
  uint64_t words[8];
  int sent = 0;
  for (size_t i = 0; i < most; ++i) data[i] = (unsigned char)(i * 5);
  for (size_t i = 0; i < 8; ++i) words[i] = 100 + i;
  for (wanted_count = 0; wanted_count <= 8; ++wanted_count) {
    const size_t sizes[] = {0, 1, 8, 40, 100, 960, most};
    for (size_t s = 0; s < 7; ++s) {
      wanted_bytes = sizes[s];
      OK(tutti_am_request(check_ctx, right, ECHO, words, wanted_count, data, wanted_bytes));
      until(&runs[ECHOED], ++sent);
    }
  }
  until(&runs[ECHO], sent);
  INVALID(tutti_am_reply(kept, ECHOED, NULL, 0, NULL, 0), "returned", "within it");
  CHECK(tutti_am_source(kept) == TUTTI_NO_RANK && tutti_am_context(kept) == NULL);
  free(data);
}

static void longs(void) {
  unsigned char source[3000];
  uint64_t words[8];
  int sent = 0;
  for (size_t i = 0; i < sizeof source; ++i) source[i] = (unsigned char)(i * 3 + me);
  for (size_t i = 0; i < 8; ++i) words[i] = 100 + i;
  for (wanted_count = 0; wanted_count <= 8; ++wanted_count) {
    tutti_request_t request;
    OK(tutti_am_request_long(window, right, 1024, source, wanted_count == 3 ? 0 : sizeof source, LONG, words, wanted_count,
                             wanted_count % 2 ? &request : NULL));
    if (wanted_count % 2) OK(tutti_wait(&request, -1));
    until(&runs[LONG_DONE], ++sent);
  }
  until(&runs[LONG], sent);
  /* Through a window of another team, in which ranks count backwards. */
  tutti_team_t backwards;
  tutti_window_t other;
  OK(tutti_team_split(world, 0, -(int32_t)me, &backwards));
  OK(tutti_window_create(backwards, 4096, (void **)&long_base, &other)); /* the left neighbor may send before this call has returned */
  wanted_count = 2;
  OK(tutti_am_request_long(other, n - 1 - right, 1024, source, sizeof source, LONG, words, 2, NULL));
  until(&runs[LONG_DONE], ++sent);
  until(&runs[LONG], sent);
  OK(tutti_barrier(world));
  OK(tutti_window_free(&other));
  OK(tutti_team_free(&backwards));
}

static void refused_ones(void) {
  uint64_t words[9] = {0};
  const size_t most = tutti_am_max_medium(check_ctx);
  INVALID(tutti_am_register(check_ctx, TUTTI_AM_HANDLERS, echo, NULL), "number 1024", "0 to 1023");
  INVALID(tutti_am_register(check_ctx, ECHO, echo, NULL), "number 1 has a handler", "NULL");
  INVALID(tutti_am_send(check_ctx, n, ECHO, NULL, 0, NULL, 0), "rank", "use 0 to");
  INVALID(tutti_am_request(check_ctx, right, TUTTI_AM_HANDLERS, NULL, 0, NULL, 0), "number 1024", "0 to 1023");
  INVALID(tutti_am_request(check_ctx, right, ECHO, words, 9, NULL, 0), "9 arguments", "8");
  INVALID(tutti_am_request(check_ctx, right, ECHO, NULL, 1, NULL, 0), "arguments", "NULL");
  INVALID(tutti_am_send(check_ctx, right, ECHO, NULL, 0, NULL, 1), "payload", "NULL");
  INVALID(tutti_am_send(check_ctx, right, ECHO, NULL, 0, words, most + 1), "more than", "long");
  INVALID(tutti_am_request_long(window, n, 0, words, 8, LONG, NULL, 0, NULL), "rank", "window of");
  INVALID(tutti_am_request_long(window, right, 4090, words, 8, LONG, NULL, 0, NULL), "offset 4090", "4096");
  INVALID(tutti_am_request_long(window, right, 0, NULL, 8, LONG, NULL, 0, NULL), "source", "NULL");
  INVALID(tutti_am_request_long(window, right, 0, words, 8, LONG, words, 9, NULL), "9 arguments", "8");
  INVALID(tutti_am_request_long(window, right, 0, words, 8, 5000, NULL, 0, NULL), "number 5000", "1023");
  REFUSED(tutti_am_request_long(NULL, 0, 0, words, 8, LONG, NULL, 0, NULL), TUTTI_INVALID, NULL, "window", "NULL");
  REFUSED(tutti_am_request(NULL, 0, 0, NULL, 0, NULL, 0), TUTTI_INVALID, NULL, "tutti_am_request", "NULL");
  REFUSED(tutti_am_send(NULL, 0, 0, NULL, 0, NULL, 0), TUTTI_INVALID, NULL, "tutti_am_send", "NULL");
  REFUSED(tutti_am_register(NULL, 0, echo, NULL), TUTTI_INVALID, NULL, "tutti_am_register", "NULL");
  REFUSED(tutti_am_reply(NULL, 0, NULL, 0, NULL, 0), TUTTI_INVALID, NULL, "message", "NULL");
  CHECK(tutti_am_max_medium(NULL) == 0 && tutti_am_source(NULL) == TUTTI_NO_RANK && tutti_am_context(NULL) == NULL);
}

/* Numbers without a handler: the sender is told by whichever call comes next, the target by a notice. */
static void nobody(void) {
  char text[80];
  OK(tutti_am_request(check_ctx, right, NOBODY, NULL, 0, NULL, 0));
  tutti_status_t s = TUTTI_OK;
  while (s == TUTTI_OK) s = tutti_progress(check_ctx);
  snprintf(text, sizeof text, "rank %u has no handler for number %d", right, NOBODY);
  REFUSED(s, TUTTI_INVALID, check_ctx, "tutti_progress", text);
  CHECK(tutti_error_peer(check_ctx) == right);
  OK(tutti_barrier(world)); /* the left neighbor's has come as well */
  snprintf(text, sizeof text, "rank %u sent an active message to number %d", left, NOBODY);
  CHECK(strstr(notices, text));
  for (int i = 0; i < 300; ++i) { /* more than may be under way: what is refused is done with; some of these calls are told */
    s = tutti_am_request(check_ctx, right, NOBODY + 1, NULL, 0, NULL, 0);
    if (s != TUTTI_OK) REFUSED(s, TUTTI_INVALID, check_ctx, "tutti_am_request", "no handler for number 901");
  }
  const int before = runs[ONE_WAY];
  OK(tutti_am_register(check_ctx, NOBODY, one_way, NULL));
  OK(tutti_barrier(world));
  while (tutti_progress(check_ctx) != TUTTI_OK) {}
  const uint64_t word = 9;
  while ((s = tutti_am_send(check_ctx, right, NOBODY, &word, 1, NULL, 0)) != TUTTI_OK) REFUSED(s, TUTTI_INVALID, check_ctx, "number 901", "rank");
  while (runs[ONE_WAY] == before) (void)tutti_progress(check_ctx);
  OK(tutti_am_register(check_ctx, NOBODY, NULL, NULL));
  OK(tutti_barrier(world));
}

int main(void) {
  const tutti_options_t options = {.struct_size = sizeof options, .notice = note};
  if (tutti_init(&options, &check_ctx) != TUTTI_OK) return fprintf(stderr, "%s\n", tutti_error_text(NULL)), 1;
  me = tutti_rank(check_ctx), n = tutti_size(check_ctx), world = tutti_world(check_ctx);
  right = (me + 1) % n, left = (me + n - 1) % n;
  tutti_request_t of_handler = {NULL, 0};
  OK(tutti_window_create(world, 4096, (void **)&mine, &window));
  long_base = mine;
  OK(tutti_am_register(check_ctx, ECHO, echo, runs));
  OK(tutti_am_register(check_ctx, ECHOED, echoed, NULL));
  OK(tutti_am_register(check_ctx, ONE_WAY, one_way, NULL));
  OK(tutti_am_register(check_ctx, LIMITS, limits, &of_handler));
  OK(tutti_am_register(check_ctx, LONG, long_arrived, NULL));
  OK(tutti_am_register(check_ctx, LONG_DONE, long_done, NULL));
  OK(tutti_am_register(check_ctx, ASK, ask, NULL));
  OK(tutti_barrier(world));
  echoes();
  for (uint64_t i = 1; i <= 100; ++i) OK(tutti_am_send(check_ctx, right, ONE_WAY, &i, 1, NULL, 0));
  until(&runs[ONE_WAY], 100);
  CHECK(last_word == 100);
  const uint64_t no_more = 0;
  for (int i = 0; i < 500; ++i) OK(tutti_am_request(check_ctx, right, ASK, &no_more, 1, NULL, 0)); /* which nobody answers */
  until(&runs[ASK], 500);
  runs[ASK] = 0;
  OK(tutti_barrier(world));
  OK(tutti_am_send(check_ctx, right, LIMITS, NULL, 0, NULL, 0));
  until(&runs[LIMITS], 1);
  OK(tutti_wait(&of_handler, -1));
  longs();
  const uint64_t rounds = 3 * n - 1;
  OK(tutti_am_request(check_ctx, right, ASK, &rounds, 1, NULL, 0));
  until(&runs[ASK], (int)(3 * n)); /* one from each rank, three times around */
  refused_ones();
  OK(tutti_barrier(world));
  nobody();
  OK(tutti_window_free(&window));
  OK(tutti_finalize(&check_ctx));
  return 0;
}

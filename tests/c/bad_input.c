/* Every kind of wrong call: refused with the right code, a text that names the value, and nothing changed. */
#include <math.h>
#include <stddef.h>

#include "check.h"

static tutti_t ctx;
static uint32_t me, n;

#define NULL_HANDLE(call, word) REFUSED(call, TUTTI_INVALID, NULL, word, "NULL")

static void null_handles(void) {
  void *base;
  int flag;
  uint32_t rank;
  uint64_t word = 0;
  size_t count;
  tutti_team_t team = NULL;
  tutti_window_t window = NULL;
  NULL_HANDLE(tutti_init(NULL, NULL), "tutti_init");
  NULL_HANDLE(tutti_finalize(NULL), "tutti_finalize");
  NULL_HANDLE(tutti_abandon(NULL), "tutti_abandon");
  NULL_HANDLE(tutti_progress(NULL), "tutti_progress");
  NULL_HANDLE(tutti_barrier(NULL), "tutti_barrier");
  NULL_HANDLE(tutti_ibarrier(NULL, NULL), "tutti_ibarrier");
  NULL_HANDLE(tutti_broadcast(NULL, 0, &word, 8), "tutti_broadcast");
  NULL_HANDLE(tutti_team_create(NULL, NULL, 0, &team), "tutti_team_create");
  NULL_HANDLE(tutti_team_split(NULL, 0, 0, &team), "tutti_team_split");
  NULL_HANDLE(tutti_team_free(NULL), "tutti_team_free");
  NULL_HANDLE(tutti_team_agree(NULL, &word), "tutti_team_agree");
  NULL_HANDLE(tutti_team_dead(NULL, NULL, 0, &count), "tutti_team_dead");
  NULL_HANDLE(tutti_team_shrink(NULL, &team), "tutti_team_shrink");
  NULL_HANDLE(tutti_team_translate(NULL, 0, NULL, &rank), "tutti_team_translate");
  NULL_HANDLE(tutti_window_create(NULL, 8, &base, &window), "tutti_window_create");
  NULL_HANDLE(tutti_window_over(NULL, &word, 8, &window), "tutti_window_over");
  NULL_HANDLE(tutti_window_free(NULL), "tutti_window_free");
  NULL_HANDLE(tutti_put(NULL, 0, 0, &word, 8, NULL), "tutti_put");
  NULL_HANDLE(tutti_get(NULL, 0, 0, &word, 8, NULL), "tutti_get");
  NULL_HANDLE(tutti_signal(NULL, 0, 0, 1, TUTTI_SET), "tutti_signal");
  NULL_HANDLE(tutti_put_signal(NULL, 0, 0, &word, 8, NULL, 0, 1, TUTTI_SET, NULL), "tutti_put_signal");
  NULL_HANDLE(tutti_fetch_add(NULL, 0, 0, 1, &word, NULL), "tutti_fetch_add");
  NULL_HANDLE(tutti_swap(NULL, 0, 0, 1, &word, NULL), "tutti_swap");
  NULL_HANDLE(tutti_compare_swap(NULL, 0, 0, 1, 1, &word, NULL), "tutti_compare_swap");
  NULL_HANDLE(tutti_flush(NULL, 0, 0), "tutti_flush");
  NULL_HANDLE(tutti_quiet(NULL, 0), "tutti_quiet");
  NULL_HANDLE(tutti_wait_signal(NULL, 0, TUTTI_EQUAL, 0, TUTTI_ANY, 0), "tutti_wait_signal");
  NULL_HANDLE(tutti_test_signal(NULL, 0, TUTTI_EQUAL, 0, &flag), "tutti_test_signal");
  NULL_HANDLE(tutti_load_signal(NULL, 0, &word), "tutti_load_signal");
  NULL_HANDLE(tutti_test(NULL, &flag), "tutti_test");
  NULL_HANDLE(tutti_wait(NULL, 0), "tutti_wait");
  CHECK(!strcmp(tutti_strstatus(99), "unknown error"));
  CHECK(tutti_rank(NULL) == TUTTI_NO_RANK && tutti_size(NULL) == 0 && tutti_nodes(NULL) == 0);
  CHECK(tutti_fabric(NULL) == NULL);
  NULL_HANDLE(tutti_capabilities(NULL, NULL), "tutti_capabilities");
  CHECK(tutti_node_of(NULL, 0) == TUTTI_NO_RANK && tutti_local_rank(NULL) == TUTTI_NO_RANK);
  CHECK(tutti_local_size(NULL) == 0 && tutti_world(NULL) == NULL && tutti_team_rank(NULL) == TUTTI_NO_RANK);
  CHECK(tutti_team_size(NULL) == 0 && tutti_window_base(NULL) == NULL && tutti_window_size(NULL, 0) == 0);
  CHECK(tutti_window_team(NULL) == NULL);
  CHECK(team == NULL && window == NULL && word == 0);
}

static void options(void) {
  tutti_t none = NULL;
  tutti_options_t o = {0};
  REFUSED(tutti_init(&o, &none), TUTTI_INVALID, NULL, "struct_size is 0", "sizeof(tutti_options_t)");
  struct {
    tutti_options_t known;
    int later;
  } longer = {{0}, 1};
  longer.known.struct_size = sizeof longer;
  REFUSED(tutti_init(&longer.known, &none), TUTTI_INVALID, NULL, "does not know", "newer");
  o.struct_size = offsetof(tutti_options_t, notice); /* of a program that was compiled with the first version's header */
  o.notice = (void (*)(void *, const char *))(uintptr_t)1;
  o.setting_count = 3;
  REFUSED(tutti_init(&o, &none), TUTTI_INVALID, NULL, "settings is NULL", "3");
  o.notice = NULL;
  o.struct_size = sizeof o;
  o.setting_count = 3;
  REFUSED(tutti_init(&o, &none), TUTTI_INVALID, NULL, "settings is NULL", "3");
  tutti_setting_t s = {"barier", "flat"};
  o.settings = &s, o.setting_count = 1;
  REFUSED(tutti_init(&o, &none), TUTTI_INVALID, NULL, "barier", "did you mean barrier");
  s.name = "timeout_s", s.value = "soon";
  REFUSED(tutti_init(&o, &none), TUTTI_INVALID, NULL, "timeout_s=soon", "whole number");
  s.value = NULL;
  REFUSED(tutti_init(&o, &none), TUTTI_INVALID, NULL, "setting 0", "NULL");
  tutti_bootstrap_t b = {.rank = 4, .size = 4, .job_id = "x"};
  o.setting_count = 0, o.bootstrap = &b;
  REFUSED(tutti_init(&o, &none), TUTTI_INVALID, NULL, "rank 4", "size 4");
  b.rank = 0;
  REFUSED(tutti_init(&o, &none), TUTTI_INVALID, NULL, "allgather", "");
  CHECK(none == NULL);
}

static void capabilities(void) {
  struct {
    tutti_capabilities_t known;
    int later;
  } longer = {{0}, 1};
  INVALID(tutti_capabilities(ctx, NULL), "tutti_capabilities", "out");
  INVALID(tutti_capabilities(ctx, &longer.known), "struct_size is 0", "sizeof(tutti_capabilities_t)");
  CHECK(longer.later == 1 && longer.known.max_bytes == 0);
  longer.known.struct_size = sizeof longer; /* of a later header than the library's */
  OK(tutti_capabilities(ctx, &longer.known));
  CHECK(longer.later == 0 && longer.known.max_bytes > 0 && longer.known.struct_size == sizeof longer);
}

static void windows_and_words(tutti_window_t w, unsigned char *mine) {
  char text[200];
  uint64_t word = 0, old = 7;
  int yes = 5;
  tutti_request_t request = {0};
  snprintf(text, sizeof text, "rank %u ", n);
  INVALID(tutti_put(w, n, 0, &word, 8, NULL), text, "use 0 to");
  INVALID(tutti_get(w, n, 0, &word, 8, NULL), text, "tutti_get");
  INVALID(tutti_signal(w, n, 0, 1, 0), text, "tutti_signal");
  INVALID(tutti_put_signal(w, n, 0, &word, 8, w, 0, 1, 0, NULL), text, "tutti_put_signal");
  INVALID(tutti_fetch_add(w, n, 0, 1, &old, NULL), text, "tutti_fetch_add");
  INVALID(tutti_swap(w, n, 0, 1, &old, NULL), text, "tutti_swap");
  INVALID(tutti_compare_swap(w, n, 0, 1, 2, &old, NULL), text, "tutti_compare_swap");
  INVALID(tutti_flush(w, n, 0), text, "TUTTI_ALL");
  INVALID(tutti_wait_signal(w, 0, TUTTI_EQUAL, 1, n, 0), text, "TUTTI_ANY");
  INVALID(tutti_put(w, 0, 57, &word, 8, NULL), "offset 57 with 8 bytes", "has 64 bytes");
  INVALID(tutti_put(w, 0, 65, &word, 0, NULL), "offset 65", "has 64 bytes");
  INVALID(tutti_put(w, 0, 8, &word, (size_t)-8, &request), "offset 8", "has 64 bytes"); /* a negative size */
  INVALID(tutti_put(w, 0, UINT64_MAX, &word, 8, &request), "offset 18446744073709551615", "64");
  INVALID(tutti_get(w, 0, 60, &word, 8, &request), "offset 60 with 8 bytes", "has 64 bytes");
  INVALID(tutti_signal(w, 0, 64, 1, TUTTI_SET), "offset 64", "has 64 bytes");
  INVALID(tutti_signal(w, 0, 12, 1, TUTTI_SET), "offset 12", "multiple of 8");
  INVALID(tutti_signal(w, 0, 0, 1, 64), "0x40", "TUTTI_AFTER_ALL");
  INVALID(tutti_put_signal(w, 0, 0, &word, 8, w, 3, 1, 0, &request), "offset 3", "multiple of 8");
  INVALID(tutti_put_signal(w, 0, 0, &word, 8, NULL, 0, 1, 0, &request), "signal_window", "NULL");
  INVALID(tutti_put_signal(w, 0, 0, NULL, 8, w, 0, 1, 0, &request), "source", "NULL");
  INVALID(tutti_put_signal(w, 0, 0, &word, 8, w, 0, 1, 8, &request), "0x8", "unknown");
  INVALID(tutti_put_signal(w, 0, 60, &word, 8, w, 0, 1, 0, &request), "offset 60", "64");
  INVALID(tutti_put(w, 0, 0, NULL, 8, &request), "source", "NULL");
  INVALID(tutti_get(w, 0, 0, NULL, 8, &request), "target", "NULL");
  INVALID(tutti_fetch_add(w, 0, 4, 1, &old, &request), "offset 4", "multiple of 8");
  INVALID(tutti_swap(w, 0, 0, 1, NULL, &request), "old", "NULL");
  INVALID(tutti_compare_swap(w, 0, 72, 0, 1, &old, &request), "offset 72", "64");
  INVALID(tutti_wait_signal(w, 64, TUTTI_EQUAL, 0, TUTTI_ANY, 0), "offset 64", "64 bytes");
  INVALID(tutti_wait_signal(w, 4, TUTTI_EQUAL, 0, TUTTI_ANY, 0), "offset 4", "multiple of 8");
  INVALID(tutti_wait_signal(w, 0, 9, 0, TUTTI_ANY, 0), "9", "TUTTI_REACHED");
  INVALID(tutti_wait_signal(w, 0, TUTTI_EQUAL, 1, TUTTI_ANY, NAN), "timeout_s", "not a number");
  INVALID(tutti_test_signal(w, 0, TUTTI_EQUAL, 0, NULL), "yes", "NULL");
  INVALID(tutti_test_signal(w, 2, TUTTI_EQUAL, 0, &yes), "offset 2", "multiple of 8");
  INVALID(tutti_load_signal(w, 0, NULL), "value", "NULL");
  INVALID(tutti_load_signal(w, 800, &word), "offset 800", "64 bytes");
  INVALID(tutti_flush(w, 0, NAN), "timeout_s", "not a number");
  INVALID(tutti_quiet(ctx, NAN), "timeout_s", "not a number");
  CHECK(tutti_window_size(w, n) == 0);

  /* Nothing was changed. */
  CHECK(request.slot == NULL && old == 7 && word == 0 && yes == 5);
  OK(tutti_quiet(ctx, -1));
  OK(tutti_barrier(tutti_world(ctx)));
  for (int i = 0; i < 64; ++i) CHECK(mine[i] == 0);

  /* What does not come, in time. */
  REFUSED(tutti_wait_signal(w, 0, TUTTI_REACHED, 1, TUTTI_ANY, 0.01), TUTTI_TIMED_OUT, ctx, "tutti_wait_signal",
          "deadline");
  REFUSED(tutti_wait_signal(w, 0, TUTTI_REACHED, 1, me, 0), TUTTI_TIMED_OUT, ctx, "rank", "deadline");
}

static void left_operand(const void *in, void *inout, size_t count, void *context) {
  (void)context;
  memcpy(inout, in, 8 * count);
}

static void requests(tutti_window_t w) {
  tutti_team_t world = tutti_world(ctx);
  uint64_t word = 0;
  int done = 3;
  tutti_request_t request, copy;
  INVALID(tutti_ibarrier(world, NULL), "request", "NULL");
  INVALID(tutti_broadcast(world, n, &word, 8), "root", "use 0 to");
  INVALID(tutti_broadcast(world, 0, NULL, 8), "data", "NULL");
  tutti_request_t broadcast;
  INVALID(tutti_ibroadcast(world, n, &word, 8, &broadcast), "root", "use 0 to");
  INVALID(tutti_ibroadcast(world, 0, NULL, 8, &broadcast), "data", "NULL");
  INVALID(tutti_ibroadcast(world, 0, &word, 8, NULL), "request", "NULL");
  INVALID(tutti_broadcast_init(world, n, &word, 8, &broadcast), "root", "use 0 to");
  INVALID(tutti_barrier_init(world, NULL), "request", "NULL");
  REFUSED(tutti_start(NULL), TUTTI_INVALID, NULL, "tutti_start", "NULL");
  REFUSED(tutti_request_free(NULL), TUTTI_INVALID, NULL, "tutti_request_free", "NULL");

  uint64_t some[4] = {1, 2, 3, 4};
  tutti_operation_t user = 0, copied;
  INVALID(tutti_reduce(world, n, &word, some, 1, TUTTI_UINT64, TUTTI_SUM), "root", "use 0 to");
  INVALID(tutti_ireduce(world, 0, NULL, some, 1, TUTTI_UINT64, TUTTI_SUM, &broadcast), "in", "NULL");
  INVALID(tutti_reduce_init(world, me, some, NULL, 1, TUTTI_UINT64, TUTTI_SUM, &broadcast), "out", "NULL");
  INVALID(tutti_allreduce(world, some, NULL, 1, TUTTI_UINT64, TUTTI_SUM), "out", "NULL");
  INVALID(tutti_allreduce(world, some, some + 1, 2, TUTTI_UINT64, TUTTI_SUM), "overlap", "in place");
  INVALID(tutti_allreduce(world, some, &word, SIZE_MAX / 4, TUTTI_UINT64, TUTTI_SUM), "count", "beyond");
  INVALID(tutti_allreduce(world, some, &word, 1, TUTTI_FLOAT64, TUTTI_BITWISE_AND), "bitwise_and", "float64");
  INVALID(tutti_allreduce(world, some, &word, 1, TUTTI_FLOAT64, TUTTI_MINLOC), "minloc", "float64");
  INVALID(tutti_allreduce(world, some, &word, 1, 99, TUTTI_SUM), "datatype 99", "unknown");
  INVALID(tutti_allreduce(world, some, &word, 1, 257, TUTTI_SUM), "datatype", "unknown");
  INVALID(tutti_allreduce(world, some, &word, 1, -1, TUTTI_SUM), "datatype", "unknown");
  INVALID(tutti_allreduce(world, some, &word, 1, TUTTI_UINT64, 77), "operation", "unknown");
  INVALID(tutti_allreduce(world, some, &word, 1, TUTTI_UINT64, 256 + TUTTI_SUM), "operation", "unknown");
  INVALID(tutti_iallreduce(world, some, &word, 1, TUTTI_UINT64, TUTTI_SUM, NULL), "request", "NULL");
  INVALID(tutti_allreduce_init(world, some, &word, 1, TUTTI_BYTES, TUTTI_SUM, &broadcast), "bytes", "sum");
  INVALID(tutti_operation_create(ctx, NULL, 8, 1, NULL, &user), "tutti_operation_create", "function");
  INVALID(tutti_operation_create(ctx, left_operand, 0, 1, NULL, &user), "tutti_operation_create", "0 bytes");
  INVALID(tutti_operation_create(ctx, left_operand, 8, 1, NULL, NULL), "operation", "NULL");
  INVALID(tutti_operation_free(ctx, NULL), "operation", "NULL");
  OK(tutti_operation_create(ctx, left_operand, 8, 1, NULL, &user));
  INVALID(tutti_allreduce(world, some, &word, 1, TUTTI_INT32, user), "8 bytes", "4");
  copied = user;
  OK(tutti_operation_free(ctx, &user));
  INVALID(tutti_operation_free(ctx, &copied), "freed before", "tutti_operation_free");
  INVALID(tutti_allreduce(world, some, &word, 1, TUTTI_BYTES, copied), "freed before", "tutti_operation_create");
  CHECK(some[0] == 1 && some[3] == 4 && word == 0 && user == 0);

  OK(tutti_get(w, 0, 0, &word, 8, &request));
  INVALID(tutti_start(&request), "tutti_start", "one operation only");
  INVALID(tutti_request_free(&request), "tutti_request_free", "one operation only");
  INVALID(tutti_test(&request, NULL), "done", "NULL");
  INVALID(tutti_wait(&request, NAN), "timeout_s", "not a number");
  copy = request;
  tutti_request_t twice[3] = {request, {0}, copy};
  size_t found = 9, where[3];
  INVALID(tutti_wait_all(twice, 3, -1), "request at 2", "tutti_wait_all");
  INVALID(tutti_test_any(twice, 3, &found, &done), "request at 2", "tutti_test_any");
  INVALID(tutti_wait_some(twice, 3, where, &found, -1), "request at 2", "twice");
  INVALID(tutti_test_some(twice, 3, where, &found), "request at 2", "tutti_test_some");
  CHECK(found == 9 && done == 3 && twice[0].slot == request.slot);
  OK(tutti_wait(&request, -1));
  INVALID(tutti_wait(&copy, 0), "stale copy", "tutti_wait");
  tutti_request_t two[2] = {{0}, copy};
  size_t index = 9, places[2];
  INVALID(tutti_wait_all(two, 2, 0), "stale copy", "tutti_wait_all");
  INVALID(tutti_test_all(two, 2, &done), "stale copy", "tutti_test_all");
  INVALID(tutti_wait_any(two, 2, &index, 0), "stale copy", "tutti_wait_any");
  INVALID(tutti_test_any(two, 2, &index, &done), "stale copy", "tutti_test_any");
  INVALID(tutti_wait_some(two, 2, places, &index, 0), "stale copy", "tutti_wait_some");
  INVALID(tutti_test_some(two, 2, places, &index), "stale copy", "tutti_test_some");
  REFUSED(tutti_wait_all(NULL, 1, 0), TUTTI_INVALID, NULL, "tutti_wait_all", "requests");
  REFUSED(tutti_wait_any(two, 1, NULL, 0), TUTTI_INVALID, NULL, "tutti_wait_any", "index");
  REFUSED(tutti_test_any(two, 1, NULL, &done), TUTTI_INVALID, NULL, "tutti_test_any", "index");
  REFUSED(tutti_test_all(two, 1, NULL), TUTTI_INVALID, NULL, "tutti_test_all", "done");
  REFUSED(tutti_wait_some(two, 1, NULL, &index, 0), TUTTI_INVALID, NULL, "tutti_wait_some", "indices");
  REFUSED(tutti_test_some(two, 1, NULL, &index), TUTTI_INVALID, NULL, "tutti_test_some", "indices");
  REFUSED(tutti_test_some(two, 1, places, NULL), TUTTI_INVALID, NULL, "tutti_test_some", "done");
  CHECK(index == 9 && done == 3);
  INVALID(tutti_test(&copy, &done), "stale copy", "tutti_test");
  if (n > 1 && me == 0) {
    OK(tutti_ibarrier(world, &request));
    REFUSED(tutti_wait(&request, 0.02), TUTTI_TIMED_OUT, ctx, "tutti_wait", "deadline");
    OK(tutti_test(&request, &done));
    CHECK(done == 0 && request.slot);
    OK(tutti_signal(w, 1, 56, 1, TUTTI_SET)); /* now the others enter as well */
    for (uint32_t r = 2; r < n; ++r) OK(tutti_signal(w, r, 56, 1, TUTTI_SET));
    OK(tutti_wait(&request, -1));
  } else if (n > 1) {
    OK(tutti_wait_signal(w, 56, TUTTI_EQUAL, 1, 0, -1));
    OK(tutti_barrier(world));
  }
}

static void teams(tutti_window_t w) {
  tutti_team_t world = tutti_world(ctx), team = world, other;
  tutti_window_t none = NULL;
  uint32_t rank = 99, list[16] = {0}; /* more members than there are ranks */
  uint64_t word = 0;
  size_t count;
  char text[100];
  snprintf(text, sizeof text, "rank %u ", n);
  INVALID(tutti_team_free(&team), "world", "tutti_finalize");
  CHECK(team == world);
  INVALID(tutti_team_translate(world, n, world, &rank), text, "use 0 to");
  INVALID(tutti_team_translate(world, 0, NULL, &rank), "to", "NULL");
  INVALID(tutti_team_translate(world, 0, world, NULL), "out", "NULL");
  INVALID(tutti_team_create(world, NULL, 2, &team), "members", "2");
  INVALID(tutti_team_create(world, list, 1, NULL), "team", "NULL");
  INVALID(tutti_team_split(world, 0, 0, NULL), "team", "NULL");
  const tutti_bootstrap_t meeting = {0};
  INVALID(tutti_team_create_group(world, list, 1, &meeting, NULL), "team", "NULL");
  INVALID(tutti_team_create_group(world, list, 1, NULL, &team), "meeting", "NULL");
  INVALID(tutti_team_create_group(world, NULL, 1, &meeting, &team), "members", "NULL");
  INVALID(tutti_team_create_group(world, list, 0, &meeting, &team), "count is 0", "list the members");
  INVALID(tutti_team_create_group(world, list, 1, &meeting, &team), "size is 0", "tutti_team_create_group");
#define NO_ALGORITHM(name) (tutti_team_algorithm(world, name, 8) ? TUTTI_OK : TUTTI_INVALID)
  INVALID(NO_ALGORITHM(NULL), "collective", "NULL");
  INVALID(NO_ALGORITHM("allrduce"), "allrduce", "tutti info");
  INVALID(tutti_team_agree(world, NULL), "flags", "NULL");
  INVALID(tutti_team_dead(world, list, 3, NULL), "count", "NULL");
  INVALID(tutti_team_dead(world, NULL, 3, &count), "ranks is NULL", "3");
  INVALID(tutti_team_shrink(world, NULL), "survivors", "NULL");
  list[0] = n + 5;
  snprintf(text, sizeof text, "member %u", n + 5);
  INVALID(tutti_team_create(world, list, 1, &team), text, "does not exist");
  list[0] = list[1] = me;
  INVALID(tutti_team_create(world, list, 2, &team), "listed twice", "");
  INVALID(tutti_team_create(world, list, 1000000000, &team), "listed twice", "");
  if (n > 1) {
    list[0] = (me + 1) % n;
    INVALID(tutti_team_create(world, list, 1, &team), "lacks the caller", "");
  }
  CHECK(team == world && rank == 99);

  INVALID(tutti_window_create(world, (size_t)-1, NULL, &none), "-1", "tutti_window_create");
  INVALID(tutti_window_create(world, 8, NULL, NULL), "window", "NULL");
  INVALID(tutti_window_over(world, NULL, 8, &none), "base is NULL", "8");
  INVALID(tutti_window_over(world, (char *)&word + 4, 4, &none), "not aligned", "8");
  INVALID(tutti_window_over(world, &word, (size_t)-4, &none), "-4", "tutti_window_over");
  INVALID(tutti_window_over(world, (void *)8, 8, &none), "0x8", "are memory of this process");
  INVALID(tutti_window_over(world, (void *)(UINTPTR_MAX / 16 * 8), 8, &none), "tutti_window_over", "are memory of this process");
  INVALID(tutti_window_over(world, &word, (size_t)1 << 46, &none), "tutti_window_over", "are memory of this process");
  CHECK(none == NULL);

  OK(tutti_team_split(world, 0, 0, &other));
  OK(tutti_window_create(other, 8, NULL, &none));
  INVALID(tutti_put_signal(w, 0, 0, &word, 8, none, 0, 1, 0, NULL), "different teams", "");
  INVALID(tutti_team_free(&other), "1 window", "tutti_window_free");
  OK(tutti_window_free(&none));
  OK(tutti_team_free(&other));

  /* More than there is: refused everywhere, whoever could not have it. */
  tutti_status_t s = tutti_window_create(world, me == 0 ? (size_t)3 << 61 : 8, NULL, &none);
  CHECK(s == TUTTI_NO_RESOURCE && none == NULL);
  if (me != 0) CHECK(tutti_error_peer(ctx) == 0);
  OK(tutti_barrier(world));
}

int main(void) {
  null_handles();
  options();
  begin();
  ctx = check_ctx;
  me = tutti_rank(ctx), n = tutti_size(ctx);
  CHECK(!strcmp(tutti_error_text(ctx), "success") && strcmp(tutti_error_text(NULL), "success")); /* of before the context */
  null_handles(); /* with a context elsewhere they concern the thread all the same */
  unsigned char *mine;
  tutti_window_t w;
  OK(tutti_window_create(tutti_world(ctx), 64, (void **)&mine, &w));
  capabilities();
  windows_and_words(w, mine);
  OK(tutti_barrier(tutti_world(ctx)));
  requests(w);
  teams(w);
  OK(tutti_window_free(&w));
  OK(tutti_finalize(&check_ctx));
  return 0;
}

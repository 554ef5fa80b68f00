/* Handles that are used when what they named is gone, or is another process's, and calls of two threads upon one context:
 * told by name, by every function, and nothing is changed. */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif
#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "check.h"

static const char *says = "freed before"; /* of a handle here, */
static const char *kind;                  /* which is a */
#define STALE(call) REFUSED(call, TUTTI_INVALID, NULL, says, kind)

static void every_call_on_a_window(tutti_window_t w) {
  uint64_t word = 1, old = 2;
  int yes = 3;
  tutti_request_t request = {0};
  kind = "window";
  STALE(tutti_put(w, 0, 0, &word, 8, &request));
  STALE(tutti_get(w, 0, 0, &word, 8, &request));
  STALE(tutti_signal(w, 0, 0, 1, TUTTI_SET));
  STALE(tutti_put_signal(w, 0, 0, &word, 8, w, 0, 1, TUTTI_SET, &request));
  STALE(tutti_fetch_add(w, 0, 0, 1, &old, &request));
  STALE(tutti_swap(w, 0, 0, 1, &old, &request));
  STALE(tutti_compare_swap(w, 0, 0, 1, 2, &old, &request));
  STALE(tutti_flush(w, 0, -1));
  STALE(tutti_wait_signal(w, 0, TUTTI_EQUAL, 7, TUTTI_ANY, -1));
  STALE(tutti_test_signal(w, 0, TUTTI_EQUAL, 7, &yes));
  STALE(tutti_load_signal(w, 0, &word));
  const tutti_layout_t piece = {.kind = TUTTI_CONTIGUOUS, .block_bytes = 8};
  STALE(tutti_put_layout(w, 0, 0, &piece, &word, &piece, &request));
  STALE(tutti_get_layout(w, 0, 0, &piece, &word, &piece, &request));
  STALE(tutti_am_request_long(w, 0, 0, &word, 8, 1, NULL, 0, &request));
  tutti_window_t copy = w;
  STALE(tutti_window_free(&copy));
  CHECK(copy == w && word == 1 && old == 2 && yes == 3 && request.slot == NULL);
  CHECK(tutti_window_base(w) == NULL && tutti_window_size(w, 0) == 0 && tutti_window_team(w) == NULL);
}

static void every_call_on_a_team(tutti_team_t t) {
  uint64_t word = 1;
  uint32_t rank = 9, member = 0;
  size_t count;
  tutti_request_t request = {0};
  tutti_team_t team = NULL, copy = t;
  tutti_window_t window = NULL;
  kind = "team";
  STALE(tutti_barrier(t));
  STALE(tutti_ibarrier(t, &request));
  STALE(tutti_broadcast(t, 0, &word, 8));
  tutti_request_t broadcast;
  STALE(tutti_ibroadcast(t, 0, &word, 8, &broadcast));
  STALE(tutti_broadcast_init(t, 0, &word, 8, &broadcast));
  STALE(tutti_barrier_init(t, &broadcast));
  uint64_t sum;
  STALE(tutti_reduce(t, 0, &word, &sum, 1, TUTTI_UINT64, TUTTI_SUM));
  STALE(tutti_ireduce(t, 0, &word, &sum, 1, TUTTI_UINT64, TUTTI_SUM, &broadcast));
  STALE(tutti_reduce_init(t, 0, &word, &sum, 1, TUTTI_UINT64, TUTTI_SUM, &broadcast));
  STALE(tutti_allreduce(t, &word, &sum, 1, TUTTI_UINT64, TUTTI_SUM));
  STALE(tutti_iallreduce(t, &word, &sum, 1, TUTTI_UINT64, TUTTI_SUM, &broadcast));
  STALE(tutti_allreduce_init(t, &word, &sum, 1, TUTTI_UINT64, TUTTI_SUM, &broadcast));
  const size_t lengths[] = {8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8};
  const tutti_neighbors_t nobody = {0};
  STALE(tutti_gather(t, 0, &word, 8, &sum));
  STALE(tutti_iscatter(t, 0, &word, 8, &sum, &broadcast));
  STALE(tutti_allgather_init(t, &word, 8, &sum, &broadcast));
  STALE(tutti_alltoallv(t, &word, lengths, NULL, &sum, lengths, NULL));
  STALE(tutti_ireduce_scatter(t, &word, &sum, lengths, TUTTI_UINT64, TUTTI_SUM, &broadcast));
  STALE(tutti_scan_init(t, &word, &sum, 1, TUTTI_UINT64, TUTTI_SUM, &broadcast));
  STALE(tutti_neighbor_allgather(t, &nobody, &word, 8, &sum));
  STALE(tutti_team_create(t, &member, 1, &team));
  STALE(tutti_team_create_group(t, &member, 1, &(tutti_bootstrap_t){0}, &team));
  CHECK(!tutti_team_algorithm(t, "barrier", 0));
  STALE(tutti_team_split(t, 0, 0, &team));
  STALE(tutti_team_agree(t, &word));
  STALE(tutti_team_dead(t, NULL, 0, &count));
  STALE(tutti_team_shrink(t, &team));
  STALE(tutti_team_translate(t, 0, t, &rank));
  STALE(tutti_window_create(t, 8, NULL, &window));
  STALE(tutti_window_over(t, &word, 8, &window));
  const tutti_layout_t piece = {.kind = TUTTI_CONTIGUOUS, .block_bytes = 8};
  tutti_envelope_t envelope = {.source = 9};
  tutti_message_t message = {0};
  int yes = 3;
  STALE(tutti_send(t, 0, 1, &word, 8));
  STALE(tutti_ssend(t, 0, 1, &word, 8));
  STALE(tutti_try_send(t, 0, 1, &word, 8, &yes));
  STALE(tutti_isend(t, 0, 1, &word, 8, &request));
  STALE(tutti_issend(t, 0, 1, &word, 8, &request));
  STALE(tutti_send_init(t, 0, 1, &word, 8, &request));
  STALE(tutti_ssend_init(t, 0, 1, &word, 8, &request));
  STALE(tutti_recv(t, 0, 1, TUTTI_WHOLE_TAG, &word, 8, &envelope));
  STALE(tutti_irecv(t, 0, 1, TUTTI_WHOLE_TAG, &word, 8, &envelope, &request));
  STALE(tutti_recv_init(t, 0, 1, TUTTI_WHOLE_TAG, &word, 8, &envelope, &request));
  STALE(tutti_sendrecv(t, 0, 1, &sum, 8, 0, 1, TUTTI_WHOLE_TAG, &word, 8, &envelope));
  STALE(tutti_isend_layout(t, 0, 1, &word, &piece, &request));
  STALE(tutti_irecv_layout(t, 0, 1, TUTTI_WHOLE_TAG, &word, &piece, &envelope, &request));
  STALE(tutti_probe(t, 0, 1, TUTTI_WHOLE_TAG, &envelope));
  STALE(tutti_iprobe(t, 0, 1, TUTTI_WHOLE_TAG, &yes, &envelope));
  STALE(tutti_mprobe(t, 0, 1, TUTTI_WHOLE_TAG, &message, &envelope));
  STALE(tutti_improbe(t, 0, 1, TUTTI_WHOLE_TAG, &yes, &message, &envelope));
  CHECK(yes == 3 && envelope.source == 9 && !message.slot);
  STALE(tutti_team_free(&copy));
  CHECK(copy == t && rank == 9 && !team && !window && request.slot == NULL);
  CHECK(tutti_team_rank(t) == TUTTI_NO_RANK && tutti_team_size(t) == 0);
}

static void every_call_on_a_context(tutti_t ctx) {
  tutti_t copy = ctx;
  kind = "context";
  STALE(tutti_quiet(ctx, -1));
  STALE(tutti_progress(ctx));
  STALE(tutti_capabilities(ctx, NULL));
  tutti_operation_t operation = 0;
  STALE(tutti_operation_create(ctx, NULL, 8, 1, NULL, &operation));
  STALE(tutti_operation_free(ctx, &operation));
  const tutti_layout_t piece = {.kind = TUTTI_CONTIGUOUS, .block_bytes = 8};
  size_t bytes = 7;
  uint64_t word = 1;
  STALE(tutti_layout_bytes(ctx, &piece, &bytes));
  STALE(tutti_am_register(ctx, 1, NULL, NULL));
  STALE(tutti_am_request(ctx, 0, 1, NULL, 0, &word, 8));
  STALE(tutti_am_send(ctx, 0, 1, NULL, 0, &word, 8));
  CHECK(tutti_am_max_medium(ctx) == 0 && bytes == 7);
  STALE(tutti_finalize(&copy));
  STALE(tutti_abandon(&copy));
  CHECK(copy == ctx);
  CHECK(tutti_rank(ctx) == TUTTI_NO_RANK && tutti_size(ctx) == 0 && tutti_nodes(ctx) == 0 && tutti_fabric(ctx) == NULL);
  CHECK(tutti_node_of(ctx, 0) == TUTTI_NO_RANK && tutti_world(ctx) == NULL && tutti_local_rank(ctx) == TUTTI_NO_RANK);
}

/* Slots are used again, by other handles: the old ones stay stale, and touch no other's. */
static void freed(void) {
  tutti_team_t world = tutti_world(check_ctx), team, old_team = NULL, newer;
  tutti_window_t w, old_window = NULL;
  uint64_t word = 5;
  for (int i = 0; i < 100; ++i) {
    OK(tutti_team_split(world, 0, 0, &team));
    OK(tutti_window_create(team, 64, NULL, &w));
    if (i == 0) old_team = team, old_window = w;
    tutti_window_t copy = w;
    newer = team;
    INVALID(tutti_put_signal(w, 0, 0, &word, 8, i ? old_window : NULL, 0, 1, TUTTI_SET, NULL), "signal_window",
            i ? "freed before" : "NULL");
    OK(tutti_put(w, 0, 0, &word, 8, NULL));
    OK(tutti_window_free(&w));
    every_call_on_a_window(copy);
    if (i) every_call_on_a_window(old_window);
    uint32_t rank = 4;
    INVALID(tutti_team_translate(world, 0, i ? old_team : NULL, &rank), "`to`", i ? "freed before" : "NULL");
    OK(tutti_team_free(&team));
    every_call_on_a_team(newer);
    every_call_on_a_team(old_team);
  }
}

/* Another thread is in a call: the rank that computes here is told so, and the call under way is not disturbed. */
static atomic_int entered;
static tutti_window_t awaited;
static void *wait_there(void *unused) {
  (void)unused;
  entered = 1;
  OK(tutti_wait_signal(awaited, 0, TUTTI_REACHED, 1, TUTTI_ANY, 20));
  return NULL;
}

static void two_threads(void) {
  tutti_team_t world = tutti_world(check_ctx), team = NULL;
  void *base;
  OK(tutti_window_create(world, 64, &base, &awaited));
  OK(tutti_barrier(world));
  pthread_t other;
  CHECK(pthread_create(&other, NULL, wait_there, NULL) == 0);
  while (!entered) sched_yield();
  const struct timespec nap = {0, 1000000};
  tutti_status_t s = TUTTI_OK;
  for (int i = 0; i < 5000 && s == TUTTI_OK; ++i) { /* it may not have entered the call yet */
    nanosleep(&nap, NULL);
    s = tutti_progress(check_ctx);
  }
  kind = "tutti_wait_signal", says = "another thread";
  STALE(s);
  STALE(tutti_barrier(world));
  STALE(tutti_put(awaited, 0, 8, &s, 4, NULL));
  STALE(tutti_flush(awaited, 0, -1));
  STALE(tutti_team_split(world, 0, 0, &team));
  tutti_t copy = check_ctx;
  STALE(tutti_finalize(&copy));
  CHECK(copy == check_ctx && !team);
  *(_Atomic uint64_t *)base = 1; /* what it waits for */
  CHECK(pthread_join(other, NULL) == 0);
  OK(tutti_barrier(world));
  OK(tutti_window_free(&awaited));
  says = "freed before";
}

/* A child of fork() is told that all it holds is the parent's. What it makes itself is its own. */
static void forked(void) {
  tutti_team_t world = tutti_world(check_ctx);
  tutti_window_t w;
  uint64_t word = 6;
  tutti_request_t request;
  OK(tutti_window_create(world, 64, NULL, &w));
  OK(tutti_get(w, 0, 0, &word, 8, &request));
  const pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    int done = 8;
    says = "forked";
    every_call_on_a_window(w);
    every_call_on_a_team(world);
    every_call_on_a_context(check_ctx);
    STALE(tutti_wait(&request, -1));
    STALE(tutti_test(&request, &done));
    CHECK(request.slot != NULL && done == 8);
    STALE(tutti_cancel(&request, &done));
    _exit(0);
  }
  int status = 1;
  CHECK(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  OK(tutti_wait(&request, -1));
  CHECK(word == 0);
  OK(tutti_barrier(world));
  OK(tutti_window_free(&w));
}

int main(void) {
  for (int turn = 0; turn < 2; ++turn) {
    const tutti_setting_t setting = {"check", turn ? "1" : "0"};
    const tutti_options_t options = {.struct_size = sizeof options, .settings = &setting, .setting_count = 1};
    if (tutti_init(&options, &check_ctx) != TUTTI_OK) {
      fprintf(stderr, "tutti_init: %s\n", tutti_error_text(NULL));
      return 1;
    }
    freed();
    forked();
    if (turn) two_threads();
    tutti_window_t w;
    tutti_request_t left;
    uint64_t word = 3;
    int done = 8;
    OK(tutti_window_create(tutti_world(check_ctx), 64, NULL, &w));
    OK(tutti_get(w, 0, 0, &word, 8, &left));
    tutti_t ctx = check_ctx;
    tutti_team_t world = tutti_world(ctx);
    OK(tutti_finalize(&check_ctx));
    every_call_on_a_window(w);
    every_call_on_a_team(world);
    every_call_on_a_context(ctx);
    REFUSED(tutti_wait(&left, -1), TUTTI_INVALID, NULL, "stale copy", "tutti_wait");
    REFUSED(tutti_test(&left, &done), TUTTI_INVALID, NULL, "stale copy", "tutti_test");
    CHECK(done == 8);
  }
  return 0;
}

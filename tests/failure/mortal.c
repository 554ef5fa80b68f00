/* A rank of a job in which ranks are ended at any moment (random_deaths.cpp). Usage: mortal SCENE BOOK
 * Does over and over what the scene says, until a call tells that a rank has ended or the book says that it is enough. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tutti.h>

#include "tests/failure/book.h"
#include "tests/failure/rank.h"
#include "tests/harness/waited.h"

static struct book *book;
static struct book_rank *mine;
static tutti_t job;
static const char *where = "tutti_init";

static void exit_now(int signal) {
  (void)signal;
  _exit(3);
}

/* True: go on. Else the error is in the book. */
static int went_well(const char *call, tutti_status_t s) {
  if (s == TUTTI_OK) return 1;
  mine->told_code = (int32_t)s;
  mine->told_peer = tutti_error_peer(job);
  mine->told_at = now();
  mine->waited = waited_for_core(getpid()) + waited_for_core(getppid());
  snprintf(mine->where, sizeof mine->where, "%.150s", call);
  snprintf(mine->text, sizeof mine->text, "%s", tutti_error_text(job));
  return 0;
}
#define DO(call) (where = #call, went_well(#call, call))

static int is(const char *scene, const char *name) { return !strcmp(scene, name); }

/* By turns the collectives that have a block for each member, and those that reduce. */
static int blocks(tutti_team_t world, unsigned i) {
  enum { room = 4096 };
  static uint64_t in[4 * room], out[4 * room];
  const uint32_t n = tutti_size(job), root = i % n;
  const size_t words = i % 3 ? 1 : room, bytes = 8 * words, each[] = {bytes, bytes, bytes, bytes};
  switch (i % 11) {
    case 0: return DO(tutti_gather(world, root, in, bytes, out));
    case 1: return DO(tutti_gatherv(world, root, in, bytes, out, each, NULL));
    case 2: return DO(tutti_scatter(world, root, in, bytes, out));
    case 3: return DO(tutti_scatterv(world, root, in, each, NULL, out, bytes));
    case 4: return DO(tutti_allgather(world, in, bytes, out));
    case 5: return DO(tutti_alltoall(world, in, bytes, out));
    case 6: return DO(tutti_alltoallv(world, in, each, NULL, out, each, NULL));
    case 7: return DO(tutti_reduce_scatter_block(world, in, out, words, TUTTI_UINT64, TUTTI_SUM));
    case 8: return DO(tutti_scan(world, in, out, words, TUTTI_UINT64, TUTTI_SUM));
    case 9: return DO(tutti_exscan(world, in, out, words, TUTTI_UINT64, TUTTI_SUM));
    default: return DO(tutti_allreduce(world, in, out, words, TUTTI_UINT64, TUTTI_SUM));
  }
}

/* One turn; collective in all scenes but put, wait and sleep. */
static int turn(const char *scene, tutti_window_t w, uint64_t *words, unsigned i) {
  const tutti_team_t world = tutti_world(job);
  const uint32_t me = tutti_rank(job), n = tutti_size(job), to = (me + 1 + i % (n - 1)) % n;
  uint64_t value = i, old = 0;
  (void)words;
  if (is(scene, "put")) {
    tutti_request_t r;
    return DO(tutti_put(w, to, 8 * me, &value, 8, NULL)) && DO(tutti_fetch_add(w, to, 512, 1, &old, &r)) &&
           DO(tutti_wait(&r, -1)) && DO(tutti_get(w, to, 8 * me, &old, 8, &r)) && DO(tutti_wait(&r, -1)) &&
           DO(tutti_put_signal(w, to, 8 * me, &value, 8, w, 1024 + 8 * me, i, 0, NULL)) && DO(tutti_flush(w, to, -1));
  }
  if (is(scene, "wait") || is(scene, "sleep")) {
    if (is(scene, "sleep")) usleep(1 + i % 7 * 1000);
    const tutti_status_t s = tutti_wait_signal(w, 2048, TUTTI_REACHED, 1, TUTTI_ANY, 0.02);
    return s == TUTTI_TIMED_OUT || DO(s);
  }
  if (is(scene, "split") || is(scene, "join")) {
    tutti_team_t t;
    return DO(tutti_team_split(world, is(scene, "split") ? (int)(me % 2) : 0, 0, &t)) && DO(tutti_barrier(t)) &&
           (is(scene, "split") || DO(tutti_broadcast(t, i % n, &value, 8))) && DO(tutti_team_free(&t));
  }
  if (is(scene, "window")) {
    tutti_window_t more;
    void *base;
    return DO(tutti_window_create(world, 8192, &base, &more)) && DO(tutti_window_free(&more));
  }
  if (is(scene, "ibarrier")) {
    tutti_request_t r;
    return DO(tutti_ibarrier(world, &r)) && DO(tutti_wait(&r, -1));
  }
  if (is(scene, "agree")) {
    tutti_team_t t;
    if (i % 4) return 1;
    const int well = DO(tutti_team_shrink(world, &t)); /* leaves out who is dead, which the next agreement tells */
    if (well) (void)tutti_team_free(&t);
    return well;
  }
  if (is(scene, "broadcast")) {
    static char data[40000];
    return DO(tutti_broadcast(world, i % n, data, i % 3 ? 8 : sizeof data));
  }
  if (is(scene, "blocks")) return blocks(world, i);
  return DO(tutti_barrier(world)); /* barrier, init */
}

static int all_know_that_it_is_enough(const char *scene, uint64_t *enough) {
  *enough = book->stop;
  if (is(scene, "put") || is(scene, "wait") || is(scene, "sleep")) return 1;
  if (is(scene, "agree")) return DO(tutti_team_agree(tutti_world(job), enough));
  return DO(tutti_broadcast(tutti_world(job), 0, enough, 8));
}

static void scene(const char *name) {
  tutti_window_t w;
  uint64_t *words, enough = 0;
  if (!DO(tutti_window_create(tutti_world(job), 4096, (void **)&words, &w))) return;
  if (!is(name, "init") && !DO(tutti_barrier(tutti_world(job)))) return;
  __atomic_add_fetch(&book->ready, 1, __ATOMIC_SEQ_CST);
  for (unsigned i = 1; !enough && turn(name, w, words, i); ++i)
    if (!all_know_that_it_is_enough(name, &enough)) return;
  if (enough && DO(tutti_barrier(tutti_world(job)))) (void)DO(tutti_window_free(&w));
}

/* Over and over from init to finalize. */
static void again(void) {
  for (uint64_t enough = 0; !enough;) {
    if (!DO(tutti_init(NULL, &job))) return;
    __atomic_add_fetch(&book->ready, 1, __ATOMIC_SEQ_CST);
    if (!DO(tutti_broadcast(tutti_world(job), 0, (enough = book->stop, &enough), 8))) return;
    if (!DO(tutti_finalize(&job))) return;
  }
}

int main(int argc, char **argv) {
  if (argc != 3) return 2;
  if ((book = map_book(argv[2], book_bytes)) == NULL) return 2;
  leave_no_core();
  signal(SIGUSR1, exit_now);
  const char *rank = getenv("PMIX_RANK");
  if (!rank || atoi(rank) >= book_ranks) return 2;
  mine = &book->rank[atoi(rank)];
  int before = -1;
  if (!is(argv[1], "init")) { /* the first context pays for what the process keeps for good */
    if (tutti_init(NULL, &job) != TUTTI_OK || tutti_finalize(&job) != TUTTI_OK) {
      fprintf(stderr, "before anybody has ended: %s\n", tutti_error_text(job));
      return 2;
    }
    before = descriptors();
  }
  mine->pid = getpid();
  if (is(argv[1], "finalize")) again();
  else if (DO(tutti_init(NULL, &job))) scene(argv[1]);

  /* Nobody leaves before all were told, or the late ones might be told of those who left. */
  const uint64_t from = now();
  if (mine->told_at) {
    mine->told_before = !book->dead;
    __atomic_add_fetch(&book->told, 1, __ATOMIC_SEQ_CST);
    uint32_t size = 4;
    while (!book->stop && book->told < size - book->dead && now() - from < 4000000000u) {
      if (job) (void)tutti_progress(job);
      usleep(500);
    }
  }
  if (job) (void)tutti_finalize(&job);
  mine->descriptors_left = before < 0 ? 0 : descriptors() - before;
  mine->survived = 1;
  return 0;
}

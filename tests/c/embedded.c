/* Several contexts in one process, one a thread, that meet by the program's own callbacks: an embedding runtime. */
#include <errno.h>
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include "check.h"

enum { ranks = 4, most = 1 << 16 };

/* One job's meeting place: an allgather among threads. */
struct meeting {
  pthread_mutex_t lock;
  pthread_cond_t turn;
  int members, arrived, generation, refuse;
  unsigned char all[ranks * most];
};

struct rank {
  struct meeting *place, *group;
  uint32_t rank;
  const char *job;
  tutti_status_t init, end;
  int idles; /* calls of idle() */
};

static int meet(struct meeting *m, double timeout_s) {
  struct timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_sec += (time_t)timeout_s + 1;
  const int mine = m->generation;
  int code = 0;
  if (++m->arrived == m->members) {
    m->arrived = 0;
    ++m->generation;
    pthread_cond_broadcast(&m->turn);
  }
  while (m->generation == mine && code == 0) code = pthread_cond_timedwait(&m->turn, &m->lock, &until);
  return code;
}

static int allgather(void *context, const void *mine, size_t bytes, void *all, double timeout_s) {
  struct rank *r = context;
  struct meeting *m = r->place;
  if (m->refuse) return m->refuse;
  if (bytes > most) return ENOMEM;
  pthread_mutex_lock(&m->lock);
  memcpy(m->all + r->rank * bytes, mine, bytes);
  int code = meet(m, timeout_s);
  if (code == 0) memcpy(all, m->all, (size_t)m->members * bytes);
  pthread_mutex_unlock(&m->lock);
  return code;
}

static int fence(void *context, double timeout_s) {
  struct meeting *m = ((struct rank *)context)->place;
  pthread_mutex_lock(&m->lock);
  int code = meet(m, timeout_s);
  pthread_mutex_unlock(&m->lock);
  return code;
}

/* Not CHECK, whose context is the process's: each thread has its own. */
#define MUST(ctx, call)                                                                                   \
  do {                                                                                                    \
    if ((call) != TUTTI_OK) {                                                                             \
      fprintf(stderr, "%s:%d: %s: %s / %s\n", __FILE__, __LINE__, #call, tutti_error_text(ctx), tutti_error_text(NULL)); \
      exit(1);                                                                                            \
    }                                                                                                     \
  } while (0)

/* Called by waits alone. */
static void idle(void *count) { ++*(int *)count; }

static tutti_status_t create_group(tutti_team_t parent, const uint32_t *list, size_t count, uint32_t index, struct meeting *place,
                                   tutti_team_t *team) {
  struct rank there = {.place = place, .rank = index};
  const tutti_bootstrap_t meeting = {.context = &there, .rank = index, .size = (uint32_t)place->members, .allgather = allgather, .fence = fence};
  return tutti_team_create_group(parent, list, count, &meeting, team);
}

/* Ranks 3 and 1, in that order, while the others do not know of it. */
static void group_of_two(tutti_t ctx, const struct rank *r) {
  tutti_team_t world = tutti_world(ctx), team = NULL;
  const uint32_t list[] = {3, 1}, turned[] = {1, 3}, foreign[] = {3, ranks}, index = r->rank == 3 ? 0 : 1;
  const struct {
    const uint32_t *list;
    size_t count;
    uint32_t index;
    const char *text;
  } wrong[] = {{foreign, 2, index, "does not exist"}, {list, 1, index, index == 0 ? "as member 0 of 1" : "lacks the caller"},
               {list, 2, 1 - index, "must be those in the list"}, {index == 0 ? list : turned, 2, index, "must"}};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; ++i)
    if (create_group(world, wrong[i].list, wrong[i].count, wrong[i].index, r->group, &team) != TUTTI_INVALID || team ||
        !strstr(tutti_error_text(ctx), wrong[i].text)) {
      fprintf(stderr, "wrong list %zu: %s\n", i, tutti_error_text(ctx));
      exit(7);
    }
  /* One is wrong, and the other learns of it. */
  if (create_group(world, index == 0 ? list : foreign, 2, index, r->group, &team) != TUTTI_INVALID || team ||
      !strstr(tutti_error_text(ctx), index == 0 ? "passed no list" : "does not exist"))
    exit(8);
  MUST(ctx, create_group(world, list, 2, index, r->group, &team));
  if (tutti_team_rank(team) != index || tutti_team_size(team) != 2) exit(9);
  int64_t one = r->rank, sum = 0;
  for (int i = 0; i < 100; ++i) MUST(ctx, tutti_allreduce(team, &one, &sum, 1, TUTTI_INT64, TUTTI_SUM));
  if (sum != 4) exit(10);
  MUST(ctx, tutti_team_free(&team));
}

static void *run(void *argument) {
  struct rank *r = argument;
  tutti_bootstrap_t boot = {.context = r, .rank = r->rank, .size = ranks, .job_id = r->job, .allgather = allgather,
                            .fence = fence};
  tutti_setting_t settings[] = {{"barrier", "dissemination"}, {"timeout_s", "20"}};
  tutti_options_t o = {.struct_size = sizeof o, .settings = settings, .setting_count = 2, .bootstrap = &boot, .idle = idle, .idle_context = &r->idles};
  tutti_t ctx = NULL;
  r->init = tutti_init(&o, &ctx);
  if (r->init != TUTTI_OK) {
    if (ctx || !strstr(tutti_error_text(NULL), "allgather")) exit(2);
    return NULL;
  }
  tutti_team_t world = tutti_world(ctx);
  if (tutti_rank(ctx) != r->rank || tutti_size(ctx) != ranks) exit(3);
  uint64_t *mine;
  tutti_window_t w;
  MUST(ctx, tutti_window_create(world, 64, (void **)&mine, &w));
  const uint32_t right = (r->rank + 1) % ranks, left = (r->rank + ranks - 1) % ranks;
  for (uint64_t i = 1; i <= 300; ++i) {
    const uint64_t data = i * 1000 + r->rank;
    MUST(ctx, tutti_put_signal(w, right, 0, &data, 8, w, 8, i, TUTTI_SET, NULL));
    MUST(ctx, tutti_wait_signal(w, 8, TUTTI_REACHED, i, left, 30));
    if (mine[0] != i * 1000 + left) exit(4);
    MUST(ctx, tutti_barrier(world));
  }
  if (r->rank % 2) group_of_two(ctx, r);
  r->idles = 0;
  if (r->rank == 0) usleep(100000);
  MUST(ctx, tutti_barrier(world));
  if (r->rank != 0 && r->idles < 2) exit(6); /* the wait was long */
  MUST(ctx, tutti_window_free(&w));
  r->end = tutti_finalize(&ctx);
  return NULL;
}

static void start(struct meeting m[2], struct rank *r, pthread_t *threads, const char *job) {
  for (uint32_t i = 0; i < ranks; ++i) {
    r[i] = (struct rank){.place = &m[0], .group = &m[1], .rank = i, .job = job};
    if (pthread_create(&threads[i], NULL, run, &r[i]) != 0) exit(5);
  }
}

int main(void) {
  /* Two jobs at once, in one process. */
  static struct meeting places[2][2]; /* of all ranks, of the group */
  for (int i = 0; i < 4; ++i) {
    struct meeting *m = &places[i / 2][i % 2];
    pthread_mutex_init(&m->lock, NULL);
    pthread_cond_init(&m->turn, NULL);
    m->members = i % 2 ? 2 : ranks;
  }
  struct rank r[2][ranks];
  pthread_t threads[2][ranks];
  char jobs[2][64];
  for (int j = 0; j < 2; ++j) {
    snprintf(jobs[j], sizeof jobs[j], "embedded.%ld.%d", (long)getpid(), j);
    start(places[j], r[j], threads[j], jobs[j]);
  }
  for (int j = 0; j < 2; ++j)
    for (int i = 0; i < ranks; ++i) {
      pthread_join(threads[j][i], NULL);
      CHECK(r[j][i].init == TUTTI_OK && r[j][i].end == TUTTI_OK);
    }

  /* What the callbacks say becomes the error. */
  static const struct {
    int code;
    tutti_status_t status;
  } cases[] = {{ETIMEDOUT, TUTTI_TIMED_OUT}, {EOWNERDEAD, TUTTI_PEER_DEAD}, {42, TUTTI_FABRIC}};
  for (unsigned c = 0; c < sizeof cases / sizeof *cases; ++c) {
    places[0][0].refuse = cases[c].code;
    start(places[0], r[0], threads[0], jobs[0]);
    for (int i = 0; i < ranks; ++i) {
      pthread_join(threads[0][i], NULL);
      CHECK(r[0][i].init == cases[c].status);
    }
  }
  return 0;
}

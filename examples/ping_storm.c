/* Actors that do nothing but answer each other. Each rank has some, a message wakes one, and the actor passes the message on to another,
 * chosen by the message itself, until the message has made its hops. A handler may send but not wait: where there is no room it
 * leaves the message in the actor's mailbox, and the main loop posts it. Every rank counts what it must receive beforehand, since the
 * way of each message is known. Run it with: tutti run -n 4 ./ping_storm */
#include <stdio.h>
#include <stdlib.h>
#include <tutti.h>

enum { WAKE = 1, ACTORS = 16, PINGS = 40, HOPS = 50 };

typedef struct { uint64_t path, hops_left; } ping_t;

typedef struct {
  tutti_t ctx;
  uint32_t ranks;
  uint64_t woken[ACTORS];
  uint64_t total;
  ping_t *mailbox;             /* what waits for room */
  size_t waiting, room;
  int failed;
} actors_t;

static uint64_t mix(uint64_t z) {
  z += UINT64_C(0x9e3779b97f4a7c15);
  z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
  return z ^ (z >> 31);
}
static uint32_t rank_of(uint64_t path, uint32_t ranks) { return (uint32_t)(mix(path) % ranks); }
static uint32_t actor_of(uint64_t path) { return (uint32_t)(path >> 32) % ACTORS; }

static tutti_status_t post(actors_t *a, ping_t p) {
  return tutti_am_send(a->ctx, rank_of(p.path, a->ranks), WAKE, (const uint64_t[]){p.path, p.hops_left}, 2, NULL, 0);
}

static void keep(actors_t *a, ping_t p) {
  if (a->waiting == a->room) {
    ping_t *const more = realloc(a->mailbox, (2 * a->room + 16) * sizeof *more);
    if (!more) { a->failed = 1; return; }
    a->mailbox = more, a->room = 2 * a->room + 16;
  }
  a->mailbox[a->waiting++] = p;
}

static void wake(tutti_am_t message, const uint64_t *arguments, size_t count, void *payload, size_t bytes, void *context) {
  (void)message, (void)count, (void)payload, (void)bytes;
  actors_t *const a = context;
  ++a->woken[actor_of(arguments[0])], ++a->total;
  if (arguments[1] == 0) return;
  const ping_t next = {mix(arguments[0] ^ arguments[1]), arguments[1] - 1};
  const tutti_status_t s = post(a, next);
  if (s == TUTTI_NO_RESOURCE) keep(a, next);
  else if (s != TUTTI_OK) a->failed = 1;
}

/* Each message's way, walked through without sending anything. */
static void foresee(uint32_t me, uint32_t ranks, uint64_t woken[ACTORS], uint64_t *total) {
  for (uint32_t r = 0; r < ranks; ++r)
    for (uint64_t i = 0; i < PINGS; ++i) {
      ping_t p = {mix(r * 1000 + i), HOPS};
      for (;; p.path = mix(p.path ^ p.hops_left), --p.hops_left) {
        if (rank_of(p.path, ranks) == me) ++woken[actor_of(p.path)], ++*total;
        if (p.hops_left == 0) break;
      }
    }
}

int main(void) {
  static actors_t a;
  if (tutti_init(NULL, &a.ctx) != TUTTI_OK) return fprintf(stderr, "%s\n", tutti_error_text(NULL)), 1;
  const uint32_t me = tutti_rank(a.ctx);
  a.ranks = tutti_size(a.ctx);
  uint64_t woken[ACTORS] = {0}, total = 0;
  foresee(me, a.ranks, woken, &total);
  if (tutti_am_register(a.ctx, WAKE, wake, &a) != TUTTI_OK || tutti_barrier(tutti_world(a.ctx)) != TUTTI_OK) goto failed;

  for (uint64_t i = 0; i < PINGS; ++i)
    if (post(&a, (ping_t){mix(me * 1000 + i), HOPS}) != TUTTI_OK) goto failed; /* waits where there is no room, and handlers run */
  while ((a.total < total || a.waiting > 0) && !a.failed) {
    if (tutti_progress(a.ctx) != TUTTI_OK) goto failed;
    while (a.waiting > 0) {
      const ping_t p = a.mailbox[--a.waiting]; /* taken out first, since handlers that run meanwhile may add to it */
      if (post(&a, p) != TUTTI_OK) goto failed;
    }
  }
  if (a.failed) goto failed;
  for (int i = 0; i < ACTORS; ++i)
    if (a.woken[i] != woken[i]) {
      fprintf(stderr, "rank %u: actor %d was woken %llu times, not %llu\n", me, i, (unsigned long long)a.woken[i], (unsigned long long)woken[i]);
      goto abandon;
    }
  if (tutti_barrier(tutti_world(a.ctx)) != TUTTI_OK) goto failed;
  if (me == 0) printf("%u ranks, %u actors: each was woken as often as foreseen, by %u messages in all\n", a.ranks, a.ranks * ACTORS,
                      a.ranks * PINGS * (HOPS + 1));
  if (tutti_finalize(&a.ctx) != TUTTI_OK) return fprintf(stderr, "%s\n", tutti_error_text(NULL)), 1;
  free(a.mailbox);
  return 0;

failed:
  fprintf(stderr, "rank %u: %s\n", me, tutti_error_text(a.ctx));
abandon:
  tutti_abandon(&a.ctx);
  free(a.mailbox);
  return 1;
}

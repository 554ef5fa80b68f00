/* A hash table that all ranks share: each owns the keys that hash to it. Who wants to add to a key's value sends an active message to the
 * owner, where a handler does it; who wants to know a value sends a request, and the reply brings it. No rank ever waits for
 * another one's attention: whatever a rank does, the handlers run when it calls tutti. Run it with: tutti run -n 4 ./hash_table */
#include <stdio.h>
#include <stdlib.h>
#include <tutti.h>

enum { ADD = 1, LOOK_UP = 2, FOUND = 3, WORDS = 20000, DISTINCT = 1500, SLOTS = 4096 };

/* Open addressing; a key of 0 is a free slot. */
typedef struct {
  struct { uint64_t key, value; } slot[SLOTS];
  uint64_t added;               /* in all */
  uint64_t answers, wrong;      /* of this rank's own questions */
} table_t;

static uint64_t mix(uint64_t z) {
  z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
  return z ^ (z >> 31);
}

static uint64_t *value_of(table_t *t, uint64_t key) {
  size_t i = mix(key) % SLOTS;
  while (t->slot[i].key != 0 && t->slot[i].key != key) i = (i + 1) % SLOTS;
  t->slot[i].key = key;
  return &t->slot[i].value;
}

static void add(tutti_am_t message, const uint64_t *arguments, size_t count, void *payload, size_t bytes, void *context) {
  (void)message, (void)count, (void)payload, (void)bytes;
  table_t *t = context;
  *value_of(t, arguments[0]) += arguments[1];
  t->added += arguments[1];
}

static void look_up(tutti_am_t message, const uint64_t *arguments, size_t count, void *payload, size_t bytes, void *context) {
  (void)count, (void)payload, (void)bytes;
  const uint64_t answer[] = {*value_of(context, arguments[0]), arguments[1]};
  (void)tutti_am_reply(message, FOUND, answer, 2, NULL, 0); /* fails for want of memory only; then the answer is missed below */
}

/* The answer, beside what the asker expects, which it sent along. */
static void found(tutti_am_t message, const uint64_t *arguments, size_t count, void *payload, size_t bytes, void *context) {
  (void)message, (void)count, (void)payload, (void)bytes;
  table_t *t = context;
  ++t->answers;
  t->wrong += arguments[0] != arguments[1];
}

/* The words of a text that every rank could read: which key rank r adds to with its i-th word. */
static uint64_t word(uint64_t rank, uint64_t i) { return 1 + mix(rank * WORDS + i) % DISTINCT; }

int main(void) {
  tutti_t ctx;
  if (tutti_init(NULL, &ctx) != TUTTI_OK) return fprintf(stderr, "%s\n", tutti_error_text(NULL)), 1;
  const uint32_t me = tutti_rank(ctx), n = tutti_size(ctx);
  table_t *table = calloc(1, sizeof *table);
  uint64_t *expected = calloc(DISTINCT + 1, sizeof *expected);
  if (!table || !expected) { fprintf(stderr, "rank %u: no memory for the table\n", me); goto abandon; }
  if (tutti_am_register(ctx, ADD, add, table) != TUTTI_OK || tutti_am_register(ctx, LOOK_UP, look_up, table) != TUTTI_OK ||
      tutti_am_register(ctx, FOUND, found, table) != TUTTI_OK)
    goto failed;
  if (tutti_barrier(tutti_world(ctx)) != TUTTI_OK) goto failed; /* all have their handlers */

  for (uint64_t i = 0; i < WORDS; ++i) {
    const uint64_t arguments[] = {word(me, i), 1};
    if (tutti_am_send(ctx, (uint32_t)(mix(arguments[0] * 31) % n), ADD, arguments, 2, NULL, 0) != TUTTI_OK) goto failed;
  }
  /* Nobody tells when the last message is handled: the ranks count until all words have been added. */
  for (uint64_t added = 0; added != (uint64_t)WORDS * n;) {
    if (tutti_progress(ctx) != TUTTI_OK) goto failed;
    const uint64_t mine = table->added;
    if (tutti_allreduce(tutti_world(ctx), &mine, &added, 1, TUTTI_UINT64, TUTTI_SUM) != TUTTI_OK) goto failed;
  }

  for (uint64_t r = 0; r < n; ++r)
    for (uint64_t i = 0; i < WORDS; ++i) ++expected[word(r, i)];
  for (uint64_t key = 1; key <= DISTINCT; ++key) {
    const uint64_t arguments[] = {key, expected[key]};
    if (tutti_am_request(ctx, (uint32_t)(mix(key * 31) % n), LOOK_UP, arguments, 2, NULL, 0) != TUTTI_OK) goto failed;
  }
  while (table->answers < DISTINCT)
    if (tutti_progress(ctx) != TUTTI_OK) goto failed;
  if (table->wrong > 0) { fprintf(stderr, "rank %u: %llu values are wrong\n", me, (unsigned long long)table->wrong); goto abandon; }
  if (me == 0) printf("%u ranks added %llu words of %d kinds: every count is right\n", n, (unsigned long long)WORDS * n, DISTINCT);
  if (tutti_barrier(tutti_world(ctx)) != TUTTI_OK) goto failed; /* nobody asks any more */
  if (tutti_finalize(&ctx) != TUTTI_OK) return fprintf(stderr, "%s\n", tutti_error_text(NULL)), 1;
  free(table), free(expected);
  return 0;

failed:
  fprintf(stderr, "rank %u: %s\n", me, tutti_error_text(ctx));
abandon:
  tutti_abandon(&ctx);
  free(table), free(expected);
  return 1;
}

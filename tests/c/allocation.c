/* In the steady state the data path allocates nothing: malloc and its kin are counted, and the memory map stays. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>

#include "check.h"

static unsigned long count;

static void *next(const char *name) {
  void *f = dlsym(RTLD_NEXT, name);
  if (!f) abort();
  return f;
}

/* dlsym may allocate the first time: a little memory for that, never freed. */
static char early[4096];
static size_t early_used;

void *malloc(size_t size) {
  static void *(*real)(size_t);
  ++count;
  if (!real) *(void **)&real = next("malloc");
  return real(size);
}

void *calloc(size_t n, size_t size) {
  static void *(*real)(size_t, size_t);
  static int looking;
  ++count;
  if (!real) {
    if (looking) {
      void *p = early + early_used;
      early_used += (n * size + 15) & ~(size_t)15;
      return early_used <= sizeof early ? p : NULL;
    }
    looking = 1;
    *(void **)&real = next("calloc");
  }
  return real(n, size);
}

void *realloc(void *p, size_t size) {
  static void *(*real)(void *, size_t);
  ++count;
  if (!real) *(void **)&real = next("realloc");
  return real(p, size);
}

static unsigned long mappings(void) {
  unsigned long lines = 0;
  FILE *f = fopen("/proc/self/maps", "r");
  CHECK(f);
  for (int c; (c = getc(f)) != EOF;) lines += c == '\n';
  fclose(f);
  return lines;
}

static tutti_window_t w;
static uint64_t *mine;

static void everything(unsigned long from, unsigned long to) {
  const uint32_t me = tutti_rank(check_ctx), n = tutti_size(check_ctx), right = (me + 1) % n, left = (me + n - 1) % n;
  tutti_team_t world = tutti_world(check_ctx);
  for (unsigned long i = from; i < to; ++i) {
    uint64_t data = i, old;
    tutti_request_t request;
    OK(tutti_barrier(world));
    if (i % 16) continue;
    OK(tutti_put_signal(w, right, 0, &data, 8, w, 8, i, TUTTI_SET, NULL));
    OK(tutti_wait_signal(w, 8, TUTTI_REACHED, i, left, -1));
    OK(tutti_put(w, right, 16, &data, 8, &request));
    OK(tutti_wait(&request, -1));
    OK(tutti_get(w, right, 16, &data, 8, NULL));
    OK(tutti_fetch_add(w, 0, 24, 1, &old, &request));
    OK(tutti_wait(&request, -1));
    OK(tutti_flush(w, TUTTI_ALL, -1));
    OK(tutti_ibarrier(world, &request));
    OK(tutti_wait(&request, -1));
  }
}

int main(int argc, char **argv) {
  const unsigned long barriers = argc > 1 ? strtoul(argv[1], NULL, 10) : 100000;
  begin();
  free(malloc(1));
  CHECK(count > 0); /* the counter counts */
  OK(tutti_window_create(tutti_world(check_ctx), 64, (void **)&mine, &w));
  everything(1, 200);
  const unsigned long maps = mappings(), before = count;
  everything(200, 200 + barriers);
  const unsigned long allocations = count - before;
  if (allocations) fprintf(stderr, "rank %u: %lu allocations in %lu barriers\n", tutti_rank(check_ctx), allocations, barriers);
  CHECK(allocations == 0);
  CHECK(mappings() == maps);
  OK(tutti_window_free(&w));
  OK(tutti_finalize(&check_ctx));
  return 0;
}

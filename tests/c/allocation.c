/* In the steady state the data path allocates nothing. Usage: allocation BARRIERS ALGORITHM...: each in a context of its
 * own. What is counted are calls of malloc, calloc and realloc by anyone but UCX's libraries, whose memory is their own
 * affair: so those of this program, of tutti and its modules, and of libstdc++, through which tutti allocates, since UCX is
 * written in C. And on shared memory, where nobody else's library is in the process, the memory map must stay. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <unistd.h>

#include "check.h"

static unsigned long count, of_ucx;

static void counts(const void *caller) {
  Dl_info where;
  const char *name = dladdr(caller, &where) && where.dli_fname ? strrchr(where.dli_fname, '/') : NULL;
  if (name && !strncmp(name, "/libuc", 6)) ++of_ucx; /* libucp, libuct, libucs, libucm */
  else ++count;
}

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
  counts(__builtin_return_address(0));
  if (!real) *(void **)&real = next("malloc");
  return real(size);
}

void *calloc(size_t n, size_t size) {
  static void *(*real)(size_t, size_t);
  static int looking;
  counts(__builtin_return_address(0));
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
  counts(__builtin_return_address(0));
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
    OK(tutti_broadcast(world, (uint32_t)(i / 16 % n), &data, sizeof data));
    OK(tutti_allreduce(world, &data, &old, 1, TUTTI_UINT64, TUTTI_SUM));
    CHECK(old == n * data);
    tutti_request_t several[2];
    OK(tutti_ireduce(world, 0, &data, &old, 1, TUTTI_UINT64, TUTTI_MAX, &several[0]));
    OK(tutti_ibarrier(world, &several[1]));
    OK(tutti_wait_all(several, 2, -1));
    uint64_t of_all[64], scanned;
    OK(tutti_allgather(world, &data, sizeof data, of_all));
    OK(tutti_alltoall(world, of_all, sizeof data, of_all));
    OK(tutti_gather(world, 0, &data, sizeof data, of_all));
    OK(tutti_scatter(world, 0, of_all, sizeof data, &old));
    OK(tutti_scan(world, &data, &scanned, 1, TUTTI_UINT64, TUTTI_SUM));
  }
}

static void steady(const char *barrier, unsigned long barriers) {
  /* By multicast, memory of a root is mapped when a datagram is first taken for lost, which may be late. */
  const tutti_setting_t settings[] = {{"barrier", barrier}, {"bcast", "binomial"}};
  const tutti_options_t options = {.struct_size = sizeof options, .settings = settings, .setting_count = 2};
  if (tutti_init(&options, &check_ctx) != TUTTI_OK) {
    fprintf(stderr, "tutti_init with barrier %s: %s\n", barrier, tutti_error_text(NULL));
    exit(1);
  }
  OK(tutti_window_create(tutti_world(check_ctx), 64, (void **)&mine, &w));
  memset(mine, 0, 64);
  OK(tutti_barrier(tutti_world(check_ctx)));
  /* Whoever is last at the counter releases the others: so that each reaches all before, each is late now and then. */
  for (uint32_t i = 0; i < 8 * tutti_size(check_ctx); ++i) {
    if (i % tutti_size(check_ctx) == tutti_rank(check_ctx)) usleep(3000);
    OK(tutti_barrier(tutti_world(check_ctx)));
  }
  everything(1, 200);
  const unsigned long maps = mappings(), before = count, ucx_before = of_ucx;
  everything(200, 200 + barriers);
  const unsigned long allocations = count - before;
  if (allocations || of_ucx != ucx_before)
    fprintf(stderr, "rank %u: %lu allocations in %lu barriers by %s, and %lu of UCX\n", tutti_rank(check_ctx), allocations,
            barriers, barrier, of_ucx - ucx_before);
  CHECK(allocations == 0);
  if (getenv("TUTTI_PROVIDER") && !strcmp(getenv("TUTTI_PROVIDER"), "shm") && mappings() != maps) {
    fprintf(stderr, "rank %u: %lu mappings, %lu after %lu barriers by %s\n", tutti_rank(check_ctx), maps, mappings(), barriers,
            barrier);
    exit(1);
  }
  OK(tutti_window_free(&w));
  OK(tutti_finalize(&check_ctx));
}

int main(int argc, char **argv) {
  CHECK(argc >= 3);
  free(malloc(1));
  CHECK(count > 0); /* the counter counts */
  for (int i = 2; i < argc; ++i) steady(argv[i], strtoul(argv[1], NULL, 10));
  return 0;
}

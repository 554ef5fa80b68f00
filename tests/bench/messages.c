/* messages [window] [BYTES...]: tagged messages between ranks 0 and 1, by size: half a round trip, and bytes moved a second with a window of 64
 * (8 from 256 KiB on); `window`: from and into memory of a window. Medians over chunks of calls. Run by `tutti run -n 2 build/bin/bench_messages`. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "api/tutti.h"

static double now_us(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return 1e6 * (double)t.tv_sec + 1e-3 * (double)t.tv_nsec;
}

static int by_value(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static void must(tutti_t ctx, tutti_status_t s) {
  if (s == TUTTI_OK) return;
  fprintf(stderr, "%s\n", tutti_error_text(ctx));
  exit(1);
}

enum { chunks = 21 };

static double latency(tutti_t ctx, char *data, size_t bytes, int calls) {
  tutti_team_t world = tutti_world(ctx);
  const uint32_t me = tutti_rank(ctx), peer = 1 - me;
  double took[chunks];
  for (int c = 0; c < chunks; ++c) {
    must(ctx, tutti_barrier(world));
    const double begin = now_us();
    for (int i = 0; i < calls; ++i) {
      if (me == 0) must(ctx, tutti_send(world, peer, 1, data, bytes));
      must(ctx, tutti_recv(world, peer, 1, TUTTI_WHOLE_TAG, data, bytes, NULL));
      if (me == 1) must(ctx, tutti_send(world, peer, 1, data, bytes));
    }
    took[c] = (now_us() - begin) / calls / 2;
  }
  qsort(took, chunks, sizeof took[0], by_value);
  return took[chunks / 2];
}

static double bandwidth(tutti_t ctx, char *data, size_t bytes, int calls, int window) {
  tutti_team_t world = tutti_world(ctx);
  const uint32_t me = tutti_rank(ctx), peer = 1 - me;
  tutti_request_t requests[64];
  double took[chunks];
  for (int c = 0; c < chunks; ++c) {
    must(ctx, tutti_barrier(world));
    const double begin = now_us();
    for (int i = 0; i < calls; ++i) {
      for (int w = 0; w < window; ++w)
        if (me == 0) must(ctx, tutti_isend(world, peer, 2, data + (size_t)w * bytes, bytes, &requests[w]));
        else must(ctx, tutti_irecv(world, peer, 2, TUTTI_WHOLE_TAG, data + (size_t)w * bytes, bytes, NULL, &requests[w]));
      must(ctx, tutti_wait_all(requests, (size_t)window, -1));
    }
    if (me == 0) must(ctx, tutti_recv(world, peer, 3, TUTTI_WHOLE_TAG, NULL, 0, NULL));
    else must(ctx, tutti_send(world, peer, 3, NULL, 0));
    took[c] = (now_us() - begin) / calls / window;
  }
  qsort(took, chunks, sizeof took[0], by_value);
  return took[chunks / 2];
}

int main(int argc, char **argv) {
  static const size_t usual[] = {0, 8, 64, 256, 1024, 4096, 8192, 16384, 65536, 262144, 1048576, 4194304};
  tutti_t ctx;
  must(NULL, tutti_init(NULL, &ctx));
  const uint32_t me = tutti_rank(ctx);
  char *own = NULL, *data;
  tutti_window_t window = NULL;
  if (argc > 1 && !strcmp(argv[1], "window")) {
    void *base;
    --argc, ++argv;
    must(ctx, tutti_window_create(tutti_world(ctx), (size_t)64 << 20, &base, &window));
    data = base;
  } else {
    data = own = malloc((size_t)64 << 20);
  }
  const size_t given = argc > 1 ? (size_t)argc - 1 : sizeof usual / sizeof usual[0];
  memset(data, 1, (size_t)64 << 20);
  if (me == 0) printf("%s\n%10s %12s %12s %12s\n", tutti_fabric(ctx), "bytes", "half trip us", "message us", "GB/s");
  for (size_t i = 0; i < given; ++i) {
    const size_t bytes = argc > 1 ? strtoull(argv[i + 1], NULL, 0) : usual[i];
    const int calls = bytes <= 4096 ? 1000 : bytes <= 65536 ? 200 : 20;
    const int deep = bytes >= 262144 ? 8 : 64;
    if (tutti_rank(ctx) > 1) continue;
    const double half = latency(ctx, data, bytes, calls);
    const double each = bandwidth(ctx, data, bytes, calls / 10 + 1, deep);
    if (me == 0) printf("%10zu %12.3f %12.3f %12.3f\n", bytes, half, each, (double)bytes / each / 1000);
    fflush(stdout);
  }
  must(ctx, tutti_window_free(&window));
  must(NULL, tutti_finalize(&ctx));
  free(own);
  return 0;
}

#include <stdio.h>
#include <tutti.h>

int main(void) {
  tutti_t ctx;
  if (tutti_init(NULL, &ctx) != TUTTI_OK) return fprintf(stderr, "%s\n", tutti_error_text(NULL)), 1;
  uint32_t me = tutti_rank(ctx), n = tutti_size(ctx), left = (me + n - 1) % n, right = (me + 1) % n;
  uint64_t *mine, number = 100 + me; /* mine[0] is a signal, mine[1] a number: the other ranks may write both */
  tutti_window_t window;
  if (tutti_window_create(tutti_world(ctx), 16, (void **)&mine, &window) != TUTTI_OK ||
      tutti_put_signal(window, right, 8, &number, 8, window, 0, 1, TUTTI_SET, NULL) != TUTTI_OK ||
      tutti_wait_signal(window, 0, TUTTI_REACHED, 1, left, -1) != TUTTI_OK)
    return fprintf(stderr, "%s\n", tutti_error_text(ctx)), tutti_abandon(&ctx), 1;
  printf("rank %u of %u got %llu from rank %u\n", me, n, (unsigned long long)mine[1], left);
  return tutti_finalize(&ctx) == TUTTI_OK ? 0 : 1;
}

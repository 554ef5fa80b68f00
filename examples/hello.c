/* Every rank sends a greeting to its right neighbour. Run it with: tutti run -n 4 ./hello */
#include <stdio.h>
#include <tutti.h>

int main(void) {
  tutti_t ctx;
  if (tutti_init(NULL, &ctx) != TUTTI_OK) return fprintf(stderr, "%s\n", tutti_error_text(NULL)), 1;
  uint32_t me = tutti_rank(ctx), n = tutti_size(ctx), left = (me + n - 1) % n, right = (me + 1) % n;

  struct { uint64_t arrived; char text[56]; } *mine; /* what each rank exposes to the others */
  tutti_window_t window;
  if (tutti_window_create(tutti_world(ctx), sizeof *mine, (void **)&mine, &window) != TUTTI_OK) goto failed;

  char text[56];
  snprintf(text, sizeof text, "hello from rank %u", me);
  if (tutti_put_signal(window, right, 8, text, sizeof text, window, 0, 1, TUTTI_SET, NULL) != TUTTI_OK) goto failed;
  if (tutti_wait_signal(window, 0, TUTTI_REACHED, 1, left, -1) != TUTTI_OK) goto failed;
  printf("rank %u of %u got \"%s\"\n", me, n, mine->text);

  if (tutti_barrier(tutti_world(ctx)) != TUTTI_OK) goto failed;
  if (tutti_finalize(&ctx) == TUTTI_OK) return 0;

failed:
  fprintf(stderr, "rank %u: %s\n", me, tutti_error_text(ctx));
  tutti_abandon(&ctx);
  return 1;
}

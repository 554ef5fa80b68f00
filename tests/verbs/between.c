/* between FABRIC: a job over two nodes is carried by that fabric, which it chose itself, and works. */
#include "tests/c/check.h"

enum { bytes = 100 };

int main(int argc, char **argv) {
  CHECK(argc == 2);
  begin();
  const char *fabric = tutti_fabric(check_ctx);
  if (strcmp(fabric, argv[1]) != 0) fprintf(stderr, "carried by %s, not by %s\n", fabric, argv[1]);
  CHECK(strcmp(fabric, argv[1]) == 0 && tutti_nodes(check_ctx) == 2 && tutti_size(check_ctx) == 2);
  const uint32_t other = 1 - tutti_rank(check_ctx);
  struct { uint64_t arrived; char text[bytes]; } *mine;
  tutti_window_t window;
  OK(tutti_window_create(tutti_world(check_ctx), sizeof *mine, (void **)&mine, &window));
  char text[bytes];
  for (uint64_t round = 1; round <= 100; ++round) {
    memset(text, (int)(round + other), sizeof text);
    OK(tutti_put_signal(window, other, 8, text, sizeof text, window, 0, round, TUTTI_SET, NULL));
    OK(tutti_wait_signal(window, 0, TUTTI_REACHED, round, other, 30));
    for (int i = 0; i < bytes; ++i) CHECK(mine->text[i] == (char)(round + tutti_rank(check_ctx)));
    OK(tutti_barrier(tutti_world(check_ctx)));
  }
  OK(tutti_finalize(&check_ctx));
  return 0;
}

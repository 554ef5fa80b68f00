/* connections EXPECTED: after barriers every rank has so many RC queue pairs, by the kernel's own count (`rdma resource`). */
#include <unistd.h>

#include "tests/c/check.h"

/* The kernel names the thread that made a queue pair. */
static unsigned counted(void) {
  char line[512], task[64];
  unsigned n = 0;
  FILE *all = popen("rdma resource show qp", "r");
  CHECK(all != NULL);
  while (fgets(line, sizeof line, all)) {
    const char *pid = strstr(line, " pid ");
    if (!pid || !strstr(line, " type RC ")) continue;
    snprintf(task, sizeof task, "/proc/self/task/%d", atoi(pid + 5));
    n += access(task, F_OK) == 0;
  }
  pclose(all);
  return n;
}

int main(int argc, char **argv) {
  CHECK(argc == 2);
  const unsigned expected = (unsigned)atoi(argv[1]);
  begin();
  tutti_team_t world = tutti_world(check_ctx);
  for (int i = 0; i < 20; ++i) OK(tutti_barrier(world));
  const unsigned n = counted();
  if (n != expected) fprintf(stderr, "rank %u has %u RC queue pairs, not %u\n", tutti_rank(check_ctx), n, expected);
  CHECK(n == expected);
  OK(tutti_barrier(world)); /* nobody leaves while others count */
  OK(tutti_finalize(&check_ctx));
  return 0;
}

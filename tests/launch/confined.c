/* confined SCENE: a little of everything, each call with an end, in a process that is confined: confined.sh.
 * plain; user: odd ranks become another user after init; closed: odd ranks close all descriptors from 3 on;
 * closed_busy: all do while much is under way; closed_late: before they leave. */
#include <grp.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tutti.h"

static tutti_t job;
static unsigned patience; /* seconds, of ranks that only see others go: those are to say why */

static void must(tutti_status_t s) {
  if (s == TUTTI_OK) return;
  printf("%s\n", tutti_error_text(job));
  fflush(stdout);
  sleep(patience);
  _exit(3); /* what it left open or closed is another test's */
}

static void close_all(void) {
  usleep(300000); /* UCX's own thread, which accepts connections, does not survive it at that moment */
  for (int fd = 3; fd < 1024; ++fd) close(fd);
}

int main(int argc, char **argv) {
  static char block[2][100000];
  if (argc < 2) return 2;
  must(tutti_init(NULL, &job));
  const uint32_t me = tutti_rank(job), n = tutti_size(job);
  const tutti_team_t world = tutti_world(job);
  must(tutti_barrier(world));
  if (!strcmp(argv[1], "user") && me % 2 && (setgroups(0, NULL) || setresgid(65534, 65534, 65534) || setresuid(65534, 65534, 65534))) {
    puts("cannot change the user");
    return 2;
  }
  if (!strcmp(argv[1], "closed")) {
    patience = 3 - me % 2 * 3;
    if (me % 2) close_all();
  }
  tutti_request_t sent, received;
  if (!strcmp(argv[1], "closed_busy")) {
    const size_t much = 8 << 20;
    char *const both = malloc(2 * much);
    if (!both) return 2;
    must(tutti_isend(world, (me + 1) % n, 2, both, much, &sent));
    must(tutti_irecv(world, (me + n - 1) % n, 2, TUTTI_WHOLE_TAG, both + much, much, NULL, &received));
    int done;
    must(tutti_test(&sent, &done)); /* begins what can begin */
    close_all();
    must(tutti_wait(&received, 20));
    must(tutti_wait(&sent, 20));
  }
  uint64_t one = 1, sum = 0;
  must(tutti_allreduce(world, &one, &sum, 1, TUTTI_UINT64, TUTTI_SUM));
  must(tutti_isend(world, (me + 1) % n, 1, block[0], sizeof block[0], &sent));
  must(tutti_recv(world, (me + n - 1) % n, 1, TUTTI_WHOLE_TAG, block[1], sizeof block[1], NULL));
  must(tutti_wait(&sent, 20));
  tutti_window_t window;
  must(tutti_window_create(world, 4096, NULL, &window));
  must(tutti_put(window, (me + 1) % n, 0, &one, 8, NULL));
  must(tutti_quiet(job, 20));
  must(tutti_barrier(world));
  if (!strcmp(argv[1], "closed_late")) close_all();
  if (me == 0) printf("fine: %" PRIu64 " of %" PRIu32 " by %s\n", sum, n, tutti_fabric(job));
  must(tutti_finalize(&job));
  return 0;
}

/* sim_ends HOW: a rank of a simulated world (program.sh), of which rank 1 may end too early, or wait for nobody, or all work
 * until they are stopped. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tutti.h>

int main(int count, char **words) {
  const char *how = count > 1 ? words[1] : "well";
  tutti_t ctx;
  if (tutti_init(NULL, &ctx) != TUTTI_OK) return fprintf(stderr, "%s\n", tutti_error_text(NULL)), 9;
  if (tutti_rank(ctx) == 1) {
    char room[8];
    if (!strcmp(how, "crashes")) raise(SIGKILL);
    if (!strcmp(how, "leaves")) exit(3);
    if (!strcmp(how, "waits")) (void)tutti_recv(tutti_world(ctx), 0, 7, ~(uint64_t)0, room, sizeof room, NULL);
  }
  if (!strcmp(how, "starts_another")) (void)!system(words[0]);
  if (!strcmp(how, "works_long") && tutti_rank(ctx) == 0) printf("works long\n"), fflush(stdout);
  for (int i = 0; i < (strcmp(how, "works_long") ? 100 : 100000000); ++i)
    if (tutti_barrier(tutti_world(ctx)) != TUTTI_OK) return fprintf(stderr, "%s\n", tutti_error_text(ctx)), tutti_abandon(&ctx), 5;
  return tutti_finalize(&ctx) == TUTTI_OK ? 0 : 6;
}

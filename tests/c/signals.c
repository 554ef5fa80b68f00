/* signals kept|dies: what a process does upon signals is its own affair, whatever libraries the job loads.
 *   kept  the dispositions of all signals after tutti_init and tutti_finalize are those before, the program's own handlers
 *         among them
 *   dies  a wrong access ends the process by SIGSEGV */
#include <signal.h>
#include <sys/resource.h>

#include "check.h"

static struct sigaction before[NSIG];

static void own(int number) { (void)number; }

static void look(void) {
  for (int s = 1; s < NSIG; ++s) sigaction(s, NULL, &before[s]);
}

static void same(const char *when) {
  for (int s = 1; s < NSIG; ++s) {
    struct sigaction now = {0};
    if (sigaction(s, NULL, &now) != 0) continue;
    const int of_libc = 0x04000000; /* SA_RESTORER: that sigaction() was called, not how */
    if (now.sa_handler == before[s].sa_handler && ((now.sa_flags ^ before[s].sa_flags) & ~of_libc) == 0) continue;
    fprintf(stderr, "rank %u: %s what happens upon signal %d has changed\n", tutti_rank(check_ctx), when, s);
    exit(1);
  }
}

int main(int argc, char **argv) {
  CHECK(argc == 2);
  const int kept = strcmp(argv[1], "kept") == 0;
  if (kept) {
    signal(SIGTERM, own);
    signal(SIGSEGV, own);
    signal(SIGUSR1, SIG_IGN);
  }
  look();
  begin();
  same("after tutti_init");
  OK(tutti_barrier(tutti_world(check_ctx)));
  if (!kept) {
    const struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    raise(SIGSEGV);
  }
  OK(tutti_finalize(&check_ctx));
  same("after tutti_finalize");
  return kept ? 0 : 1;
}

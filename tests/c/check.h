/* Requirements for C tests: a failure says where, which rank, and the library's text, and ends the process. */
#ifndef CHECK_H
#define CHECK_H
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tutti.h>

static tutti_t check_ctx; /* whose error text is shown */

#define CHECK(condition)                                                                                        \
  do {                                                                                                          \
    if (!(condition)) {                                                                                         \
      fprintf(stderr, "%s:%d: rank %u: %s\n  last error: %s\n  of this thread: %s\n", __FILE__, __LINE__,      \
              tutti_rank(check_ctx), #condition, tutti_error_text(check_ctx), tutti_error_text(NULL));          \
      exit(1);                                                                                                  \
    }                                                                                                           \
  } while (0)

#define OK(call) CHECK((call) == TUTTI_OK)

/* The call is refused with this code, and the text of the context (or thread) names all of these words. The thread's is the newer one,
 * and so what a program finds that asks its context. */
static inline void refused(const char *file, int line, tutti_status_t got, tutti_status_t code, tutti_t ctx,
                           const char *a, const char *b) {
  const char *text = tutti_error_text(ctx);
  const int found = got == code && strstr(text, a) && strstr(text, b);
  if (!ctx && check_ctx) text = tutti_error_text(check_ctx);
  if (found && strstr(text, a) && strstr(text, b)) return;
  fprintf(stderr, "%s:%d: code %d (%s), wanted %d; text \"%s\" must name \"%s\" and \"%s\"\n", file, line, got,
          tutti_strstatus(got), code, text, a, b);
  exit(1);
}
#define REFUSED(call, code, ctx, a, b) refused(__FILE__, __LINE__, (call), (code), (ctx), (a), (b))
#define INVALID(call, a, b) REFUSED(call, TUTTI_INVALID, check_ctx, a, b)

static inline void begin(void) {
  if (tutti_init(NULL, &check_ctx) != TUTTI_OK) {
    fprintf(stderr, "tutti_init: %s\n", tutti_error_text(NULL));
    exit(1);
  }
}
#endif

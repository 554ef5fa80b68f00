/* Layouts from C: faces of a 3-d block exchanged with strides, lists of pieces, and every kind of wrong layout. */
#include "check.h"

enum { N = 6, CELLS = N * N * N };
static uint32_t me, n;
static tutti_team_t world;

static size_t cell(size_t x, size_t y, size_t z) { return (x * N + y) * N + z; }

/* The two outermost planes across `axis`, as layouts of one plane; from there strides are alike. */
static tutti_layout_t plane(int axis, size_t counts[2], ptrdiff_t strides[2]) {
  const ptrdiff_t of[3] = {N * N * 8, N * 8, 8};
  int at = 0;
  for (int a = 0; a < 3; ++a)
    if (a != axis) counts[at] = N, strides[at++] = of[a];
  return (tutti_layout_t){.kind = TUTTI_STRIDED, .block_bytes = 8, .count = 2, .counts = counts, .strides = strides};
}

/* Each rank's last inner plane goes to the right neighbor's first, across each axis, by put and back by get. */
static void faces(void) {
  uint64_t *theirs, mine[CELLS];
  tutti_window_t window;
  const uint32_t right = (me + 1) % n, left = (me + n - 1) % n;
  OK(tutti_window_create(world, sizeof mine, (void **)&theirs, &window));
  for (size_t i = 0; i < CELLS; ++i) mine[i] = me * 10000 + i;
  for (int axis = 0; axis < 3; ++axis) {
    size_t counts[2];
    ptrdiff_t strides[2];
    const tutti_layout_t face = plane(axis, counts, strides);
    const size_t step = axis == 0 ? N * N : axis == 1 ? N : 1, last = (N - 1) * step;
    size_t bytes = 0;
    OK(tutti_layout_bytes(check_ctx, &face, &bytes));
    CHECK(bytes == N * N * 8);
    memset(theirs, 0, sizeof mine);
    OK(tutti_barrier(world));
    tutti_request_t request;
    OK(tutti_put_layout(window, right, 0, &face, mine + last, &face, &request));
    OK(tutti_wait(&request, -1));
    OK(tutti_flush(window, right, -1));
    OK(tutti_barrier(world));
    for (size_t x = 0; x < N; ++x)
      for (size_t y = 0; y < N; ++y)
        for (size_t z = 0; z < N; ++z) {
          const size_t across = axis == 0 ? x : axis == 1 ? y : z;
          CHECK(theirs[cell(x, y, z)] == (across ? 0 : left * 10000 + cell(x, y, z) + last));
        }
    uint64_t dense[N * N], got[N * N];
    const tutti_layout_t flat = {.kind = TUTTI_CONTIGUOUS, .block_bytes = sizeof dense};
    memset(got, 0, sizeof got);
    OK(tutti_get_layout(window, right, 0, &face, got, &flat, NULL));
    OK(tutti_flush(window, right, -1));
    size_t i = 0;
    for (size_t a = 0; a < N; ++a)
      for (size_t b = 0; b < N; ++b, ++i) {
        const size_t at = axis == 0 ? cell(0, a, b) : axis == 1 ? cell(a, 0, b) : cell(a, b, 0);
        CHECK(got[i] == me * 10000 + at + last);
      }
    OK(tutti_barrier(world));
  }
  OK(tutti_window_free(&window));
}

/* Addresses of pieces instead of a base. */
static void pieces(void) {
  char *theirs, one[] = "one", two[] = "two", three[] = "three";
  tutti_window_t window;
  const uint32_t right = (me + 1) % n;
  OK(tutti_window_create(world, 64, (void **)&theirs, &window));
  const ptrdiff_t at[] = {(ptrdiff_t)(uintptr_t)one, (ptrdiff_t)(uintptr_t)three, (ptrdiff_t)(uintptr_t)two};
  const size_t lengths[] = {3, 5, 3};
  const tutti_layout_t list = {.kind = TUTTI_INDEXED, .count = 3, .offsets = at, .lengths = lengths};
  const tutti_layout_t flat = {.kind = TUTTI_CONTIGUOUS, .block_bytes = 11};
  OK(tutti_put_layout(window, right, 4, &flat, NULL, &list, NULL));
  OK(tutti_flush(window, right, -1));
  OK(tutti_barrier(world));
  CHECK(!memcmp(theirs, "\0\0\0\0onethreetwo\0", 16));
  const ptrdiff_t backwards = -1;
  const size_t count = 11;
  const tutti_layout_t reversed = {.kind = TUTTI_STRIDED, .block_bytes = 1, .count = 1, .counts = &count, .strides = &backwards};
  char text[16] = "";
  OK(tutti_get_layout(window, right, 14, &reversed, text, &flat, NULL));
  OK(tutti_flush(window, right, -1));
  CHECK(!strcmp(text, "owteerhteno"));
  OK(tutti_barrier(world));
  OK(tutti_window_free(&window));
}

static void wrong(void) {
  uint64_t word[4] = {1, 2, 3, 4};
  size_t bytes = 77, counts[9] = {1, 1, 1, 1, 1, 1, 1, 1, 1}, huge[2] = {SIZE_MAX / 2, 4};
  ptrdiff_t strides[9] = {0}, far[1] = {PTRDIFF_MAX}, back[1] = {-16}, at[2] = {0, 8};
  tutti_window_t window;
  tutti_request_t request = {NULL, 0};
  char *mine;
  OK(tutti_window_create(world, 64, (void **)&mine, &window));
  const tutti_layout_t good = {.kind = TUTTI_CONTIGUOUS, .block_bytes = 16};
#define WRONG(layout_, a, b)                                                                                        \
  do {                                                                                                              \
    const tutti_layout_t bad = layout_;                                                                             \
    INVALID(tutti_layout_bytes(check_ctx, &bad, &bytes), "tutti_layout_bytes", a);                                  \
    INVALID(tutti_put_layout(window, 0, 0, &bad, word, &good, &request), "remote", b);                              \
    INVALID(tutti_get_layout(window, 0, 0, &good, word, &bad, &request), "local", b);                               \
  } while (0)
#define LAYOUT(...) ((tutti_layout_t){__VA_ARGS__})
  WRONG(LAYOUT(.kind = 7), "kind 7", "TUTTI_STRIDED");
  WRONG(LAYOUT(.kind = -1), "kind -1", "kind -1");
  WRONG(LAYOUT(.kind = TUTTI_CONTIGUOUS, .block_bytes = SIZE_MAX), "more than", "bytes");
  WRONG(LAYOUT(.kind = TUTTI_STRIDED, .block_bytes = 8, .count = 9, .counts = counts, .strides = strides), "9 dimensions", "8");
  WRONG(LAYOUT(.kind = TUTTI_STRIDED, .block_bytes = 8, .count = 1, .strides = strides), "counts is NULL", "list");
  WRONG(LAYOUT(.kind = TUTTI_STRIDED, .block_bytes = 8, .count = 1, .counts = counts), "strides is NULL", "list");
  WRONG(LAYOUT(.kind = TUTTI_STRIDED, .block_bytes = 8, .count = 2, .counts = huge, .strides = strides), "more than", "memory");
  WRONG(LAYOUT(.kind = TUTTI_STRIDED, .block_bytes = 8, .count = 1, .counts = huge + 1, .strides = far), "stride", "beyond the reach");
  WRONG(LAYOUT(.kind = TUTTI_INDEXED, .block_bytes = 8, .count = 2), "offsets is NULL", "list");
  WRONG(LAYOUT(.kind = TUTTI_INDEXED, .block_bytes = SIZE_MAX, .count = 2, .offsets = at), "more than", "memory");
  WRONG(LAYOUT(.kind = TUTTI_INDEXED, .block_bytes = 8, .count = 1, .offsets = far), "block 0", "9223372036854775807");
  WRONG(LAYOUT(.kind = TUTTI_NESTED, .count = 2), "offsets is NULL", "list");
  WRONG(LAYOUT(.kind = TUTTI_NESTED, .block_bytes = 8, .count = 1, .offsets = at, .counts = counts), "strides is NULL", "list");
  WRONG(LAYOUT(.kind = TUTTI_NESTED, .block_bytes = SIZE_MAX, .count = 1, .offsets = at), "more than", "memory");
  WRONG(LAYOUT(.kind = TUTTI_NESTED, .block_bytes = 8, .count = 1, .offsets = far), "offset 9223372036854775807", "beyond the reach");
  tutti_layout_t itself = {.kind = TUTTI_NESTED, .count = 1, .offsets = at};
  const tutti_layout_t *const round[] = {&itself};
  itself.parts = round;
  WRONG(itself, "256", "hold itself");
  CHECK(bytes == 77);
  const tutti_layout_t eight = {.kind = TUTTI_CONTIGUOUS, .block_bytes = 8}, none = {.kind = TUTTI_CONTIGUOUS, .block_bytes = 0};
  INVALID(tutti_layout_bytes(check_ctx, NULL, &bytes), "layout is NULL", "pass");
  INVALID(tutti_layout_bytes(check_ctx, &good, NULL), "bytes", "NULL");
  INVALID(tutti_put_layout(window, 0, 0, NULL, word, &good, &request), "remote is NULL", "layout");
  INVALID(tutti_put_layout(window, 0, 0, &good, word, NULL, &request), "local is NULL", "layout");
  INVALID(tutti_put_layout(window, 0, 0, &good, NULL, &good, &request), "base is NULL", "begins");
  INVALID(tutti_get_layout(window, 0, 0, &good, word, &eight, &request), "16 bytes", "local 8");
  INVALID(tutti_put_layout(window, n, 0, &good, word, &good, &request), "rank", "use 0 to");
  INVALID(tutti_put_layout(window, TUTTI_ALL, 0, &good, word, &good, &request), "rank 4294967295", "use 0 to");
  /* Out of the window: behind its end, before its beginning, by an offset that wraps. */
  INVALID(tutti_put_layout(window, 0, 49, &good, word, &good, &request), "offset 49", "0 to 64");
  INVALID(tutti_get_layout(window, 0, UINT64_MAX - 7, &good, word, &good, &request), "offset 18446744073709551608", "window of rank 0");
  counts[0] = 2;
  const tutti_layout_t down = {.kind = TUTTI_STRIDED, .block_bytes = 8, .count = 1, .counts = counts, .strides = back};
  INVALID(tutti_get_layout(window, 0, 8, &down, word, &good, &request), "from -16 to 8", "offset 8");
  INVALID(tutti_get_layout(window, 0, 64, &down, word, &good, &request), "offset 64", "0 to 64");
  /* An address of 0 among pieces. */
  const tutti_layout_t list = {.kind = TUTTI_INDEXED, .block_bytes = 8, .count = 2, .offsets = at};
  INVALID(tutti_get_layout(window, 0, 0, &good, NULL, &list, &request), "base is NULL", "address");
  REFUSED(tutti_put_layout(NULL, 0, 0, &good, word, &good, NULL), TUTTI_INVALID, NULL, "tutti_put_layout", "NULL");
  REFUSED(tutti_get_layout(NULL, 0, 0, &good, word, &good, NULL), TUTTI_INVALID, NULL, "tutti_get_layout", "NULL");
  REFUSED(tutti_layout_bytes(NULL, &good, &bytes), TUTTI_INVALID, NULL, "tutti_layout_bytes", "NULL");
  CHECK(request.slot == NULL && word[0] == 1);
  OK(tutti_barrier(world));
  for (int i = 0; i < 64; ++i) CHECK(mine[i] == 0);
  /* At the very edges, and nothing at all. */
  OK(tutti_get_layout(window, 0, 48, &good, word, &good, NULL));
  OK(tutti_get_layout(window, 0, 56, &down, word, &good, NULL));
  OK(tutti_put_layout(window, 0, 64, &none, NULL, &none, &request));
  OK(tutti_wait(&request, -1));
  INVALID(tutti_put_layout(window, 0, 65, &none, NULL, &none, &request), "offset 65", "0 to 64");
  OK(tutti_flush(window, 0, -1));
  CHECK(word[0] == 0 && word[1] == 0 && word[2] == 3);
  OK(tutti_window_free(&window));
}

int main(void) {
  begin();
  me = tutti_rank(check_ctx), n = tutti_size(check_ctx), world = tutti_world(check_ctx);
  faces();
  pieces();
  wrong();
  OK(tutti_finalize(&check_ctx));
  return 0;
}

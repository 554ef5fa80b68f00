// What depends on a fabric's limits, which the fabrics at hand do not have: operations in pieces. The limit is set in the
// context behind the handle, hence no C and no shared library here.
#include <cstring>

#include "api/context.h"
#include "check.h"

using namespace tutti;

namespace {

void pieces(tutti_window_t w, const unsigned char* mine, uint32_t left, uint32_t right) {
  unsigned char source[1000], back[1000];
  for (uint64_t round = 1; round <= 50; ++round) {
    for (std::size_t i = 0; i < sizeof source; ++i)
      source[i] = static_cast<unsigned char>(i * round + tutti_rank(check_ctx));
    const std::size_t bytes = sizeof source - round;  // multiples of a piece and others
    api::find(check_ctx)->piece = 16 + round % 9;
    tutti_request_t put{}, get{};
    OK(tutti_put_signal(w, right, 64, source, bytes, w, 0, round, TUTTI_SET, &put));
    OK(tutti_wait_signal(w, 0, TUTTI_REACHED, round, left, -1));
    for (std::size_t i = 0; i < bytes; ++i) CHECK(mine[64 + i] == static_cast<unsigned char>(i * round + left));
    OK(tutti_wait(&put, -1));
    OK(tutti_get(w, right, 64, back, bytes, &get));
    OK(tutti_wait(&get, -1));
    CHECK(!std::memcmp(back, source, bytes));
    OK(tutti_barrier(tutti_world(check_ctx)));
  }
}

}  // namespace

int main() {
  begin();
  const uint32_t me = tutti_rank(check_ctx), n = tutti_size(check_ctx);
  void* base;
  tutti_window_t w;
  OK(tutti_window_create(tutti_world(check_ctx), 2048, &base, &w));
  pieces(w, static_cast<unsigned char*>(base), (me + n - 1) % n, (me + 1) % n);
  OK(tutti_window_free(&w));
  OK(tutti_finalize(&check_ctx));
}

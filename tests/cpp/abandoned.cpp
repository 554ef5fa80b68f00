// A rank that leaves its scope without finalize() waits for nobody, and the others hear of it: by a failure that names it.
#include "tests/cpp/expect.h"

#include <array>

using namespace test;
using tutti::one;

int main() {
  tutti::context ctx = begin();
  const tutti::team_view world = ctx.world();
  const auto w = take(tutti::window<int>::create(world, 16));
  expect(w.local().size() == 16);
  tutti::team half = take(world.split(me < 2 ? 0 : 1));
  std::array<int, 4> never{};
  tutti::request receive = take(tutti::recv(world, 1, 5, never, tutti::nonblocking));
  take(tutti::barrier(world));
  if (me != 1) take(tutti::send(world, 1, 6, one(me)));
  else
    for (std::uint32_t other = 0, from = 0; other + 1 < world.size(); ++other) take(tutti::recv(world, tutti::any_source, 6, one(from)));
  if (me == 1) return 0;  // the receive is taken back, window and team are left to the context, which is abandoned

  const auto entered = tutti::barrier(world);
  refused(entered, TUTTI_PEER_DEAD, "");
  expect(entered.error().peer == 1, "another rank is named");
  const auto received = receive.wait();
  refused(received, TUTTI_PEER_DEAD, "");
  expect(!receive.pending());
  if (me == 0) refused(tutti::barrier(half), TUTTI_PEER_DEAD, "");
  (void)ctx.finalize();  // of a job that has lost a rank; nothing is left behind
  expect(ctx.handle() == nullptr);
}

// A ring of coroutines, by tutti.hpp: each of several tokens travels once around all ranks, and each rank adds its number to it. All
// tokens are under way at once, each in a coroutine of its own that reads like a program which blocks.
//
//     g++ -std=c++20 cpp_ring.cpp -o cpp_ring $(pkg-config --cflags --libs tutti) && tutti run -n 4 ./cpp_ring
#include <cstdio>
#include <tutti.hpp>
#include <tutti/coroutine.hpp>

using tutti::nonblocking;
using tutti::on;
using tutti::one;

namespace {

struct token {
  std::uint64_t number, sum;
};

tutti::task<> pass(tutti::loop& loop, tutti::team_view world, std::uint64_t number) {
  const std::uint32_t me = world.rank(), n = world.size(), left = (me + n - 1) % n, right = (me + 1) % n;
  token t{number, 0};
  if (me == 0) (co_await on(loop, tutti::send(world, right, number, one(t), nonblocking))).or_throw();
  (co_await on(loop, tutti::recv(world, left, number, one(t), nonblocking))).or_throw();
  t.sum += me;
  if (me != 0) (co_await on(loop, tutti::send(world, right, number, one(t), nonblocking))).or_throw();
  else std::printf("token %llu is back with %llu\n", static_cast<unsigned long long>(t.number), static_cast<unsigned long long>(t.sum));
}

}  // namespace

int main() try {
  tutti::context ctx = tutti::context::init().or_throw();
  tutti::loop loop(ctx);
  for (std::uint64_t number = 1; number <= 5; ++number) loop.spawn(pass(loop, ctx.world(), number));
  loop.run();
  const double ranks = tutti::allreduce(ctx.world(), 1.0, tutti::op::sum).or_throw();
  if (ctx.rank() == 0) std::printf("%.0f ranks over %s\n", ranks, ctx.fabric());
  ctx.finalize().or_throw();
} catch (const tutti::failed_call& e) {  // the context is abandoned on the way here, which ends the other ranks' waits
  std::fprintf(stderr, "cpp_ring: %s\n", e.what());
  return 1;
}

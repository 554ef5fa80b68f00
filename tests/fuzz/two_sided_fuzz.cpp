// The two-sided messages that a peer sends, as the messaging engine takes them: two simulated ranks of one node, of which one has
// receives, sends, and handlers of active messages under way, and the other gives what the input holds. Of each message the input has the
// length of its header and of its payload, a byte each, and then both. The name of the first operation of a rank is 0, so an input can
// name those that are under way.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>
#include <vector>

#include "messaging/messages.h"
#include "tests/fuzz/simulated_job.h"

using namespace tutti;
using test::require;

namespace {

using bytes = std::span<const std::byte>;

bytes cut(bytes& rest, std::size_t length) {
  const bytes front = rest.first(std::min(length, rest.size()));
  rest = rest.subspan(front.size());
  return front;
}

// What came must be right or an error; memory is the sanitizers' business.
void take(job& j) {
  auto opened = messaging::messages::open(j);
  require(opened.ok());
  messaging::messages& m = **opened;
  std::array<std::byte, 3000> in{}, in_any{}, out{};
  std::vector<std::byte> long_in(100'000), long_out(100'000);
  completion done[5];
  team& world = j.world();
  constexpr std::uint64_t whole = ~std::uint64_t{0};
  (void)m.by_tag().start_receive({&world, 1, 1, whole, in.data(), in.size(), nullptr}, done[0], nullptr);
  (void)m.by_tag().start_receive({&world, 1, 2, whole, long_in.data(), long_in.size(), nullptr}, done[1], nullptr);
  (void)m.by_tag().start_send({&world, 1, 3, long_out.data(), long_out.size()}, done[2], nullptr);
  (void)m.by_tag().start_send({&world, 1, 4, out.data(), 8, true}, done[3], nullptr);
  (void)m.by_tag().start_receive({&world, messaging::operation::any, 0, 1, in_any.data(), in_any.size(), nullptr}, done[4], nullptr);
  for (const std::uint32_t number : {0u, 5u})
    require(m.active().set_handler(number, [](tutti_am* am, const std::uint64_t* arguments, std::size_t count, void* payload, std::size_t n, void*) {
      std::uint64_t sum = 0;
      for (std::size_t i = 0; i < count; ++i) sum += arguments[i];
      for (std::size_t i = 0; i < n; ++i) sum += static_cast<std::uint64_t>(static_cast<std::byte*>(payload)[i]);
      if (am->request) (void)am->engine->reply(*am, {1, {&sum, 1}, {}});
    }, nullptr).ok());
  for (const time_point end = j.net().now() + std::chrono::milliseconds(1); j.net().now() < end;) {
    j.progress();
    if (auto a = j.net().arm()) (void)j.net().sleep(std::move(a), j.net().now() + std::chrono::microseconds(20));
  }
  (void)m.active().trouble();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  bytes given = std::as_bytes(std::span{data, size});
  sim::parameters p;
  p.ranks = 2, p.ranks_per_node = 2, p.maps_node = true, p.limit_us = 1e7;
  sim::world w(p);
  const status end = w.run([&](rank_t r) {
    const auto net = std::move(*w.open(r));
    const auto j = test::join(w, r, *net, {}, {.node_of = {0, 0}, .population = {2}});
    if (r == 0) return take(*j);
    two_sided& raw = *net->sendrecv();
    const std::size_t longest = raw.query().max_header;
    while (given.size() > 2) {
      const auto lengths = cut(given, 2);
      const bytes header = cut(given, std::min(longest, static_cast<std::size_t>(lengths[0])));
      const bytes payload = cut(given, static_cast<std::size_t>(lengths[1]));
      for (int tries = 0; tries < 100 && !raw.send(0, header, payload); ++tries) {
        net->progress();
        if (auto a = net->arm()) (void)net->sleep(std::move(a), net->now() + std::chrono::microseconds(2));
      }
    }
  });
  require(end.ok());
  return 0;
}

// The blobs that members of a team exchange in collective calls, as a rank gets them from a member that makes another call, or is
// of another version: two simulated ranks, of which one makes the call that the first byte of an input says, and the other
// gives what the input holds, a length and so many bytes for each exchange. When there is nothing left it leaves.
#include <algorithm>
#include <array>
#include <cstdlib>

#include "bsp/engine.h"
#include "collectives/communicator.h"
#include "core/job/window.h"
#include "tests/fuzz/simulated_job.h"

using namespace tutti;
using test::require;

namespace {

using bytes = std::span<const std::byte>;
enum class call : std::uint8_t { split, create, window, own_window, broadcast, multicast, barrier, bsp, checked_bsp, count };

const communicator_options plain{.barrier = "dissemination", .bcast = "binomial"};

std::unique_ptr<job> join(sim::world& w, rank_t r, transport& net) {
  job_options options;
  options.setup_timeout = std::chrono::seconds(1);
  options.world_lines = communicator::world_lines_with(plain);
  return test::join(w, r, net, std::move(options), {.node_of = {0, 1}, .population = {1, 1}});
}

template <class T>
status outcome(const result<T>& r) { return r.error(); }

status by_bsp(team& t, bool check) {
  auto e = bsp::engine::open(t, {});
  if (!e) return e.error();
  if (check) (*e)->watch(nullptr, [](const std::string&) {});
  return (*e)->sync(nullptr) ? status{} : status{errc::protocol, "bsp_sync"};
}

status make(call c, job& j) {
  std::array<std::byte, 64> memory{};
  team& t = j.world();
  const auto lines = [](void*, const rank_map&) { return team_request{4, "fuzz"}; };
  const std::uint32_t both[] = {0, 1};
  auto world = communicator::world(j, plain);
  if (!world) return world.error();
  switch (c) {
    case call::split: return outcome(t.split(1, 1, lines, nullptr));
    case call::create: return outcome(t.create(both, lines, nullptr));
    case call::window: return outcome(window::open(t, {nullptr, 64}));
    case call::own_window: return outcome(window::open(t, {memory.data(), memory.size()}));
    case call::broadcast: return (*world)->broadcast(1, memory);
    case call::multicast: return outcome(reliable_broadcast::open(t));
    case call::barrier: return outcome((*world)->split(0, 0, {.barrier = "rgm"}));
    case call::bsp: return by_bsp(t, false);
    case call::checked_bsp: return by_bsp(t, true);
    case call::count: break;
  }
  return {};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const auto c = static_cast<call>(data[0] % static_cast<std::uint8_t>(call::count));
  bytes given = std::as_bytes(std::span{data + 1, size - 1});
  sim::parameters p;
  p.ranks = 2, p.limit_us = 1e7;
  sim::world w(p);
  const status end = w.run([&](rank_t r) {
    const auto net = std::move(*w.open(r));
    const auto j = join(w, r, *net);
    if (r == 1) {
      const status s = make(c, *j);
      require(s.ok() || *s.text());
    }
    for (bool works = true; r == 0 && works && !given.empty();) {
      const auto length = std::min(given.size() - 1, static_cast<std::size_t>(given[0]));
      works = j->world().exchange(given.subspan(1, length), j->net().now() + std::chrono::seconds(1)).ok();
      given = given.subspan(1 + length);
    }
  });
  require(end.ok());
  return 0;
}

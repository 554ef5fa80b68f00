#include "tools/sim/traffic.h"

#include <algorithm>
#include <deque>

#include "providers/sim/random.h"
#include "tools/sim/virtual_data.h"

namespace tutti::tools {
namespace {

// An operation under way. Its completion has to stay where it is.
struct slot {
  completion done;
  time_point began;
  bool busy = false, submitted = false;
  rank_t target = 0;
};

struct origin {
  segment_id all{};
  region_id region{};
  std::deque<slot> slots;
  std::uint64_t begun = 0, ended = 0;
};

}  // namespace

result<sim_figures> measure_traffic(const sim::parameters& p, const traffic_plan& plan, const progress_fn& progress) {
  const auto started = std::chrono::steady_clock::now();
  if (p.ranks < 2) return status(errc::invalid, "traffic takes at least two ranks");
  if (plan.bytes > std::min<std::uint64_t>(p.max_bytes, UINT32_MAX)) return status(errc::invalid, "more bytes in one operation than fabric.max_bytes");
  sim::world w(p);
  const std::uint32_t n = w.size();
  auto shared = virtual_data::of(std::max<std::uint64_t>(2 * plan.bytes, 64));  // what comes, and what goes
  if (!shared) return shared.error();
  standing_memory data;
  for (rank_t r = 0; data.stands_still(plan.bytes) && r < n; ++r) (void)w.net(r), w.memory_of(r, data);
  std::vector<origin> origins(n);
  const status met = w.exchange(
      [&](rank_t r) -> result<std::vector<std::byte>> {
        auto region = w.net(r).add(shared->memory());
        if (!region) return region.error();
        origins[r].region = *region;
        origins[r].slots.resize(plan.window);
        return w.net(r).key(*region);
      },
      [&](rank_t r, const shared_blobs& keys) -> status {
        auto all = w.net(r).attach(rank_map::strided(0, n), keys);
        if (all) origins[r].all = *all;
        return all ? status{} : all.error();
      });
  if (met.failed()) return met;

  sim::random chosen(p.seed ^ 0x74726166666963);
  const auto target = [&](rank_t r, std::uint64_t i) -> rank_t {
    switch (plan.to) {
      case pattern::uniform: {
        const auto other = static_cast<rank_t>(chosen.next() % (n - 1));
        return other < r ? other : other + 1;
      }
      case pattern::ring: return (r + 1) % n;
      case pattern::shift: return static_cast<rank_t>((r + 1 + i % (n - 1)) % n);
      case pattern::incast: return 0;
      case pattern::mirror: return n - 1 - r;
    }
    return 0;
  };
  const auto rests = [&](rank_t r) { return (plan.to == pattern::incast && r == 0) || (plan.to == pattern::mirror && n - 1 - r == r); };

  std::vector<float> samples;
  samples.reserve(n * plan.operations);
  time_point end{};
  std::uint64_t failed = 0;
  const status ran = w.drive([&](rank_t r) {
    origin& o = origins[r];
    transport& net = w.net(r);
    net.progress();
    if (rests(r)) return true;
    for (slot& s : o.slots) {
      if (s.busy && s.submitted && s.done.idle()) {
        failed += s.done.outcome().failed();
        s.busy = s.submitted = false;
        ++o.ended;
        end = std::max(end, w.clock(r));
        samples.push_back(static_cast<float>(in_us(w.clock(r)) - in_us(s.began)));
        if (progress && samples.size() % 1024 == 0) progress(static_cast<double>(samples.size()) / static_cast<double>(n * plan.operations));
      }
      if (!s.busy && o.begun < plan.operations) {
        s.target = target(r, o.begun);
        s.began = w.clock(r);
        rma_op op{plan.get ? op_kind::get : op_kind::put};
        op.rank = s.target, op.remote = o.all, op.local = o.region, op.bytes = static_cast<std::uint32_t>(plan.bytes);
        op.local_offset = plan.bytes;
        op.done = plan.get ? &s.done : nullptr;
        if (!net.submit({&op, 1})) return false;  // full: it is called again
        s.busy = true, s.submitted = plan.get;
        ++o.begun;
      }
      if (s.busy && !s.submitted && !(s.submitted = net.flush(s.target, &s.done))) return false;
    }
    return o.ended == plan.operations;
  });
  if (ran.failed()) return ran;
  if (failed) return status(errc::invalid, std::to_string(failed) + " operations failed");

  sim_figures f;
  f.of = std::string(plan.get ? "get " : "put ") + std::string(pattern_names[static_cast<unsigned>(plan.to)]);
  f.ranks = n, f.bytes = plan.bytes, f.calls = plan.operations;
  f.way = "window " + std::to_string(plan.window);
  const auto each = static_cast<double>(plan.operations);
  f.us = in_us(end) / each, f.lasted_us = in_us(end);
  f.messages = static_cast<double>(w.stats().messages) / each, f.payload = static_cast<double>(w.stats().bytes) / each;
  f.busiest = w.busiest(), f.trace = w.stats().trace;
  f.each = spread_of(samples);
  f.wall_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
  return f;
}

}  // namespace tutti::tools

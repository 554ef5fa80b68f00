// Running ranks: as functions with a stack each, of which one runs at a time, or as steps without stacks.
#include <algorithm>
#include <numeric>

#include "providers/sim/net.h"

namespace tutti::sim {

namespace {

// Every living rank is due at its own clock. Ranks at the same time begin in the seed's order if there is any freedom.
void begin(fabric& f, fabric::mode_t mode) {
  f.mode = mode;
  f.failure = {};
  f.thrown = nullptr;
  f.live = 0;
  f.limit = 0;
  f.active();
  std::vector<rank_t> order(f.ranks.size());
  std::iota(order.begin(), order.end(), 0);
  if (f.hostile())
    for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[f.rng.next() % i]);
  for (const rank_t r : order) {
    rank_state& rs = f.ranks[r];
    rs.done_here = rs.dead;
    if (rs.dead) continue;
    f.limit = std::max(f.limit, rs.clock);
    ++f.live;
    f.go_on_at(rs, rs.clock);
  }
  f.limit = f.par.limit_us > 0 ? f.limit + to_ns(f.par.limit_us) : 0;
}

void end(fabric& f) {
  f.mode = fabric::mode_t::outside;
  for (rank_state& rs : f.ranks) {
    rs.state = rank_state::outside;
    ++rs.ticket;  // no run event of this run counts any more
  }
}

}  // namespace

status world::run(std::function<void(rank_t)> rank_main) {
  fabric& f = *f_;
  if (f.broken) return {errc::invalid, "ranks of an earlier run are stuck for ever: make a new world"};
  if (f.mode != fabric::mode_t::outside) return {errc::invalid, "this world is running"};
  const auto body = std::make_shared<const std::function<void(rank_t)>>(std::move(rank_main));
  std::vector<std::unique_ptr<fiber>> flows(size());
  try {
    for (rank_t r = 0; r < size(); ++r) {
      if (f.ranks[r].dead) continue;
      flows[r] = std::make_unique<fiber>([&f, r, body] {
        try {
          (*body)(r);
        } catch (...) {
          f.thrown = std::current_exception();
          f.failure = {errc::invalid, worded("rank ", r, " threw an exception"), r};
        }
        rank_state& rs = f.ranks[r];
        f.gives_core(rs);
        rs.state = rank_state::finished, rs.done_here = true;
        --f.live;
        f.active();
        f.run_next(nullptr);  // does not come back
      });
      f.ranks[r].flow = flows[r].get();
    }
  } catch (const std::bad_alloc&) {
    return {errc::no_resource, worded("no memory for the stacks of ", size(), " simulated ranks")};
  }
  begin(f, fabric::mode_t::fibers);
  fiber here;
  f.main = f.current = &here;
  f.run_next(nullptr);
  for (rank_t r = 0; r < size(); ++r) {
    const rank_state& rs = f.ranks[r];
    if (!flows[r] || rs.done_here) continue;
    fiber::abandon(std::move(flows[r]));
    f.broken |= !rs.dead;
  }
  end(f);
  if (f.thrown) std::rethrow_exception(std::exchange(f.thrown, nullptr));
  return f.failure;
}

status world::drive(const std::function<bool(rank_t)>& step) {
  fabric& f = *f_;
  if (f.broken) return {errc::invalid, "ranks of an earlier run are stuck for ever: make a new world"};
  if (f.mode != fabric::mode_t::outside) return {errc::invalid, "this world is running"};
  begin(f, fabric::mode_t::steps);
  f.step = &step;
  try {
    f.run_next(nullptr);
  } catch (...) {  // the step's own
    end(f);
    throw;
  }
  end(f);
  return f.failure;
}

void world::call_again(rank_t r, time_point t) { f_->ranks[r].transport->call_again_at(t); }

}  // namespace tutti::sim

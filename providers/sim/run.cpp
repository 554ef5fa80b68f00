// Running ranks: as functions on threads of which one runs at a time, or as steps without threads.
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
    if (mode == fabric::mode_t::threads) rs.turn = std::make_shared<baton>();
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
  begin(f, fabric::mode_t::threads);
  const auto body = std::make_shared<const std::function<void(rank_t)>>(std::move(rank_main));
  std::vector<std::pair<rank_t, std::thread>> threads;
  for (rank_t r = 0; r < size(); ++r) {
    if (f.ranks[r].dead) continue;
    threads.emplace_back(r, std::thread([&f, r, body, turn = f.ranks[r].turn] {
      turn->await();
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
      f.run_next(nullptr);
    }));
  }
  const auto back = f.main_turn;
  f.run_next(nullptr);
  back->await();
  for (auto& [r, thread] : threads) {
    const rank_state& rs = f.ranks[r];
    if (rs.done_here) {
      thread.join();
    } else {
      thread.detach();
      f.broken |= !rs.dead;
    }
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

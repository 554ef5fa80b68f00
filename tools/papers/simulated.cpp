// Loops of barriers over a simulated machine: those of tutti by a virtual job in one thread, those of messages by a thread a rank.
#include <algorithm>
#include <stdexcept>

#include "tools/papers/lab.h"
#include "tools/papers/message_barrier.h"
#include "tools/sim/joined.h"
#include "tools/sim/virtual_job.h"

namespace tutti::tools::papers {
namespace {

constexpr std::string_view by_messages = "messages:";

double us(time_point t) { return static_cast<double>(t.time_since_epoch().count()) / 1000.0; }

// When the last rank left each turn. The first quarter of the turns, of 4 or more, is warming up.
class stopwatch {
 public:
  explicit stopwatch(std::uint64_t turns) : ends_(turns) {}
  void left(std::uint64_t turn, time_point at) { ends_[turn - 1] = std::max(ends_[turn - 1], us(at)); }  // from 1
  double each() const {
    const std::size_t from = ends_.size() / 4 - 1;
    return (ends_.back() - ends_[from]) / static_cast<double>(ends_.size() - 1 - from);
  }

 private:
  std::vector<double> ends_;
};

double by_engine(const sim::parameters& p, const barrier_loop& loop) {
  sim::world w(p);
  communicator_options o;
  o.barrier = loop.barrier;
  const auto picked = need(virtual_job::pick(w, o));
  const auto job = need(virtual_job::open(w, picked));
  stopwatch clock(loop.turns);
  virtual_job::script s{.epochs = loop.turns, .compute = loop.compute};
  s.leaves = [&](rank_t r, std::uint64_t turn) { clock.left(turn, w.clock(r)); };
  need(job->run(s));
  return clock.each();
}

double by_exchanges(const sim::parameters& p, const barrier_loop& loop) {
  const std::string_view name = std::string_view(loop.barrier).substr(by_messages.size());
  const auto kind = name == "pairwise" ? message_barrier::kind::pairwise : message_barrier::kind::dissemination;
  sim::world w(p);
  stopwatch clock(loop.turns);
  need(run_ranks(w, [&](rank_t r) {
    const auto j = join_simulated(w, r, {});
    const auto m = need(messaging::messages::open(*j));
    message_barrier barrier(m->by_tag(), j->world(), kind);
    const time_point start = latest_clock(w, r) + std::chrono::milliseconds(1);
    w.compute(r, us(start) - us(w.clock(r)));
    for (std::uint64_t turn = 1; turn <= loop.turns; ++turn) {
      if (loop.compute) w.compute(r, loop.compute(r, turn));
      need(barrier.enter());
      clock.left(turn, w.clock(r));
    }
    (void)latest_clock(w, r);  // nobody leaves while others need it
  }));
  return clock.each();
}

}  // namespace

double machine::number(const std::string& name) const {
  const auto found = other.find(name);
  if (found == other.end()) throw std::runtime_error("the paper's file has no number `" + name + "` for this machine");
  return found->second;
}

const machine& simulated_lab::at(const std::string& name) const {
  const auto found = machines_.find(name);
  if (found == machines_.end()) throw std::runtime_error("the paper's file describes no machine `" + name + "`");
  return found->second;
}

std::vector<double> simulated_lab::turns(const machine& m, std::uint32_t ranks, std::span<const barrier_loop> loops) {
  sim::parameters p = m.fabric;
  p.ranks = ranks;
  std::vector<double> out;
  for (const barrier_loop& l : loops) out.push_back(l.barrier.starts_with(by_messages) ? by_exchanges(p, l) : by_engine(p, l));
  return out;
}

}  // namespace tutti::tools::papers

#include "tools/sim/measure.h"

#include <malloc.h>

#include <algorithm>
#include <vector>

#include "tools/sim/timed_run.h"

namespace tutti::tools {
namespace {

double heap_in_use() {
  const auto m = mallinfo2();
  return static_cast<double>(m.uordblks) + static_cast<double>(m.hblkhd);
}

// Steps are memory too: any rank may have to run them.
status fits(const picked_barrier& p, std::uint32_t ranks, std::uint32_t ranks_per_node) {
  std::vector<std::uint32_t> nodes;
  if (p.choice.row->needs.nodes)
    for (std::uint32_t r = 0; r < ranks; ++r) nodes.push_back(r / ranks_per_node);
  const shape last{.rank = ranks - 1, .size = ranks, .radix = p.choice.radix, .node_of = nodes,
                           .inner = p.choice.inner};
  const std::size_t steps = p.choice.row->make(last).steps.size();
  const std::uint32_t words = p.choice.row->words(last);
  if (words <= most_words && steps <= most_words) return {};
  return {errc::unsupported, to_string(p.choice) + " takes " +
                                 (words > most_words ? std::to_string(words) + " words of control memory"
                                                     : std::to_string(steps) + " steps") +
                                 " a rank among " + std::to_string(ranks) + ", more than " +
                                 std::to_string(most_words) + ": simulate it with fewer ranks"};
}

}  // namespace

result<sim_figures> measure_barrier(const sim::parameters& p, const communicator_options& options,
                                    std::uint64_t epochs, const progress_fn& progress) {
  const auto began = std::chrono::steady_clock::now();
  const double heap = heap_in_use();
  sim::world w(p);
  const auto picked = virtual_job::pick(w, options);
  if (!picked) return picked.error();
  if (status s = fits(*picked, w.size(), w.params().ranks_per_node); s.failed()) return s;
  auto made = virtual_job::open(w, *picked);
  if (!made) return made.error();
  virtual_job& v = **made;

  timed_run timed(w, epochs, w.clock(0), progress);
  virtual_job::script s{.epochs = epochs};
  timed.watch(s);
  const status ran = v.run(s);
  if (ran.failed()) return ran;

  std::uint64_t done = 0;  // barriers that somebody left: all, unless ranks die
  for (rank_t r = 0; r < v.size(); ++r) done = std::max(done, v.epochs_left(r));
  sim_figures f = timed.figures(done);
  f.of = "barrier", f.way = to_string(picked->choice);
  f.words = picked->lines - program::lines(0);
  f.control_bytes = control::offset(control::engine + picked->lines);
  f.memory_bytes = std::max(0.0, heap_in_use() - heap - static_cast<double>(timed.memory())) / v.size();
  for (rank_t r = 0; r < v.size(); ++r) {
    if (const reliable_multicast* mc = v.barrier(r).mcast()) {
      const auto& c = mc->statistics();
      f.queries += c.queries, f.repairs += c.repairs + c.second_multicasts;
    }
    if (!w.alive(r)) continue;
    const status& end_of = v.outcome(r);
    const bool named = end_of.code() == errc::peer_dead && end_of.peer() < w.size() && !w.alive(end_of.peer());
    ++(named ? f.told : f.unaware);
    if (named) f.told_us = std::max(f.told_us, in_us(w.clock(r)));
  }
  f.wall_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  return f;
}

}  // namespace tutti::tools

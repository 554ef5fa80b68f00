#include "tools/perf/overlap_bench.h"

#include <algorithm>
#include <chrono>

#include "core/transport/offload.h"
#include "tools/perf/measured_provider.h"

namespace tutti::tools {
namespace {

using clock = std::chrono::steady_clock;
constexpr double chunk_seconds = 10e-3, look_every_us = 20;
constexpr int most_iterations = 1000, least_rounds = 3;

void turn(double turns) {
  double x = 1;
  for (auto n = static_cast<std::uint64_t>(turns); n; --n) {
    x = x * 0.5 + 1;
    asm volatile("" : "+x"(x));
  }
}

}  // namespace

// Computation is counted in turns of a loop and not by the clock: where somebody else has the core, it takes longer.
overlap_bench::overlap_bench(job& j, const communicator_options& options) : job_(j), random_(j.rank() + 1) {
  for (int round = 0; round < 20; ++round) {
    const auto start = clock::now();
    turn(200000);
    turns_per_us_ = std::max(turns_per_us_, 200000 / (1e6 * seconds_since(start)));
  }
  turns_per_us_ = share(job_.world(), turns_per_us_);
  auto world = communicator::world(j, options);
  require(world.error());
  world_ = std::move(*world);
  ways_ = {{"blocking", world_.get(), false, false}, {"split", world_.get(), true, false}, {"split, tests", world_.get(), true, true}};
  if (share(job_.world(), j.net().offloader() != nullptr) == 0) return;
  auto team = world_->split(0, 0, {.barrier = "offloaded"});
  require(team.error());
  offloaded_ = std::move(*team);
  ways_.push_back({"offloaded", offloaded_.get(), false, false});
  ways_.push_back({"offl. split", offloaded_.get(), true, false});
}

void overlap_bench::compute(double us, const way* looking, std::uint64_t request) {
  for (; looking && us > look_every_us; us -= look_every_us) {
    turn(look_every_us * turns_per_us_);
    job_.progress();
    looking->team->barrier().test(request);
  }
  turn(us * turns_per_us_);
}

double overlap_bench::chunk(const overlap_case& c, double& computed_us) {
  const way& w = ways_[c.way];
  team_barrier& b = w.team->barrier();
  require(world_->barrier().enter());
  computed_us = 0;
  const auto start = clock::now();
  for (int i = 0; i < c.iterations; ++i)
    for (const phase& p : c.loop) {
      const double us = p.mean_us * (1 + p.vary * (2 * std::uniform_real_distribution<double>{}(random_) - 1));
      computed_us += us;
      if (w.split) {
        const std::uint64_t request = b.start();
        compute(us, w.tests ? &w : nullptr, request);
        require(b.wait(request));
      } else {
        compute(us, nullptr, 0);
        require(b.enter());
      }
    }
  return seconds_since(start);
}

void overlap_bench::measure(std::vector<overlap_case>& cases, double seconds) {
  const auto start = clock::now();
  double computed_us = 0;
  for (overlap_case& c : cases) {
    const double took = share(job_.world(), chunk(c, computed_us));
    c.iterations = std::clamp(static_cast<int>(chunk_seconds / std::max(took, 1e-7)), 1, most_iterations);
  }
  for (int round = 0;; ++round) {
    if (share(job_.world(), round >= least_rounds && seconds_since(start) > seconds) != 0) return;
    for (overlap_case& c : cases) {
      const double us = 1e6 * chunk(c, computed_us);
      c.us.add(us / c.iterations);
      c.efficiency.add(computed_us / us);
    }
  }
}

}  // namespace tutti::tools

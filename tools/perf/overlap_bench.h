// Loops of computation and a barrier, as Buntinas measured them (2001, 4): a barrier in several ways, and computation that
// takes so many microseconds of a core.
#pragma once
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "collectives/communicator.h"
#include "tools/perf/series.h"

namespace tutti::tools {

// A phase of a loop: computation of so many microseconds, then a barrier. Each rank's varies about the mean by up to `vary`
// of it in both directions, evenly.
struct phase {
  double mean_us = 0;
  double vary = 0;
};

struct overlap_case {
  std::string row;                    // for the table
  std::size_t way = 0;                // of overlap_bench::ways()
  std::vector<phase> loop;
  int iterations = 1;                 // of a chunk
  series us;                          // of one loop
  series efficiency;                  // of a chunk: computation of this rank to all of its time
};

class overlap_bench {
 public:
  // How a loop meets its barrier. `split`: the barrier is started, then the phase is computed, then it is waited for;
  // `tests`: with a look at it, and so progress, every so often in between.
  struct way {
    std::string name;
    communicator* team = nullptr;
    bool split = false, tests = false;
  };

  overlap_bench(job&, const communicator_options&);  // of the first ways; throws std::runtime_error
  const std::vector<way>& ways() const noexcept { return ways_; }
  bool offloads() const noexcept { return offloaded_ != nullptr; }
  void measure(std::vector<overlap_case>&, double seconds);  // interleaved, at least three chunks of each

 private:
  void compute(double us, const way* looking, std::uint64_t request);
  double chunk(const overlap_case&, double& computed_us);  // seconds

  job& job_;
  std::unique_ptr<communicator> world_, offloaded_;
  std::vector<way> ways_;
  std::mt19937_64 random_;
  double turns_per_us_ = 0;           // of the loop that stands for computation
};

}  // namespace tutti::tools

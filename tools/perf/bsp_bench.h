// Supersteps under measurement: cases that all processes run together, a chunk of each in turn.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bsp/engine.h"
#include "tools/perf/series.h"

namespace tutti::tools {

struct bsp_case {
  std::string row, column;
  std::function<void(bsp::engine&)> calls;  // of one superstep, before its sync
  bsp::engine* engine = nullptr;
  int iterations = 1;                       // of a chunk; calibrated
  series us;                                // of a superstep
};

class bsp_bench {
 public:
  // Memory that every engine has registered, for cases to put to.
  static constexpr std::size_t area_bytes = std::size_t{4} << 20;

  bsp_bench(team&, const std::vector<std::string>& schemes);  // throws std::runtime_error
  ~bsp_bench();

  std::uint32_t processes() const noexcept { return engines_.front()->nprocs(); }
  std::uint32_t me() const noexcept { return engines_.front()->pid(); }
  bsp::engine& engine(std::size_t scheme) { return *engines_[scheme]; }
  const std::vector<std::string>& schemes() const noexcept { return schemes_; }
  std::byte* area() noexcept { return area_.data(); }      // registered
  std::byte* source() noexcept { return source_.data(); }

  // Until `seconds` have passed, at least a few rounds.
  void measure(std::vector<bsp_case>&, double seconds);
  double flops();                                          // r: of a DAXPY of 1000 doubles, a second

 private:
  double chunk(bsp_case&, int iterations);                 // seconds, as rank 0 saw it

  team& team_;
  std::vector<std::string> schemes_;
  std::vector<std::unique_ptr<bsp::engine>> engines_;
  std::vector<std::byte> area_, source_;
};

// h and the microseconds of a superstep that sends and receives so many words: time = l + g h by least squares.
struct bsp_line {
  double g = 0, l = 0, g_spread = 0, l_spread = 0;
};
bsp_line fit(const std::vector<std::pair<double, double>>& points);  // the spreads are 0
// Of microseconds round by round: through their medians. The spreads are half of what lies between the quartiles of the lines
// through each round by itself.
bsp_line fit(const std::vector<std::pair<double, const series*>>& points);

// Where another becomes the cheapest: of costs[i][k] of scheme k at sizes[i], which grow. The first entry is at sizes[0]. A
// scheme that another does not beat by 3 % stays.
struct crossover {
  std::uint32_t from;  // a size
  std::size_t scheme;
};
std::vector<crossover> crossovers(const std::vector<std::uint32_t>& sizes, const std::vector<std::vector<double>>& costs);

}  // namespace tutti::tools

#include "tools/perf/bsp_bench.h"

#include <algorithm>
#include <chrono>
#include <stdexcept>

#include "tools/perf/measured_provider.h"

namespace tutti::tools {
namespace {

using clock = std::chrono::steady_clock;
constexpr double chunk_seconds = 3e-3;
constexpr int most_iterations = 10000, least_rounds = 7;

void require(bool ok, const bsp::engine& e) {
  if (!ok) throw std::runtime_error(e.error().text());
}

}  // namespace

bsp_bench::bsp_bench(team& t, const std::vector<std::string>& schemes)
    : team_(t), schemes_(schemes), area_(area_bytes), source_(area_bytes) {
  std::fill(source_.begin(), source_.end(), std::byte{1});
  for (const std::string& name : schemes_) {
    auto how = bsp::parse_scheme(name);
    if (!how) throw std::runtime_error(how.error().text());
    auto e = bsp::engine::open(t, {.how = *how});
    if (!e) throw std::runtime_error(e.error().text());
    require((*e)->push_reg(area_.data(), area_.size()), **e);
    require((*e)->sync(), **e);
    engines_.push_back(std::move(*e));
  }
}

bsp_bench::~bsp_bench() {
  for (auto& e : engines_)
    if (e->error().ok()) e->leave();
}

double bsp_bench::chunk(bsp_case& c, int iterations) {
  require(c.engine->sync(), *c.engine);
  const auto start = clock::now();
  for (int i = 0; i < iterations; ++i) {
    c.calls(*c.engine);
    require(c.engine->sync(), *c.engine);
  }
  return seconds_since(start);
}

void bsp_bench::measure(std::vector<bsp_case>& cases, double seconds) {
  for (bsp_case& c : cases) {
    chunk(c, 2);  // makes the buffers of both halves, which takes longer than the supersteps that are to be counted
    c.iterations = times_for(chunk_seconds, 1, most_iterations,
                             [&](int times) { return share(team_, chunk(c, times)); });
  }
  const auto start = clock::now();
  for (int round = 0;; ++round) {
    if (share(team_, round >= least_rounds && seconds_since(start) > seconds) != 0) return;
    for (bsp_case& c : cases) c.us.add(1e6 * chunk(c, c.iterations) / c.iterations);
  }
}

double bsp_bench::flops() { return share(team_, bsp::daxpy_flops(team_.parent_job().net())); }

bsp_line fit(const std::vector<std::pair<double, double>>& points) {
  double n = 0, sx = 0, sy = 0, sxx = 0, sxy = 0;
  for (const auto& [x, y] : points) n += 1, sx += x, sy += y, sxx += x * x, sxy += x * y;
  const double g = (n * sxy - sx * sy) / (n * sxx - sx * sx);
  return {.g = g, .l = (sy - g * sx) / n};
}

bsp_line fit(const std::vector<std::pair<double, const series*>>& points) {
  const auto through = [&](auto value) {
    std::vector<std::pair<double, double>> chosen;
    for (const auto& [x, s] : points) chosen.emplace_back(x, value(*s));
    return fit(chosen);
  };
  bsp_line line = through([](const series& s) { return s.median(); });
  series g, l;
  for (std::size_t round = 0; round < points.front().second->count(); ++round) {
    const bsp_line one = through([&](const series& s) { return s.at(round); });
    g.add(one.g), l.add(one.l);
  }
  line.g_spread = (g.quantile(0.75) - g.quantile(0.25)) / 2, line.l_spread = (l.quantile(0.75) - l.quantile(0.25)) / 2;
  return line;
}

std::vector<crossover> crossovers(const std::vector<std::uint32_t>& sizes, const std::vector<std::vector<double>>& costs) {
  constexpr double margin = 0.97;
  std::vector<crossover> out;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const std::vector<double>& now = costs[i];
    const auto best = static_cast<std::size_t>(std::min_element(now.begin(), now.end()) - now.begin());
    if (out.empty() || (best != out.back().scheme && now[best] < margin * now[out.back().scheme])) out.push_back({sizes[i], best});
  }
  return out;
}

}  // namespace tutti::tools

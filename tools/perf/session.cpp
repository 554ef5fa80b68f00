#include "tools/perf/session.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "core/provider.h"

namespace tutti::tools {
namespace {

using seconds = std::chrono::duration<double>;
constexpr double chunk_seconds = 4e-3;
constexpr int most_iterations = 20000;
constexpr int least_rounds = 5;

double since(std::chrono::steady_clock::time_point t) {
  return seconds(std::chrono::steady_clock::now() - t).count();
}

}  // namespace

session::session(bootstrap& boot, const config& settings, session_plan plan)
    : boot_(boot), settings_(settings), plan_(std::move(plan)) {}

void session::open() {
  for (const std::string& spec : plan_.lanes) {
    auto l = lane::open(boot_, settings_, spec);
    if (l) lanes_.push_back(std::move(*l));
    else missing_.emplace_back(spec, l.error().text());
  }
  if (lanes_.empty()) throw std::runtime_error(missing_.empty() ? "no provider named" : missing_.front().second);
  for (auto& l : lanes_)  // the first lane whose memory all ranks map
    if (rows_.empty()) l->add_floors(rows_);
  for (auto& l : lanes_) {
    l->add_barriers(rows_, plan_.only_barrier);
    if (!plan_.barriers_only) l->add_one_sided(rows_);
  }
  if (plan_.barriers_only) std::erase_if(rows_, [](const row& r) { return r.group != "barrier"; });
}

lane& session::lane_of(const row& r) {
  for (auto& l : lanes_)
    if (l->name() == r.lane) return *l;
  return *lanes_.front();  // floors run beside the first lane
}

// A rank that waits for the next chunk drives every lane, since a peer may still need it there, but politely: those
// that still measure share its core.
void session::gather(lane& l) {
  team_barrier& b = l.world().barrier();
  const std::uint64_t request = b.start();
  for (int turn = 0; !b.test(request); ++turn) {
    for (auto& each : lanes_) each->of().progress();
    if (turn < 20) sched_yield();
    else usleep(100);
    if (turn % 1000 == 999) require(l.of().world().look(no_rank));
  }
  require(b.outcome());
}

double session::share(lane& l, double value) {
  auto all = l.world().group().exchange(std::as_bytes(std::span(&value, 1)));
  require(all.error());
  std::memcpy(&value, (**all)[0].data(), sizeof value);
  return value;
}

double session::chunk(row& r, int iterations) {
  lane& l = lane_of(r);
  gather(l);
  r.run(1);
  const auto start = std::chrono::steady_clock::now();
  r.run(iterations);
  const double took = since(start);
  require(l.world().barrier().enter());
  return took;
}

void session::calibrate(row& r) {
  lane& l = lane_of(r);
  r.iterations = 1;
  for (;;) {
    const double took = share(l, chunk(r, r.iterations));
    if (took >= chunk_seconds / 4 || r.iterations >= most_iterations) {
      const double fit = r.iterations * chunk_seconds / std::max(took, 1e-7);
      r.iterations = static_cast<int>(std::clamp(fit, 1.0, static_cast<double>(most_iterations)));
      return;
    }
    r.iterations = std::min(r.iterations * 4, most_iterations);
  }
}

void session::measure() {
  const bool speaks = boot_.rank() == 0 && plan_.progress;
  const auto start = std::chrono::steady_clock::now();
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    if (speaks) std::fprintf(stderr, "\r\033[Kcalibrating %zu of %zu: %s %s", i + 1, rows_.size(), rows_[i].lane.c_str(),
                             rows_[i].name.c_str());
    calibrate(rows_[i]);
  }
  for (int round = 0;; ++round) {
    const double past = since(start);
    if (speaks) std::fprintf(stderr, "\r\033[Kround %d, %.0f of %.0f s", round + 1, past, plan_.seconds);
    // Rank 0's clock decides for all whether there is another round.
    const bool enough = round >= least_rounds && past > plan_.seconds;
    if (share(*lanes_.front(), enough ? 1 : 0) != 0) break;
    for (row& r : rows_) {
      const double took = chunk(r, r.iterations);
      const double each = took / r.iterations;
      r.result.add(r.in == unit::microseconds ? each * 1e6 / r.halves : r.bytes / each * 1e-9);
    }
  }
  if (speaks) std::fprintf(stderr, "\r\033[K");
}

}  // namespace tutti::tools

#include "tools/perf/session.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdarg>
#include <cstdio>
#include <stdexcept>

namespace tutti::tools {
namespace {

constexpr double chunk_seconds = 4e-3;
constexpr int most_iterations = 20000;
constexpr int least_rounds = 5;

std::vector<std::string> of_rank_0(bootstrap& boot, const std::vector<std::string>& mine) {
  std::string text;
  for (const auto& provider : mine) text += provider + "\n";
  auto all = boot.allgather(std::as_bytes(std::span(text)), time_point::max());
  require(all.error());
  const auto first = (**all)[0];
  text.assign(reinterpret_cast<const char*>(first.data()), first.size());
  std::vector<std::string> out;
  for (std::size_t at = 0, end; (end = text.find('\n', at)) != text.npos; at = end + 1) out.push_back(text.substr(at, end - at));
  return out;
}

}  // namespace

session::session(bootstrap& boot, session_plan plan) : boot_(boot), plan_(std::move(plan)) {}

void session::say(const char* format, ...) const {
  if (boot_.rank() != 0 || !plan_.progress) return;
  char text[256];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  plan_.progress(text);
}

void session::open() {
  for (const std::string& spec : of_rank_0(boot_, plan_.providers)) {
    say("opening %s", spec.c_str());
    auto p = measured_provider::open(boot_, driven_, spec, plan_.by_size ? 4 * mebibyte : mebibyte);
    if (p) providers_.push_back(std::move(*p));
    else left_out_.emplace_back(spec, p.error().text());
  }
  if (providers_.empty()) throw std::runtime_error(left_out_.empty() ? "no provider named" : left_out_.front().second);
  for (auto& p : providers_)  // the first provider whose memory all ranks map
    if (rows_.empty() && (!plan_.only || plan_.only == collective::barrier)) {
      gather(*p);
      p->add_floors(rows_, plan_.by_size);
    }
  for (auto& p : providers_) {
    say("preparing %s", p->name().c_str());
    gather(*p);
    if (!plan_.only || plan_.only == collective::barrier) p->add_barriers(rows_, plan_.only_barrier, plan_.fan_ins, left_out_);
    if (!plan_.only) p->add_data(rows_, collective::broadcast, false, left_out_), p->add_data(rows_, collective::allreduce, false, left_out_);
    else if (plan_.only != collective::barrier) p->add_data(rows_, *plan_.only, true, left_out_);
    if (!plan_.only) p->add_one_sided(rows_);
    if (plan_.by_size) p->add_by_size(rows_);
  }
  if (plan_.only == collective::barrier) std::erase_if(rows_, [](const row& r) { return r.what.group != "barrier"; });
  // Tables and pages begin with the barriers.
  std::stable_partition(rows_.begin(), rows_.end(), [](const row& r) { return r.what.group == "barrier"; });
}

measured_provider& session::provider_of(const row& r) {
  for (auto& p : providers_)
    if (p->name() == r.what.provider) return *p;
  return *providers_.front();  // floors run beside the first provider
}

// Drives every provider, since a peer may still need this rank where it was before; but politely: those that still measure
// share its core. Who comes out may drive this provider alone: all ranks are in, so nobody waits in another any more.
void session::gather(measured_provider& p) {
  team_barrier& b = p.world().barrier();
  const std::uint64_t request = b.start();
  for (int turn = 0; !b.test(request); ++turn) {
    driven_.progress();
    if (turn < 20) sched_yield();
    else usleep(100);
    if (turn % 1000 == 999) require(p.of().world().look(no_rank));
  }
  require(b.outcome());
}

double session::chunk(row& r, int iterations) {
  measured_provider& p = provider_of(r);
  gather(p);
  r.run(1);
  const auto start = std::chrono::steady_clock::now();
  r.run(iterations);
  const double took = seconds_since(start);
  require(p.world().barrier().enter());
  return took;
}

void session::calibrate(row& r) {
  measured_provider& p = provider_of(r);
  r.iterations = times_for(chunk_seconds, r.least, most_iterations,
                           [&](int times) { return share(p.world().group(), chunk(r, times)); });
}

void session::measure() {
  const auto start = std::chrono::steady_clock::now();
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const measurement& m = rows_[i].what;
    say("calibrating %zu of %zu: %s, %s %s", i + 1, rows_.size(), m.provider.c_str(), m.group.c_str(), m.name.c_str());
    calibrate(rows_[i]);
  }
  for (int round = 0;; ++round) {
    const double past = seconds_since(start);
    // Rank 0's clock decides for all whether there is another round. What is slow gets fewer.
    const bool enough = past > plan_.seconds && (round >= least_rounds || past > 1.5 * plan_.seconds) && round > 0;
    gather(*providers_.front());
    if (share(providers_.front()->world().group(), enough ? 1 : 0) != 0) break;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      row& r = rows_[i];
      if (i % 16 == 0) say("round %d, %.0f of %.0f s", round + 1, seconds_since(start), plan_.seconds);
      const double each = chunk(r, r.iterations) / r.iterations;
      r.result.add(r.what.in == unit::microseconds ? each * 1e6 / r.halves : r.work / each * 1e-9);
    }
  }
  say("%s", "");
  // Nobody leaves a provider while another may still wait there for the last word.
  for (auto& p : providers_) {
    gather(*p);
    require(p->of().world().settle(time_point::max()));
  }
}

perf_run session::outcome() const {
  perf_run out;
  job& j = providers_.front()->of();
  out.ranks = j.size(), out.nodes = j.where().nodes(), out.ranks_per_core = j.ranks_per_core();
  out.left_out = left_out_;
  for (const row& r : rows_) {
    measurement& m = out.rows.emplace_back(r.what);
    m.median = r.result.median(), m.low = r.result.quantile(0.25), m.high = r.result.quantile(0.75);
    m.chunks = r.result.count(), m.iterations = r.iterations;
  }
  return out;
}

}  // namespace tutti::tools

// Loops of barriers on a real fabric: a job of this command for each number of ranks, in which chunks of all loops follow each other.
#include <chrono>
#include <cstdio>
#include <memory>
#include <sstream>
#include <stdexcept>

#include "collectives/communicator.h"
#include "tools/papers/lab.h"
#include "tools/papers/message_barrier.h"
#include "tools/perf/series.h"
#include "tools/process.h"
#include "tools/sim/joined.h"

namespace tutti::tools::papers {
namespace {

constexpr double chunk_seconds = 4e-3;
constexpr std::string_view by_messages = "messages:";

struct contender {
  std::string name;
  std::unique_ptr<communicator> team;          // of a barrier of tutti
  std::unique_ptr<message_barrier> exchanges;
  int calls = 1;                               // of a chunk
  ::tutti::tools::series us;
  status enter() { return exchanges ? exchanges->enter() : team->barrier().enter(); }
};

double most_of(team& t, double mine) {
  const auto all = need(t.exchange_values(mine));
  return *std::ranges::max_element(all);
}

double chunk(team& all, contender& c) {
  need(c.enter());
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < c.calls; ++i) need(c.enter());
  return most_of(all, seconds_since(start));
}

}  // namespace

void measure_as_rank(const std::vector<std::string>& barriers, double seconds) {
  const auto settings = need(config::load());
  job_options options = options_from(settings);
  options.world_lines = communicator::world_lines;
  communicator_options engines;
  choose_by_settings(settings, options, engines);
  const auto j = need(job::open(settings, std::move(options)));
  const auto world = need(communicator::world(*j, std::move(engines)));
  const auto m = messaging::messages::open(*j);
  std::vector<contender> all;
  for (const std::string& name : barriers) {
    contender c{.name = name, .team = nullptr, .exchanges = nullptr, .us = {}};
    if (name.starts_with(by_messages)) {
      if (!m) continue;
      c.exchanges = std::make_unique<message_barrier>((*m)->by_tag(), world->group(),
                                                      name.ends_with("pairwise") ? message_barrier::kind::pairwise : message_barrier::kind::dissemination);
    } else {
      communicator_options o;
      o.barrier = name;
      auto team = world->split(0, 0, o);
      if (!team) continue;  // this fabric cannot: alike in all ranks
      c.team = std::move(*team);
    }
    all.push_back(std::move(c));
  }
  team& everyone = world->group();
  for (contender& c : all)
    for (double took = chunk(everyone, c); took < chunk_seconds && c.calls < 10000; took = chunk(everyone, c)) c.calls *= 2;
  const auto start = std::chrono::steady_clock::now();
  do {
    for (contender& c : all) c.us.add(1e6 * chunk(everyone, c) / c.calls);
  } while (most_of(everyone, seconds_since(start)) < seconds);
  if (j->rank() == 0)
    for (const contender& c : all) std::printf("%s %.6f\n", c.name.c_str(), c.us.median());
  need(world->barrier().enter());
}

std::vector<double> live_lab::turns(const machine&, std::uint32_t ranks, std::span<const barrier_loop> loops) {
  std::vector<std::string> names;
  for (const barrier_loop& l : loops) names.push_back(l.barrier);
  auto& out = known_[{ranks, names}];
  if (!out.empty()) return out;
  std::vector<std::string> words{"env", "TUTTI_PROVIDER=" + provider_, own_path(), "run", "-n", std::to_string(ranks), "--timeout", "120",
                                 own_path(), "papers", "--seconds", "1"};
  for (const std::string& name : names) words.insert(words.end(), {"--loop", name});
  const auto said = output_of(std::move(words), false);
  if (!said) throw std::runtime_error("the job of " + std::to_string(ranks) + " ranks on " + provider_ + " failed; its own words stand above");
  std::map<std::string, double> us;
  std::istringstream lines(*said);
  std::string word;
  for (double t = 0; lines >> word >> t;) us[word] = t;
  for (const std::string& name : names) out.push_back(us[name]);
  return out;
}

}  // namespace tutti::tools::papers

#include "tools/perf/contest.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tools/perf/contestants.h"
#include "tools/perf/load.h"
#include "tools/perf/status_line.h"

namespace tutti::tools {
namespace {

constexpr double start_seconds = 1.5;  // of a job, about

}  // namespace

void contest::measure() {
  const auto begun = std::chrono::steady_clock::now();
  std::size_t jobs = 0;
  for (const contestant& c : plan_.contestants) jobs += c.why_not.empty() ? plan_.ranks.size() : 0;
  const double job_seconds = plan_.seconds / (plan_.rounds * static_cast<double>(std::max<std::size_t>(jobs, 1)));
  const double cell_seconds = std::clamp((job_seconds - start_seconds) / plan_.jobs_cells / 2, 2e-3, 0.5);
  status_line line(true);
  double round_seconds = 0;  // of the last one
  for (int round = 0; round < plan_.rounds; ++round) {
    // A round is for all or for none: one that most likely would not end in time is not begun.
    const double past = seconds_since(begun);
    if (round > 0 && plan_.seconds - past < 0.7 * round_seconds) return;
    rounds_.emplace_back();
    if (plan_.floor)
      for (const contest_cell& cell : plan_.cells)
        if (const double us = plan_.floor(cell); us > 0) floors_[cell].add(us);
    for (const int ranks : plan_.ranks)
      for (std::size_t k = 0; k < plan_.contestants.size(); ++k) {
        const std::size_t c = (k + static_cast<std::size_t>(round)) % plan_.contestants.size();  // none is always first
        if (!plan_.contestants[c].why_not.empty()) continue;
        char text[200];
        std::snprintf(text, sizeof text, "%s, round %d of %d, %.0f of %.0f s: %d ranks, %s", plan_.title.c_str(), round + 1, plan_.rounds,
                      seconds_since(begun), plan_.seconds, ranks, plan_.contestants[c].name.c_str());
        line.show(text);
        // What is slow gets three times its share, and what it has printed by then counts.
        run(c, ranks, cell_seconds, 3 * job_seconds + 10);
      }
    round_seconds = seconds_since(begun) - past;
  }
}

void contest::run(std::size_t contestant, int ranks, double cell_seconds, double most_seconds) {
  const std::string command = bounded_by(most_seconds) + plan_.contestants[contestant].command(ranks, cell_seconds);
  std::string words;
  const std::string printed = output_of_shell(command, false, &words).value_or("");
  if (printed.empty()) failed_[{contestant, ranks}] = std::move(words);
  std::istringstream lines(printed);
  contest_cell cell;
  for (double us; lines >> cell.name >> cell.bytes >> us;)
    if (us > 0 && std::ranges::find(plan_.cells, cell) != plan_.cells.end()) rounds_.back()[{ranks, cell}][contestant] = us;
}

std::vector<double> contest::times(std::size_t contestant, int ranks, const contest_cell& cell) const {
  std::vector<double> out;
  for (const auto& round : rounds_)
    if (const auto found = round.find({ranks, cell}); found != round.end())
      if (const auto us = found->second.find(contestant); us != found->second.end()) out.push_back(us->second);
  return out;
}

double contest::median(std::size_t contestant, int ranks, const contest_cell& cell) const {
  series s;
  for (const double us : times(contestant, ranks, cell)) s.add(us);
  return s.median();
}

double contest::floor(const contest_cell& cell) const {
  const auto found = floors_.find(cell);
  return found == floors_.end() ? 0 : found->second.median();
}

double contest::ratio(std::size_t a, std::size_t b, int ranks, const contest_cell& cell) const {
  series s;
  for (const auto& round : rounds_)
    if (const auto found = round.find({ranks, cell}); found != round.end() && found->second.contains(a) && found->second.contains(b))
      s.add(found->second.at(a) / found->second.at(b));
  return s.median();
}

std::size_t contest::best_other(int ranks, const contest_cell& cell) const {
  std::size_t best = 0;
  for (std::size_t c = 1; c < plan_.contestants.size(); ++c)
    if (const double us = median(c, ranks, cell); us > 0 && (best == 0 || us < median(best, ranks, cell))) best = c;
  return best;
}

std::string contest::json() const {
  nlohmann::json out{{"title", plan_.title}, {"cells", nlohmann::json::array()}};
  for (const contestant& c : plan_.contestants)
    if (!c.why_not.empty()) out["left out"][c.name] = c.why_not;
  for (const int ranks : plan_.ranks)
    for (const contest_cell& cell : plan_.cells) {
      nlohmann::json one{{"what", cell.name}, {"bytes", cell.bytes}, {"ranks", ranks}};
      if (floor(cell) > 0) one["floor"] = floor(cell);
      for (std::size_t c = 0; c < plan_.contestants.size(); ++c)
        if (auto us = times(c, ranks, cell); !us.empty()) one["times"][plan_.contestants[c].name] = us;
      if (const std::size_t peer = best_other(ranks, cell); peer > 0 && ratio(0, peer, ranks, cell) > 0)
        one["ratio"] = ratio(0, peer, ranks, cell), one["best peer"] = plan_.contestants[peer].name;
      out["cells"].push_back(std::move(one));
    }
  return out.dump(1);
}

std::string load_text() {
  char text[32];
  std::snprintf(text, sizeof text, "load %.2f", load_average());
  return text;
}

}  // namespace tutti::tools

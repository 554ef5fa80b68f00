// Programs that measure the same cells, as whole jobs in turn, several rounds of them, so that the machine's moods fall upon all
// alike. Each prints a line for each cell: its name, its bytes, and microseconds. A ratio is of the times of one round, taken seconds
// apart; its median over the rounds is what is shown.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tools/perf/series.h"

namespace tutti::tools {

struct contest_cell {
  std::string name;  // one word
  std::uint64_t bytes = 0;
  auto operator<=>(const contest_cell&) const = default;
};

struct contestant {
  std::string name;
  std::string why_not;  // empty: takes part
  std::function<std::string(int ranks, double seconds)> command;  // seconds: to measure each cell for
};

struct contest_plan {
  std::string title;                   // "shm": of what its progress line tells
  std::vector<contestant> contestants; // the first is ours
  std::vector<contest_cell> cells;     // that each prints
  std::vector<int> ranks;
  int jobs_cells = 1;                  // among which a job shares its time
  int rounds = 3;
  double seconds = 60;                 // for everything, about; a first round is finished in any case
  std::function<double(const contest_cell&)> floor;  // microseconds, measured in each round; may be empty
};

class contest {
 public:
  explicit contest(contest_plan p) : plan_(std::move(p)) {}
  void measure();

  const contest_plan& plan() const noexcept { return plan_; }
  std::vector<double> times(std::size_t contestant, int ranks, const contest_cell&) const;  // by round
  double median(std::size_t contestant, int ranks, const contest_cell&) const;              // 0: not measured
  double floor(const contest_cell&) const;                                                  // 0: there is none
  double ratio(std::size_t a, std::size_t b, int ranks, const contest_cell&) const;         // time of a over that of b; 0: none
  std::size_t best_other(int ranks, const contest_cell&) const;                             // but for the first; 0: none
  // By contestant and ranks: what a job said on standard error that printed no figure, in its last round without one.
  const std::map<std::pair<std::size_t, int>, std::string>& failed_jobs() const noexcept { return failed_; }
  // As text: the contestants' names, their times by cell, and who was left out why.
  std::string json() const;

 private:
  using key = std::pair<int, contest_cell>;  // ranks
  void run(std::size_t contestant, int ranks, double cell_seconds, double most_seconds);

  contest_plan plan_;
  std::vector<std::map<key, std::map<std::size_t, double>>> rounds_;
  std::map<contest_cell, series> floors_;
  std::map<std::pair<std::size_t, int>, std::string> failed_;
};

std::string load_text();  // "load 0.12": processes that run, or want to, over the last minute

}  // namespace tutti::tools

// `tutti perf collectives --peers`: whole jobs in turn, each of which measures all cells, several rounds of them, so that the
// machine's moods fall upon all alike. A ratio is of the times of one round, taken seconds apart: ours over those of the peer that
// is best over all rounds; and the median of these over the rounds.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "core/base/listing.h"
#include "tools/perf/bare_machine.h"
#include "tools/perf/collectives.h"
#include "tools/perf/contestants.h"
#include "tools/perf/load.h"
#include "tools/perf/report.h"
#include "tools/perf/require.h"
#include "tools/perf/series.h"
#include "tools/perf/status_line.h"
#include "tools/perf/words.h"
#include "tools/run/scratch_folder.h"

namespace tutti::tools {
namespace {

using clock = std::chrono::steady_clock;

constexpr int rounds_wanted = 3;
constexpr double start_seconds = 1.5;  // of a job, about

struct contestant {
  std::string name;
  std::string why_not;                          // empty: takes part
  std::function<std::string(int ranks, const std::string& seconds)> command;  // seconds: for each cell
};

// The first one is tutti.
struct setting {
  std::string provider;
  std::vector<contestant> all;
};

setting setting_of(const std::string& provider, const collectives_plan& plan, const mpi_library& open, const mpi_library& other) {
  using path = mpi_library::path;
  std::string cells, parts, sizes;
  for (const collective_cell& cell : cells_of(plan.what, plan.sizes))
    cells += " " + std::string(name_of(cell.of)) + ":" + std::to_string(cell.bytes);
  for (const collective c : plan.what) add_to_list(parts, name_of(c), ",");
  for (const std::uint64_t bytes : plan.sizes) add_to_list(sizes, std::to_string(bytes), ",");
  const auto mpi = [=](const mpi_library& m, const std::string& name, path p) {
    return contestant{name, m.why_not, [=](int ranks, const std::string& seconds) { return m.start(ranks, p) + seconds + cells; }};
  };
  const contestant ours{"tutti", {}, [=, self = plan.self](int ranks, const std::string& seconds) {
    return "env TUTTI_PROVIDER=" + provider + " '" + self + "' run -n " + std::to_string(ranks) + " '" + self +
           "' perf collectives --parts " + parts + " --bytes " + sizes + " --seconds " + seconds;
  }};
  if (provider != "shm") return {provider, {ours, mpi(open, "Open MPI", path::ucx_tcp), mpi(other, "MPICH", path::ucx_tcp)}};
  setting s{provider, {ours, mpi(open, "Open MPI", path::shared_memory), mpi(open, "OMPI+UCX", path::ucx_shared_memory),
                       mpi(other, "MPICH", path::shared_memory)}};
  contestant ucc = mpi(open, "OMPI+UCC", path::ucx_shared_memory);
  if (ucc.why_not.empty() && !output_of_shell("ompi_info --parsable | grep -q 'mca:coll:ucc:'"))
    ucc.why_not = "this Open MPI has no coll/ucc";
  ucc.command = [usual = ucc.command](int ranks, const std::string& seconds) {
    return "env OMPI_MCA_coll_ucc_enable=1 OMPI_MCA_coll_ucc_priority=100 " + usual(ranks, seconds);
  };
  s.all.push_back(std::move(ucc));
  return s;
}

struct result {
  const setting* of;
  collective_cell cell;
  int ranks;
  std::vector<std::map<std::size_t, double>> rounds;  // by contestant, microseconds
  series floor;

  std::vector<double> times(std::size_t c) const {
    std::vector<double> out;
    for (const auto& r : rounds)
      if (const auto found = r.find(c); found != r.end()) out.push_back(found->second);
    return out;
  }
  double median(std::size_t c) const {  // 0: not measured
    series s;
    for (const double us : times(c)) s.add(us);
    return s.median();
  }
  std::size_t best_peer() const {  // 0: none
    std::size_t best = 0;
    for (std::size_t c = 1; c < of->all.size(); ++c)
      if (median(c) > 0 && (best == 0 || median(c) < median(best))) best = c;
    return best;
  }
  double ratio() const {  // 0: none
    series s;
    const std::size_t peer = best_peer();
    for (const auto& r : rounds)
      if (peer > 0 && r.contains(0) && r.contains(peer)) s.add(r.at(0) / r.at(peer));
    return s.median();
  }
};

class contest {
 public:
  explicit contest(const collectives_plan& plan) : plan_(plan), cells_(cells_of(plan.what, plan.sizes)), begun_(clock::now()) {
    require(scratch_.make(launching::temporary_parent()));
    const mpi_library open = open_mpi(plan.self, scratch_.path()), other = mpich(plan.self, scratch_.path());
    for (const auto& p : plan.providers) settings_.push_back(setting_of(p, plan, open, other));
    for (const setting& s : settings_)
      for (const collective_cell& cell : cells_)
        for (const int n : plan.ranks) results_.push_back({.of = &s, .cell = cell, .ranks = n});
    for (const setting& s : settings_)
      for (const contestant& c : s.all) jobs_ += c.why_not.empty() ? plan.ranks.size() : 0;
  }

  void measure() {
    const double job_seconds = plan_.seconds / (rounds_wanted * static_cast<double>(jobs_));
    const double cell_seconds = std::clamp((job_seconds - start_seconds) / static_cast<double>(cells_.size()) / 2, 2e-3, 0.25);
    status_line line(true);
    for (int round = 0; round < rounds_wanted; ++round) {
      const bare_machine bare = measure_bare_machine();
      std::map<std::uint64_t, double> rates;
      for (const collective_cell& cell : cells_) rates.try_emplace(cell.bytes, cell.bytes ? copy_rate(cell.bytes) : 1);
      for (result& r : results_) {
        r.rounds.emplace_back();
        r.floor.add(floor_us(bare, r.cell.of, static_cast<std::uint32_t>(r.ranks), r.cell.bytes, rates[r.cell.bytes]));
      }
      for (const setting& s : settings_)
        for (const int n : plan_.ranks)
          for (std::size_t k = 0; k < s.all.size(); ++k) {
            const std::size_t c = (k + static_cast<std::size_t>(round)) % s.all.size();  // none is always first
            if (!s.all[c].why_not.empty()) continue;
            const double left = plan_.seconds - seconds_since(begun_);
            if (left <= 0 && round > 0) return;
            char text[160];
            std::snprintf(text, sizeof text, "round %d of %d, %.0f of %.0f s: %s, %d ranks, %s", round + 1, rounds_wanted,
                          seconds_since(begun_), plan_.seconds, s.provider.c_str(), n, s.all[c].name.c_str());
            line.show(text);
            // What is slow gets three times its share, and what it has printed by then counts.
            run(s, c, n, cell_seconds, std::clamp(left, 0.0, 3 * job_seconds) + 10);
          }
    }
  }

  void print() const {
    std::printf("collectives until the last rank has the result, microseconds: medians of jobs in turn, %.0f s on %s, load %.1f to %.1f\n"
                "floor: turns of a core at a bare yield (a flag where each rank has its core), and the bytes at the rate of copies\n"
                "ratio: ours over the best peer's, of jobs seconds apart\n",
                seconds_since(begun_), described("processor").c_str(), load_, load_average());
    for (const setting& s : settings_) {
      std::printf("\n%s\n%-15s%9s%6s%10s", s.provider.c_str(), "", "bytes", "ranks", "floor");
      for (const contestant& c : s.all)
        if (c.why_not.empty()) std::printf("%11s", c.name.c_str());
      std::printf("%8s%9s\n", "ratio", "by floor");
      for (const result& r : results_)
        if (r.of == &s) print(r);
      for (const contestant& c : s.all)
        if (!c.why_not.empty()) std::printf("%s: left out, %s\n", c.name.c_str(), c.why_not.c_str());
      std::printf("geometric means of the ratios\n");
      for (const collective c : plan_.what) print_mean(std::string(name_of(c)), ratios(&s, c));
      print_mean("all", ratios(&s, {}));
    }
    for (const auto& [job, words] : failed_) print_words(job, words);
    if (settings_.size() > 1) print_mean("everything", ratios(nullptr, {}));
  }

  std::string json() const {
    nlohmann::json out{{"what", "collectives until the last rank has the result, microseconds"}, {"seconds", seconds_since(begun_)},
                       {"load", {load_, load_average()}}};
    for (const auto& [name, value] : machine_) out["machine"][name] = value;
    out["cells"] = nlohmann::json::array();
    for (const result& r : results_) {
      nlohmann::json cell{{"provider", r.of->provider}, {"collective", name_of(r.cell.of)}, {"bytes", r.cell.bytes}, {"ranks", r.ranks},
                          {"floor", r.floor.median()}};
      for (std::size_t c = 0; c < r.of->all.size(); ++c)
        if (r.median(c) > 0) cell["times"][r.of->all[c].name] = r.times(c);
      if (r.ratio() > 0) cell["ratio"] = r.ratio(), cell["best peer"] = r.of->all[r.best_peer()].name;
      out["cells"].push_back(std::move(cell));
    }
    for (const setting& s : settings_) {
      for (const collective c : plan_.what)
        if (const double mean = geometric_mean(ratios(&s, c)); mean > 0) out["means"][s.provider][name_of(c)] = mean;
      if (const double mean = geometric_mean(ratios(&s, {})); mean > 0) out["means"][s.provider]["all"] = mean;
      for (const contestant& c : s.all)
        if (!c.why_not.empty()) out["left out"][s.provider + " " + c.name] = c.why_not;
    }
    return out.dump(1) + "\n";
  }

  bool complete() const {
    for (const result& r : results_)
      if (r.median(0) == 0) return false;
    return true;
  }

 private:
  void run(const setting& s, std::size_t c, int ranks, double cell_seconds, double most_seconds) {
    const std::string command = bounded_by(most_seconds) + s.all[c].command(ranks, std::to_string(cell_seconds));
    std::string words;
    const std::string printed = output_of_shell(command, false, &words).value_or("");
    if (printed.empty()) failed_[s.provider + ", " + s.all[c].name + ", " + std::to_string(ranks) + " ranks,"] = std::move(words);
    std::istringstream lines(printed);
    std::string name;
    std::uint64_t bytes;
    for (double us; lines >> name >> bytes >> us;)
      for (result& r : results_)
        if (r.of == &s && r.ranks == ranks && name_of(r.cell.of) == name && r.cell.bytes == bytes) r.rounds.back()[c] = us;
  }

  std::string described(const std::string& what) const {
    for (const auto& [name, value] : machine_)
      if (name == what) return value;
    return "this machine";
  }

  void print(const result& r) const {
    std::printf("%-15s%9s%6d%10.2f", std::string(name_of(r.cell.of)).c_str(),
                r.cell.bytes ? short_bytes(static_cast<double>(r.cell.bytes)).c_str() : "-", r.ranks, r.floor.median());
    for (std::size_t c = 0; c < r.of->all.size(); ++c) {
      if (!r.of->all[c].why_not.empty()) continue;
      if (const double us = r.median(c); us > 0) std::printf("%11.2f", us);
      else std::printf("%11s", "-");
    }
    if (const double x = r.ratio(); x > 0) std::printf("%8.2f", x);
    else std::printf("%8s", "-");
    if (const double us = r.median(0); us > 0) std::printf("%9.2f", us / r.floor.median());
    std::printf("\n");
  }

  static void print_mean(const std::string& name, const std::vector<double>& all) {
    if (all.empty()) return;
    const auto behind = std::ranges::count_if(all, [](double x) { return x > 1; });
    std::printf("  %-14s%9.2f of %zu cells, %zu behind\n", name.c_str(), geometric_mean(all), all.size(), static_cast<std::size_t>(behind));
  }

  std::vector<double> ratios(const setting* of, std::optional<collective> c) const {
    std::vector<double> out;
    for (const result& r : results_)
      if ((!of || r.of == of) && (!c || r.cell.of == *c) && r.ratio() > 0) out.push_back(r.ratio());
    return out;
  }

  const collectives_plan& plan_;
  const std::vector<collective_cell> cells_;
  const clock::time_point begun_;
  const double load_ = load_average();
  const std::vector<text_pair> machine_ = describe_machine();
  launching::scratch_folder scratch_;
  std::vector<setting> settings_;
  std::vector<result> results_;
  std::map<std::string, std::string> failed_;  // jobs that printed no figure, and what they said
  std::size_t jobs_ = 0;   // of a round
};

}  // namespace

int compare_collectives_with_peers(const collectives_plan& plan) {
  contest c(plan);
  c.measure();
  c.print();
  if (!plan.json.empty()) write_text(plan.json, c.json());
  if (c.complete()) return 0;
  std::fprintf(stderr, "tutti perf collectives: some cells have no figure of tutti's; give it more than %.0f --seconds\n", plan.seconds);
  return 1;
}

}  // namespace tutti::tools

#include "tools/tune/regret_peers.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>

#include "tools/perf/contestants.h"
#include "tools/perf/require.h"
#include "tools/perf/series.h"
#include "tools/perf/status_line.h"
#include "tools/process.h"
#include "tools/run/scratch_folder.h"

namespace tutti::tools {
namespace {

constexpr int rounds = 3;
constexpr double start_seconds = 10;  // of a job, at most

struct peer_algorithm {
  std::string name;             // empty: what tuned chooses
  std::string number;
  std::map<std::uint64_t, series> us;  // by bytes, a value for each round
};

std::string tuned_name(collective of) {
  return of == collective::broadcast ? "bcast" : of == collective::reduce_scatter ? "reduce_scatter_block" : std::string(name_of(of));
}

// Lines such as mca:coll:tuned:param:coll_tuned_bcast_algorithm:enumerator:value:6:binomial; 0 is for "do not force".
std::vector<peer_algorithm> algorithms_of_tuned(collective of) {
  std::vector<peer_algorithm> out(2);
  std::istringstream lines(output_of_shell("ompi_info --param coll tuned -l 9 --parsable").value_or(""));
  const std::string before = "mca:coll:tuned:param:coll_tuned_" + tuned_name(of) + "_algorithm:enumerator:value:";
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(before)) continue;
    const std::size_t colon = line.find(':', before.size());
    if (colon == std::string::npos) continue;
    const std::string number = line.substr(before.size(), colon - before.size());
    if (number != "0") out.push_back({line.substr(colon + 1), number, {}});
  }
  return out;
}

void run(const mpi_library& mpi, collective of, int ranks, const std::string& cells, double seconds, double bound, peer_algorithm& a) {
  std::string words = "env OMPI_MCA_coll=self,basic,libnbc,tuned ";
  if (!a.name.empty()) words += "OMPI_MCA_coll_tuned_use_dynamic_rules=1 OMPI_MCA_coll_tuned_" + tuned_name(of) + "_algorithm=" + a.number + " ";
  const std::string command = bounded_by(bound) + words + mpi.start(ranks, mpi_library::path::shared_memory) + std::to_string(seconds) + cells;
  std::istringstream lines(output_of_shell(command, false).value_or(""));
  std::string name;
  std::uint64_t bytes;
  for (double us; lines >> name >> bytes >> us;) a.us[bytes].add(us);
}

double us_of(const peer_algorithm& a, std::uint64_t bytes) {  // 0: it did not run
  const auto found = a.us.find(bytes);
  return found == a.us.end() ? 0 : found->second.median();
}

}  // namespace

nlohmann::ordered_json regret_of_open_mpi(const std::vector<collective>& all, const std::vector<int>& ranks, std::span<const std::uint64_t> sizes,
                                          double seconds, bool quiet) {
  launching::scratch_folder scratch;
  require(scratch.make(launching::temporary_parent()));
  const mpi_library mpi = open_mpi(own_path(), scratch.path());
  if (!mpi.why_not.empty()) throw std::runtime_error(mpi.why_not);
  struct cell_group {
    collective of;
    std::vector<std::uint64_t> bytes;
    std::vector<peer_algorithm> contestants;
  };
  std::vector<cell_group> groups;
  std::size_t measured = 0;  // values of one round
  for (const collective of : all) {
    if (of == collective::alltoallv) continue;
    groups.push_back({of, {sizes.begin(), sizes.end()}, algorithms_of_tuned(of)});
    if (of == collective::barrier) groups.back().bytes = {0};
    measured += groups.back().bytes.size() * groups.back().contestants.size();
  }
  const double each = seconds / static_cast<double>(rounds * measured);
  status_line line(!quiet);
  auto out = nlohmann::ordered_json::array();
  for (const auto& [of, bytes, of_tuned] : groups) {
    std::string cells;
    for (const std::uint64_t b : bytes) cells += " " + std::string(name_of(of)) + ":" + std::to_string(b);
    for (const int n : ranks) {
      std::vector<peer_algorithm> contestants = of_tuned;
      for (int round = 0; round < rounds; ++round)
        for (std::size_t k = 0; k < contestants.size(); ++k) {
          peer_algorithm& a = contestants[(k + static_cast<std::size_t>(round)) % contestants.size()];  // none is always first
          line.show("Open MPI, " + std::to_string(n) + " ranks, " + std::string(name_of(of)) + ", round " + std::to_string(round + 1) + " of " +
                    std::to_string(rounds) + ": " + (a.name.empty() ? "what it chooses" : a.name));
          run(mpi, of, n, cells, each, start_seconds + 3 * each * static_cast<double>(bytes.size()), a);
        }
      for (const std::uint64_t b : bytes) {
        const peer_algorithm* best = nullptr;
        std::size_t ran = 0;
        for (const peer_algorithm& a : std::span(contestants).subspan(2)) {
          if (us_of(a, b) == 0) continue;
          ++ran;
          if (!best || us_of(a, b) < us_of(*best, b)) best = &a;
        }
        const auto [least, most] = std::minmax({us_of(contestants[0], b), us_of(contestants[1], b)});
        if (!best || least == 0) continue;
        out.push_back({{"provider", "Open MPI"}, {"ranks", static_cast<std::uint32_t>(n)}, {"collective", name_of(of)}, {"bytes", b}, {"chosen", "its choice"},
                       {"chosen_us", (least + most) / 2}, {"best", best->name}, {"best_us", us_of(*best, b)}, {"spread", most / least},
                       {"candidates", ran}});
      }
    }
  }
  return out;
}

}  // namespace tutti::tools

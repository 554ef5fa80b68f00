#include "tools/perf/report.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "core/provider.h"

namespace tutti::tools {
namespace {

std::string processor() {
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);)
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  return "unknown";
}

std::string format(const row& r) {
  char text[64];
  const double m = r.result.median();
  std::snprintf(text, sizeof text, r.in == unit::microseconds ? (m < 10 ? "%.2f us" : "%.1f us") : "%.1f GB/s", m);
  return text;
}

// Columns: floor first, then lanes in order of appearance.
std::vector<std::string> lanes_of(const std::vector<row>& rows) {
  std::vector<std::string> out;
  for (const row& r : rows)
    if (std::find(out.begin(), out.end(), r.lane) == out.end()) out.push_back(r.lane);
  return out;
}

}  // namespace

void print_table(const session& s, std::uint32_t ranks) {
  const auto& rows = s.rows();
  const auto lanes = lanes_of(rows);
  std::printf("%u ranks, %.2g ranks per core, %s\n", ranks, s.ranks_per_core(), processor().c_str());
  std::printf("medians of interleaved chunks; * the algorithm that would be chosen\n\n");
  std::printf("%-24s", "");
  for (const auto& l : lanes) std::printf("%14s", l.c_str());
  std::printf("\n");
  for (const char* group : {"barrier", "one-sided", "bandwidth"}) {
    std::vector<std::string> names;
    for (const row& r : rows)
      if (r.group == group && std::find(names.begin(), names.end(), r.name) == names.end()) names.push_back(r.name);
    if (!names.empty()) std::printf("%s\n", group);
    for (const auto& name : names) {
      std::printf("  %-22s", name.c_str());
      for (const auto& l : lanes) {
        std::string cell;
        for (const row& r : rows)
          if (r.lane == l && r.group == group && r.name == name) cell = format(r) + (r.chosen ? "*" : " ");
        std::printf("%14s", cell.c_str());
      }
      std::printf("\n");
    }
  }
  for (const auto& [spec, why] : s.missing()) std::printf("\n%s left out: %s", spec.c_str(), why.c_str());
  std::printf("\n");
}

void write_json(const session& s, std::uint32_t ranks, const std::string& file) {
  using nlohmann::json;
  utsname system{};
  uname(&system);
  char when[32];
  const std::time_t now = std::time(nullptr);
  std::strftime(when, sizeof when, "%FT%TZ", std::gmtime(&now));
  json out = {{"format", 1},
              {"tutti", TUTTI_VERSION},
              {"when", when},
              {"host", system.nodename},
              {"processor", processor()},
              {"cores", sysconf(_SC_NPROCESSORS_ONLN)},
              {"kernel", system.release},
              {"compiler", "g++ " __VERSION__},
              {"ranks", ranks},
              {"ranks_per_core", s.ranks_per_core()},
              {"rows", json::array()},
              {"left_out", json::object()}};
  for (const row& r : s.rows())
    out["rows"].push_back({{"lane", r.lane},
                           {"group", r.group},
                           {"name", r.name},
                           {"unit", r.in == unit::microseconds ? "us" : "GB/s"},
                           {"median", r.result.median()},
                           {"quartiles", {r.result.quantile(0.25), r.result.quantile(0.75)}},
                           {"chunks", r.result.count()},
                           {"iterations_per_chunk", r.iterations},
                           {"chosen", r.chosen}});
  for (const auto& [spec, why] : s.missing()) out["left_out"][spec] = why;
  for (const provider_entry& e : providers()) out["providers"][std::string(e.name)] = 
        !e.impl ? e.why_not : e.impl->version ? e.impl->version() : "built in";
  std::ofstream to(file);
  to << out.dump(2) << "\n";
  if (!to.flush()) throw std::runtime_error("cannot write " + file + "; name a file in a folder that exists and is writable");
}

}  // namespace tutti::tools

// A report's provenance, its JSON and its files.
#include "tools/perf/report.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "core/base/json_text.h"
#include "core/base/small_file.h"
#include "core/job/bootstrap_pmix.h"
#include "core/transport/provider.h"
#include "tools/perf/numbers.h"
#include "tools/perf/words.h"

namespace tutti::tools {
namespace {

using json = nlohmann::ordered_json;

constexpr int format = 3;

std::string processor() {
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);)
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  return "unknown";
}

json pairs(const std::vector<text_pair>& all) {
  json out = json::array();
  for (const auto& [name, value] : all) out.push_back({name, value});
  return out;
}

std::vector<text_pair> read_pairs(const json& in) {
  std::vector<text_pair> out;
  for (const auto& p : in) out.emplace_back(p.at(0).get<std::string>(), p.at(1).get<std::string>());
  return out;
}

json write_run(const perf_run& run) {
  json out = {{"ranks", run.ranks}, {"nodes", run.nodes}, {"ranks_per_core", run.ranks_per_core},
              {"rows", json::array()}, {"left_out", pairs(run.left_out)}};
  for (const measurement& m : run.rows)
    out["rows"].push_back({{"provider", m.provider},
                           {"group", m.group},
                           {"name", m.name},
                           {"bytes", m.bytes},
                           {"unit", m.in == unit::microseconds ? "us" : "GB/s"},
                           {"median", m.median},
                           {"quartiles", {m.low, m.high}},
                           {"chunks", m.chunks},
                           {"iterations_per_chunk", m.iterations},
                           {"chosen", m.chosen}});
  return out;
}

perf_run read_run(const json& in) {
  perf_run out;
  out.ranks = count<std::uint32_t>(in.at("ranks")), out.nodes = count<std::uint32_t>(in.at("nodes"));
  out.ranks_per_core = quantity(in.at("ranks_per_core"));
  out.left_out = read_pairs(in.at("left_out"));
  for (const auto& r : in.at("rows")) {
    measurement& m = out.rows.emplace_back();
    m.provider = r.at("provider"), m.group = r.at("group"), m.name = r.at("name");
    m.bytes = count<std::uint64_t>(r.at("bytes"));
    m.in = r.at("unit") == "us" ? unit::microseconds : unit::gigabytes_per_s;
    m.median = quantity(r.at("median")), m.low = quantity(r.at("quartiles").at(0)), m.high = quantity(r.at("quartiles").at(1));
    m.chunks = count<std::uint64_t>(r.at("chunks")), m.iterations = count<int>(r.at("iterations_per_chunk")), m.chosen = r.at("chosen");
  }
  return out;
}

}  // namespace

std::vector<text_pair> describe_machine() {
  utsname system{};
  uname(&system);
  char when[32];
  const std::time_t now = std::time(nullptr);
  std::strftime(when, sizeof when, "%FT%TZ", std::gmtime(&now));
  std::vector<text_pair> out{{"host", system.nodename},
                             {"processor", processor()},
                             {"cores", std::to_string(sysconf(_SC_NPROCESSORS_ONLN))},
                             {"kernel", system.release},
                             {"compiler", "g++ " __VERSION__},
                             {"when", when},
                             {"tutti", TUTTI_COMMAND_VERSION},
                             {"pmix", pmix_version()}};
  for (const provider_entry& e : providers())
    if (e.impl && e.impl->version) out.emplace_back(e.name, e.impl->version());
  return out;
}

const measurement* result_table::at(const std::string& line, const std::string& provider) const {
  const auto cell = cells.find({line, provider});
  return cell == cells.end() ? nullptr : cell->second;
}

std::vector<result_table> tables_of(const perf_run& run) {
  std::vector<result_table> out;
  for (const measurement& m : run.rows) {
    auto t = std::ranges::find(out, m.group, &result_table::group);
    if (t == out.end()) t = out.insert(t, {m.group, m.in, {}, {}, {}});
    const std::string line = m.bytes ? short_bytes(static_cast<double>(m.bytes)) : m.name;
    add_once(t->lines, line);
    add_once(t->providers, m.provider);
    t->cells[{line, m.provider}] = &m;
  }
  return out;
}

void add_once(std::vector<std::string>& all, const std::string& one) {
  if (std::ranges::find(all, one) == all.end()) all.push_back(one);
}

std::string to_json(const report& r) {
  json out = {{"format", format}, {"machine", json::object()}, {"runs", json::array()}};
  for (const auto& [name, value] : r.machine) out["machine"][name] = value;
  for (const perf_run& run : r.runs) out["runs"].push_back(write_run(run));
  return out.dump(1) + "\n";
}

report from_json(const std::string& text) {
  try {
    const json in = parse_json<json>(text);
    if (in.at("format") != format) throw std::runtime_error("it has another format");
    report out;
    for (const auto& [name, value] : in.at("machine").items()) out.machine.emplace_back(name, value.get<std::string>());
    for (const auto& run : in.at("runs")) out.runs.push_back(read_run(run));
    if (out.runs.empty()) throw std::runtime_error("it has no runs");
    return out;
  } catch (const std::exception& e) {
    throw std::runtime_error(std::string("this is no report of `tutti perf --json`: ") + as_one_line(e.what()));
  }
}

std::string read_text(const std::string& file) {
  constexpr std::size_t longest = 64 << 20;
  auto text = read_small_file(file, longest);
  if (!text) throw std::runtime_error("cannot read " + file + ": " + text.error().text() + "; name a file that exists and is readable");
  return std::move(*text);
}

void write_text(const std::string& file, const std::string& text) {
  std::ofstream to(file);
  to << text;
  if (!to.flush())
    throw std::runtime_error("cannot write " + file + "; name a file in a folder that exists and is writable");
}

}  // namespace tutti::tools

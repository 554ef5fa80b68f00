#include "tools/perf/messages_report.h"

#include <cstdio>
#include <nlohmann/json.hpp>

#include "tools/perf/contestants.h"
#include "tools/perf/report.h"
#include "tools/perf/words.h"

namespace tutti::tools {

double shown(const contest_cell& cell, double us) {
  if (us <= 0) return 0;
  if (cell.name == "bandwidth" || cell.name == "mixed") return static_cast<double>(cell.bytes) / us / 1e3;
  return cell.name == "rate" ? 1 / us : us;
}

const char* unit_of(const std::string& cell_name) {
  return cell_name == "bandwidth" || cell_name == "mixed" ? "GB/s" : cell_name == "rate" ? "millions/s" : "us";
}

void print_left_out(const contest& all) {
  for (const contestant& c : all.plan().contestants)
    if (!c.why_not.empty()) std::printf("%s: left out, %s\n", c.name.c_str(), c.why_not.c_str());
  for (const auto& [job, words] : all.failed_jobs())
    print_words(all.plan().contestants[job.first].name + ", " + std::to_string(job.second) + " ranks,", words);
}

void print_figure(double value, int width) {
  if (value > 0) std::printf("%*s", width, short_number(value).c_str());
  else std::printf("%*s", width, "-");
}

std::string machine_text() {
  for (const auto& [name, value] : describe_machine())
    if (name == "processor") return value + ", " + load_text();
  return load_text();
}

void write_contests(const std::string& file, const char* what, const std::vector<contest>& all) {
  if (file.empty()) return;
  nlohmann::json out{{"what", what}, {"contests", nlohmann::json::array()}};
  for (const auto& [name, value] : describe_machine()) out["machine"][name] = value;
  for (const contest& c : all) out["contests"].push_back(nlohmann::json::parse(c.json()));
  write_text(file, out.dump(1) + "\n");
}

}  // namespace tutti::tools

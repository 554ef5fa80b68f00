// What a comparison found, as data: the same for tables, JSON and pages.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace tutti::tools {

enum class unit { microseconds, gigabytes_per_s };

struct measurement {
  std::string provider;  // "shm", "ucx:tcp", "floor"
  std::string group;     // "barrier", "one-sided", "put, bandwidth"
  std::string name;      // "dissemination", "put 8 B + flush"; "" of a curve over sizes
  std::uint64_t bytes = 0;  // of a curve over sizes: the size; 0: of no curve
  unit in = unit::microseconds;
  bool chosen = false;   // the algorithm that the chooser would take
  double median = 0, low = 0, high = 0;  // and quartiles, of chunks
  std::uint64_t chunks = 0;
  int iterations = 0;    // of a chunk
};

using text_pair = std::pair<std::string, std::string>;

// One job.
struct perf_run {
  std::uint32_t ranks = 1, nodes = 1;
  double ranks_per_core = 0;
  std::vector<measurement> rows;
  std::vector<text_pair> left_out;  // a provider or an algorithm of one, and why
};

struct report {
  std::vector<text_pair> machine;   // "host", "processor", "kernel", "when", versions: what the numbers depend on
  std::vector<perf_run> runs;       // by ranks
};

std::vector<text_pair> describe_machine();

// A group of a run's rows as a table. Lines and columns stand in order of appearance.
struct result_table {
  std::string group;
  unit in = unit::microseconds;
  std::vector<std::string> lines, providers;
  std::map<std::pair<std::string, std::string>, const measurement*> cells;

  const measurement* at(const std::string& line, const std::string& provider) const;  // null: nothing
};
std::vector<result_table> tables_of(const perf_run&);

void add_once(std::vector<std::string>& all, const std::string& one);  // at the end, unless it is there

std::string to_json(const report&);
// Throws std::runtime_error if it is not what to_json() wrote.
report from_json(const std::string& text);

// Tables for a terminal, split into blocks of columns where it is narrow.
void print_tables(const report&, unsigned columns);
unsigned terminal_columns();

// A page without anything outside it: plots and the numbers behind them.
std::string to_page(const report&);
// An SVG file: the barrier over ranks, and puts over sizes; "" where the report has neither.
std::string to_picture(const report&);

// Whole files. They throw std::runtime_error with the remedy.
std::string read_text(const std::string& file);
void write_text(const std::string& file, const std::string& text);

}  // namespace tutti::tools

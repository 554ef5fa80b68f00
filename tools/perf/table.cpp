// A report for a terminal: a table a group, a column a provider, rows in order of appearance. Where the columns do not fit,
// they are split into blocks, each with the names of the rows again.
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <span>

#include "tools/perf/report.h"
#include "tools/perf/words.h"

namespace tutti::tools {
namespace {

void print_block(const result_table& t, std::span<const std::string> providers, int first, int width) {
  std::printf("%-*s", first, (t.group + (t.in == unit::microseconds ? ", us" : ", GB/s")).c_str());
  for (const auto& provider : providers) std::printf("%*s ", width - 1, provider.c_str());
  std::printf("\n");
  for (const auto& line : t.lines) {
    std::printf("  %-*s", first - 2, line.c_str());
    for (const auto& provider : providers) {
      const measurement* m = t.at(line, provider);
      std::printf("%*s%c", width - 1, m ? short_number(m->median).c_str() : "", m && m->chosen ? '*' : ' ');
    }
    std::printf("\n");
  }
  std::printf("\n");
}

void print_run(const perf_run& run, unsigned columns) {
  std::printf("%u rank%s%s, %.2g ranks per core\n\n", run.ranks, run.ranks == 1 ? "" : "s",
              run.nodes > 1 ? (" on " + std::to_string(run.nodes) + " nodes").c_str() : "", run.ranks_per_core);
  for (const result_table& t : tables_of(run)) {
    std::size_t name = t.group.size() + 6, cell = 7;
    for (const auto& line : t.lines) name = std::max(name, line.size() + 2);
    for (const auto& provider : t.providers) cell = std::max(cell, provider.size());
    const std::size_t width = cell + 3;
    const std::size_t fit = std::max<std::size_t>(1, columns > name + 1 ? (columns - name - 1) / width : 1);
    // Blocks of about the same number of columns.
    const std::size_t blocks = (t.providers.size() + fit - 1) / fit, each = (t.providers.size() + blocks - 1) / blocks;
    for (std::size_t from = 0; from < t.providers.size(); from += each)
      print_block(t, std::span(t.providers).subspan(from, std::min(each, t.providers.size() - from)),
                  static_cast<int>(name + 1), static_cast<int>(width));
  }
  for (const auto& [what, why] : run.left_out) std::printf("%s left out: %s\n", what.c_str(), why.c_str());
  if (!run.left_out.empty()) std::printf("\n");
}

}  // namespace

unsigned terminal_columns() {
  winsize size{};
  if (ioctl(1, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return 120;
}

void print_tables(const report& r, unsigned columns) {
  std::string processor, host;
  for (const auto& [name, value] : r.machine)
    if (name == "processor") processor = value;
    else if (name == "host") host = value;
  std::printf("%s, %s; medians of interleaved chunks; * what would be chosen\n", host.c_str(), processor.c_str());
  for (const perf_run& run : r.runs) print_run(run, columns);
}

}  // namespace tutti::tools

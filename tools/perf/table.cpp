// A report for a terminal: a table a group, a column a provider, rows in order of appearance. Where the columns do not fit,
// they are split into blocks, each with the names of the rows again.
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "tools/perf/report.h"
#include "tools/perf/words.h"

namespace tutti::tools {
namespace {

struct line {
  std::string name;
  double x;
  auto operator<=>(const line&) const = default;
};

std::vector<std::string> groups_of(const perf_run& run) {
  std::vector<std::string> out;
  for (const measurement& m : run.rows)
    if (std::find(out.begin(), out.end(), m.group) == out.end()) out.push_back(m.group);
  return out;
}

struct table {
  std::string title;
  axis along = axis::none;
  std::vector<line> lines;
  std::vector<std::string> providers;
  std::vector<const measurement*> cells;  // lines x providers; null: nothing
};

table make_table(const perf_run& run, const std::string& group) {
  table t;
  t.title = group;
  std::vector<const measurement*> of_group;
  for (const measurement& m : run.rows) {
    if (m.group != group) continue;
    of_group.push_back(&m);
    if (std::find(t.providers.begin(), t.providers.end(), m.provider) == t.providers.end()) t.providers.push_back(m.provider);
    if (std::find(t.lines.begin(), t.lines.end(), line{m.name, m.x}) == t.lines.end()) t.lines.push_back({m.name, m.x});
  }
  t.cells.resize(t.lines.size() * t.providers.size());
  for (const measurement* m : of_group) {
    const auto row = std::find(t.lines.begin(), t.lines.end(), line{m->name, m->x}) - t.lines.begin();
    const auto column = std::find(t.providers.begin(), t.providers.end(), m->provider) - t.providers.begin();
    t.cells[static_cast<std::size_t>(row) * t.providers.size() + static_cast<std::size_t>(column)] = m;
  }
  t.along = of_group.front()->along;
  t.title += of_group.front()->in == unit::microseconds ? ", us" : ", GB/s";
  return t;
}

std::string label(const table& t, const line& l) {
  if (t.along == axis::none) return l.name;
  return abscissa(t.along, l.x) + (l.name.empty() ? "" : " " + l.name);
}

void print_block(const table& t, std::size_t from, std::size_t to, int first, int width) {
  std::printf("%-*s", first, t.title.c_str());
  for (std::size_t c = from; c < to; ++c) std::printf("%*s ", width - 1, t.providers[c].c_str());
  std::printf("\n");
  for (std::size_t l = 0; l < t.lines.size(); ++l) {
    std::printf("  %-*s", first - 2, label(t, t.lines[l]).c_str());
    for (std::size_t c = from; c < to; ++c) {
      const measurement* m = t.cells[l * t.providers.size() + c];
      std::printf("%*s%c", width - 1, m ? short_number(m->median).c_str() : "", m && m->chosen ? '*' : ' ');
    }
    std::printf("\n");
  }
  std::printf("\n");
}

void print_run(const perf_run& run, unsigned columns) {
  std::printf("%u rank%s%s, %.2g ranks per core\n\n", run.ranks, run.ranks == 1 ? "" : "s",
              run.nodes > 1 ? (" on " + std::to_string(run.nodes) + " nodes").c_str() : "", run.ranks_per_core);
  for (const std::string& group : groups_of(run)) {
    const table t = make_table(run, group);
    std::size_t name = t.title.size(), cell = 7;
    for (const line& l : t.lines) name = std::max(name, label(t, l).size() + 2);
    for (const auto& provider : t.providers) cell = std::max(cell, provider.size());
    const std::size_t width = cell + 3;
    const std::size_t fit = std::max<std::size_t>(1, columns > name + 1 ? (columns - name - 1) / width : 1);
    // Blocks of about the same number of columns.
    const std::size_t blocks = (t.providers.size() + fit - 1) / fit, each = (t.providers.size() + blocks - 1) / blocks;
    for (std::size_t from = 0; from < t.providers.size(); from += each)
      print_block(t, from, std::min(from + each, t.providers.size()), static_cast<int>(name + 1),
                  static_cast<int>(width));
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

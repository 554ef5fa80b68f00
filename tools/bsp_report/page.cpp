#include "tools/bsp_report/page.h"

#include <algorithm>
#include <cstdio>
#include <initializer_list>
#include <string>

#include "tools/bsp_report/figures.h"
#include "tools/perf/page.h"
#include "tools/perf/words.h"

namespace tutti::tools {
namespace {

constexpr std::size_t most_points = 240;  // of a curve; more supersteps share one
constexpr std::size_t most_bars = 12;

// Runs of supersteps, the mean of each: the whole program from left to right.
std::string over_time(const bsp_analysis& a) {
  const std::size_t n = a.supersteps.size(), each = (n + most_points - 1) / most_points;
  curve measured{"measured", 1, false, {}}, predicted{"w + g h + l", 2, false, {}}, work{"w", 0, true, {}};
  for (std::size_t at = 0; at < n; at += each) {
    const std::size_t end = std::min(n, at + each);
    superstep_cost sum;
    for (std::size_t i = at; i < end; ++i) sum.add(a.supersteps[i]);
    const double count = static_cast<double>(end - at) * 1e3, x = static_cast<double>(at);
    for (const auto& [c, ns] : {std::pair{&measured, sum.measured}, {&predicted, sum.predicted}, {&work, sum.work}})
      c->points.push_back({x, std::max(ns / count, 1e-3), std::max(ns / count, 1e-3), std::max(ns / count, 1e-3)});
  }
  plot p;
  p.title = each > 1 ? "Supersteps, " + std::to_string(each) + " at a time" : "Supersteps";
  p.x_label = "superstep", p.y_label = "µs";
  p.x = scale::linear;
  p.curves = {measured, predicted, work};
  return figure(p);
}

std::string by_site(const bsp_analysis& a) {
  bar_chart time{"Time, by the sync that ends it", "ms", {}};
  for (std::size_t i = 0; i < std::min(most_bars, a.sites.size()); ++i)
    time.bars.push_back({a.sites[i].name, a.sites[i].total.measured / 1e6, 1, i == 0});
  return figure(time);
}

std::string where_it_went(const bsp_analysis& a) {
  const superstep_cost& t = a.total;
  bar_chart c{"Where the time went", "ms", {}};
  c.bars = {{"computing (mean)", (t.work - t.waiting) / 1e6, 3, true},
            {"waiting for the longest", t.waiting / 1e6, 5, false},
            {"g h", t.volume / 1e6, 1, false},
            {"l", t.latency / 1e6, 2, false},
            {"beyond the model", t.beyond / 1e6, 0, false}};
  return figure(c);
}

std::string row_of(const char* kind, std::initializer_list<std::string> cells) {  // of a table
  std::string out = "<tr>";
  for (const std::string& cell : cells) out += std::string("<") + kind + ">" + escaped(cell) + "</" + kind + ">";
  return out + "</tr>";
}
std::string wide_table(const std::string& head, const std::string& rows) {
  return "<div class=\"wide\"><table><thead>" + head + "</thead><tbody>\n" + rows + "</tbody></table></div>\n";
}

std::string table(const ledger_file& file, const bsp_analysis& a) {
  std::string out;
  for (const site_summary& s : a.sites) {
    const auto n = static_cast<double>(s.supersteps);
    char calls[32];
    std::snprintf(calls, sizeof calls, "%.1f", s.total.calls / n);
    out += row_of("td", {s.name, std::to_string(s.supersteps), short_time(s.total.measured), percent(s.total.measured / a.total.measured),
                         short_time(s.total.work / n), short_time(s.total.waiting / n), short_bytes(s.total.h / n), calls,
                         short_time(s.total.predicted / n), short_time(s.total.measured / n), ways_taken(file, s.by_way)}) + "\n";
  }
  return wide_table(row_of("th", {"sync at", "supersteps", "time", "share", "w", "waiting", "h", "calls", "w + g h + l", "measured", "metadata by"}), out);
}

std::string calls_table(const bsp_analysis& a) {
  double all = 0;
  for (const call_summary& c : a.calls) all += c.bytes;
  std::string out;
  for (const call_summary& c : a.calls)
    out += row_of("td", {c.name, c.call, std::to_string(static_cast<std::uint64_t>(c.calls)), short_bytes(c.bytes), percent(all > 0 ? c.bytes / all : 0),
                         short_bytes(c.calls > 0 ? c.bytes / c.calls : 0)}) + "\n";
  return wide_table(row_of("th", {"called at", "function", "calls", "bytes", "share", "bytes a call"}), out);
}

std::string to_mend(const ledger_file& file, const bsp_analysis& a) {
  std::string out = "<ol>\n";
  for (const site_summary& s : a.to_mend)
    out += "<li><strong>" + escaped(s.name) + "</strong>: " + escaped(advice(file, s)) + " That is " +
           percent(s.gain / a.total.measured) + " of the program.</li>\n";
  return out + "</ol>\n";
}

std::vector<text_pair> about(const ledger_file& file, const bsp_analysis& a) {
  char g[64];
  std::snprintf(g, sizeof g, "%.3g ns a byte (%.3g a word of 8)", file.g_ns_per_byte, 8 * file.g_ns_per_byte);
  return {{"program", file.program},
          {"processes", std::to_string(file.processes)},
          {"provider", file.provider},
          {"supersteps", std::to_string(file.supersteps.size()) +
                             (file.dropped ? ", and " + std::to_string(file.dropped) + " later ones that were not kept" : "")},
          {"g", g},
          {"l", short_time(a.l_ns) + (a.l_ns < file.l_ns ? " (" + short_time(file.l_ns) + " before the program began, but most of its "
                                                           "supersteps took less beside w)" : "")},
          {"metadata by", ways_taken(file, a.by_way)}};
}

}  // namespace

std::string to_page(const ledger_file& file, const bsp_analysis& a) {
  const std::string title = base_name(file.program) + ", superstep by superstep";
  return framed(
      title,
      "<h1>" + escaped(title) + "</h1>\n<p class=\"soft\">" + std::to_string(file.processes) + " processes, " +
         std::to_string(file.supersteps.size()) + " supersteps, " + short_time(a.total.measured) + "</p>\n" +
         section("Most worth mending", "", to_mend(file, a)) +
         section("Cost", "", grid(where_it_went(a) + by_site(a) + over_time(a) + time_by_h(file, a)) + timeline(file, a)) +
         section("By sync", "Means of a superstep, but for the time, which is of all of them.", table(file, a)) +
         section("What moves the data", "Of all processes; what one puts to itself does not count.", calls_table(a)) +
         section("Who sends to whom", "Bytes of the whole program.", traffic(file)) +
         section("How to read it",
                 "A superstep should cost w + g h + l: w is the longest computation of any process, h the most bytes that any "
                 "process sends or receives, g what a byte costs in long blocks and l what an empty superstep costs. g and l were "
                 "measured by the program itself before it began; l is taken for no more than most of its supersteps took beside w. "
                 "What could be gained is part of what was measured: of the time beside w, l is counted first, then g h, and what "
                 "is left is beyond the model. Waiting is w less the mean of all processes. Metadata is what the processes tell one "
                 "another in each sync of what is to come: by words from each to each, by dissemination, or gathered and multicast.",
                 facts(about(file, a))));
}

}  // namespace tutti::tools

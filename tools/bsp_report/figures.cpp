#include "tools/bsp_report/figures.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>

#include "tools/perf/plot.h"
#include "tools/perf/words.h"

namespace tutti::tools {
namespace {

double quartile(const std::vector<double>& sorted, double part) {
  return sorted[static_cast<std::size_t>(part * static_cast<double>(sorted.size() - 1))];
}

template <class... T>
std::string print(const char* format, T... values) {
  char text[256];
  std::snprintf(text, sizeof text, format, values...);
  return text;
}

// In quotes, as all fields of text are: a quote in it is doubled.
std::string csv_text(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + '"';
}

}  // namespace

std::string time_by_h(const ledger_file& file, const bsp_analysis& a) {
  constexpr double a_factor_of_two = 4;  // points
  std::map<int, std::vector<const superstep_cost*>> near;
  for (const superstep_cost& c : a.supersteps)
    if (c.h > 0) near[static_cast<int>(std::lround(a_factor_of_two * std::log2(c.h)))].push_back(&c);
  curve took{"measured beside w", 1, false, {}}, line{"g h + l", 2, true, {}};
  for (const auto& [_, all] : near) {
    std::vector<double> h, us;
    for (const superstep_cost* c : all) h.push_back(c->h), us.push_back(std::max(1e-3, (c->measured - c->work) / 1e3));
    std::ranges::sort(h), std::ranges::sort(us);
    const double x = quartile(h, 0.5), model = std::max(1e-3, (file.g_ns_per_byte * x + a.l_ns) / 1e3);
    took.points.push_back({x, quartile(us, 0.5), quartile(us, 0.25), quartile(us, 0.75)});
    line.points.push_back({x, model, model, model});
  }
  if (took.points.size() < 2) return "";
  plot p;
  p.title = "Supersteps by h";
  p.x_label = "h", p.y_label = "µs", p.x_as = labelling::bytes;
  p.curves = {took, line};
  return figure(p);
}

std::string timeline(const ledger_file& file, const bsp_analysis& a) {
  constexpr std::size_t most_columns = 120;
  constexpr std::uint32_t most_rows = 16;
  constexpr double left = 40, width = 560, row = 12;
  const std::uint32_t rows = std::min(most_rows, file.processes);
  const std::size_t n = file.supersteps.size(), each = (n + most_columns - 1) / most_columns;
  const double tall = row * rows + 24;
  if (!(a.total.measured > 0)) return "";
  std::string out = "<figure><h3>Processes over time <small>computing dark, in syncs light" +
                    (rows < file.processes ? "; the first " + std::to_string(rows) : std::string()) +
                    "</small></h3>\n" +
                    print("<svg viewBox=\"0 0 %g %g\" role=\"img\" aria-label=\"Processes over time\">\n", left + width + 8, tall);
  for (std::uint32_t i = 0; i < rows; ++i)
    out += print("<text class=\"y\" x=\"%g\" y=\"%g\">%u</text>", left - 6, row * i + row - 2, i);
  double at = 0;
  for (std::size_t first = 0; first < n; first += each) {
    const std::size_t end = std::min(n, first + each);
    double took = 0;
    std::vector<double> work(rows);
    for (std::size_t s = first; s < end; ++s) {
      took += a.supersteps[s].measured;
      for (std::uint32_t i = 0; i < rows; ++i) work[i] += file.supersteps[s].work[i];
    }
    const double x = left + width * at / a.total.measured, wide = width * took / a.total.measured;
    for (std::uint32_t i = 0; i < rows && took > 0; ++i) {
      const double computes = wide * std::min(1.0, work[i] / took);
      const auto draw = [&](const char* how, double from, double length) {
        out += print("<rect fill=\"currentColor\" %s x=\"%.2f\" y=\"%g\" width=\"%.2f\" height=\"%g\"/>\n", how, from, row * i + 1, length,
                     row - 2);
      };
      draw("class=\"c3\"", x, computes);
      draw("class=\"c0\" opacity=\".35\"", x + computes, wide - computes);
    }
    at += took;
  }
  return out + print("<text class=\"x\" x=\"%g\" y=\"%g\">", left + width / 2, tall - 6) + escaped(short_time(a.total.measured)) +
         "</text></svg></figure>\n";
}

std::string traffic(const ledger_file& file) {
  constexpr std::uint32_t most_in_table = 16;
  constexpr std::size_t most_bars = 16;
  std::vector<pair_traffic> all;
  for (const pair_traffic& t : file.traffic)
    if (t.bytes > 0) all.push_back(t);
  if (all.empty()) return "";
  if (file.processes > most_in_table) {
    std::ranges::sort(all, [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
    bar_chart c{"Pairs of processes with most bytes", "MiB", {}};
    for (std::size_t i = 0; i < std::min(most_bars, all.size()); ++i)
      c.bars.push_back({std::to_string(all[i].from) + " to " + std::to_string(all[i].to), all[i].bytes / 1048576, 1, i == 0});
    return figure(c);
  }
  std::vector<double> bytes(std::size_t{file.processes} * file.processes);
  for (const pair_traffic& t : all) bytes[std::size_t{t.from} * file.processes + t.to] += t.bytes;
  std::string out = "<div class=\"wide\"><table><thead><tr><th>from \\ to</th>";
  for (std::uint32_t to = 0; to < file.processes; ++to) out += "<th>" + std::to_string(to) + "</th>";
  out += "</tr></thead><tbody>\n";
  for (std::uint32_t from = 0; from < file.processes; ++from) {
    out += "<tr><td>" + std::to_string(from) + "</td>";
    for (std::uint32_t to = 0; to < file.processes; ++to) {
      const double b = bytes[std::size_t{from} * file.processes + to];
      out += "<td>" + (b > 0 ? short_bytes(b) : std::string("–")) + "</td>";
    }
    out += "</tr>\n";
  }
  return out + "</tbody></table></div>\n";
}

std::string to_csv(const ledger_file& file) {
  std::string out = "superstep,process,site,call,w_ns,sync_ns,sent,received,calls,metadata\n";
  for (std::size_t s = 0; s < file.supersteps.size(); ++s) {
    const superstep_record& r = file.supersteps[s];
    for (std::uint32_t i = 0; i < file.processes; ++i) {
      const call_site& site = file.sites[r.sites[r.sites.size() > 1 ? i : 0]];
      out += std::to_string(s) + ',' + std::to_string(i) + ',' + csv_text(site.name) + ',' + csv_text(site.call) +
             print(",%.0f,%.0f,%.0f,%.0f,%.0f,", r.work[i], r.sync[i], r.sent[i], r.received[i], r.calls[i]) +
             csv_text(file.ways[r.way]) + '\n';
    }
  }
  return out;
}

}  // namespace tutti::tools

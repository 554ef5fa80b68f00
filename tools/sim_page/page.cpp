#include "tools/sim_page/page.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <set>

#include "tools/perf/page.h"
#include "tools/perf/words.h"

namespace tutti::tools {
namespace {

std::string brief(double v) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", v);
  return text;
}

// One plot of what is alike in `title`: a curve for each way, over ranks or over bytes.
std::string plot_of(const std::string& title, const std::vector<const sim_figures*>& all, bool over_bytes) {
  plot p{title, over_bytes ? "bytes" : "ranks", "µs"};
  if (over_bytes) p.x_as = labelling::bytes;
  for (const sim_figures* f : all) {
    const double x = over_bytes ? static_cast<double>(f->bytes) : f->ranks;
    auto curve_at = std::ranges::find(p.curves, f->way, &curve::name);
    if (curve_at == p.curves.end()) {
      const int style = static_cast<int>(p.curves.size());
      p.curves.push_back({.name = f->way, .style = style});
      curve_at = p.curves.end() - 1;
    }
    curve_at->points.push_back({x, f->us, f->us, f->us});
  }
  return figure(p);
}

std::string figures_of(std::span<const sim_figures> all) {
  std::map<std::pair<std::string, std::uint64_t>, std::vector<const sim_figures*>> by_bytes;
  std::map<std::pair<std::string, std::uint32_t>, std::vector<const sim_figures*>> by_ranks;
  for (const sim_figures& f : all) by_bytes[{f.of, f.bytes}].push_back(&f), by_ranks[{f.of, f.ranks}].push_back(&f);
  const auto several = [](const auto& list, auto member) {
    return std::ranges::any_of(list, [&](const sim_figures* f) { return f->*member != list.front()->*member; });
  };
  std::string out;
  for (const auto& [key, list] : by_bytes)
    if (several(list, &sim_figures::ranks)) out += plot_of(key.first + (key.second ? ", " + std::to_string(key.second) + " B" : ""), list, false);
  for (const auto& [key, list] : by_ranks)
    if (several(list, &sim_figures::bytes)) out += plot_of(key.first + ", " + std::to_string(key.second) + " ranks", list, true);
  return grid(out);
}

std::string numbers(std::span<const sim_figures> all) {
  std::string out = "<div class=\"wide\"><table><thead><tr><th></th><th>ranks</th><th>bytes</th><th>µs</th><th>first</th><th>median</th><th>90 %</th>"
                    "<th>99 %</th><th>most</th><th>messages</th><th>bytes sent</th><th>busiest link</th></tr></thead><tbody>\n";
  for (const sim_figures& f : all) {
    out += "<tr><td>" + escaped(f.of + ", " + f.way) + "</td>";
    for (const double v : {static_cast<double>(f.ranks), static_cast<double>(f.bytes), f.us, f.first_us, f.each.p50, f.each.p90, f.each.p99, f.each.most, f.messages, f.payload})
      out += "<td>" + brief(v) + "</td>";
    out += "<td>" + (f.busiest ? escaped(f.busiest->name) + ": " + brief(f.lasted_us > 0 ? 100 * f.busiest->busy_us / f.lasted_us : 0) + " %" : std::string()) + "</td></tr>\n";
  }
  return out + "</tbody></table></div>\n";
}

std::string parameters_of(const machine& m) {
  std::string out = "<table class=\"facts\"><tbody>\n";
  for (const machine_parameter& p : machine_parameters())
    out += "<tr><td>" + escaped(std::string(p.name)) + "</td><td>" + escaped(text_of(p, m.par)) + "</td><td>" + escaped(m.source_of(p.name)) + "</td></tr>\n";
  return out + "</tbody></table>\n";
}

}  // namespace

std::string to_page(const machine& m, std::span<const sim_figures> all) {
  const std::string name = m.name.empty() ? "a simulated machine" : m.name;
  return framed("tutti sim on " + name,
                "<h1>tutti sim on " + escaped(name) + "</h1>\n<p class=\"soft\">" + escaped(m.about) + "</p>\n" +
                    section("Times", "Virtual time of one call, until the last rank has left it.", figures_of(all)) +
                    section("The numbers", "Percentiles are over all ranks and calls, from entering to leaving.", numbers(all)) +
                    section("The machine", "With the source of each value, where its file has one.", parameters_of(m)));
}

}  // namespace tutti::tools

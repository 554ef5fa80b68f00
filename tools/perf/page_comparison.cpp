// Providers side by side: at a glance, over ranks, over sizes, and by algorithm.
#include <algorithm>
#include <cctype>
#include <cmath>

#include "collectives/algorithm.h"
#include "tools/perf/page.h"
#include "tools/perf/words.h"

namespace tutti::tools {
namespace {

const measurement* chosen_barrier(const perf_run& run, const std::string& provider) {
  const measurement* best = nullptr;
  for (const measurement& m : run.rows)
    if (m.provider == provider && m.group == "barrier" && (m.chosen || provider == "floor")) best = &m;
  return best;
}

std::string cell(const measurement* m, bool best) {
  return (best ? "<td class=\"best\">" : "<td>") + (m ? short_number(m->median) : std::string("–")) + "</td>";
}

// A line for each provider and its most telling numbers, the best of each column set apart.
std::string glance(const page_source& s) {
  struct column {
    std::string head;
    std::vector<const measurement*> of;  // by provider
    const measurement* best = nullptr;
  };
  std::vector<column> columns;
  auto add = [&](std::string head, auto pick) {
    column c{std::move(head), {}, nullptr};
    bool any = false;
    for (const auto& provider : s.providers()) {
      const measurement* m = pick(provider);
      c.of.push_back(m);
      any = any || m;
      if (!m || provider == "floor") continue;
      const bool time = m->in == unit::microseconds;
      if (!c.best || (time ? m->median < c.best->median : m->median > c.best->median)) c.best = m;
    }
    if (any) columns.push_back(std::move(c));
  };
  for (const perf_run& run : s.all().runs)
    if (run.ranks > 1)
      add("barrier " + std::to_string(run.ranks) + ", µs", [&](const std::string& p) { return chosen_barrier(run, p); });
  const perf_run& first = s.all().runs.front();
  add("signal, µs", [&](const std::string& provider) {
    return s.find(first, provider, "one-sided", provider == "floor" ? "flag in one line" : "put 8 B + signal");
  });
  for (const char* kind : {"put", "get"})
    add(std::string(kind) + " 1 MiB, GB/s", [&](const std::string& provider) {
      return s.find(first, provider, "bandwidth", (provider == "floor" ? "memcpy" : kind) + std::string(" 1 MiB"));
    });
  if (columns.empty()) return {};
  std::string out = "<div class=\"wide\"><table><thead><tr><th></th>";
  for (const column& c : columns) out += "<th>" + escaped(c.head) + "</th>";
  out += "</tr></thead><tbody>\n";
  for (std::size_t l = 0; l < s.providers().size(); ++l) {
    const bool floor = s.providers()[l] == "floor";
    out += std::string(floor ? "<tr class=\"soft\">" : "<tr>") + "<td>" + escaped(s.providers()[l]) + "</td>";
    for (const column& c : columns) out += cell(c.of[l], c.of[l] && c.of[l] == c.best);
    out += "</tr>\n";
  }
  return out + "</tbody></table></div>\n";
}

std::vector<double> rank_ticks(const page_source& s) {
  std::vector<double> out;
  for (const perf_run& run : s.all().runs) out.push_back(run.ranks);
  return out;
}

plot barrier_over_ranks(const page_source& s) {
  plot p{.title = "Barrier", .x_label = "ranks", .y_label = "µs", .x_ticks = rank_ticks(s)};
  for (const std::string& provider : s.providers()) {
    curve c{provider, s.style_of(provider), provider == "floor", {}};
    for (const perf_run& run : s.all().runs)
      if (const measurement* m = chosen_barrier(run, provider)) c.points.push_back(point_of(run.ranks, *m));
    if (!c.points.empty()) p.curves.push_back(std::move(c));
  }
  return p;
}

plot over_sizes(const page_source& s, const std::string& what, const std::string& quantity) {
  const bool time = quantity == "latency";
  return {.title = (what == "put" ? "Put, " : "Get, ") + quantity,
          .x_label = "size",
          .y_label = time ? "µs" : "GB/s",
          .x_as = labelling::bytes,
          .curves = s.along(what + " " + quantity + " by size")};
}

std::vector<std::string> names_in(const perf_run& run, const std::string& provider, const std::string& group) {
  std::vector<std::string> out;
  for (const measurement& m : run.rows)
    if (m.provider == provider && m.group == group) add_once(out, m.name);
  return out;
}

// The same colour and mark for an algorithm in every provider's plot, and others for each of its fan-ins: by its place among all
// that the page has.
int style_of_algorithm(const page_source& s, const std::string& name) {
  std::vector<std::string> all;
  for (const perf_run& run : s.all().runs)
    for (const measurement& m : run.rows)
      if (m.group == "barrier" && m.provider != "floor") add_once(all, m.name);
  return 1 + static_cast<int>(std::ranges::find(all, name) - all.begin());
}

std::string algorithms_over_ranks(const page_source& s, const std::string& provider) {
  plot p{.title = provider, .x_label = "ranks", .y_label = "µs", .x_ticks = rank_ticks(s)};
  for (const std::string& name : names_in(s.all().runs.back(), provider, "barrier")) {
    curve c{name, style_of_algorithm(s, name), false, {}};
    for (const perf_run& run : s.all().runs)
      if (const measurement* m = s.find(run, provider, "barrier", name)) c.points.push_back(point_of(run.ranks, *m));
    p.curves.push_back(std::move(c));
  }
  return figure(p);
}

std::string algorithms_at(const page_source& s, const perf_run& run, const std::string& provider, const std::string& group) {
  bar_chart chart{provider + ", " + std::to_string(run.ranks) + " ranks", "µs", {}};
  for (const std::string& name : names_in(run, provider, group))
    if (const measurement* m = s.find(run, provider, group, name)) {
      if (m->in != unit::microseconds) chart.label = "GB/s";
      chart.bars.push_back({name, m->median, s.style_of(provider), m->chosen});
    }
  return figure(chart);
}

// A chart for each provider, with the most ranks.
std::string by_algorithm(const page_source& s, const std::string& group) {
  std::string out;
  for (const std::string& provider : s.providers())
    if (provider != "floor") out += algorithms_at(s, s.all().runs.back(), provider, group);
  return grid(out);
}

// Those that move data: latency of short ones, bandwidth of long ones.
std::string data_sections(const page_source& s) {
  std::string out;
  for (const std::string& name : collective_names()) {
    if (name == name_of(collective::barrier)) continue;
    std::string title = name;
    title[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(title[0])));
    out += section(title + " by algorithm", "Until the last rank has the result; less is better.", by_algorithm(s, name)) +
           section(title + " by algorithm, long", "Bytes of a rank's data over that time; more is better.", by_algorithm(s, name + " bandwidth"));
  }
  return out;
}

std::string barriers_over_ranks(const page_source& s) {
  if (s.all().runs.size() < 2) return {};
  std::string out;
  for (const std::string& provider : s.providers())
    if (provider != "floor") out += algorithms_over_ranks(s, provider);
  return grid(out);
}

}  // namespace

std::string to_picture(const report& r) {
  const page_source s(r);
  return picture({barrier_over_ranks(s), over_sizes(s, "put", "latency")},
                 value_of(r, "processor") + ", " + value_of(r, "cores") + " cores; floor: bare loads and stores on shared memory", plot_style);
}

std::string comparison_sections(const page_source& s) {
  std::string sizes;
  for (const char* quantity : {"latency", "bandwidth"})
    for (const char* what : {"put", "get"}) sizes += figure(over_sizes(s, what, quantity));
  return section("At a glance",
                 "In bold: the best provider of each column. The floor is no provider: bare loads and stores on shared memory (a counter "
                 "that all ranks add to, a flag in one line, memcpy). It is the simplest way, not the fastest: a better algorithm goes below it.",
                 glance(s)) +
         section("Latency against ranks", "All enter at once; the algorithm that would be chosen.", grid(figure(barrier_over_ranks(s)))) +
         section("Latency and bandwidth against size",
                 "From rank 0 upon rank 1. Latency: one operation and its completion at the other end. Bandwidth: up to 16 at once.",
                 grid(sizes)) +
         section("Barrier by algorithm", "With the most ranks measured. Full colour: what would be chosen. Less is better.",
                 by_algorithm(s, "barrier")) +
         section("Barrier by algorithm, against ranks", "", barriers_over_ranks(s)) + data_sections(s);
}

}  // namespace tutti::tools

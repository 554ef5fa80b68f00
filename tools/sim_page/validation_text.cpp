#include "tools/sim_page/validation_text.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "collectives/tuning/file.h"
#include "tools/perf/page.h"
#include "tools/perf/series.h"
#include "tools/perf/words.h"
#include "tools/sim/validation.h"
#include "tools/sim_page/complain.h"
#include "tools/sim_page/patience.h"

namespace tutti::tools {
namespace {

using json = nlohmann::ordered_json;

using sim_page::complain;

// Of one fabric.
struct validated {
  machine on;
  std::vector<predicted_row> rows;

  std::vector<const predicted_time*> times(std::optional<collective> of = {}) const {
    std::vector<const predicted_time*> out;
    for (const predicted_row& r : rows)
      for (const predicted_time& t : r.all)
        if (t.predicted_us > 0 && (!of || r.at->of == *of)) out.push_back(&t);
    return out;
  }
  std::vector<double> regrets(std::optional<collective> of = {}) const {
    std::vector<double> out;
    for (const predicted_row& r : rows)
      if (!of || r.at->of == *of) out.push_back(r.regret());
    return out;
  }
  std::vector<collective> collectives() const {
    std::vector<collective> out;
    for (const predicted_row& r : rows)
      if (std::ranges::find(out, r.at->of) == out.end()) out.push_back(r.at->of);
    return out;
  }
};

std::string signed_percent(double share) {
  char text[24];
  std::snprintf(text, sizeof text, "%+.0f %%", 100 * share);
  return text;
}
double off_by(const predicted_time& t) { return t.predicted_us / t.measured_us - 1; }

std::string machine_text(const machine& m) {
  const loggp& l = m.par.node_cost;
  char text[240];
  std::snprintf(text, sizeof text, "L %.3g us, o %.3g us, g %.3g us, %.3g GB/s; copies %.3g GB/s, sums %.3g GB/s", l.latency_us, l.overhead_us,
                l.gap_us, l.bytes_per_ns, m.par.copies.bytes_per_ns, m.par.copies.added_bytes_per_ns);
  std::string all = text;
  if (m.par.cores.per_node > 0) {
    std::snprintf(text, sizeof text, "; a turn of %u shared cores %.3g us", m.par.cores.per_node, m.par.cores.turn_us);
    all += text;
  }
  return all;
}

// "allreduce: 36 times, typically off by a factor of 1.3 ..."
std::string error_text(const std::string& of, std::span<const predicted_time* const> times, std::span<const double> regrets) {
  const prediction_error e = error_of(times);
  char text[300];
  std::snprintf(text, sizeof text, "%s: %zu times, typically off by a factor of %.2f, at worst %.2f; on average %.2f of what was measured. What it calls fastest takes "
                "%.2f of the fastest's time, at worst %.2f", of.c_str(), e.many, e.typical, e.worst, e.bias, geometric_mean(regrets), std::ranges::max(regrets));
  return text;
}

void print(const validated& v, bool details) {
  std::printf("%s: %s\n", v.on.name.c_str(), machine_text(v.on).c_str());
  std::printf("%-14s %5s %8s  %-28s %11s %11s %7s   %-28s %6s\n", "collective", "ranks", "bytes", "fastest", "measured us", "simulated", "off", "fastest if simulated", "regret");
  for (const predicted_row& r : v.rows) {
    const predicted_time& best = r.fastest();
    std::printf("%-14s %5u %8s  %-28s %11s %11s %7s   %-28s %6.2f\n", std::string(name_of(r.at->of)).c_str(), r.at->ranks,
                r.at->bytes ? short_bytes(static_cast<double>(r.at->bytes)).c_str() : "", best.algorithm.c_str(), short_number(best.measured_us).c_str(),
                short_number(best.predicted_us).c_str(), signed_percent(off_by(best)).c_str(), r.foretold().algorithm.c_str(), r.regret());
    for (const predicted_time& t : r.all) {
      if (!details) continue;
      if (t.predicted_us > 0)
        std::printf("%31s%-28s %11s %11s %7s\n", "", t.algorithm.c_str(), short_number(t.measured_us).c_str(), short_number(t.predicted_us).c_str(), signed_percent(off_by(t)).c_str());
      else std::printf("%31s%-28s %11s  not simulated: %s\n", "", t.algorithm.c_str(), short_number(t.measured_us).c_str(), t.why_not.c_str());
    }
  }
  for (const collective of : v.collectives()) std::printf("%s\n", error_text(v.on.name + ", " + std::string(name_of(of)), v.times(of), v.regrets(of)).c_str());
  std::printf("%s\n\n", error_text(v.on.name, v.times(), v.regrets()).c_str());
}

json as_json(const validated& v) {
  json out = {{"fabric", v.on.name}, {"machine", json::parse(to_text(v.on))}, {"rows", json::array()}};
  for (const predicted_row& r : v.rows) {
    json times = json::array();
    for (const predicted_time& t : r.all) {
      times.push_back({{"algorithm", t.algorithm}, {"measured_us", t.measured_us}, {"spread", t.spread}});
      if (t.predicted_us > 0) times.back()["simulated_us"] = t.predicted_us;
      else times.back()["why_not"] = t.why_not;
    }
    out["rows"].push_back({{"collective", name_of(r.at->of)}, {"ranks", r.at->ranks}, {"bytes", r.at->bytes}, {"times", std::move(times)}, {"regret", r.regret()}});
  }
  return out;
}

// Simulated over measured, a plot for each collective: what is right lies on the line.
std::string plots_of(const validated& v) {
  std::string out;
  for (const collective of : v.collectives()) {
    plot p{v.on.name + ", " + std::string(name_of(of)), "measured, µs", "simulated, µs"};
    double least = 1e300, most = 0;
    for (const predicted_row& r : v.rows) {
      if (r.at->of != of) continue;
      const std::string name = std::to_string(r.at->ranks) + " ranks";
      auto c = std::ranges::find(p.curves, name, &curve::name);
      if (c == p.curves.end()) p.curves.push_back({.name = name, .style = static_cast<int>(p.curves.size()) + 1}), c = p.curves.end() - 1;
      const predicted_time& t = r.fastest();
      c->points.push_back({t.measured_us, t.predicted_us, t.predicted_us, t.predicted_us});
      least = std::min({least, t.measured_us, t.predicted_us}), most = std::max({most, t.measured_us, t.predicted_us});
    }
    for (curve& c : p.curves) std::ranges::sort(c.points, {}, &point::x);
    p.curves.insert(p.curves.begin(), curve{.name = "as measured", .style = 0, .dashed = true, .points = {{least, least, least, least}, {most, most, most, most}}});
    out += figure(p);
  }
  return grid(out);
}

std::string numbers_of(const validated& v) {
  std::string out = "<div class=\"wide\"><table><thead><tr><th></th><th>ranks</th><th>bytes</th><th>algorithm</th><th>measured µs</th><th>simulated</th>"
                    "<th>off</th></tr></thead><tbody>\n";
  for (const predicted_row& r : v.rows)
    for (const predicted_time& t : r.all)
      out += "<tr><td>" + std::string(name_of(r.at->of)) + "</td><td>" + std::to_string(r.at->ranks) + "</td><td>" + std::to_string(r.at->bytes) + "</td><td>" +
             escaped(t.algorithm) + "</td><td>" + short_number(t.measured_us) + "</td><td>" + (t.predicted_us > 0 ? short_number(t.predicted_us) : escaped(t.why_not)) +
             "</td><td>" + (t.predicted_us > 0 ? signed_percent(off_by(t)) : "") + "</td></tr>\n";
  return out + "</tbody></table></div>\n";
}

std::string page_of(const tuning::table& t, std::span<const validated> all) {
  std::string body = "<h1>Simulated and measured</h1>\n" + facts(t.machine);
  for (const validated& v : all) {
    std::string errors;
    for (const collective of : v.collectives()) errors += "<p>" + escaped(error_text(std::string(name_of(of)), v.times(of), v.regrets(of))) + ".</p>\n";
    body += section(v.on.name, escaped(machine_text(v.on)) + ". The machine knows what was measured between two ranks and of one core; all else is simulated. "
                                                             "Plotted is the algorithm that was measured fastest.",
                    plots_of(v) + errors + numbers_of(v));
  }
  return framed("Simulated and measured", body);
}

}  // namespace

int tell_validation(const validation_plan& plan) {
  auto table = tuning::read_file(plan.table);
  if (!table) return complain(table.error().text());
  if (!plan.only.empty()) std::erase_if(table->rows, [&](const tuning::row& r) { return plan.only != name_of(r.of); });
  auto machines = machines_of(*table, plan.fabric);
  if (!machines) return complain("tuning table " + plan.table + ": " + machines.error().text());
  std::vector<validated> all;
  for (machine& m : *machines) {
    auto rows = predict(m, *table, patience("simulating " + m.name));
    if (rows.empty()) continue;
    all.push_back({std::move(m), std::move(rows)});
    print(all.back(), plan.details);
  }
  if (all.empty())
    return complain("tuning table " + plan.table + ": it has no row of " + (plan.only.empty() ? "a collective" : plan.only) + " that can be simulated" +
                    (plan.fabric.empty() ? "" : " over " + plan.fabric));
  try {
    if (!plan.json.empty()) {
      json out = json::array();
      for (const validated& v : all) out.push_back(as_json(v));
      write_text(plan.json, out.dump(1) + "\n");
    }
    if (!plan.html.empty()) write_text(plan.html, page_of(*table, all));
  } catch (const std::exception& e) {
    return complain(e.what());
  }
  return 0;
}

}  // namespace tutti::tools

// As a page.
#include <set>

#include "tools/papers/told.h"
#include "tools/papers/told_words.h"
#include "tools/perf/page.h"

namespace tutti::tools::papers {
namespace {

std::string numbers_of(const paper& p) {
  std::string out = "<details><summary>The machines, and where each number comes from</summary>\n<table class=\"facts\"><tbody>\n";
  for (const sourced& n : p.numbers)
    out += "<tr><td>" + escaped(n.machine) + "</td><td>" + escaped(n.name) + "</td><td>" + printed("%g", n.value) + "</td><td>" +
           escaped(n.from) + "</td></tr>\n";
  return out + "</tbody></table></details>\n";
}

// The paper's numbers as points of the picture, where a statement is about one value of one of its curves.
void add_stated(const outcome& o, const picture& p, std::vector<curve>& curves) {
  for (std::size_t k = 0; k < p.keys.size(); ++k) {
    curve stated{"", static_cast<int>(k) + 1, true, {}};
    for (const verdict& v : o.verdicts) {
      if (v.of->is != statement::kind::value) continue;
      const auto at = v.of->of[0].rfind('@');
      if (at == std::string::npos || v.of->of[0].substr(0, at) != p.keys[k]) continue;
      stated.points.push_back({std::stod(v.of->of[0].substr(at + 1)), v.of->paper, v.of->paper, v.of->paper});
    }
    if (stated.points.empty()) continue;
    const curve_of* c = o.curves.find(p.keys[k]);
    stated.name = (c ? c->name : p.keys[k]) + ", the paper";
    curves.push_back(std::move(stated));
  }
}

std::string figures_of(const outcome& o) {
  std::string out;
  for (const picture& p : o.curves.pictures) {
    plot drawn{p.title, p.x_label, p.y_label, p.log_x ? scale::log : scale::linear, p.log_y ? scale::log : scale::linear,
               labelling::numbers, {}, {}};
    for (std::size_t k = 0; k < p.keys.size(); ++k) {
      const curve_of* c = o.curves.find(p.keys[k]);
      if (!c) continue;
      curve one{c->name, static_cast<int>(k) + 1, false, {}};
      for (const auto& [x, y] : c->at) one.points.push_back({x, y, y, y});
      drawn.curves.push_back(std::move(one));
    }
    add_stated(o, p, drawn.curves);
    out += ::tutti::tools::figure(drawn);
  }
  // Factors and percentages, the paper's beside ours.
  for (const verdict& v : o.verdicts)
    if (v.measured && v.of->is != statement::kind::order && v.of->is != statement::kind::value)
      out += ::tutti::tools::figure(bar_chart{v.of->text, v.of->unit == "x" ? "" : v.of->unit, {{"the paper", v.of->paper, 0, false}, {"ours", v.ours, 1, true}}});
  return grid(out);
}

std::string table_of(const std::vector<const verdict*>& all) {
  std::string out = "<div class=\"wide\"><table><thead><tr><th></th><th>paper</th><th>ours</th><th>deviation</th></tr></thead><tbody>\n";
  for (const verdict* v : all) {
    const said s = words_of(*v);
    out += "<tr><td>" + escaped(v->of->text) + "</td><td>" + escaped(s.paper) + "</td><td>" +
           escaped(s.ours) + (v->off() ? "</td><td class=\"best\">" : "</td><td>") + escaped(s.deviation) + "</td></tr>\n";
  }
  return out + "</tbody></table></div>\n";
}

std::string quotes_of(const std::vector<const verdict*>& all) {
  std::vector<text_pair> rows;
  for (const verdict* v : all) rows.emplace_back(v->of->text, v->of->quote);
  return "<details><summary>What the paper says</summary>\n" + facts(rows) + "</details>\n";
}

}  // namespace

std::string page_of(const std::vector<outcome>& all) {
  std::string body = "<h1>The papers again</h1>\n<p>The figures and tables that tutti can measure again, by its own engines" +
                     (all[0].on.empty() ? std::string(" over simulated machines. A machine is set by a point or two of its paper, marked "
                                                      "calibrated; everything else is predicted.")
                                        : " on " + escaped(all[0].on) + ", where ratios alone can be compared.") + "</p>\n";
  std::string off;
  for (const outcome& o : all)
    for (const verdict& v : o.verdicts)
      if (o.on.empty() && v.off()) off += "<tr><td>" + escaped(o.what->id) + ": " + escaped(v.of->text) + ", " + escaped(words_of(v).deviation) + "</td><td>" +
                          escaped(cause_of(v)) + "</td></tr>\n";
  std::set<const paper*> shown;
  for (const outcome& o : all) {
    std::vector<const verdict*> verdicts;
    for (const verdict& v : o.verdicts) verdicts.push_back(&v);
    body += section(std::string(o.what->id) + ": " + o.notes->title, escaped(o.source->title),
                    figures_of(o) + table_of(verdicts) + quotes_of(verdicts) + (shown.insert(o.source).second && o.on.empty() ? numbers_of(*o.source) : ""));
  }
  if (!off.empty()) body += section("What deviates by more than 10 %, and why", "", "<table class=\"facts\"><tbody>\n" + off + "</tbody></table>\n");
  return framed("The papers again", body);
}

}  // namespace tutti::tools::papers

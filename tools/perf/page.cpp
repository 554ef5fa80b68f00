// A report as one page: nothing outside it is needed to read it, no script runs in it.
#include "tools/perf/page.h"

#include <algorithm>
#include <cstdio>
#include <set>

#include "core/base/listing.h"
#include "tools/perf/words.h"

namespace tutti::tools {
namespace {

std::string head(const report& r) {
  std::string ranks;
  for (const perf_run& run : r.runs) add_to_list(ranks, std::to_string(run.ranks));
  const auto nodes = r.runs.front().nodes;
  return "<h1>tutti on " + escaped(value_of(r, "host")) + "</h1>\n<p class=\"soft\">" + escaped(value_of(r, "processor")) + ", " +
         escaped(value_of(r, "cores")) + " cores; " + ranks + (r.runs.size() > 1 || r.runs.front().ranks > 1 ? " ranks" : " rank") +
         (nodes > 1 ? " on " + std::to_string(nodes) + " nodes" : "") + "; " + escaped(value_of(r, "when")) + "</p>\n";
}

// Every number, as the terminal would show it.
std::string html_of(const result_table& t) {
  std::string out = "<div class=\"wide\"><table><thead><tr><th>" + escaped(t.group) + ", " +
                    (t.in == unit::microseconds ? "µs" : "GB/s") + "</th>";
  for (const auto& provider : t.providers) out += "<th>" + escaped(provider) + "</th>";
  out += "</tr></thead><tbody>\n";
  for (const auto& line : t.lines) {
    out += "<tr><td>" + escaped(line) + "</td>";
    for (const auto& provider : t.providers) {
      const measurement* m = t.at(line, provider);
      const bool chosen = m && m->chosen;
      out += (chosen ? "<td class=\"best\">" : "<td>") + (m ? short_number(m->median) : "") + (chosen ? "*</td>" : "</td>");
    }
    out += "</tr>\n";
  }
  return out + "</tbody></table></div>\n";
}

std::string numbers(const report& r) {
  std::string out;
  for (const perf_run& run : r.runs) {
    out += "<details><summary>" + std::to_string(run.ranks) + (run.ranks == 1 ? " rank" : " ranks") + "</summary>\n";
    for (const result_table& t : tables_of(run)) out += html_of(t);
    out += "</details>\n";
  }
  return out;
}

std::string left_out(const report& r) {
  std::vector<text_pair> all;
  for (const perf_run& run : r.runs)
    for (const auto& pair : run.left_out)
      if (std::find(all.begin(), all.end(), pair) == all.end()) all.push_back(pair);
  return all.empty() ? "" : facts(all);
}

}  // namespace

page_source::page_source(const report& r) : report_(r) {
  for (const perf_run& run : r.runs)
    for (const measurement& m : run.rows) add_once(providers_, m.provider);
  // The floor is what all is read against: it comes first, and is grey.
  const auto floor = std::find(providers_.begin(), providers_.end(), "floor");
  if (floor != providers_.end()) std::rotate(providers_.begin(), floor, floor + 1);
}

int page_source::style_of(const std::string& provider) const {
  const bool floor = !providers_.empty() && providers_.front() == "floor";
  const auto at = static_cast<int>(std::find(providers_.begin(), providers_.end(), provider) - providers_.begin());
  return floor ? at : at + 1;
}

const measurement* page_source::find(const perf_run& run, const std::string& provider, const std::string& group,
                                     const std::string& name) const {
  for (const measurement& m : run.rows)
    if (m.provider == provider && m.group == group && m.name == name) return &m;
  return nullptr;
}

bool page_source::has(const std::string& group) const {
  for (const perf_run& run : report_.runs)
    for (const measurement& m : run.rows)
      if (m.group == group) return true;
  return false;
}

std::vector<curve> page_source::along(const std::string& group) const {
  std::vector<curve> out;
  for (const std::string& provider : providers_) {
    curve c{provider, style_of(provider), provider == "floor", {}};
    for (const perf_run& run : report_.runs)
      for (const measurement& m : run.rows)
        if (m.provider == provider && m.group == group) c.points.push_back(point_of(static_cast<double>(m.bytes), m));
    if (!c.points.empty()) out.push_back(std::move(c));
  }
  return out;
}

point point_of(double x, const measurement& m) { return {x, m.median, m.low, m.high}; }

std::string grid(const std::string& figures) { return figures.empty() ? "" : "<div class=\"grid\">\n" + figures + "</div>\n"; }

std::string section(const std::string& title, const std::string& text, const std::string& body) {
  if (body.empty()) return {};
  return "<section><h2>" + escaped(title) + "</h2>\n" + (text.empty() ? "" : "<p>" + text + "</p>\n") + body + "</section>\n";
}

std::string value_of(const report& r, const std::string& name) {
  for (const auto& [n, value] : r.machine)
    if (n == name) return value;
  return "?";
}

std::string facts(const std::vector<text_pair>& rows) {
  std::string out = "<table class=\"facts\"><tbody>\n";
  for (const auto& [name, value] : rows) out += "<tr><td>" + escaped(name) + "</td><td>" + escaped(value) + "</td></tr>\n";
  return out + "</tbody></table>\n";
}

std::string framed(const std::string& title, const std::string& body) {
  return "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"/>\n"
         "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n<title>" +
         escaped(title) + "</title>\n<style>" + plot_style + page_style + "</style></head>\n<body>" + mark_definitions() + "<main>\n" +
         body + "</main></body></html>\n";
}

std::string to_page(const report& r) {
  const page_source source(r);
  return framed("tutti on " + value_of(r, "host"),
         head(r) + comparison_sections(source) +
         section("The numbers", "Medians of chunks of about 4 ms; * marks what would be chosen.", numbers(r)) +
         section("Left out", "", left_out(r)) +
         section("How it was measured",
                 "Every row is run by all ranks in chunks, and a chunk of each row follows a chunk of every other, again and again, "
                 "so that whatever else the machine does falls upon all of them alike. Points are medians of chunks, the bands "
                 "around them their quartiles. The floor is bare loads and stores upon shared memory, with no library at all.",
                 facts(r.machine)));
}

}  // namespace tutti::tools

// The parts of a page that show a report.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "tools/perf/plot.h"
#include "tools/perf/report.h"

namespace tutti::tools {

// What the sections draw from. A provider has the same colour and mark in all of them.
class page_source {
 public:
  explicit page_source(const report&);

  const report& all() const noexcept { return report_; }
  const std::vector<std::string>& providers() const noexcept { return providers_; }
  int style_of(const std::string& provider) const;
  const measurement* find(const perf_run&, const std::string& provider, const std::string& group, const std::string& name) const;
  bool has(const std::string& group) const;
  // A curve over sizes for each provider, of this group, in the run that has it.
  std::vector<curve> along(const std::string& group) const;

 private:
  const report& report_;
  std::vector<std::string> providers_;
};

point point_of(double x, const measurement&);
std::string grid(const std::string& figures);  // figures side by side where there is room
std::string section(const std::string& title, const std::string& text, const std::string& body);  // "" if body is

std::string value_of(const report&, const std::string& name);  // of the machine; "?" where it is not told
std::string facts(const std::vector<text_pair>&);  // a table of names and values
std::string framed(const std::string& title, const std::string& body);  // the whole page

std::string comparison_sections(const page_source&);  // page_comparison.cpp
extern const char* const plot_style;                  // of plots; page_style.cpp
extern const char* const page_style;                  // of what is around them

}  // namespace tutti::tools

// Plots as inline SVG, drawn small so that the same picture fills a phone and stands in a row of three on a desk. Colours
// are the page's variables --c0 to --c11 (page.cpp), so they follow light and dark.
#pragma once
#include <string>
#include <vector>

namespace tutti::tools {

struct point {
  double x, y, low, high;  // low and high: quartiles, drawn as a whisker
};

struct curve {
  std::string name;
  int style = 0;           // colour and mark; the same number looks the same everywhere
  bool dashed = false;
  std::vector<point> points;
};

enum class scale { linear, log };
enum class labelling { numbers, bytes };

struct plot {
  std::string title;
  std::string x_label, y_label;
  scale x = scale::log, y = scale::log;
  labelling x_as = labelling::numbers;
  std::vector<double> x_ticks;  // empty: chosen
  std::vector<curve> curves;
};

struct bar {
  std::string name;
  double value = 0;
  int style = 0;
  bool strong = false;     // set apart: what was chosen
};

struct bar_chart {
  std::string title, label;  // label: of the values
  std::vector<bar> bars;
};

std::string escaped(const std::string& text);           // for HTML and for attributes
std::string legend(const std::vector<curve>&);          // names with their marks; HTML
std::string figure(const plot&, bool with_legend = true);  // <figure>, titled; "" if there is nothing to draw
std::string figure(const bar_chart&);

// Every mark once, for the page to use: goes anywhere into the page, shows nothing.
std::string mark_definitions();
std::string marks_once();  // the same as <defs> of an SVG

// An SVG file: plots side by side, one legend, a line of text; "" if there is nothing to draw. `style`: of the page (plot_style).
std::string picture(const std::vector<plot>&, const std::string& caption, const std::string& style);

}  // namespace tutti::tools

#include "tools/perf/plot.h"

#include <algorithm>
#include <cmath>
#include <cstdarg>
#include <cstdio>

#include "tools/perf/words.h"

namespace tutti::tools {
namespace {

constexpr double width = 380, height = 270, left = 50, right = 370, top = 12, bottom = 226;
constexpr int marks = 8, colours = 12;

[[gnu::format(printf, 1, 2)]] std::string print(const char* format, ...) {
  char text[512];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  return text;
}

class axis_map {
 public:
  axis_map(scale s, double from, double to, double first, double last)
      : scale_(s), from_(at(from)), to_(at(to)), first_(first), last_(last) {}
  double operator()(double v) const {
    return to_ == from_ ? (first_ + last_) / 2 : first_ + (at(v) - from_) / (to_ - from_) * (last_ - first_);
  }

 private:
  double at(double v) const { return scale_ == scale::log ? std::log10(v) : v; }
  scale scale_;
  double from_, to_, first_, last_;
};

struct range {
  double low = 0, high = 0;
  std::vector<double> ticks;
};

// A little more than the data, so that nothing sits on the edge.
range log_range(double low, double high) {
  range r{low / 1.25, high * 1.25, {}};
  const double decades = std::log10(r.high / r.low);
  // A tick must fall inside twice at least.
  const std::vector<double> steps = decades > 1.7 ? std::vector<double>{1} : decades > 0.7 ? std::vector<double>{1, 2, 5}
                                                  : std::vector<double>{1, 1.5, 2, 3, 4, 5, 6, 7, 8, 9};
  for (int e = static_cast<int>(std::floor(std::log10(r.low))); std::pow(10, e) <= r.high; ++e)
    for (const double s : steps)
      if (const double at = std::pow(10, e) * s; at >= r.low && at <= r.high) r.ticks.push_back(at);
  return r;
}

range linear_range(double low, double high) {
  if (high <= low) high = low + 1;
  const double raw = (high - low) / 4, power = std::pow(10, std::floor(std::log10(raw)));
  const double step = power * (raw / power > 5 ? 10 : raw / power > 2 ? 5 : raw / power > 1 ? 2 : 1);
  range r{std::floor(low / step) * step, std::ceil(high / step) * step, {}};
  const auto steps = std::lround((r.high - r.low) / step);  // each a tick, however little it is beside `low`
  for (long i = 0; i <= steps; ++i) r.ticks.push_back(i == -std::lround(r.low / step) ? 0 : r.low + static_cast<double>(i) * step);
  return r;
}

std::string tick_label(labelling as, double v) {
  if (as == labelling::bytes) return short_bytes(v);
  char text[32];
  std::snprintf(text, sizeof text, "%g", v);
  return text;
}

// Byte counts: every factor of 16 has room.
std::vector<double> byte_ticks(double low, double high) {
  std::vector<double> out;
  for (double b = 8; b <= high; b *= 16)
    if (b >= low) out.push_back(b);
  return out;
}

// Colour 0, grey, is for style 0 alone.
std::string style_of(int style) { return "c" + std::to_string(style == 0 ? 0 : 1 + (style - 1) % (colours - 1)); }

std::string with_scale(const std::string& label, scale s) { return escaped(label) + (s == scale::log ? " (log scale)" : ""); }

std::string draw(const curve& c, const axis_map& x, const axis_map& y, const std::string& x_label, const std::string& y_label,
                 labelling x_as) {
  std::string path, whiskers, dots;
  for (const point& p : c.points) {
    const double px = x(p.x), py = y(p.y);
    path += print("%s%.1f %.1f", path.empty() ? "M" : "L", px, py);
    if (p.high > p.low) whiskers += print("M%.1f %.1fV%.1f", px, y(p.low), y(p.high));
    dots += print("<use href=\"#m%d\" x=\"%.1f\" y=\"%.1f\">", c.style % marks, px, py) + "<title>" + escaped(c.name) + ", " +
            escaped(tick_label(x_as, p.x)) + (x_as == labelling::bytes ? "" : " " + escaped(x_label)) + ": " +
            short_number(p.y) + " " + escaped(y_label) + "</title></use>";
  }
  std::string out = "<g class=\"curve " + style_of(c.style) + (c.dashed ? " dashed" : "") + "\">";
  if (!whiskers.empty()) out += "<path class=\"whisker\" d=\"" + whiskers + "\"/>";
  return out + "<path d=\"" + path + "\"/>" + dots + "</g>\n";
}

}  // namespace

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '&') out += "&amp;";
    else if (c == '<') out += "&lt;";
    else if (c == '>') out += "&gt;";
    else if (c == '"') out += "&quot;";
    else if (static_cast<unsigned char>(c) >= ' ' || c == '\n') out += c;
  }
  return out;
}

// In a square of 10 around the origin.
std::string marks_once() {
  constexpr const char* shapes[marks] = {
      "<circle r=\"3.4\"/>",
      "<rect x=\"-3.1\" y=\"-3.1\" width=\"6.2\" height=\"6.2\"/>",
      "<path d=\"M0-4.2 4 3H-4Z\"/>",
      "<path d=\"M0-4.4 4.4 0 0 4.4-4.4 0Z\"/>",
      "<path d=\"M0 4.2 4-3H-4Z\"/>",
      "<circle r=\"2.6\" class=\"hollow\"/>",
      "<rect x=\"-2.6\" y=\"-2.6\" width=\"5.2\" height=\"5.2\" class=\"hollow\"/>",
      "<path d=\"M0-3.8 3.8 0 0 3.8-3.8 0Z\" class=\"hollow\"/>"};
  std::string out = "<defs>";
  for (int m = 0; m < marks; ++m) out += print("<g id=\"m%d\">", m) + shapes[m] + "</g>";
  return out + "</defs>\n";
}

std::string mark_definitions() {
  return "<svg class=\"definitions\" width=\"0\" height=\"0\" aria-hidden=\"true\">" + marks_once() + "</svg>\n";
}

std::string legend(const std::vector<curve>& curves) {
  std::string out = "<ul class=\"legend\">";
  for (const curve& c : curves)
    out += "<li><svg viewBox=\"-12 -6 24 12\" class=\"" + style_of(c.style) + (c.dashed ? " dashed" : "") +
           "\"><path d=\"M-11 0H11\"/>" + print("<use href=\"#m%d\"/>", c.style % marks) + "</svg>" + escaped(c.name) + "</li>";
  return out + "</ul>";
}

namespace {

// What stands within the <svg> of a plot; "" if there is nothing to draw.
std::string drawing(const plot& p) {
  double x_low = INFINITY, x_high = -INFINITY, y_low = INFINITY, y_high = -INFINITY;
  for (const curve& c : p.curves)
    for (const point& at : c.points) {
      x_low = std::min(x_low, at.x), x_high = std::max(x_high, at.x);
      y_low = std::min({y_low, at.y, at.low}), y_high = std::max({y_high, at.y, at.high});
    }
  if (!(x_low <= x_high) || (p.y == scale::log && !(y_low > 0)) || (p.x == scale::log && !(x_low > 0))) return {};

  const range rows = p.y == scale::log ? log_range(y_low, y_high) : linear_range(std::min(0.0, y_low), y_high);
  range columns = p.x == scale::log ? log_range(x_low, x_high) : linear_range(x_low, x_high);
  if (p.x == scale::log) columns.low = x_low / 1.12, columns.high = x_high * 1.12;
  if (!p.x_ticks.empty()) columns.ticks = p.x_ticks;
  else if (p.x_as == labelling::bytes) columns.ticks = byte_ticks(columns.low, columns.high);
  const axis_map x(p.x, columns.low, columns.high, left + 6, right - 6), y(p.y, rows.low, rows.high, bottom, top);

  std::string out, grid;
  for (const double t : rows.ticks) {
    grid += print("M%g %.1fH%g", left, y(t), right);
    out += print("<text class=\"y\" x=\"%g\" y=\"%.1f\">", left - 6, y(t) + 4) + tick_label(labelling::numbers, t) + "</text>\n";
  }
  for (const double t : columns.ticks) {
    if (t < columns.low || t > columns.high) continue;
    grid += print("M%.1f %gV%g", x(t), top, bottom + 4);
    out += print("<text class=\"x\" x=\"%.1f\" y=\"%g\">", x(t), bottom + 19) + escaped(tick_label(p.x_as, t)) + "</text>\n";
  }
  out += "<path class=\"grid\" d=\"" + grid + "\"/>\n";
  out += print("<path class=\"frame\" d=\"M%g %gV%gH%g\"/>\n", left, top, bottom, right);
  out += print("<text class=\"x label\" x=\"%g\" y=\"%g\">", (left + right) / 2, bottom + 38) + with_scale(p.x_label, p.x) + "</text>\n";
  for (const curve& c : p.curves)
    if (!c.points.empty()) out += draw(c, x, y, p.x_label, p.y_label, p.x_as);
  return out;
}

}  // namespace

std::string figure(const plot& p, bool with_legend) {
  const std::string drawn = drawing(p);
  if (drawn.empty()) return {};
  return "<figure><h3>" + escaped(p.title) + " <small>" + with_scale(p.y_label, p.y) + "</small></h3>\n" +
         print("<svg viewBox=\"0 0 %g %g\" role=\"img\" aria-label=\"", width, height) + escaped(p.title) + "\">\n" + drawn + "</svg>" +
         (with_legend ? legend(p.curves) : "") + "</figure>\n";
}

std::string picture(const std::vector<plot>& plots, const std::string& caption, const std::string& style) {
  constexpr double title = 24, gap = 16, row = 18, letter = 6.6, mark = 30;
  std::string body;
  std::vector<curve> curves;  // of the legend
  double at = 0;
  for (const plot& p : plots) {
    const std::string drawn = drawing(p);
    if (drawn.empty()) continue;
    body += print("<g transform=\"translate(%g %g)\"><text class=\"title\" x=\"%g\" y=\"-8\">", at, title, left) + escaped(p.title) + ", " +
            with_scale(p.y_label, p.y) + "</text>\n" + drawn + "</g>\n";
    for (const curve& c : p.curves)
      if (std::ranges::find(curves, c.name, &curve::name) == curves.end()) curves.push_back(c);
    at += width + gap;
  }
  if (body.empty()) return {};
  const double wide = at - gap;
  double x = left, y = title + height + 4;
  for (const curve& c : curves) {
    const double needs = mark + letter * static_cast<double>(c.name.size()) + 14;
    if (x + needs > wide) x = left, y += row;
    body += print("<g class=\"curve %s%s\" transform=\"translate(%g %g)\"><path d=\"M0 0H24\"/><use href=\"#m%d\" x=\"12\"/>",
                  style_of(c.style).c_str(), c.dashed ? " dashed" : "", x, y, c.style % marks) +
            print("<text x=\"%g\" y=\"4\">", mark) + escaped(c.name) + "</text></g>\n";
    x += needs;
  }
  y += row + 4;
  body += print("<text x=\"%g\" y=\"%g\">", left, y) + escaped(caption) + "</text>\n";
  return print("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %g %g\" role=\"img\">\n<style>", wide, y + 12) + style +
         "text.title { fill: var(--text); font-weight: 600; }</style>\n" +
         print("<rect width=\"%g\" height=\"%g\" fill=\"var(--card)\"/>\n", wide, y + 12) + marks_once() + body + "</svg>\n";
}

std::string figure(const bar_chart& chart) {
  double most = 0;
  for (const bar& b : chart.bars) most = std::max(most, b.value);
  if (chart.bars.empty() || !(most > 0)) return {};
  std::size_t longest = 0;
  for (const bar& b : chart.bars) longest = std::max(longest, b.name.size());
  constexpr double step = 22, end = 322, letter = 7.2;  // as wide as a bold one gets
  const double begin = std::clamp(letter * static_cast<double>(longest) + 10, 80.0, 200.0);
  const double tall = step * static_cast<double>(chart.bars.size()) + 8;
  std::string out = "<figure><h3>" + escaped(chart.title) + " <small>" + escaped(chart.label) + "</small></h3>\n" +
                    print("<svg viewBox=\"0 0 %g %g\" role=\"img\" aria-label=\"", width, tall) + escaped(chart.title) + "\">\n";
  double at = 4;
  for (const bar& b : chart.bars) {
    out += "<g class=\"bar " + style_of(b.style) + (b.strong ? " strong" : "") + "\">" +
           print("<text class=\"y\" x=\"%g\" y=\"%g\">", begin - 6, at + 15) + escaped(b.name) + "</text>" +
           print("<rect x=\"%g\" y=\"%g\" width=\"%.1f\" height=\"%g\" rx=\"2\"/>", begin, at + 3,
                 std::max(1.0, b.value / most * (end - begin)), step - 6) +
           print("<text x=\"%.1f\" y=\"%g\">", begin + b.value / most * (end - begin) + 5, at + 15) + short_number(b.value) +
           "</text></g>\n";
    at += step;
  }
  return out + "</svg></figure>\n";
}

}  // namespace tutti::tools

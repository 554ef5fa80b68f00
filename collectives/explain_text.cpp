#include "collectives/explain_text.h"

#include <cstdio>

namespace tutti {

std::string fixed(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f", value);
  return text;
}

std::string padded(const std::string& text, std::size_t width, bool right) {
  const std::string gap(text.size() < width ? width - text.size() : 0, ' ');
  return right ? gap + text : text + gap;
}

std::string to_string(const char* name, const loggp& c) {
  std::string out(name);
  out.append(" L ").append(fixed(c.latency_us)).append(" o ").append(fixed(c.overhead_us));
  return out.append(" g ").append(fixed(c.gap_us)).append(" us");
}

std::string candidate_line(int place, const std::string& name, std::size_t width, double cost_us, const std::string& why) {
  return padded(place ? std::to_string(place) : "-", 3, true) + "  " + padded(name, width) +
         padded(cost_us < 0 || !place ? "?" : fixed(cost_us), 10, true) + " us  " + (place ? "" : "cannot run: ") + why;
}

}  // namespace tutti

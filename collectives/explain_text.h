// What the tables that explain a choice have in common.
#pragma once
#include <cstddef>
#include <string>

#include "core/transport/transport.h"

namespace tutti {

std::string fixed(double value);                                               // two digits behind the point
std::string padded(const std::string& text, std::size_t width, bool right = false);
std::string to_string(const char* name, const loggp&);                         // "node L 0.08 o 0.02 g 0.02 us"

// "  2  tree, radix 3     19.76 us  why"; place 0: it cannot run.
std::string candidate_line(int place, const std::string& name, std::size_t width, double cost_us, const std::string& why);

}  // namespace tutti

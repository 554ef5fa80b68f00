// What the comparisons of messages print alike.
#pragma once
#include <string>
#include <vector>

#include "tools/perf/contest.h"
#include "tools/perf/messages.h"

namespace tutti::tools {

double shown(const contest_cell&, double us);       // in its unit: us, GB/s, millions a second
const char* unit_of(const std::string& cell_name);
void print_left_out(const contest&);  // and what jobs said that have no figure
void print_figure(double value, int width);         // "-" for 0
// The file that --json names, with the machine; no file: nothing.
void write_contests(const std::string& file, const char* what, const std::vector<contest>&);
std::string machine_text();                         // "processor, load 0.12"

}  // namespace tutti::tools

// A profile read in the terms of the BSP model: what each superstep should have cost, what it did cost, and where the
// difference went.
#pragma once
#include <string>
#include <vector>

#include "tools/bsp_report/ledger_file.h"

namespace tutti::tools {

// Nanoseconds. Of one superstep, or summed over the supersteps that end at one place. What is lost is no more than what was
// measured: `waiting`, `volume`, `latency` and `beyond` are parts of `measured`, and the mean work is the rest.
struct superstep_cost {
  double measured = 0;   // of the process that took longest
  double predicted = 0;  // w + g h + l
  double work = 0;       // w: of the process that computed longest
  double waiting = 0;    // w less the mean: what processes wait for the longest, on average
  double latency = 0;    // l, as far as the superstep took that beside w
  double volume = 0;     // g h, as far as it took that beside w and l
  double beyond = 0;     // what it took beside all these
  double h = 0;          // bytes
  double calls = 0;      // of all processes
  double bytes = 0;      // sent by all processes

  void add(const superstep_cost&);
};

// l as it was measured before the program began, but no more than what nine of ten of its supersteps took beside w.
double l_of(const ledger_file&);
superstep_cost cost_of(const ledger_file&, double l_ns, const superstep_record&);

enum class loss { imbalance, volume, latency, beyond };

struct site_summary {
  std::string name;                  // of the line, or of several: where the processes were in unlike places
  std::string call;                  // bsp_sync, or the collective call
  std::uint64_t supersteps = 0;
  superstep_cost total;
  std::vector<std::uint64_t> by_way; // supersteps whose metadata went so, as ledger_file::ways
  std::uint32_t slowest = 0;         // the process that computed longest, most often
  double slowest_share = 0;          // in how many of these supersteps
  loss worst = loss::imbalance;      // what most could be gained from
  double gain = 0;                   // nanoseconds that are lost to it
};

// What was moved by the calls of one function in one line.
struct call_summary {
  std::string name, call;            // of the line; of the function
  double calls = 0, bytes = 0;       // of all processes
};

struct bsp_analysis {
  double l_ns = 0;                   // l_of()
  superstep_cost total;
  std::vector<std::uint64_t> by_way;
  std::vector<superstep_cost> supersteps;
  std::vector<site_summary> sites;   // a line each, by time, the longest first
  std::vector<site_summary> to_mend; // at most three, what most could be gained from first
  std::vector<call_summary> calls;   // by bytes, the most first
};
bsp_analysis analyse(const ledger_file&);

// "words", where all went so; else how many by each: "multicast 5, words 3".
std::string ways_taken(const ledger_file&, const std::vector<std::uint64_t>& by_way);

std::string advice(const ledger_file&, const site_summary&);  // one sentence or two

}  // namespace tutti::tools

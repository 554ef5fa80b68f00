// A profile read in the terms of the BSP model: what each superstep should have cost, what it did cost, and where the
// difference went.
#pragma once
#include <string>
#include <vector>

#include "tools/bsp_report/ledger_file.h"

namespace tutti::tools {

// Nanoseconds. Of one superstep, or summed over the supersteps that end at one site.
struct superstep_cost {
  double measured = 0;   // of the process that took longest
  double work = 0;       // w: of the process that computed longest
  double waiting = 0;    // w less the mean: what processes wait for the longest, on average
  double volume = 0;     // g h
  double latency = 0;    // l
  double beyond = 0;     // measured beyond w + g h + l, where it is
  double h = 0;          // bytes
  double calls = 0;      // of all processes
  double bytes = 0;      // sent by all processes

  double predicted() const noexcept { return work + volume + latency; }
  void add(const superstep_cost&);
};

superstep_cost cost_of(const ledger_file&, const superstep_record&);

enum class loss { imbalance, volume, latency, beyond };

struct site_summary {
  std::uint32_t site = 0;
  std::uint64_t supersteps = 0;
  superstep_cost total;
  std::vector<std::uint64_t> by_way; // supersteps whose metadata went so, as ledger_file::ways
  std::uint32_t slowest = 0;         // the process that computed longest, most often
  double slowest_share = 0;          // in how many of these supersteps
  loss worst = loss::imbalance;      // what most could be gained from
  double gain = 0;                   // nanoseconds that are lost to it
};

struct bsp_analysis {
  superstep_cost total;
  std::vector<std::uint64_t> by_way;
  std::vector<superstep_cost> supersteps;
  std::vector<site_summary> sites;   // by time, the longest first
  std::vector<site_summary> to_mend; // at most three, what most could be gained from first
};
bsp_analysis analyse(const ledger_file&);

// "words", where all went so; else how many by each: "multicast 5, words 3".
std::string ways_taken(const ledger_file&, const std::vector<std::uint64_t>& by_way);

std::string advice(const ledger_file&, const site_summary&);  // one sentence or two

}  // namespace tutti::tools

// What was measured on machines like this one, for the chooser: of each collective, fabric, number of ranks and size the time that
// each candidate took; and of each fabric what its costs are (calibration.h). `tutti tune` measures and writes a table, jobs read
// it (file.h), and all ranks of a job must have the same one.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/choose.h"
#include "collectives/tuning/calibration.h"

namespace tutti::tuning {

// Where a call is made.
struct place {
  collective of = collective::barrier;
  std::string_view fabric;     // as TUTTI_PROVIDER names it
  std::uint32_t ranks = 1, nodes = 1;
  double ranks_per_core = 1;   // on the fullest node
  std::uint64_t bytes = 0;     // of the call, as choice_inputs::bytes
};

// One candidate's time.
struct timing {
  wanted_algorithm algorithm;
  double us = 0;               // of a call among others like it: the lower quartile over chunks of calls
  double spread = 0;           // between the quartiles, as a share of `us`
  std::uint32_t chunks = 0;
};

struct row {
  collective of = collective::barrier;
  std::string fabric;
  std::uint32_t ranks = 2, nodes = 1;
  double ranks_per_core = 1;
  std::uint64_t bytes = 0;
  std::string when, host;      // provenance: UTC as 2026-11-23T10:00:00Z, and where rank 0 ran
  std::vector<timing> timings; // best first; at least one

  // That of an algorithm with these parameters; null: it was not measured.
  const timing* of_candidate(const candidate&) const noexcept;
};

struct table {
  std::vector<std::pair<std::string, std::string>> machine;  // "processor", "kernel", versions: what the numbers depend on
  std::vector<calibration> fabrics;
  std::vector<row> rows;
  std::string file;            // where it was read, for people
  std::uint64_t digest = 0;    // of the file's text; never 0

  // The row that decides a call: the nearest in ranks and size, measured on that fabric, with one node or several alike and cores
  // shared by as many ranks; ranks and ranks a core to a factor of two. null: the call is outside of what was measured, so its price decides. What is
  // shorter than the shortest size measured counts as that, where that fits a cache line.
  const row* find(const place&) const noexcept;
  const calibration* of_fabric(std::string_view fabric) const noexcept;  // null: none
};

// "ring, tree:4 ...": a candidate as TUTTI_ALLREDUCE and the like name it.
std::string name_of(const wanted_algorithm&);

}  // namespace tutti::tuning

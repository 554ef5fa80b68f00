// A clause of core/transport/transport.h is a list of cases; a case is a function that every rank runs. main.cpp runs each of
// them on every fabric. Adding a case adds a function and a line to its file's list.
#pragma once
#include <cstdint>
#include <span>

#include "tests/harness/fabrics.h"

namespace tutti::test {

struct conformance_case {
  const char* name;
  std::uint32_t ranks;
  void (*body)(rank_env&);
  rank_t dies = no_rank;  // this rank kills itself
};

struct clause {
  const char* name;
  std::span<const conformance_case> cases;
};

// One for each file of this folder.
clause naming_clause();
clause submission_clause();
clause completion_clause();
clause visibility_clause();
clause signals_clause();
clause serial_numbers_clause();
clause atomics_clause();
clause progress_clause();
clause sleep_clause();
clause failure_clause();
clause teardown_clause();
clause regions_clause();
clause segments_clause();
clause sizes_clause();
clause scatter_clause();
clause multicast_clause();
clause offload_clause();
clause two_sided_clause();
clause map_clause();
clause random_clause();

// Every clause, in the contract's order.
std::span<const clause> all_clauses();

}  // namespace tutti::test

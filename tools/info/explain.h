// `tutti info --explain`: how an algorithm is chosen for a team that need not exist.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace tutti::tools {

inline constexpr std::uint64_t sizes_to_explain[] = {8, 64 << 10, 1 << 20, 16 << 20};

struct question {
  std::string topic;                   // the name of a collective, or "message"; gatherv and the like are calls of an alltoallv
  std::string provider;                // as TUTTI_PROVIDER; empty: what a job would take
  std::uint32_t ranks = 8, ranks_per_node = 0;  // 0: all on one node
  double ranks_per_core = 0;           // 0: as a job of so many ranks would have here
  std::vector<std::uint64_t> bytes;    // of data; empty: sizes_to_explain
  std::string operation = "sum", type = "float64";  // of what reduces; "user": a program's own operation
  std::uint64_t element = 8;           // bytes of an element of that
  bool ordered = false;                // that is not commutative
  bool unlike = false;                 // blocks of unlike lengths
};

std::vector<std::uint32_t> nodes_of(std::uint32_t ranks, std::uint32_t ranks_per_node);

int explain(question);  // prints; the exit status

}  // namespace tutti::tools

// A world without a network in which all ranks run the schedules of a collective that moves data, many runs back to back, in a random
// order. What the transport contract leaves open is left open: a put reads its source at any time before its completion, its data
// land at any time after that, and its signal at any time after the data; only signals of one origin to one word arrive in order.
// Every byte knows which rank gave it in which run, or the sum of which ranks' it is, in which order and grouping.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "collectives/algorithm.h"

namespace tutti::test {

struct data_options {
  std::uint64_t seed = 1;
  std::uint32_t runs = 5;
  std::uint64_t bytes = 2;        // of a block, where there is one for each member; else of all
  std::uint64_t most = 2;         // bytes that a slot holds of a block
  bool in_place = false;
  bool commutative = true;        // operands may come in any order
  bool unlike = false;            // blocks of 0 to `bytes` bytes, others in each run
};

// The schedules of a run, by rank: a pure function of its root and of whether it has the first set of a turn.
class data_schedules {
 public:
  data_schedules(const algorithm&, shape);
  std::vector<schedule>& of(std::uint32_t root, bool first_set);
  const algorithm& row;
  const shape where;
  std::uint32_t sets;             // row.data.sets(), but of those in turn no more than 2: a turn's end comes soon
  bool one_root = false;

 private:
  std::map<std::pair<std::uint32_t, bool>, std::vector<schedule>> made_;
};

// What can be seen without running: words and slots within what the row says, peers within the team, operations of `together` blocks
// at most. Empty: nothing wrong.
std::string inspect(data_schedules&, std::uint32_t root, bool first_set);

// Empty: every result was right. Else the first that was not, or where the ranks are stuck. `grouping`: a digest of how the operands
// of each element were grouped in the last run; the same for all elements and, of those that have a result, ranks, or 0.
std::string run(data_schedules&, const data_options&, std::uint64_t* grouping = nullptr);

}  // namespace tutti::test

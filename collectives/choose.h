// Which algorithm a team runs: a pure function of what all its ranks know alike, hence the same answer in each of them.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/algorithm.h"
#include "core/base/status.h"

namespace tutti {

namespace tuning {
struct table;
}

// An algorithm asked for by name: TUTTI_BARRIER, TUTTI_BCAST, or a user's option.
struct wanted_algorithm {
  std::string name;         // empty: none; a row's name or alias
  std::uint32_t radix = 0;  // 0: the default
  std::string inner;        // as for shape; empty: the default
};

// "name", "name:radix", "hierarchical:leaders" or "hierarchical:leaders:radix", and so "offloaded:pairwise"; "" and "auto" are
// none. Invalid: names the part that is wrong and what is known.
result<wanted_algorithm> parse_wanted(collective, std::string_view text);

// Everything here must be agreed at the team's creation: bit for bit equal in all of its ranks.
struct choice_inputs : costs {
  std::uint32_t ranks = 1;
  std::span<const std::uint32_t> node_of;  // node of each rank, by team index; empty: one node
  bool multicast = false;                  // the transport has it, and the team's ranks can join
  bool exposes = false;                    // peers can get from whatever memory a rank has (fabric_facts::exposes_any)
  bool kernel_copies = false;              // inside a node the kernel does (fabric_facts::kernel_copies)
  bool held_by_root = false;               // a read of the root's memory waits for its next call (core/engine/reliable_multicast.h)
  std::uint64_t bytes = 0;                 // of data; priced as the next power of two, so one choice serves a class of sizes
  std::uint64_t piece = 64 << 10;          // of them: the most that one operation of the fabric moves
  bool commutative = true;                 // of a reduction: operands may come in any order
  bool unlike = false;                     // blocks are of unlike lengths
  bool long_elements = false;              // of a reduction: beyond short_element bytes
  bool canonical = false;                  // its bits depend on the grouping of operands, and are to be the same by every choice
  wanted_algorithm wanted;
  const tuning::table* measured = nullptr; // beforehand, on machines like this one; null: nothing
  std::string_view fabric;                 // by whose rows of it to go
};

struct candidate {
  const algorithm* row = nullptr;
  std::uint32_t radix = 0;     // as for shape
  std::string_view inner;      // as for shape; static storage
  double cost_us = 0;          // predicted, all entering at once; below 0: not priced
  std::optional<double> measured_us;
  bool runnable = true;        // false: something is missing, `why` says what
  std::string why;
};

// Predicted, as candidate::cost_us; `alone` as price(). Not of a composition.
double predicted_us(const candidate&, const choice_inputs&, bool alone = false);

// Slots of algorithms that move several blocks at once (data_layout::together) are short, but hold elements of so many bytes.
inline constexpr std::size_t short_element = 64;

// All that make sense for such a team, best first, those that cannot run last; never empty and the first one can run. Where a
// measurement decides, those that were measured come before the others. On a tie, 5 % or less, what needs no repair of lost
// datagrams wins. With a wanted one that comes first. Invalid: it is no such algorithm or has parameters that it does not take;
// unsupported: it needs what is missing here; the text says what, and what would run instead.
result<std::vector<candidate>> choose(collective, const choice_inputs&);

// The first of these alone. A wanted one is not priced, nor is any other then, which is what takes time: its cost_us says nothing.
result<candidate> choose_first(collective, const choice_inputs&);

// Sizes of a class are alike in their choice: of bytes, the index of their class.
constexpr unsigned size_class(std::uint64_t bytes) noexcept { return bytes < 2 ? 0 : static_cast<unsigned>(std::bit_width(bytes - 1)); }
inline constexpr unsigned size_classes = 65;

// Of an alltoallv by such a row, which nobody asked for by name: blocks of more bytes go out of the caller's own memory (direct.cpp)
// instead. An alltoall of blocks of that length goes faster like that.
std::uint64_t direct_beyond(choice_inputs, const algorithm& chosen);
inline constexpr std::uint64_t never_direct = ~std::uint64_t{0};

// Whether the candidate is that algorithm with those parameters.
bool is_same(const candidate&, collective, const wanted_algorithm&) noexcept;

// "nway, radix 4": for people. And as TUTTI_BARRIER takes it: "nway:4".
std::string to_string(const candidate&);
std::string as_wanted(const candidate&);

// The choice as a table of lines: the team, each candidate with its time and why, the winner first.
std::vector<std::string> explain(collective, const choice_inputs&, std::span<const candidate> chosen);

}  // namespace tutti

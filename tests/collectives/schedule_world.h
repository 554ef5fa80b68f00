// A world without a network that runs the barrier schedules of all ranks in a random order and watches the promises of
// a barrier. What the transport contract leaves open is left open here: a signal takes any time to arrive, signals to
// different words or from different ranks overtake each other, datagrams are late, repeated and reordered. What it
// promises is kept: signals of one origin to one word arrive in order.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/algorithm.h"
#include "core/schedule/schedule.h"

namespace tutti::test {

// Same numbers from the same seed on every machine (splitmix64).
class random_source {
 public:
  explicit random_source(std::uint64_t seed) noexcept : state_(seed) {}
  std::uint64_t next() noexcept {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  std::uint32_t below(std::size_t n) noexcept { return static_cast<std::uint32_t>(next() % n); }
  bool one_in(std::uint32_t n) noexcept { return below(n) == 0; }

 private:
  std::uint64_t state_;
};

// One algorithm in one shape; `shape.node_of` and `shape.inner` must outlive it.
std::vector<schedule> all_ranks(const algorithm& algorithm, shape shape);

// What can be seen without running: lines within words(), equal words in all ranks, peers within the team, each line
// set by one rank (but for what the last arriver alone does), every wait has its signal. Empty: nothing wrong.
std::string inspect(const std::vector<schedule>& all, std::uint32_t words);

struct run_options {
  std::uint64_t seed = 1;
  std::uint64_t first_epoch = 1;
  std::uint32_t epochs = 3;                                              // back to back
  bool (*satisfied)(std::uint64_t word, std::uint64_t target) = nullptr;  // null: reached()
};

// Empty: everyone left every epoch after everyone had entered it. Else the first broken promise: who left early, where
// the ranks are stuck, which line raced or went backwards.
std::string run(const std::vector<schedule>& all, const run_options& options);

// How a rank sits on its node, in the ways that break assumptions: name and node of each rank.
struct layout {
  std::string_view name;
  std::vector<std::uint32_t> node_of;
};
std::vector<layout> layouts(std::uint32_t size, std::uint64_t seed);

}  // namespace tutti::test

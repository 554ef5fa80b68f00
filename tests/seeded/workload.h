// What the ranks of a trial do, drawn by the seed, upon any transport: puts, gets, atomics, signals and flushes towards each
// other, each checked against a model of what memory must hold; and how they end: they leave, or are killed, each at its own
// time, while the others go on.
//
// The rules that are checked are the contract's: a flushed word holds what was put there (4); a signal's payload is there
// when the signal is, and signals to one word come in order (5); atomics give each old value to one origin only (7); what is
// taken ends, within a second of a death where it is towards the dead (3, 10); who lives is never told of as dead, who left
// is told of as left, and who died as dead (10, 11); two-sided messages come in order, each once. What a rank had is returned when
// it leaves (machine.h).
#pragma once
#include <array>
#include <functional>
#include <memory>
#include <set>
#include <vector>

#include "core/transport/provider.h"
#include "core/transport/transport.h"
#include "tests/seeded/machine.h"

namespace tutti::test {

inline constexpr std::uint32_t most_ranks = 5, block_words = 64;

enum class fate : std::uint8_t { runs, leaves, left, dead };

struct signalled {                      // by one origin to one target: what must be there when the signal is
  std::array<std::uint32_t, block_words> words;
};

struct trial {
  using opener = std::function<result<std::unique_ptr<transport>>(const open_params&)>;
  trial(std::uint64_t seed, std::uint32_t ranks, opener);

  std::uint32_t ranks;
  opener open;
  dice plan;                            // of what is to happen; machine::random is drawn from by what happens
  bool same_host = true;
  bool has_spares = true;               // windows come and go
  bool own_spares = true;               // windows that go may be of the caller's memory
  bool own_windows = false;             // those that stay as well
  std::function<void(rank_t, rank_t)> break_connection;  // where the fabric does such a thing
  std::array<bool, most_ranks * most_ranks> broken{};
  nanoseconds longest_stop{0};
  std::array<nanoseconds, most_ranks> stops{};    // for so long, in the middle of leaving

  // Since when the first has had a connection of its own to the second; -1 ns: never. Who ends before that can be told as
  // either, left or dead: nobody was there to say it to, and a refused connection means both.
  std::function<nanoseconds(rank_t, rank_t)> connected = [](rank_t, rank_t) { return nanoseconds{0}; };

  std::array<process*, most_ranks> processes{};
  std::array<fate, most_ranks> fates{};
  std::array<nanoseconds, most_ranks> met{};      // when it was connected to all; -1 ns: never
  std::array<nanoseconds, most_ranks> ended{};
  std::array<std::vector<std::byte>, most_ranks> addresses, keys, spares;
  std::array<std::byte*, most_ranks> windows{};
  std::array<unsigned, most_ranks> steps{};       // operations that a rank is to do before it leaves
  std::array<bool, most_ranks> exits{};           // at once, instead of leaving

  // The model, by origin and target.
  struct pair {
    std::array<std::uint32_t, block_words> submitted{}, flushed{};
    std::vector<signalled> signals;     // by epoch, from 1
    std::uint64_t messages = 0;         // two-sided ones, taken
  };
  std::array<std::array<pair, most_ranks>, most_ranks> of;
  struct counters {
    std::uint64_t asked = 0, done = 0;  // fetch_adds of 1
    std::set<std::uint64_t> seen;       // old values, each once
    std::uint64_t added = 0, added_done = 0;
    std::uint64_t swapped = 0;
    std::set<std::uint64_t> swap_seen;
  };
  std::array<counters, most_ranks> at;

  void start();                         // processes in world, and what becomes of them
  bool run();                           // false: world->complaints()
  struct wait {
    const char* what = "its start";
    rank_t towards = no_rank;
  };
  std::array<wait, most_ranks> doing{};  // for who hangs
};

}  // namespace tutti::test

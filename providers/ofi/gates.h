// A schedule as libfabric's deferred work sees it: a chain of gates. A gate is one counter. In each epoch it counts the
// program's start (the first gate alone), the arrivals of the words that are waited for there, and the completions of the
// signals that the gate before released; when it has counted all of them, it releases its own signals. Deferred work knows
// only one condition, a counter that has reached a threshold, and this makes it "all that stands before in the schedule".
#pragma once
#include <cstdint>
#include <vector>

#include "core/schedule/schedule.h"

namespace tutti::ofi {

struct gate {
  struct send {
    std::uint32_t peer;              // team index
    std::uint32_t word;
  };
  std::uint32_t starts = 0;          // counted in each epoch: the program's,
  std::vector<std::uint32_t> words;  // one arrival at each of these, from
  std::vector<std::uint32_t> writers;
  std::uint32_t sent = 0;            // signals of the gate before
  std::vector<send> behind;          // released when all of them are

  std::uint32_t counts() const noexcept { return starts + static_cast<std::uint32_t>(words.size()) + sent; }
};

// Never empty; the signals of every gate are counted by the next one, so the last releases none. Errors: unsupported,
// with the step's name.
result<std::vector<gate>> make_gates(const schedule&);

}  // namespace tutti::ofi

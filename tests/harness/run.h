// Runs a function as N ranks that cannot hang, crash or fail without the test saying which rank and why.
//
// Ranks always live in child processes, one each or (threads, fibers) all in one, so that a watchdog can end them. It
// reads what each unfinished rank waits for from the shared mapping, then kills by pid.
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tests/harness/meeting.h"
#include "tests/harness/time_scale.h"

namespace tutti::test {

struct run_options {
  std::chrono::milliseconds timeout = std::chrono::seconds{30} * time_scale;
  std::uint64_t seed = 1;
  bool threads = false;          // ranks are threads of one process, where the fabric allows it
  std::vector<rank_t> to_die{};  // ranks that must end by SIGKILL; the others may then meet without them
};

struct rank_end {
  enum class how : std::uint8_t {
    passed,
    failed,    // a requirement did not hold
    skipped,   // a capability is missing
    crashed,   // a signal or an exit status of its own
    hung,      // unfinished at the time limit
    ended,     // killed because another rank had failed
  };
  how as = how::passed;
  std::string text;  // the requirement, the reason, the signal, or what it waited for
};

struct run_report {
  std::vector<rank_end> ranks;
  bool passed() const noexcept;
  const std::string* skipped() const noexcept;  // the reason if every rank was skipped, else null
  std::string text() const;                     // one line for each rank that did not pass; empty: all passed
};

// Runs inside the child: the ranks [first, first + count) of it. Throws failure or skipped, or returns.
using process_body = std::function<void(meeting&, rank_t first, std::uint32_t count)>;

// One process a rank, or one for all. No transport is opened here.
run_report run_processes(std::uint32_t ranks, bool together, const run_options&, const process_body&);

// Runs one rank's part and writes down how it ended. For bodies that run several ranks in one process.
void run_one(meeting&, rank_t, const std::function<void()>&) noexcept;

// The library may describe its own waits: `describe` writes a text into `out`, from a signal handler.
void describe_waits_by(void (*describe)(char* out, std::size_t room)) noexcept;

}  // namespace tutti::test

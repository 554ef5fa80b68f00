// The command line of a test by seeds: [--seeds N] [--first S] [--trace]. A seed that fails is named, the first one's trace
// printed; `--seeds 1 --first S --trace` shows it again.
#pragma once
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tests/seeded/sockets.h"
#include "tests/seeded/workload.h"

namespace tutti::test {

// A trial on a machine of its own, and what it says when it fails.
template <class Passes>
bool passes_with(std::uint64_t seed, bool trace, Passes&& passes) {
  machine m{seed};
  m.tracing = trace;
  forget_sockets();
  dice d{seed + 77};
  if (passes(seed, m, d)) return true;
  std::printf("seed %llu failed:\n", static_cast<unsigned long long>(seed));
  for (const auto& c : m.complaints()) std::printf("  %s\n", c.c_str());
  std::fflush(stdout);
  return false;
}

template <class Passes>
int run_seeds(int argc, char** argv, Passes&& passes) {
  std::uint64_t seeds = 1000, first = 1;
  bool trace = false;
  for (int i = 1; i < argc; ++i) {
    if (!std::strcmp(argv[i], "--trace")) trace = true;
    else if (i + 1 < argc && !std::strcmp(argv[i], "--seeds")) seeds = std::strtoull(argv[++i], nullptr, 10);
    else if (i + 1 < argc && !std::strcmp(argv[i], "--first")) first = std::strtoull(argv[++i], nullptr, 10);
    else return std::fprintf(stderr, "usage: %s [--seeds N] [--first S] [--trace]\n", argv[0]), 2;
  }
  unsigned failed = 0;
  for (std::uint64_t s = first; s < first + seeds && failed < 10; ++s)
    if (!passes_with(s, trace, passes)) {
      ++failed;
      if (!trace && failed == 1) passes_with(s, true, passes);
    }
  std::printf("%llu seeds from %llu, %u failed\n", static_cast<unsigned long long>(seeds), static_cast<unsigned long long>(first), failed);
  return failed != 0;
}

}  // namespace tutti::test

// providers/messages under a seeded scheduler. Usage: seeded_messages [--seeds N] [--first S] [--trace]
// A seed that fails is named, and its trace printed; `--seeds 1 --first S --trace` shows it again.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tests/seeded/fabric.h"
#include "tests/seeded/sockets.h"
#include "tests/seeded/workload.h"

using namespace tutti;
using namespace tutti::test;
using namespace std::chrono_literals;

namespace {

bool passes(std::uint64_t seed, bool trace) {
  machine m{seed};
  m.tracing = trace;
  forget_sockets();
  dice d{seed + 77};
  fabric_knobs k;
  k.traits.name = "seeded";
  k.traits.piece_bytes = d.one_in(2) ? 64 : 4096;
  k.traits.keeps = d.one_in(2);
  k.traits.shared_memory = d.one_in(3);
  k.traits.only_this_host = d.one_in(2);
  k.traits.tells_losses = k.traits.shared_memory || d.one_in(2);
  k.traits.caps.target_must_progress = true;
  k.longest_way = d.one_in(2) ? 100us : 4ms;
  k.refuse_one_in = d.one_in(2) ? 0 : 2 + d.below(20);
  k.keep_one_in = k.traits.keeps ? 1 + d.below(8) : 0;
  k.forget_wake_one_in = d.one_in(2) ? 0 : 20;
  k.room = 1 + static_cast<std::uint32_t>(d.below(16));
  m.pause_one_in = d.one_in(2) ? 0 : 500 + d.below(4000);
  m.longest_pause = 100ms;
  const auto ranks = 2 + static_cast<std::uint32_t>(d.below(most_ranks - 1));
  fabric net{ranks, k};
  trial t{seed, ranks, [&net](const open_params& p) { return messages::message_transport::open(p, net.link_of(p.rank)); }};
  t.same_host = k.traits.only_this_host || d.one_in(2);
  t.connected = [&net](rank_t a, rank_t b) { return net.at(a).lines[b].since; };
  if (k.traits.tells_losses) {
    t.break_connection = [&net](rank_t a, rank_t b) { net.lose_connection(a, b); };
    if (d.one_in(3)) m.no_pidfd_one_in = 1 + d.below(4);
  }
  t.start();
  if (t.run()) return true;
  std::printf("seed %llu failed:\n", static_cast<unsigned long long>(seed));
  for (const auto& c : m.complaints()) std::printf("  %s\n", c.c_str());
  return false;
}

}  // namespace

int main(int argc, char** argv) {
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
    if (!passes(s, trace)) {
      ++failed;
      std::fflush(stdout);
      if (!trace && failed == 1) passes(s, true);
    }
  std::printf("%llu seeds from %llu, %u failed\n", static_cast<unsigned long long>(seeds), static_cast<unsigned long long>(first), failed);
  return failed != 0;
}

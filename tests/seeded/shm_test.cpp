// providers/shm under a seeded scheduler.
#include "providers/shm/shm.h"
#include "tests/seeded/seeds.h"

using namespace tutti;
using namespace tutti::test;
using namespace std::chrono_literals;

namespace {

bool passes(std::uint64_t seed, machine& m, dice& d) {
  m.pause_one_in = d.one_in(2) ? 0 : 500 + d.below(4000);
  m.longest_pause = 100ms;
  if (d.one_in(3)) m.no_pidfd_one_in = 2 + d.below(4);
  trial t{seed, 2 + static_cast<std::uint32_t>(d.below(most_ranks - 1)), shm_provider.open};
  t.own_spares = false;
  t.own_windows = d.one_in(2);
  t.connected = [&t](rank_t a, rank_t b) { return t.met[a] < 0ns ? t.met[a] : t.met[b] < 0ns ? t.met[b] : std::max(t.met[a], t.met[b]); };
  t.start();
  return t.run();
}

}  // namespace

int main(int argc, char** argv) { return run_seeds(argc, argv, passes); }

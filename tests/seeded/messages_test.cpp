// providers/messages under a seeded scheduler.
#include "tests/seeded/fabric.h"
#include "tests/seeded/seeds.h"

using namespace tutti;
using namespace tutti::test;
using namespace std::chrono_literals;

namespace {

bool passes(std::uint64_t seed, machine& m, dice& d) {
  fabric_knobs k;
  k.traits.name = "seeded";
  k.traits.piece_bytes = d.one_in(2) ? 64 : 4096;
  k.traits.keeps = d.one_in(2);
  k.traits.shared_memory = d.one_in(3);
  k.traits.only_this_host = d.one_in(2);
  k.traits.tells_losses = k.traits.shared_memory || d.one_in(2);
  k.traits.caps.target_must_progress = true;
  k.reaches = !k.traits.only_this_host && d.one_in(2);
  k.in_order = d.one_in(2);
  if (k.reaches) k.traits.longest_sleep = 5ms;
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
  if (k.traits.tells_losses) t.break_connection = [&net](rank_t a, rank_t b) { net.lose_connection(a, b); };
  if (d.one_in(3)) m.no_pidfd_one_in = 1 + d.below(4);
  t.has_spares = !k.reaches;  // an adapter ends the connection where memory is gone
  t.own_windows = d.one_in(3);
  t.start();
  return t.run();
}

}  // namespace

int main(int argc, char** argv) { return run_seeds(argc, argv, passes); }

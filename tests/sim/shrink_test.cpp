// A communicator shrinks while members of it die: one at every step of the way to the new one, and several at random. A step is an
// operation that the member submits.
#include <boost/test/unit_test.hpp>

#include "collectives/communicator.h"
#include "core/job/agreement.h"
#include "core/transport/forwarding_transport.h"
#include "tests/sim/hostile.h"

using namespace tutti;
using namespace tutti::test;

namespace {

constexpr std::uint64_t never = ~std::uint64_t{0};

class mortal_transport final : public forwarding_transport {
 public:
  mortal_transport(sim::world& w, rank_t r) : forwarding_transport(need(w.open(r))), world_(w), rank_(r) {}
  std::size_t submit(std::span<const rma_op> ops) noexcept override {
    if (left == 0) world_.kill(rank_);  // and does not return
    const std::size_t taken = inner().submit(ops.first(std::min<std::size_t>(ops.size(), left)));
    if (left != never) left -= taken;
    return taken;
  }
  std::uint64_t left = never;

 private:
  sim::world& world_;
  const rank_t rank_;
};

struct victim {
  rank_t rank;
  std::uint64_t after;
};

struct seat {
  std::unique_ptr<mortal_transport> net;
  std::unique_ptr<job> home;
  std::unique_ptr<communicator> world;
  std::vector<rank_t> survivors;
  std::uint64_t sum = 0;
  bool done = false;
};

// What a rank does once all are there: it shrinks until nobody is missing who was there the last time, and computes with those.
void rank_main(seat& s, std::uint64_t after) {
  s.net->left = after;
  communicator* now = s.world.get();
  std::vector<std::unique_ptr<communicator>> made;
  for (bool well = false; !well;) {
    made.push_back(need(now->shrink(now->options())));
    now = made.back().get();
    team& t = now->group();
    s.sum = std::uint64_t{1} << s.home->rank();
    std::uint64_t sum = 0;
    const reduction op = need(find_reduction(datatype::uint64, operation::sum));
    const status end = now->run({.of = collective::allreduce, .bytes = 8, .in = reinterpret_cast<const std::byte*>(&s.sum),
                                 .out = reinterpret_cast<std::byte*>(&sum), .op = op});
    need(end.ok() || end.code() == errc::peer_dead, end.text());
    const auto said = need(t.survivors().agree(end.ok()));
    well = said.flags != 0 && said.dead.empty();
    need(!well || end.ok(), "a failed allreduce was taken for a good one");
    s.sum = sum;
    s.survivors.clear();
    for (std::uint32_t i = 0; i < t.size(); ++i) s.survivors.push_back(t.rank_of(i));
  }
  s.net->left = never;
  s.done = true;
}

// True: all the victims have died.
bool everyone_died(const sim::parameters& p, const std::vector<victim>& victims) {
  static auto& graveyard = *new std::vector<seat>;  // what the stacks of the dead refer to, which stay
  sim::world w(p);
  std::vector<seat> seats(w.size());
  result<job::admission> in = status(errc::invalid, "not asked yet");
  blob_table hosts;
  for (rank_t r = 0; r < w.size(); ++r) hosts.push_back(w.boot(r).host());
  const status met = w.exchange(
      [&](rank_t r) -> result<std::vector<std::byte>> {
        seats[r].net = std::make_unique<mortal_transport>(w, r);
        job_options options;
        options.world_lines = communicator::world_lines;
        std::vector<std::byte> blob;
        seats[r].home = need(job::offer(w.boot(r), *seats[r].net, std::move(options), blob));
        return blob;
      },
      [&](rank_t r, const shared_blobs& all) -> status {
        if (r == 0) in = job::digest(*all, std::make_shared<layout>(make_layout(hosts)));
        return in ? seats[r].home->accept(*in) : in.error();
      });
  need(met.ok(), met.text());
  const status end = w.run([&](rank_t r) {
    std::uint64_t after = never;
    for (const victim& v : victims)
      if (v.rank == r) after = v.after;
    // Others may need this rank's progress.
    const auto wait_for_all = [&](const auto& have_come) {
      const auto all = [&] {
        for (rank_t q = 0; q < w.size(); ++q)
          if (w.alive(q) && !have_come(seats[q])) return false;
        return true;
      };
      while (!all()) sleep_until(*seats[r].net, all, seats[r].net->now() + std::chrono::microseconds(100));
    };
    // With multicast, members of a communicator form a group; without, it is made without another message. Whoever is still making the
    // first one when a death is known gets that for an answer.
    seats[r].world = need(communicator::world(*seats[r].home, {.barrier = seats[r].net->mcast() ? "multicast" : ""}));
    wait_for_all([](const seat& s) { return s.world != nullptr; });
    rank_main(seats[r], after);
    wait_for_all([](const seat& s) { return s.done; });
  });
  std::string stuck;
  for (rank_t r = 0; end.failed() && r < w.size(); ++r)
    if (const wait_note* note = w.alive(r) ? seats[r].home->waiting_for() : nullptr)
      stuck += "; rank " + std::to_string(r) + " in " + note->what + " for rank " + std::to_string(note->from);
  need(end.ok(), end.text() + stuck);
  const seat* first = nullptr;
  bool all_died = true;
  for (rank_t r = 0; r < w.size(); ++r) {
    if (!w.alive(r)) {
      graveyard.push_back(std::move(seats[r]));
      continue;
    }
    const std::string who = "rank " + std::to_string(r);
    if (!first) first = &seats[r];
    need(seats[r].survivors == first->survivors, who + " has another team");
    std::uint64_t sum = 0;
    for (const rank_t s : first->survivors) sum += std::uint64_t{1} << s;
    need(std::ranges::find(first->survivors, r) != first->survivors.end(), who + " lives and is in no team");
    need(seats[r].sum == sum, who + " has another sum");
  }
  for (const victim& v : victims) all_died = all_died && !w.alive(v.rank);
  return all_died;
}

bool passes(const sim::parameters& p, const std::vector<victim>& victims) {
  std::string who;
  for (const victim& v : victims) who += ", rank " + std::to_string(v.rank) + " after " + std::to_string(v.after);
  try {
    return everyone_died(p, victims);
  } catch (const std::runtime_error& e) {
    BOOST_ERROR(p.ranks << " ranks, seed " << p.seed << who << ": " << e.what());
    return true;
  }
}

sim::parameters machine(std::uint32_t ranks, std::uint64_t seed) {
  sim::random r(seed);
  auto p = hostile_machine(ranks, r);
  p.multicast = seed % 2;
  p.limit_us = 60e6;
  return p;
}

}  // namespace

BOOST_AUTO_TEST_CASE(nobody_dies) {
  for (std::uint32_t n = 1; n <= 9; ++n) passes(machine(n, n), {});
}

// Threads of the dead stay.
BOOST_AUTO_TEST_CASE(one_dies_at_every_step) {
  for (std::uint32_t n = 2; n <= 4; ++n)
    for (rank_t v = 0; v < n; ++v)
      for (const std::uint64_t multicast : {0, 1})
        for (std::uint64_t k = 0; k < 400 && passes(machine(n, 2 * k + multicast), {{v, k}}); ++k) {}
}

BOOST_AUTO_TEST_CASE(several_die_at_any_step) {
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    sim::random r(seed);
    const std::uint32_t n = 3 + below(r, 6);
    std::vector<victim> victims;
    for (rank_t v = 0; v < n; ++v)
      if (r.chance(0.5)) victims.push_back({v, below(r, v == 0 ? 40 * n : 60)});
    passes(machine(n, seed), victims);
  }
}

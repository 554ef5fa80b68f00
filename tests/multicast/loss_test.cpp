// Kini's barrier where datagrams are lost, repeated and reordered: correct at any loss, no message more than needed where
// there is none, and not much slower where there is little. The times are printed.
#define BOOST_TEST_MODULE multicast_loss
#include <boost/test/unit_test.hpp>
#include <cstdio>

#include "core/fault_transport.h"
#include "core/forwarding_transport.h"
#include "tests/collectives/job_env.h"
#include "tests/harness/sim_fabric.h"

using namespace tutti;
using namespace tutti::test;

namespace {

struct faults {
  double lose = 0, repeat = 0, reorder = 0;
};

struct outcome {
  double us = 0;  // of a barrier, on average
  std::uint64_t datagrams = 0, naks = 0, repairs = 0, again = 0;
};

// `epochs` barriers of `n` ranks, everyone entering at once, or some late by up to 200 us.
outcome barriers(const fabric_spec& fabric, std::uint32_t n, const faults& f, std::uint64_t epochs, bool skewed,
                 const char* name = "rgm:7") {
  const attendance books(n);
  const shared_words sums(8);
  run_ranks(fabric, n, [&](rank_env& env) {
    env.wrap([&](std::unique_ptr<transport> net) {
      return std::make_unique<fault_transport>(std::move(net), fault_plan{.seed = env.seed * 100 + env.rank, .lose = f.lose,
                                                                          .repeat = f.repeat, .reorder = f.reorder});
    });
    host_id node{};
    node[0] = std::byte(1 + env.rank % 3);
    auto j = open_job(env, {}, node);
    auto team = take(communicator::world(*j, {.barrier = name}), name);
    require(team->barrier().enter(), "the first");
    require(team->group().exchange({}).error(), "beginning");
    const time_point start = env.net().now();
    for (std::uint64_t e = 1; e <= epochs; ++e) {
      if (skewed && env.random() % 16 == 0) env.pause(std::chrono::microseconds(env.random() % 200));
      books.enter(env.rank, e);
      require(team->barrier().enter(), name);
      books.left(e);
    }
    const auto took = env.net().now() - start;
    require(team->group().exchange({}).error(), "leaving");
    const auto& c = team->barrier().mcast()->statistics();
    sums[1] += c.datagrams, sums[2] += c.naks, sums[3] += c.repairs, sums[4] += c.second_multicasts;
    if (env.rank == 0) sums[0] = static_cast<std::uint64_t>(took.count());
    env.barrier();
  }, {.timeout = std::chrono::seconds(60) * time_scale});
  return {static_cast<double>(sums[0]) * 1e-3 / static_cast<double>(epochs), sums[1], sums[2], sums[3], sums[4]};
}

// Loses what is sent, now and then, so that nobody gets it.
class lost_at_the_root final : public forwarding_transport, public multicast {
 public:
  static constexpr unsigned every = 20;
  using forwarding_transport::forwarding_transport;
  multicast* mcast() noexcept override { return this; }
  limits query() const noexcept override { return below().query(); }
  result<group_id> create(const rank_map& m, std::vector<std::byte>& t, time_point d) override { return below().create(m, t, d); }
  result<group_id> join(const rank_map& m, std::span<const std::byte> t, time_point d) override { return below().join(m, t, d); }
  bool send(group_id g, std::uint32_t tag, std::span<const std::byte> p) noexcept override {
    return ++sent_ % every == 0 || below().send(g, tag, p);
  }
  bool receive(group_id g, datagram& d) noexcept override { return below().receive(g, d); }
  void leave(group_id g) noexcept override { below().leave(g); }

 private:
  multicast& below() const noexcept { return *const_cast<lost_at_the_root*>(this)->inner().mcast(); }
  unsigned sent_ = 0;
};

std::vector<fabric_spec> fabrics_with_multicast() {
  std::vector<fabric_spec> all{{"shm"}, {"sim"}};
  for (const fabric_spec& f : fabrics())
    if (f.name == "ucx:tcp") all.push_back(f);
  return all;
}

void print(const fabric_spec& f, std::uint32_t n, double loss, const outcome& o, double quiet_us) {
  std::printf("%-8s %2u ranks, %2.0f %% lost: %8.1f us a barrier (%.2f of no loss), %llu naks, %llu repairs, %llu second multicasts\n",
              f.name.c_str(), n, loss * 100, o.us, o.us / quiet_us, static_cast<unsigned long long>(o.naks),
              static_cast<unsigned long long>(o.repairs), static_cast<unsigned long long>(o.again));
  std::fflush(stdout);
}

}  // namespace

BOOST_AUTO_TEST_CASE(every_loss_is_survived) {
  for (const fabric_spec& f : fabrics_with_multicast())
    for (const std::uint32_t n : {4u, 8u}) {
      double quiet = 0;
      const std::uint64_t epochs = f.simulated() ? 1000 : 400;
      for (const double loss : {0.0, 0.01, 0.1, 0.3}) {
        const outcome o = barriers(f, n, {.lose = loss}, epochs, false);
        if (loss == 0) quiet = o.us;
        print(f, n, loss, o, quiet);
        BOOST_TEST(o.datagrams == epochs + 1 + o.again);  // the root sends one an epoch, and no other but to repair
        if (loss > 0) BOOST_TEST(o.naks > 0u);
        if (loss == 0 && f.simulated()) BOOST_TEST(o.naks + o.repairs + o.again == 0u);
      }
    }
}

BOOST_AUTO_TEST_CASE(repeated_and_reordered_ones_change_nothing) {
  for (const fabric_spec& f : fabrics_with_multicast())
    for (const faults& bad : {faults{0, 0.3, 0}, {0, 0, 0.3}, {0.1, 0.2, 0.3}, {0.5, 0.5, 0.5}})
      for (const char* name : {"rgm:2", "hierarchical:multicast"}) barriers(f, 5, bad, 150, true, name);
}

// Exact: the simulated world has no neighbours.
BOOST_AUTO_TEST_CASE(little_loss_costs_little_and_none_costs_nothing) {
  for (const std::uint32_t n : {4u, 8u, 16u}) {
    const outcome quiet = barriers({"sim"}, n, {}, 2000, false);
    BOOST_TEST(quiet.naks + quiet.repairs + quiet.again == 0u);
    BOOST_TEST(quiet.datagrams == 2001u);
    const outcome lossy = barriers({"sim"}, n, {.lose = 0.01}, 2000, false);
    print({"sim"}, n, 0.01, lossy, quiet.us);
    BOOST_TEST(lossy.us < 2 * quiet.us, n << " ranks: " << lossy.us << " us against " << quiet.us);
  }
}

BOOST_AUTO_TEST_CASE(many_ranks_under_loss) {
  for (const std::uint32_t n : {16u, 64u}) {
    double quiet = 0;
    for (const double loss : {0.0, 0.01, 0.1, 0.3}) {
      const outcome o = barriers({"sim"}, n, {.lose = loss, .repeat = loss / 2, .reorder = loss}, 200, false);
      if (loss == 0) quiet = o.us;
      print({"sim"}, n, loss, o, quiet);
    }
  }
}

// More than the few NAKs that are answered one by one: the root must not be asked by everyone.
BOOST_AUTO_TEST_CASE(a_loss_that_all_share_is_no_storm) {
  constexpr std::uint32_t n = 64;
  const shared_words sums(4);
  sim::parameters p = sim_parameters({"sim"}, n, 1);
  require(try_ranks_simulated(p, [&](rank_env& env) {
    env.wrap([&](std::unique_ptr<transport> net) { return std::make_unique<lost_at_the_root>(std::move(net)); });
    auto j = open_job(env);
    auto team = take(communicator::world(*j, {.barrier = "rgm:7"}), "world");
    for (int e = 0; e < 400; ++e) require(team->barrier().enter(), "barrier");
    require(team->group().exchange({}).error(), "leaving");
    const auto& c = team->barrier().mcast()->statistics();
    sums[0] += c.naks, sums[1] += c.repairs, sums[2] += c.second_multicasts;
    env.barrier();
  }, {}).passed(), "64 ranks");
  const std::uint64_t losses = 400 / lost_at_the_root::every;
  std::printf("%llu losses that all of %u share: %llu naks, %llu repairs, %llu second multicasts\n",
              static_cast<unsigned long long>(losses), n, static_cast<unsigned long long>(sums[0]),
              static_cast<unsigned long long>(sums[1]), static_cast<unsigned long long>(sums[2]));
  BOOST_TEST(sums[2] >= losses / 2);
  BOOST_TEST(sums[0] < losses * (n - 1));
}

#include "core/transport/multicast.h"
#include "tests/doubles/fault_transport.h"

#include <boost/test/unit_test.hpp>
#include <set>

#include "core/router/router.h"
#include "tests/core/fake_transport.h"

using namespace tutti;
using test::fake_transport;

namespace {

// Delivers what a test puts into `queue`.
class queue_multicast final : public multicast {
 public:
  std::deque<std::pair<std::uint32_t, std::vector<std::byte>>> queue;
  unsigned groups = 0;

  limits query() const noexcept override { return {1024, 4, 64}; }
  result<group_id> create(const rank_map&, std::vector<std::byte>&, time_point) override { return group_id{groups++}; }
  result<group_id> join(const rank_map&, std::span<const std::byte>, time_point) override { return group_id{groups++}; }
  bool send(group_id, std::uint32_t tag, std::span<const std::byte> p) noexcept override {
    queue.emplace_back(tag, std::vector<std::byte>{p.begin(), p.end()});
    return true;
  }
  bool receive(group_id, datagram& out) noexcept override {
    if (queue.empty()) return false;
    current_ = std::move(queue.front());
    queue.pop_front();
    out = {7, current_.first, current_.second};
    return true;
  }
  void leave(group_id) noexcept override { --groups; }

 private:
  std::pair<std::uint32_t, std::vector<std::byte>> current_;
};

struct fixture {
  fake_transport* below;
  std::unique_ptr<fault_transport> net;
  explicit fixture(const fault_plan& plan) {
    auto f = std::make_unique<fake_transport>("net");
    below = f.get();
    net = std::make_unique<fault_transport>(std::move(f), plan);
  }
};

// The tags that arrive when `count` datagrams are sent, a few between any two looks.
std::vector<std::uint32_t> received(const fault_plan& plan, std::uint32_t count) {
  fixture f{plan};
  queue_multicast mc;
  f.below->mc = &mc;
  multicast* faulty = f.net->mcast();
  std::vector<std::uint32_t> tags;
  multicast::datagram d;
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto payload = test::bytes_of("datagram " + std::to_string(i));
    BOOST_TEST(faulty->send({}, i, payload));
    while (i % 5 == 4 && faulty->receive({}, d)) {
      tags.push_back(d.tag);
      BOOST_TEST(d.from == 7u);
      BOOST_TEST(test::text_of(d.payload) == "datagram " + std::to_string(d.tag));  // never corrupted
    }
  }
  while (faulty->receive({}, d)) tags.push_back(d.tag);
  BOOST_TEST(static_cast<bool>(f.net->arm()));  // nothing is held for ever
  return tags;
}

}  // namespace

BOOST_AUTO_TEST_CASE(without_a_plan_nothing_happens) {
  fixture f{{}};
  std::vector<rma_op> ops(100);
  for (int i = 0; i < 100; ++i) BOOST_TEST(f.net->submit(ops) == 100u);
  BOOST_TEST(f.net->flush(no_rank, nullptr));
  BOOST_TEST(f.net->faults() == 0u);
  BOOST_TEST(f.net->mcast() == nullptr);
}

BOOST_AUTO_TEST_CASE(refusals_keep_the_order_and_end) {
  unsigned faults = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed)
    BOOST_TEST_CONTEXT("seed " << seed) {
      fault_plan plan;
      plan.seed = seed, plan.refuse = 0.9;
      fixture f{plan};
      std::vector<rma_op> ops(200);
      for (std::size_t i = 0; i < ops.size(); ++i) ops[i].operand = i;
      std::size_t taken = 0, calls = 0;
      while (taken < ops.size()) {
        taken += f.net->submit(std::span{ops}.subspan(taken));
        BOOST_REQUIRE(++calls < 10000);
      }
      BOOST_REQUIRE(f.below->taken.size() == ops.size());
      for (std::size_t i = 0; i < ops.size(); ++i) BOOST_TEST(f.below->taken[i].operand == i);
      completion done;
      unsigned offered = 1;
      while (!f.net->flush(3, &done)) {
        BOOST_TEST(done.idle());
        BOOST_REQUIRE(++offered <= plan.patience + 1);
      }
      BOOST_TEST(done.pending() == 1u);
      faults += f.net->faults();
      f.below->finish_all();
    }
  BOOST_TEST(faults > 40u);  // of about 10 a seed
}

BOOST_AUTO_TEST_CASE(certain_refusal_still_lets_one_through) {
  fault_plan plan;
  plan.refuse = plan.idle = 1, plan.patience = 3;
  fixture f{plan};
  std::vector<rma_op> ops(1);
  std::vector<std::size_t> taken;
  for (int i = 0; i < 8; ++i) taken.push_back(f.net->submit(ops));
  const std::vector<std::size_t> expect{0, 0, 0, 1, 0, 0, 0, 1};
  BOOST_TEST(taken == expect, boost::test_tools::per_element());
  f.below->events = 5;
  for (int i = 0; i < 3; ++i) {
    f.below->armed = true;
    BOOST_TEST(f.net->progress() == 0u);
    BOOST_TEST(!f.below->armed);  // progress() closes a sleep, also when idle
  }
  BOOST_TEST(f.net->progress() == 5u);
}

BOOST_AUTO_TEST_CASE(same_seed_same_faults) {
  fault_plan plan;
  plan.lose = plan.repeat = plan.reorder = 0.3;
  plan.seed = 11;
  const auto once = received(plan, 200);
  BOOST_TEST(once == received(plan, 200), boost::test_tools::per_element());
  plan.seed = 12;
  BOOST_TEST((once != received(plan, 200)));
}

BOOST_AUTO_TEST_CASE(datagrams_are_lost_repeated_and_reordered_each_alone) {
  const auto distinct = [](const std::vector<std::uint32_t>& tags) {
    return std::set(tags.begin(), tags.end()).size();
  };
  for (std::uint64_t seed = 1; seed <= 20; ++seed)
    BOOST_TEST_CONTEXT("seed " << seed) {
      fault_plan plan;
      plan.seed = seed;
      const auto straight = received(plan, 300);
      BOOST_TEST(straight.size() == 300u);
      BOOST_TEST(std::is_sorted(straight.begin(), straight.end()));

      fault_plan lossy = plan, echoing = plan, shuffling = plan;
      lossy.lose = echoing.repeat = shuffling.reorder = 0.3;
      const auto lost = received(lossy, 300);
      BOOST_TEST(lost.size() < 300u);
      BOOST_TEST(lost.size() > 100u);
      BOOST_TEST(std::is_sorted(lost.begin(), lost.end()));
      BOOST_TEST(distinct(lost) == lost.size());
      const auto repeated = received(echoing, 300);
      BOOST_TEST(distinct(repeated) == 300u);
      BOOST_TEST(repeated.size() > 300u);
      const auto shuffled = received(shuffling, 300);
      BOOST_TEST(shuffled.size() == 300u);
      BOOST_TEST(distinct(shuffled) == 300u);
      BOOST_TEST(!std::is_sorted(shuffled.begin(), shuffled.end()));
    }
}

BOOST_AUTO_TEST_CASE(a_held_datagram_forbids_to_sleep) {
  fault_plan plan;
  plan.repeat = 1;
  fixture f{plan};
  queue_multicast mc;
  f.below->mc = &mc;
  const auto payload = test::bytes_of("x");
  f.net->mcast()->send({}, 1, payload);
  multicast::datagram d;
  BOOST_TEST(f.net->mcast()->receive({}, d));
  BOOST_TEST(!f.net->arm());
  BOOST_TEST(f.net->mcast()->receive({}, d));
  BOOST_TEST(!f.net->mcast()->receive({}, d));
  BOOST_TEST(static_cast<bool>(f.net->arm()));
}

// The router's set-up, with the k-th call below it failing, on either side, for every k until a run sees no failure:
// the error comes through, and what the failed call had done is undone.
BOOST_AUTO_TEST_CASE(a_router_survives_every_set_up_failure) {
  for (const bool far_fails : {false, true})
    for (unsigned k = 1;; ++k) {
      BOOST_TEST_CONTEXT((far_fails ? "network" : "node") << " call " << k) {
        fault_plan plan;
        plan.fail_setup = k;
        auto near = std::make_unique<fake_transport>("near"), far = std::make_unique<fake_transport>("far");
        fake_transport &n = *near, &f = *far;
        n.reached_ranks = {0};
        auto faulty = std::make_unique<fault_transport>(far_fails ? std::move(far) : std::move(near), plan);
        const fault_transport& dice = *faulty;
        auto net = far_fails ? make_router(std::move(near), std::move(faulty), {})
                             : make_router(std::move(faulty), std::move(far), {});
        BOOST_REQUIRE(net.ok());
        transport& t = **net;

        const auto steps = [&]() -> status {
          const auto address = t.address();
          if (!address) return address.error();
          auto table = std::make_shared<blob_table>();
          table->push_back(*address), table->push_back(*address);
          if (const status s = t.connect(table, time_point::max()); s.failed()) return s;
          std::vector<std::byte> user(64);
          const auto added = t.add(user);
          if (!added) return added.error();
          std::span<std::byte> memory;
          const auto allocated = t.allocate(64, memory);
          if (!allocated) return t.drop(*added), allocated.error();
          status outcome;
          if (const auto key = t.key(*allocated); key) {
            auto keys = std::make_shared<blob_table>();
            keys->push_back(*key), keys->push_back(*key);
            if (const auto segment = t.attach(rank_map::strided(0, 2), keys); segment) t.drop(*segment);
            else outcome = segment.error();
          } else {
            outcome = key.error();
          }
          t.drop(*allocated);
          t.drop(*added);
          return outcome;
        };
        const status s = steps();
        BOOST_TEST(n.regions.empty());
        BOOST_TEST(f.regions.empty());
        BOOST_TEST(n.segments.empty());
        BOOST_TEST(f.segments.empty());
        if (dice.setup_calls() < k) {
          BOOST_TEST(s.ok());
          BOOST_TEST(k == 7u);  // six calls a side were made to fail
          break;
        }
        BOOST_TEST((s.code() == errc::no_resource));
        BOOST_TEST(std::string{s.text()}.find("set-up call " + std::to_string(k)) != std::string::npos);
        BOOST_TEST(steps().ok());  // and nothing is left that a second try would stumble over
      }
    }
}

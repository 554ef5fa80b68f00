// Payload by reliable multicast (collectives/bcast/reliable_broadcast.h): every byte arrives, whatever is lost, repeated or out of
// order, from any root, of any size, again and again; no datagram more than needed where nothing is lost; deaths and
// deadlines end it.
#include <boost/test/unit_test.hpp>
#include <cstdio>
#include <cstring>
#include <set>

#include "core/transport/multicast.h"
#include "tests/doubles/fault_transport.h"
#include "core/transport/forwarding_transport.h"
#include "collectives/bcast/reliable_broadcast.h"
#include "tests/collectives/job_env.h"
#include "tests/harness/lists.h"
#include "tests/harness/sim_fabric.h"

using namespace tutti;
using namespace tutti::test;

namespace {

struct scene {
  std::uint32_t ranks = 2;
  std::uint64_t first = 1;
  std::uint64_t seed = 1;
  double lose = 0, repeat = 0, reorder = 0;  // by the fault decorator
  bool skewed = false;                       // some ranks are late now and then
  bool one_root = false;
  std::uint32_t boast = 0;                   // the depth of queues that the fabric claims; 0: the truth
  std::vector<std::size_t> sizes;            // one broadcast each; empty: around every threshold of the fabric
};

struct outcome {
  double us = 0;  // of all broadcasts
  std::uint64_t fragments = 0, datagrams = 0, queries = 0, reads = 0, repairs = 0, early = 0;
  std::string text() const {
    return std::to_string(fragments) + " fragments, " + std::to_string(datagrams) + " datagrams, " + std::to_string(queries) +
           " queries, " + std::to_string(reads) + " reads, " + std::to_string(repairs) + " repairs, " + std::to_string(early) + " early";
  }
};

std::byte pattern(std::uint64_t epoch, std::uint32_t root, std::size_t i) {
  std::uint64_t x = (epoch * 1315423911u + root + 1) * 0x9e3779b97f4a7c15u + i * 0xbf58476d1ce4e5b9u;
  return std::byte(x >> 37 & 0xff);
}

std::vector<std::size_t> around_thresholds(const reliable_broadcast& b) {
  const std::size_t f = b.fragment(), w = b.window_size();
  return {0,         1,         f - 1,     f,         f + 1,     3 * f + 7,     (w - 1) * f, w * f - 1,
          w * f,     w * f + 1, 8,         2 * w * f + f / 2, 1, 5 * w * f - 3, 0,           f * (w / 4),
          f * (w / 2) + 1};
}

class shared_outcome {
 public:
  shared_outcome() : words_(7) {}
  void add(const reliable_broadcast& b, std::uint64_t fragments, std::chrono::nanoseconds took) const {
    const auto& c = b.statistics();
    words_[0] += fragments, words_[1] += c.datagrams, words_[2] += c.queries, words_[3] += c.reads, words_[4] += c.repairs;
    words_[5] += c.early;
    if (took.count() > 0) words_[6] = static_cast<std::uint64_t>(took.count());
  }
  outcome get() const {
    return {static_cast<double>(words_[6]) * 1e-3, words_[0], words_[1], words_[2], words_[3], words_[4], words_[5]};
  }

 private:
  shared_words words_;
};

// A multicast that says it keeps more datagrams than it does.
class boastful final : public forwarding_transport, public multicast {
 public:
  boastful(std::unique_ptr<transport> inner, std::uint32_t depth) : forwarding_transport(std::move(inner)), depth_(depth) {}
  multicast* mcast() noexcept override { return this; }
  limits query() const noexcept override {
    limits l = below().query();
    l.receive_depth = depth_;
    return l;
  }
  result<group_id> create(const rank_map& m, std::vector<std::byte>& t, time_point d) override { return below().create(m, t, d); }
  result<group_id> join(const rank_map& m, std::span<const std::byte> t, time_point d) override { return below().join(m, t, d); }
  bool send(group_id g, std::uint32_t tag, std::span<const std::byte> p) noexcept override { return below().send(g, tag, p); }
  bool receive(group_id g, datagram& d) noexcept override { return below().receive(g, d); }
  void leave(group_id g) noexcept override { below().leave(g); }

 private:
  multicast& below() const noexcept { return *const_cast<boastful*>(this)->inner().mcast(); }
  std::uint32_t depth_;
};

// One rank's part of a scene.
void play(rank_env& env, const scene& s, const shared_outcome& out) {
  if (s.lose + s.repeat + s.reorder > 0)
    env.wrap([&](std::unique_ptr<transport> net) {
      return std::make_unique<fault_transport>(std::move(net), fault_plan{.seed = s.seed * 100 + env.rank, .lose = s.lose,
                                                                          .repeat = s.repeat, .reorder = s.reorder});
    });
  if (s.boast)
    env.wrap([&](std::unique_ptr<transport> net) { return std::make_unique<boastful>(std::move(net), s.boast); });
  auto j = open_job(env);
  {
    auto b = take(reliable_broadcast::open(j->world(), s.first), "open");
    const auto sizes = s.sizes.empty() ? around_thresholds(*b) : s.sizes;
    std::vector<std::byte> data(*std::max_element(sizes.begin(), sizes.end()) + 1);
    std::uint64_t fragments = 0, epoch = 0;
    require(j->world().exchange({}).error(), "beginning");
    const time_point start = env.net().now();
    for (const std::size_t bytes : sizes) {
      const auto root = static_cast<std::uint32_t>(s.one_root ? 0 : epoch * 5 % env.size);
      if (s.skewed && env.random() % 4 == 0) env.pause(std::chrono::microseconds(env.random() % 300));
      ++epoch;
      for (std::size_t i = 0; i < bytes; ++i) data[i] = env.rank == root ? pattern(epoch, root, i) : std::byte{0xee};
      data[bytes] = std::byte{0x55};
      require(b->run(root, std::span(data).first(bytes)), "broadcast");
      for (std::size_t i = 0; i < bytes; ++i)
        if (data[i] != pattern(epoch, root, i))
          fail("broadcast " + std::to_string(epoch) + " of " + std::to_string(bytes) + " bytes from " + std::to_string(root) +
               ": byte " + std::to_string(i) + " is wrong at rank " + std::to_string(env.rank));
      require(data[bytes] == std::byte{0x55}, "nothing is written behind the end");
      if (env.rank == root && env.size > 1) fragments += (bytes + b->fragment() - 1) / b->fragment();
    }
    const auto took = env.net().now() - start;
    require(j->world().exchange({}).error(), "ending");
    out.add(*b, fragments, env.rank == 0 ? took : std::chrono::nanoseconds{});
    require(j->world().settle(), "settling");
  }
  env.barrier();
}

outcome on_fabric(const fabric_spec& f, const scene& s) {
  const shared_outcome out;
  run_ranks(f, s.ranks, [&](rank_env& env) { play(env, s, out); },
            {.timeout = std::chrono::seconds(60) * time_scale, .seed = s.seed});
  return out.get();
}

outcome simulated(sim::parameters p, const scene& s) {
  const shared_outcome out;
  p.ranks = s.ranks, p.seed = s.seed;
  const auto report = try_ranks_simulated(p, [&](rank_env& env) { play(env, s, out); },
                                          {.timeout = std::chrono::seconds(60) * time_scale, .seed = s.seed});
  BOOST_TEST(report.passed(), s.ranks << " ranks, seed " << s.seed << ", first " << s.first << ": " << report.text());
  return out.get();
}

// The simulated fabric loses by itself.
sim::parameters lossy(double loss, double jitter = 0) {
  sim::parameters p;
  p.mcast_loss = loss, p.mcast_duplicate = loss / 2, p.mcast_reorder = loss;
  p.jitter = jitter, p.noise_us = jitter;
  return p;
}

std::vector<fabric_spec> real_fabrics() {
  std::vector<fabric_spec> all{{"shm"}};
  for (const fabric_spec& f : fabrics())
    if (f.name == "ucx:tcp" || f.name == "ofi:tcp") all.push_back(f);
  return all;
}

// Once armed, the rank dies in one of its next calls of progress.
class dies_in_progress final : public forwarding_transport {
 public:
  dies_in_progress(std::unique_ptr<transport> inner, rank_env& env) : forwarding_transport(std::move(inner)), env_(env) {}
  unsigned calls_left = 0;
  unsigned progress() noexcept override {
    if (calls_left > 0 && --calls_left == 0) env_.die();
    return inner().progress();
  }

 private:
  rank_env& env_;
};

// This rank's job, which ends with the rank once `mortal` is told when.
auto open_mortal_job(rank_env& env, dies_in_progress*& mortal) {
  env.wrap([&](std::unique_ptr<transport> net) {
    auto m = std::make_unique<dies_in_progress>(std::move(net), env);
    mortal = m.get();
    return m;
  });
  return open_job(env);
}

// Once armed, one of the next operations with a completion fails and does nothing.
class fails_once final : public forwarding_transport {
 public:
  using forwarding_transport::forwarding_transport;
  unsigned operations_left = 0;
  std::size_t submit(std::span<const rma_op> ops) noexcept override {
    if (operations_left == 0 || !ops[0].done) return inner().submit(ops);
    if (--operations_left > 0) return inner().submit(ops.first(1));
    ops[0].done->begin();
    ops[0].done->finish({errc::fabric, "an injected failure", ops[0].rank});
    return 1;
  }
};

const std::vector<std::uint32_t> some_ranks{1, 2, 3, 4, 5, 8, 9, 10, 16, 17};

}  // namespace

// Exact: the simulated world has no neighbours. Where ranks are late the others may ask how far the root is. The answer may
// overtake the datagram that it speaks of, which is read in vain then, and never first.
BOOST_AUTO_TEST_CASE(nothing_is_sent_but_what_is_needed) {
  for (const std::uint32_t n : some_ranks)
    for (const bool skewed : {false, true}) {
      const outcome o = simulated({}, {.ranks = n, .skewed = skewed});
      BOOST_TEST(o.datagrams == o.fragments, n << " ranks: " << o.text());
      BOOST_TEST(o.repairs == 0u, n << " ranks: " << o.text());
      BOOST_TEST(o.reads <= o.queries, n << " ranks: " << o.text());
      if (!skewed) BOOST_TEST(o.queries + o.reads == 0u, n << " ranks: " << o.text());
    }
}

BOOST_AUTO_TEST_CASE(every_loss_is_survived) {
  one_in some(5);
  for (const std::uint32_t n : some_ranks)
    for (const double loss : {0.01, 0.1, 0.3})
      for (std::uint64_t seed = 1; seed <= 4; ++seed) {
        if (!some()) continue;
        const outcome o = simulated(lossy(loss), {.ranks = n, .seed = seed * 100 + n, .skewed = seed % 2 == 0});
        BOOST_TEST(o.datagrams == o.fragments, o.text());
        if (loss >= 0.1 && n > 1) BOOST_TEST(o.repairs > 0u);
      }
}

// Every freedom of the contract at once: messages overtake each other, submissions are refused, progress is the target's.
BOOST_AUTO_TEST_CASE(every_freedom_is_survived) {
  for (const std::uint32_t n : {2u, 3u, 5u, 10u, 17u})
    for (const char* fabric : {"sim:wild", "sim:tcp"})
      for (std::uint64_t seed = 1; seed <= 3; ++seed)
        simulated(sim_parameters({fabric}, n, seed), {.ranks = n, .seed = seed * 100 + n, .skewed = true});
}

BOOST_AUTO_TEST_CASE(numbers_wrap) {
  for (const int bits : {16, 30, 31, 32, 48, 64})
    for (const std::uint64_t before : {1u, 40u, 300u})
      for (const double loss : {0.0, 0.1}) {
        const std::uint64_t first = (bits == 64 ? 0 : std::uint64_t{1} << bits) - before;
        const outcome o = simulated(lossy(loss), {.ranks = 4, .first = first, .seed = before});
        if (loss == 0) BOOST_TEST(o.datagrams == o.fragments, "wrap of " << bits << " bits: " << o.text());
      }
}

// Small windows, down to one fragment; and one that is larger than the queue of a receiver that does not look.
BOOST_AUTO_TEST_CASE(any_depth_of_queues) {
  for (const std::uint32_t depth : {1u, 2u, 3u, 6u, 64u, 1000u})
    for (const double loss : {0.0, 0.1}) {
      sim::parameters p = lossy(loss);
      p.mcast_depth = depth, p.mcast_payload = 200;
      const outcome o = simulated(p, {.ranks = 6, .skewed = true});
      if (loss == 0) BOOST_TEST(o.datagrams == o.fragments, "depth " << depth << ": " << o.text());
    }
}

// Without the window the count above would show it: a fabric that says its queues are deeper than they are is overrun by
// a root that believes it, and what was lost is repaired all the same.
BOOST_AUTO_TEST_CASE(a_window_that_is_too_large_is_seen) {
  sim::parameters p;
  p.mcast_depth = 8;
  const outcome o = simulated(p, {.ranks = 4, .skewed = true, .boast = 64});
  BOOST_TEST(o.repairs > 0u, o.text());
}

BOOST_AUTO_TEST_CASE(large_ones) {
  for (const double loss : {0.0, 0.01, 0.1}) {
    const outcome o = simulated(lossy(loss), {.ranks = 5, .sizes = {4 << 20, 3 << 20, 1, 2 << 20}});
    std::printf("9 MiB, 5 ranks, %2.0f %% lost: %8.1f us, %s\n", loss * 100, o.us, o.text().c_str());
    if (loss == 0) BOOST_TEST(o.datagrams == o.fragments);
  }
}

BOOST_AUTO_TEST_CASE(little_loss_costs_little) {
  for (const std::uint32_t n : {2u, 4u, 8u, 16u}) {
    const std::vector<std::size_t> sizes(8, 1 << 20);
    double quiet = 0;
    for (const double loss : {0.0, 0.01, 0.1, 0.3}) {
      sim::parameters p;
      p.mcast_loss = loss;
      const outcome o = simulated(p, {.ranks = n, .one_root = true, .sizes = sizes});
      if (loss == 0) quiet = o.us;
      std::printf("1 MiB to %2u ranks, %2.0f %% lost: %8.1f us (%.2f of no loss), %s\n", n, loss * 100, o.us / 8, o.us / quiet,
                  o.text().c_str());
      if (loss == 0.01) BOOST_TEST(o.us < 2 * quiet);
    }
  }
}

BOOST_AUTO_TEST_CASE(on_real_fabrics) {
  for (const fabric_spec& f : real_fabrics())
    for (const std::uint32_t n : listed({2u, 7u}, {4u}))
      for (const double loss : listed({0.0, 0.1}, {0.01, 0.3})) {
        const scene s{.ranks = n, .seed = n, .lose = loss, .repeat = loss / 2, .reorder = loss, .skewed = true};
        const outcome o = on_fabric(f, s);
        BOOST_TEST(o.datagrams == o.fragments, f.name << ": " << o.text());
        std::printf("%-8s %u ranks, %2.0f %% lost: %8.1f us, %s\n", f.name.c_str(), n, loss * 100, o.us, o.text().c_str());
      }
}

// 64 MiB, the most that was asked for.
BOOST_AUTO_TEST_CASE(very_large_ones_in_shared_memory) {
  for (const double loss : {0.0, 0.05}) {
    const outcome o = on_fabric({"shm"}, {.ranks = 3, .lose = loss, .sizes = {64 << 20, 1, 5 << 20}});
    BOOST_TEST(o.datagrams == o.fragments, o.text());
  }
}

// Whatever a rank is at when it dies: each of its first calls of progress in a broadcast is its last in some run.
BOOST_AUTO_TEST_CASE(a_death_ends_it_and_is_named) {
  one_in some(3);
  for (const std::uint32_t n : {2u, 3u, 5u, 12u})
    for (const std::uint32_t victim : std::set<std::uint32_t>{0, 1, n - 1})
      for (const bool dies_as_root : {true, false})
        for (const unsigned at : {1u, 2u, 3u, 5u, 9u, 20u, 60u}) {
          if (!some()) continue;
          sim::parameters p = lossy(0.1);
          p.ranks = n;
          p.notice_us = 100;
          const auto report = try_ranks_simulated(p, [&](rank_env& env) {
            dies_in_progress* mortal = nullptr;
            auto j = open_mortal_job(env, mortal);
            auto b = take(reliable_broadcast::open(j->world()), "open");
            std::vector<std::byte> data(300000);
            const std::uint32_t root = dies_as_root ? victim : (victim + 1) % n;
            require(b->run(root, data), "while all live");
            if (env.rank == victim) mortal->calls_left = at;
            status s;
            for (int i = 0; i < 100000 && s.ok(); ++i) s = b->run(root, data);
            require(s.code() == errc::peer_dead, "the broadcast ends with the death");
            require_equal(s.peer(), victim, "who died");
            require(b->run(root, data).code() == errc::peer_dead, "and does so from then on");
          }, {.to_die = {victim}});
          BOOST_TEST(report.passed(), n << " ranks, " << victim << " dies at " << at << ": " << report.text());
        }
}

BOOST_AUTO_TEST_CASE(a_death_in_shared_memory) {
  for (const std::uint32_t victim : {0u, 2u}) {
    const auto report = try_ranks({"shm"}, 4, [&](rank_env& env) {
      dies_in_progress* mortal = nullptr;
      auto j = open_mortal_job(env, mortal);
      auto b = take(reliable_broadcast::open(j->world()), "open");
      std::vector<std::byte> data(3000000);
      require(b->run(0, data), "while all live");
      if (env.rank == victim) mortal->calls_left = 7;
      status s;
      for (int i = 0; i < 100000 && s.ok(); ++i) s = b->run(0, data);
      require(s.code() == errc::peer_dead && s.peer() == victim, "the survivors are told who died");
    }, {.to_die = {victim}});
    BOOST_TEST(report.passed(), victim << " dies: " << report.text());
  }
}

// A signal of what was taken, or a read of what was lost: all members end, and who had the failure says which it was.
BOOST_AUTO_TEST_CASE(a_failed_operation_ends_it_in_all) {
  constexpr std::uint32_t n = 10;
  for (const double loss : {0.0, 0.3})
    for (const std::uint32_t where : {0u, 1u, 5u, 9u})
      for (const unsigned at : {1u, 2u, 3u, 7u, 20u}) {
        sim::parameters p;
        p.ranks = n, p.mcast_loss = loss, p.mcast_payload = 500, p.seed = at;
        const auto report = try_ranks_simulated(p, [&](rank_env& env) {
          fails_once* failing = nullptr;
          env.wrap([&](std::unique_ptr<transport> net) {
            auto f = std::make_unique<fails_once>(std::move(net));
            failing = f.get();
            return f;
          });
          auto j = open_job(env);
          auto b = take(reliable_broadcast::open(j->world()), "open");
          if (env.rank == where) failing->operations_left = at;
          std::vector<std::byte> data(20000);
          status s;
          for (std::uint32_t i = 0; i < 50 && s.ok(); ++i) s = b->run(i % 3, data);
          require(s.code() == errc::fabric, "it ends in all");
          if (env.rank == where) require(std::strstr(s.text(), "an injected failure"), s.text());
          require(b->run(0, data).code() == errc::fabric, "and stays so");
          env.barrier();
        }, {});
        BOOST_TEST(report.passed(), "operation " << at << " of " << where << ", loss " << loss << ": " << report.text());
      }
}

// Members that lost fragments are done when the root is, whoever moves the bytes and whatever the root does then.
BOOST_AUTO_TEST_CASE(a_root_that_computes_holds_nobody) {
  constexpr std::uint32_t n = 10;
  constexpr std::uint64_t rounds = 30;
  for (const bool must_progress : {false, true}) {
    sim::parameters p = lossy(0.3);
    p.ranks = n, p.target_must_progress = must_progress;
    const shared_words left(rounds * n);
    const auto report = try_ranks_simulated(p, [&](rank_env& env) {
      auto j = open_job(env);
      auto b = take(reliable_broadcast::open(j->world()), "open");
      std::vector<std::byte> data(300000);
      for (std::uint64_t i = 0; i < rounds; ++i) {
        require(b->run(0, std::span(data).first(i % 3 == 0 ? 8 : data.size() >> i % 5)), "broadcast");
        left[i * n + env.rank] = static_cast<std::uint64_t>(env.net().now().time_since_epoch().count());
        if (env.rank == 0) env.pause(std::chrono::seconds(1));
      }
      require(j->world().settle(), "settling");
      env.barrier();
    }, {.timeout = std::chrono::seconds(60) * time_scale});
    BOOST_TEST(report.passed(), report.text());
    for (std::uint64_t i = 0; i < rounds; ++i)
      for (std::uint32_t r = 1; r < n; ++r) {
        const auto late = static_cast<std::int64_t>(left[i * n + r] - left[i * n]);
        BOOST_TEST(late < 100'000, "rank " << r << " leaves " << late << " ns after the root, in round " << i);
      }
  }
}

// Of what is lost each fragment is read once, and few positions are.
BOOST_AUTO_TEST_CASE(a_loss_is_one_read) {
  for (const std::uint32_t n : {4u, 16u})
    for (const double loss : {0.01, 0.1, 0.3}) {
      sim::parameters p;
      p.mcast_loss = loss;
      const outcome o = simulated(p, {.ranks = n, .one_root = true, .sizes = std::vector<std::size_t>(8, 1 << 20)});
      BOOST_TEST(static_cast<double>(o.reads + o.queries) <= 1.25 * static_cast<double>(o.repairs), n << " ranks: " << o.text());
    }
}

BOOST_AUTO_TEST_CASE(a_deadline_is_kept) {
  sim::parameters p;
  p.ranks = 3;
  const auto report = try_ranks_simulated(p, [&](rank_env& env) {
    auto j = open_job(env);
    auto b = take(reliable_broadcast::open(j->world()), "open");
    std::vector<std::byte> data(1 << 20);
    if (env.rank != 2) {  // which never comes
      const time_point start = env.net().now();
      const status s = b->run(0, data, start + std::chrono::milliseconds(20));
      const auto took = env.net().now() - start;
      require(s.code() == errc::timed_out, env.rank == 0 ? "the root's time is out" : "a member's time is out");
      require(took >= std::chrono::milliseconds(20) && took < std::chrono::milliseconds(25), "at the deadline");
      require(b->run(0, data).code() == errc::timed_out, "and it stays so");
    }
    env.barrier();
  }, {});
  BOOST_TEST(report.passed(), report.text());
}

BOOST_AUTO_TEST_CASE(wrong_calls_are_refused) {
  sim::parameters p;
  p.ranks = 2;
  const auto report = try_ranks_simulated(p, [&](rank_env& env) {
    auto j = open_job(env);
    auto b = take(reliable_broadcast::open(j->world()), "open");
    std::vector<std::byte> data(100);
    require(b->run(2, data).code() == errc::invalid, "no such root");
    require(b->run(1, data), "nothing has happened");
    // A member that expects more bytes than come finds out.
    const status s = b->run(0, std::span(data).first(env.rank == 0 ? 10 : 20), env.net().now() + std::chrono::milliseconds(50));
    require(s.code() == (env.rank == 0 ? errc::timed_out : errc::protocol), "the numbers of bytes differ");
    env.barrier();
  }, {});
  BOOST_TEST(report.passed(), report.text());
}

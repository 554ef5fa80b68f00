// Members of a team agree while some of them die: at every step of every member, two at every pair of steps, several at random.
// A step is an operation that the member submits; it dies right after that.
#include <boost/test/unit_test.hpp>

#include "core/job/agreement.h"
#include "core/transport/forwarding_transport.h"
#include "tests/sim/hostile.h"

using namespace tutti;
using namespace tutti::test;

namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t never = ~std::uint64_t{0};
constexpr std::uint64_t agreements = 3;

struct victim {
  rank_t rank;
  std::uint64_t after;  // so many operations
};

// After so many operations its rank does nothing any more: all are refused, so that it stays in its wait. A get may read its words
// at any times until it is complete.
class mortal_transport final : public forwarding_transport {
 public:
  using forwarding_transport::forwarding_transport;
  std::size_t submit(std::span<const rma_op> ops) noexcept override {
    if (dying()) return 0;
    if (ops[0].rank == cut_off) return ops[0].done->begin(), ops[0].done->finish(broken()), 1;
    if (tears && ops[0].kind == op_kind::get) return ++done, submit_words(ops[0]), 1;
    const std::size_t taken = inner().submit(ops.first(std::min<std::size_t>(ops.size(), last - done)));
    done += taken;
    return taken;
  }
  status health(rank_t r) noexcept override {
    if (r == cut_off) return broken();
    return r == suspect ? status{errc::peer_dead, "a suspicion", r} : inner().health(r);
  }
  bool dying() const noexcept { return done >= last; }
  std::uint64_t done = 0, last = never;
  bool tears = false;
  rank_t suspect = no_rank;  // taken for dead, though it lives
  rank_t cut_off = no_rank;  // whatever is begun towards it fails, though it lives

 private:
  status broken() const noexcept { return {errc::no_resource, "no memory for a connection", cut_off}; }
  void submit_words(rma_op op) noexcept {
    const std::uint32_t words = op.bytes / 8;
    op.bytes = 8;
    for (std::uint32_t i = 0; i < words; ++i, op.local_offset += 8, op.remote_offset += 8)
      need(inner().submit({&op, 1}) == 1, "a torn get was refused");
  }
};

struct member {
  std::unique_ptr<mortal_transport> net;
  std::unique_ptr<job> home;
  resumable<result<consensus>> under_way;
  std::vector<result<consensus>> ended;
  time_point look_at{}, begins{};
  std::uint64_t died_in = never;  // that agreement, from 0
};

struct trial {
  trial(sim::parameters p, const std::vector<victim>& victims) : w(std::move(p)), members(w.size()) {
    result<job::admission> in = status(errc::invalid, "not asked yet");
    const status met = w.exchange(
        [&](rank_t r) -> result<std::vector<std::byte>> {
          members[r].net = std::make_unique<mortal_transport>(need(w.open(r)));
          members[r].net->tears = w.params().refuse == 0 && w.params().queue_depth > 100;
          std::vector<std::byte> blob;
          members[r].home = need(job::offer(w.boot(r), *members[r].net, {}, blob));
          return blob;
        },
        [&](rank_t r, const shared_blobs& all) -> status {
          if (r == 0) in = job::digest(*all, layout_of_world());
          return in ? members[r].home->accept(*in) : in.error();
        });
    need(met.ok(), met.text());
    for (const victim& v : victims) members[v.rank].net->last = v.after;
  }
  ~trial() {
    for (member& m : members) m.under_way = {};
  }

  std::shared_ptr<const layout> layout_of_world() {
    blob_table hosts;
    for (rank_t r = 0; r < w.size(); ++r) hosts.push_back(w.boot(r).host());
    return std::make_shared<layout>(make_layout(hosts));
  }

  static std::uint64_t flags_of(rank_t r, std::uint64_t agreement) { return ~(std::uint64_t{1} << (r + 21 * agreement)); }

  void run(rank_t late = no_rank) {
    if (late != no_rank) members[late].begins = w.clock(late) + 200ms;
    const status s = w.drive([&](rank_t r) { return step(r); });
    need(s.ok(), s.text());
  }

  bool step(rank_t r) {
    member& m = members[r];
    m.home->progress();
    if (w.net(r).now() < m.begins) return w.call_again(r, m.begins), false;
    for (;;) {
      if (m.net->dying()) {
        m.died_in = m.ended.size();
        w.kill(r);
        return false;
      }
      if (m.ended.size() == agreements) return !serves_others(r);
      if (!m.under_way) m.under_way = m.home->world().survivors().agreeing(flags_of(r, m.ended.size()));
      if (m.under_way.advance()) {
        if (m.net->dying()) continue;
        m.ended.push_back(m.under_way.result());
        m.under_way = {};
      } else if (w.net(r).now() >= m.look_at) {
        m.look_at = w.net(r).now() + 50ms;
        if (status s = m.under_way.waits_for()->look(); s.failed()) m.under_way.fail(std::move(s));
      } else {
        w.call_again(r, m.look_at);
        return false;
      }
    }
  }

  // Whoever has returned still makes progress, as clause 3 of tutti.h asks.
  bool serves_others(rank_t r) {
    for (rank_t q = 0; q < w.size(); ++q) {
      if (members[q].ended.size() == agreements || !w.alive(q)) continue;
      w.call_again(r, w.clock(r) + 100us);
      return true;
    }
    return false;
  }

  void check() const {
    for (std::uint64_t a = 0; a < agreements; ++a) {
      const consensus* first = nullptr;
      for (rank_t r = 0; r < w.size(); ++r) {
        const std::string who = "agreement " + std::to_string(a) + ", rank " + std::to_string(r);
        if (members[r].ended.size() <= a) {
          need(!w.alive(r), who + " has no result");
          continue;
        }
        need(members[r].ended[a].ok(), who + ": " + members[r].ended[a].error().text());
        const consensus& c = *members[r].ended[a];
        if (!first) check_value(*(first = &c), a, who);
        need(c.flags == first->flags && c.dead == first->dead, who + " has another result");
      }
    }
  }

  void check_value(const consensus& c, std::uint64_t a, const std::string& who) const {
    for (rank_t r = 0; r < w.size(); ++r) {
      const bool dead = std::ranges::binary_search(c.dead, r), heard = !(c.flags & ~flags_of(r, a));
      need(!dead || !w.alive(r), who + " takes a living rank for dead");
      need(dead || heard, who + " lacks the flags of rank " + std::to_string(r));
      if (members[r].died_in < a) need(dead, who + " takes rank " + std::to_string(r) + " for alive, which died before");
      for (std::uint64_t other = 0; other < agreements; ++other)
        need(other == a || (c.flags & ~flags_of(r, other)), who + " has flags of agreement " + std::to_string(other));
    }
  }

  sim::world w;
  std::vector<member> members;
};

// True: all the victims have died. `text`: what went wrong.
bool everyone_died(const sim::parameters& p, const std::vector<victim>& victims, std::string& text) {
  try {
    trial t(p, victims);
    t.run();
    t.check();
    return std::ranges::all_of(victims, [&](const victim& v) { return !t.w.alive(v.rank); });
  } catch (const std::runtime_error& e) {
    text = e.what();
    return true;
  }
}

bool passes(const sim::parameters& p, const std::vector<victim>& victims) {
  std::string text, who;
  const bool all = everyone_died(p, victims, text);
  for (const victim& v : victims) who += ", rank " + std::to_string(v.rank) + " after " + std::to_string(v.after);
  BOOST_TEST(text.empty(), p.ranks << " ranks, seed " << p.seed << who << ": " << text);
  return all;
}

sim::parameters machine(std::uint32_t ranks, std::uint64_t seed) {
  sim::random r(seed);
  auto p = hostile_machine(ranks, r);
  if (p.refuse == 0 && p.queue_depth > 100) p.queue_depth = 10'000;
  if (seed % 4 == 0) p.jitter = p.noise_us = p.refuse = 0, p.target_must_progress = false;
  return p;
}

}  // namespace

BOOST_AUTO_TEST_CASE(nobody_dies) {
  for (std::uint32_t n = 1; n <= 21; ++n)
    for (std::uint64_t seed = 1; seed <= 5; ++seed) passes(machine(n, seed * 100 + n), {{0, never}});
}

BOOST_AUTO_TEST_CASE(one_dies_at_every_step) {
  for (std::uint32_t n = 2; n <= 8; ++n)
    for (rank_t v = 0; v < n; ++v)
      for (std::uint64_t seed = 0; seed < 4; ++seed)
        for (std::uint64_t k = 0; passes(machine(n, seed), {{v, k}}); ++k) {}
}

BOOST_AUTO_TEST_CASE(two_die_at_every_pair_of_steps) {
  for (std::uint32_t n = 3; n <= 4; ++n)
    for (rank_t a = 0; a < n; ++a)
      for (rank_t b = 0; b < n; ++b)
        for (std::uint64_t i = 0; a != b && passes(machine(n, i), {{a, i}}); ++i)
          for (std::uint64_t k = 0; passes(machine(n, i + k), {{a, i}, {b, k}}) && k < 100; ++k) {}
}

// As where the network fails between living ranks: one comes late, and the leader takes it for dead.
BOOST_AUTO_TEST_CASE(who_is_taken_for_dead_is_told) {
  for (std::uint32_t n = 2; n <= 8; ++n)
    for (rank_t late = 1; late < n; ++late) {
      trial t(machine(n, 4 * n + late), {});
      t.members[0].net->suspect = late;
      t.run(late);
      for (const auto& end : t.members[late].ended)
        BOOST_TEST_REQUIRE((end.error().code() == errc::peer_dead && end.error().peer() == late));
      for (rank_t r = 0; r < n; ++r)
        for (const auto& end : t.members[r].ended)
          if (r != late) BOOST_TEST_REQUIRE((end.ok() && end->dead == std::vector{late}));
    }
}

// A member that lost its connection with a living one, for good: it withdraws with that error if it needs the other, and counts as
// dead.
BOOST_AUTO_TEST_CASE(who_cannot_reach_another_withdraws) {
  for (std::uint32_t n = 2; n <= 6; ++n)
    for (rank_t a = 0; a < n; ++a)
      for (rank_t b = 0; b < n; ++b) {
        if (a == b) continue;
        trial t(machine(n, 4 * n + a + b), {});
        t.members[a].net->cut_off = b;
        t.run();
        const bool needs = a == 0 || b == 0;  // the leader and the others
        for (const auto& end : t.members[a].ended)
          BOOST_TEST_REQUIRE((needs ? end.error().code() == errc::no_resource && end.error().peer() == b : end.ok()));
        for (rank_t r = 0; r < n; ++r)
          for (const auto& end : t.members[r].ended)
            if (r != a) BOOST_TEST_REQUIRE((end.ok() && end->dead == (needs ? std::vector{a} : std::vector<rank_t>{})));
      }
}

BOOST_AUTO_TEST_CASE(any_number_die_at_any_step) {
  for (std::uint64_t seed = 1; seed <= 3000; ++seed) {
    sim::random r(seed);
    const std::uint32_t n = 2 + below(r, 8);
    std::vector<victim> victims;
    for (rank_t v = 0; v < n; ++v)
      if (r.chance(0.5)) victims.push_back({v, below(r, v < 3 ? 20 * n : 30)});
    passes(machine(n, seed), victims);
  }
}

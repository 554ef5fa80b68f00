// Two-sided messages of the verbs provider where the contract's conformance cannot look: connections that break with messages
// under way, more origins than there are buffers, memory that cannot be locked, and packets that nobody may send. Over
// adapters that exist in this process alone (fake/fake.h).
#include <boost/test/unit_test.hpp>
#include <cstring>
#include <random>

#include "core/transport/two_sided.h"
#include "providers/verbs/packets.h"
#include "tests/harness/time_scale.h"
#include "tests/verbs/fake_party.h"

using namespace tutti;
using namespace tutti::test;

namespace {

// Numbered messages among the ranks of a party: each that comes is the one that is due.
class traffic {
 public:
  explicit traffic(party& p) : p_(p), sent_(p.size() * p.size()), taken_(sent_) {}

  bool offer(rank_t from, rank_t to, std::uint32_t bytes = 8) {
    std::uint64_t& n = sent_[from * p_.size() + to];
    std::vector<std::byte> payload(bytes);
    for (std::uint32_t i = 0; i < bytes; ++i) payload[i] = static_cast<std::byte>(n + i);
    const bool taken = p_[from].sendrecv()->send(to, std::as_bytes(std::span{&n, 1}), payload);
    n += taken;
    return taken;
  }
  bool take_one(rank_t at) {
    two_sided::message m;
    if (!p_[at].sendrecv()->receive(m)) return false;
    std::uint64_t n = ~0ull;
    if (m.header.size() == sizeof n) std::memcpy(&n, m.header.data(), sizeof n);
    BOOST_TEST_REQUIRE(n == taken(m.from, at));
    bool same = true;
    for (std::size_t i = 0; i < m.payload.size(); ++i) same = same && m.payload[i] == static_cast<std::byte>(n + i);
    BOOST_TEST_REQUIRE(same);
    ++taken_[m.from * p_.size() + at];
    return true;
  }
  void take_all(rank_t at) {
    while (take_one(at)) {}
  }
  void flood(rank_t to) {  // by all, until each was refused for a while
    for (int quiet = 0; quiet < 20; ++quiet) {
      for (rank_t r = 0; r < p_.size(); ++r)
        while (r != to && offer(r, to)) quiet = 0;
      drive_but(to);
    }
  }
  void drive_but(rank_t idle) {
    for (rank_t r = 0; r < p_.size(); ++r)
      if (r != idle) p_[r].progress();
  }
  std::uint64_t sent(rank_t from, rank_t to) const { return sent_[from * p_.size() + to]; }
  std::uint64_t taken(rank_t from, rank_t to) const { return taken_[from * p_.size() + to]; }

 private:
  party& p_;
  std::vector<std::uint64_t> sent_, taken_;
};

}  // namespace

// Requests fail, before and after they took effect, and with each its connection. It is made anew, and
// every message comes once and in order, whether a library lets go of what a queue pair has received or not.
BOOST_AUTO_TEST_CASE(a_connection_that_breaks_loses_no_message) {
  for (const bool forgets : {false, true}) BOOST_TEST_CONTEXT("forgets: " << forgets) {
    const no_breach none;
    auto plans = roce(2);
    for (auto& plan : plans) plan.forgets = forgets, plan.patient = true;
    fake::install(plans);
    party p(names(2));
    traffic t(p);
    std::mt19937 random(7);
    constexpr std::uint64_t each = 1000 / time_scale;
    BOOST_TEST_REQUIRE(p.until([&] {
      for (const rank_t r : {0u, 1u}) {
        const std::string me = "fake" + std::to_string(r), other = "fake" + std::to_string(1 - r);
        while (t.sent(r, 1 - r) < each && t.offer(r, 1 - r, random() % 20 ? 16 : 3000)) {
          if (random() % 333 == 0) fake::fail_next(me, other, IBV_WC_REM_OP_ERR, 0);
          if (random() % 333 == 0) fake::fail_executed(me, other, IBV_WC_REM_OP_ERR);
        }
        if (random() % 3) t.take_all(r);
      }
      return t.taken(0, 1) == each && t.taken(1, 0) == each;
    }));
    BOOST_TEST(fake::queue_pairs_made("fake0") > 4u / time_scale);  // this test breaks connections
    BOOST_TEST((p[0].health(1).ok() && p[1].health(0).ok()));
    BOOST_TEST((!t.take_one(0) && !t.take_one(1)));
  }
}

// A message comes while its connection is given up for another reason: it was acknowledged, so it is not sent again. The
// library lets go of it with the queue pair, unless it was taken before.
BOOST_AUTO_TEST_CASE(what_has_arrived_is_taken_before_a_queue_pair_goes) {
  const no_breach none;
  auto plans = roce(2);
  plans[0].forgets = plans[0].patient = plans[1].patient = true;
  fake::install(plans);
  party p(names(2));
  traffic t(p);
  for (int i = 0; i < 3; ++i) BOOST_REQUIRE(p.until([&] { return t.take_all(0), t.offer(1, 0); }));
  BOOST_REQUIRE(p.until([&] { return t.take_all(0), t.taken(1, 0) == 3; }));
  fake::hold("fake0", "fake1");
  completion never;
  BOOST_REQUIRE(p.submit(0, put(p.mine(0), p.at(0, 1), 4096, &never)));
  fake::before_error("fake0", [&] { BOOST_TEST(t.offer(1, 0)); });
  p[0].drop(p.region(0));  // waits for the put in vain, and gives the connection up
  BOOST_TEST((never.idle() && never.outcome().failed() && t.sent(1, 0) == 4u));
  fake::release("fake0", "fake1");
  BOOST_TEST(p.until([&] {
    if (t.sent(1, 0) < 50) t.offer(1, 0);
    t.take_all(0);
    return t.taken(1, 0) == 50;
  }));
  BOOST_TEST((p[0].health(1).ok() && p[1].health(0).ok()));
}

// It holds all that may be sent to it, and its program does nothing. Signals with bells go on, for which its connection
// manager posts receives again; then it takes every message.
BOOST_AUTO_TEST_CASE(messages_that_are_not_received_keep_no_signal_from_a_rank) {
  for (const int depth : {64, 1024}) BOOST_TEST_CONTEXT("a queue of " << depth) {
    const no_breach none;
    constexpr std::uint32_t n = 24;
    auto plans = roce(n);
    plans[1].srq_depth = depth;
    fake::install(plans);
    party p(names(n));
    for (rank_t r = 0; r < n; ++r) BOOST_REQUIRE(r == 1 || p.run(r, put(p.mine(r), p.at(r, 1), 8)).ok());
    BOOST_TEST(p.until([&] {
      p[1].sleep(p[1].arm(), p[1].now());
      for (rank_t r = 0; r < n; ++r) p[r].progress();
      return p.run(0, signal(p.at(0, 1), 1)).ok() && fake::executed("fake0", "fake1").back().opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
    }));
    traffic t(p);
    for (int i = 0; i < 20; ++i) p.drive();
    for (rank_t r = 0; r < n; ++r)
      if (r != 1) BOOST_TEST_REQUIRE(t.offer(r, 1));
    for (int i = 0; i < 20; ++i) p.drive();
    t.flood(1);
    for (std::uint64_t i = 1; i <= 300; ++i)
      for (rank_t r = 0; r < n; ++r)
        if (r != 1) BOOST_REQUIRE(p.until([&] { return p.submit(r, signal(p.at(r, 1, 8 * r), i)); }, {r}));
    const auto all_there = [&] {
      for (rank_t r = 0; r < n; ++r)
        if (r != 1 && p.word(1, 8 * r) != 300) return t.drive_but(1), false;
      return true;
    };
    BOOST_TEST(p.until(all_there, {0}));
    BOOST_TEST(p.until([&] {
      t.take_all(1);
      for (rank_t r = 0; r < n; ++r)
        if (r != 1 && t.taken(r, 1) != t.sent(r, 1)) return false;
      return true;
    }));
  }
}

// Where no buffers can be made for them, origins take turns in one line, and nothing more is held.
BOOST_AUTO_TEST_CASE(more_origins_than_buffers_take_turns) {
  const no_breach none;
  constexpr std::uint32_t n = 41;
  constexpr std::uint64_t each = 25;
  auto plans = roce(n);
  plans[0].srq_depth = 64;
  fake::install(plans);
  party p(names(n));
  for (rank_t r = 1; r < n; ++r) BOOST_REQUIRE(p.run(r, put(p.mine(r), p.at(r, 0), 8)).ok());
  const std::uint64_t before = fake::held_by("fake0").registered;
  traffic t(p);
  t.flood(0);
  for (int i = 0; i < 20; ++i) p.drive();
  t.flood(0);
  for (rank_t r = 1; r < n; ++r) BOOST_TEST(t.sent(r, 0) <= 2u);  // one has come, or waits; and perhaps another
  std::uint64_t fewest = 0;
  BOOST_REQUIRE(p.until([&] {
    for (rank_t r = 1; r < n; ++r)
      if (t.sent(r, 0) < each) t.offer(r, 0, 500);
    t.take_all(0);
    std::uint64_t most = 0;
    fewest = each;
    for (rank_t r = 1; r < n; ++r) most = std::max(most, t.taken(r, 0)), fewest = std::min(fewest, t.taken(r, 0));
    BOOST_TEST_REQUIRE(most <= 2 * fewest + 3);  // in one line all the time: whom its rhythm favours has twice as many, at most
    return fewest == each;
  }));
  BOOST_TEST(fake::held_by("fake0").registered == before);
  BOOST_TEST(fake::ran_dry("fake0") == 0u);
}

// A rank in whose line others stand dies: what it was allowed is for them.
BOOST_AUTO_TEST_CASE(the_dead_keep_no_turn) {
  const no_breach none;
  constexpr std::uint32_t n = 30;
  auto plans = roce(n);
  plans[0].srq_depth = 64;
  fake::install(plans);
  party p(names(n));
  traffic t(p);
  for (rank_t r = 1; r < n; ++r) BOOST_REQUIRE(p.until([&] { return t.offer(r, 0); }));
  // Twenty are allowed what they never send, since their adapters are silent from then on; some had a turn, some wait for one.
  for (rank_t r = 1; r <= 20; ++r) fake::silence("fake" + std::to_string(r));
  std::vector<rank_t> living{0};
  for (rank_t r = 21; r < n; ++r) living.push_back(r);
  constexpr std::uint64_t each = 20;
  BOOST_TEST(p.until([&] {
    t.take_all(0);
    bool all = true;
    for (rank_t r = 21; r < n; ++r) {
      if (t.sent(r, 0) < each) t.offer(r, 0);
      all = all && t.taken(r, 0) == each;
    }
    for (rank_t r = 1; r <= 20; ++r) p[0].health(r);
    return all;
  }, living));
}

// A sender that may not lock memory for its messages says so; a target that may not gives turns.
BOOST_AUTO_TEST_CASE(memory_that_cannot_be_locked) {
  const no_breach none;
  auto plans = roce(3);
  plans[0].lockable = plans[1].lockable = (1 << 20) + 36 * 1024 + party::bytes + 1000;
  fake::install(plans);
  party p(names(3));
  traffic t(p);
  for (int i = 0; i < 100; ++i) {
    BOOST_TEST(!t.offer(0, 2));
    p.drive();
  }
  const status s = p[0].health(2);
  BOOST_TEST((s.code() == errc::no_resource), s.text());
  BOOST_TEST_CONTEXT(s.text()) BOOST_TEST((says(s, "registering 262144 bytes") && says(s, "fake0") && s.peer() == 2u));
  BOOST_TEST(p.until([&] {
    if (t.sent(2, 1) < 100) t.offer(2, 1);
    t.take_all(1);
    return t.taken(2, 1) == 100;
  }));
  BOOST_TEST(p.run(0, put(p.mine(0), p.at(0, 2), 4096)).ok());
}

// --- what may not be sent ----------------------------------------------------------------------------------------------------

namespace {

verbs::packet_head message_head(std::uint32_t number) {
  verbs::packet_head h;
  h.kind = verbs::packet_kind::message, h.header = 12, h.payload = 100, h.number = number;
  return h;
}

struct origin {
  verbs::packet_origin o;
  origin() { o.due = 7, o.allowed = 10, o.news.limit = 100; }
  bool kept(verbs::packet_head h) { return hear(h, verbs::length_of(h)); }
  bool hear(verbs::packet_head h, std::uint32_t bytes) {
    if (h.limit == 0) h.limit = 100;
    return o.hear(h, bytes) == verbs::packet_origin::verdict::keep;
  }
};

}  // namespace

BOOST_AUTO_TEST_CASE(every_field_of_a_packet_is_checked) {
  {
    origin sound;
    BOOST_TEST((sound.kept(message_head(7)) && sound.kept(message_head(8)) && sound.kept(message_head(9))));
    BOOST_TEST(!sound.o.has_news);
    BOOST_TEST((!sound.kept(message_head(8)) && !sound.o.news.breach));  // again, and dropped
    verbs::packet_head more = message_head(8);
    more.limit = 103, more.keeps = 1;
    BOOST_TEST((!sound.kept(more) && sound.o.has_news && sound.o.news.limit == 103 && sound.o.news.keeps));
    more.limit = 101;  // was overtaken
    BOOST_TEST((!sound.kept(more) && sound.o.news.limit == 103 && !sound.o.news.breach));
    verbs::packet_head asks;
    asks.kind = verbs::packet_kind::ask, asks.number = 10, asks.limit = 103, asks.keeps = 1;
    BOOST_TEST((!sound.kept(asks) && sound.o.news.asks && sound.o.news.number == 10 && !sound.o.news.breach));
  }
  const auto breaks = [](const char* what, auto&& change, std::uint32_t more_bytes = 0) {
    origin broken;
    verbs::packet_head h = message_head(7);
    change(h);
    BOOST_TEST_CONTEXT(what) {
      BOOST_TEST(!broken.hear(h, verbs::length_of(h) + more_bytes));
      BOOST_TEST((broken.o.has_news && broken.o.news.breach));
    }
  };
  using head = verbs::packet_head;
  breaks("kind", [](head& h) { h.kind = static_cast<verbs::packet_kind>(3); });
  breaks("keeps", [](head& h) { h.keeps = 2; });
  breaks("reserved", [](head& h) { h.reserved = 1; });
  breaks("header", [](head& h) { h.header = verbs::max_packet_header + 1; });
  breaks("payload", [](head& h) { h.payload = verbs::max_packet_payload + 1; });
  breaks("longer than it says", [](head&) {}, 1);
  breaks("shorter than it says", [](head&) {}, ~0u);
  breaks("a later message than is due", [](head& h) { h.number = 8; });
  breaks("words with a payload", [](head& h) { h.kind = verbs::packet_kind::room; });
  breaks("asks for another than is due", [](head& h) { h = {}, h.kind = verbs::packet_kind::ask, h.number = 8; });
  origin full;
  full.o.allowed = 7;
  BOOST_TEST((!full.kept(message_head(7)) && full.o.news.breach && says(full.o.news.breach, "than there is room for")));
}

// Around 2^32 messages.
BOOST_AUTO_TEST_CASE(numbers_wrap_around) {
  origin o;
  o.o.due = ~0u - 1, o.o.allowed = 3;
  for (const std::uint32_t n : {~0u - 1, ~0u, 0u, 1u, 2u}) BOOST_TEST(o.kept(message_head(n)));
  BOOST_TEST((!o.kept(message_head(~0u)) && !o.o.news.breach));
  BOOST_TEST((!o.kept(message_head(3)) && o.o.news.breach));
}

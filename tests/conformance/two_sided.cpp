// The optional two-sided messages: in order from each origin, exactly once, whole, and refused rather than lost where the target
// does not take them. Both ends know what the n-th message from one rank to another looks like, so each is checked whole by its
// number in the order of arrival: one that is lost, repeated or out of order is another one than was due.
#include <poll.h>

#include <array>
#include <optional>

#include "core/transport/two_sided.h"
#include "tests/conformance/clause.h"
#include "tests/conformance/patterns.h"

namespace tutti::test {
namespace {

using namespace std::chrono_literals;

class traffic {
 public:
  explicit traffic(rank_env& e) : e_(e), sent_(e.size), taken_(e.size) {
    if (!e.net().sendrecv()) skip("no two-sided messages");
  }

  bool offer(rank_t to) {
    made m = make(e_.rank, to, sent_[to]);
    const bool taken = net().send(to, m.header, m.payload);
    paint(m.header, 0xEE), paint(m.payload, 0xEE);  // they were copied
    sent_[to] += taken;
    return taken;
  }
  void send(rank_t to, std::uint64_t count) {  // and takes what comes meanwhile
    for (const std::uint64_t end = sent_[to] + count; sent_[to] < end;)
      e_.until_arrival("room for a message", [&] { return take_all(), offer(to); });
  }
  bool take_one() {
    two_sided::message got;
    if (!net().receive(got)) return false;
    verify(got);
    ++taken_[got.from];
    return true;
  }
  void verify(const two_sided::message& got) {  // it is the one that is due
    require(got.from < e_.size, "a message of no rank");
    const made due = make(got.from, e_.rank, taken_[got.from]);
    const std::string name = "message " + std::to_string(taken_[got.from]) + " of rank " + std::to_string(got.from);
    require(same(got.header, due.header), name + ": another header (" + std::to_string(got.header.size()) + " bytes) than is due");
    require(same(got.payload, due.payload), name + ": another payload (" + std::to_string(got.payload.size()) + " bytes) than is due");
    for (const auto part : {got.header, got.payload})
      require(part.empty() || reinterpret_cast<std::uintptr_t>(part.data()) % 8 == 0, name + " is not aligned");
  }
  void take_all() {
    while (take_one()) {}
  }
  void take_until(rank_t from, std::uint64_t count) {
    e_.until_arrival("messages of rank " + std::to_string(from), [&] { return take_all(), taken_[from] >= count; });
  }
  void count(rank_t from) { ++taken_[from]; }
  std::uint64_t fill_up(rank_t to) {  // until it was refused for a while; returns how many it has taken in all
    const auto limits = net().query();
    const std::uint64_t most = (limits.fixed_bytes + e_.size * limits.peer_bytes) / 8;  // at that, someone holds more than it may
    time_point quiet_from = e_.net().now();
    while (e_.net().now() - quiet_from < 20ms) {
      if (offer(to)) quiet_from = e_.net().now();
      else e_.net().progress();
      if (sent_[to] > most) fail("a target that takes nothing never refused: " + std::to_string(sent_[to]) + " messages were taken");
    }
    return sent_[to];
  }
  std::uint64_t sent(rank_t to) const { return sent_[to]; }
  std::uint64_t taken(rank_t from) const { return taken_[from]; }
  void only_short() { short_ = true; }
  two_sided& net() { return *e_.net().sendrecv(); }

 private:
  struct made {
    std::vector<std::byte> header, payload;
  };
  static bool same(std::span<const std::byte> a, std::span<const std::byte> b) { return std::ranges::equal(a, b); }
  static std::uint32_t length(std::uint64_t n, std::uint32_t most) {
    const std::uint32_t lengths[] = {8, most, 1, 0, 7, most - 1, 9, most / 2, 16, 63 < most ? 63 : most};
    return lengths[n % std::size(lengths)];
  }
  made make(rank_t from, rank_t to, std::uint64_t n) {
    const auto limits = net().query();
    made m{std::vector<std::byte>(length(n, limits.max_header)), std::vector<std::byte>(length(n / 3, short_ ? 16 : limits.max_payload))};
    const std::uint64_t content = (n * 64 + from) * 64 + to;
    fill(m.header, content), fill(m.payload, ~content);
    return m;
  }

  rank_env& e_;
  std::vector<std::uint64_t> sent_, taken_;  // by rank
  bool short_ = false;
};

// Everyone to everyone, itself included, in an order of its own.
void in_order_and_exactly_once(rank_env& e) {
  traffic t(e);
  const std::uint64_t each = 120;
  const auto all_sent = [&] {
    for (rank_t r = 0; r < e.size; ++r)
      if (t.sent(r) < each) return false;
    return true;
  };
  while (!all_sent()) {
    const auto to = static_cast<rank_t>(e.random() % e.size);
    if (t.sent(to) < each) t.send(to, 1);
  }
  for (rank_t r = 0; r < e.size; ++r) t.take_until(r, each);
  e.barrier();
  require(!t.take_one(), "more messages than were sent");
}

void every_length(rank_env& e) {
  const traffic check(e);
  two_sided& net = *e.net().sendrecv();
  const auto limits = net.query();
  require(limits.max_header >= 64 && limits.max_payload >= 1024, "it takes messages of some size");
  const std::uint32_t headers[] = {0, 1, 7, 8, 9, limits.max_header - 1, limits.max_header};
  const std::uint32_t payloads[] = {0, 1, 7, 8, 9, 255, 256, 257, limits.max_payload - 1, limits.max_payload};
  std::uint64_t n = 0;
  for (const std::uint32_t h : headers)
    for (const std::uint32_t p : payloads) {
      ++n;
      std::vector<std::byte> header(h), payload(p);
      fill(header, n * e.size + e.rank), fill(payload, n);
      e.until("room", [&] { return net.send(right_of(e), header, payload); });
      two_sided::message got;
      e.until_arrival("a message of each length", [&] { return net.receive(got); });
      require_equal(got.from, left_of(e), "its origin");
      require_equal(got.header.size(), h, "length of the header");
      require_equal(got.payload.size(), p, "length of the payload");
      test::check(got.header, n * e.size + got.from, "header");
      test::check(got.payload, n, "payload");
    }
}

void to_itself(rank_env& e) {
  traffic t(e);
  for (int round = 0; round < 3; ++round) {
    const std::uint64_t before = t.sent(e.rank);
    while (t.offer(e.rank))
      if (t.sent(e.rank) - before > 100'000) fail("a rank that takes nothing is never refused by itself");
    t.take_until(e.rank, t.sent(e.rank));
    if (t.sent(e.rank) == before) e.until("room for a message to itself", [&] { return t.offer(e.rank); });
  }
  t.take_until(e.rank, t.sent(e.rank));
}

// Rank 0 takes all that was taken of the others, and a few more: there is room again.
void rank_0_takes_the_rest(rank_env& e, traffic& t) {
  constexpr std::uint64_t more = 20;
  const std::uint64_t count = t.sent(0);
  const auto counts = e.exchange(std::as_bytes(std::span{&count, 1}));
  if (e.rank != 0) t.send(0, more);
  for (rank_t r = 1; e.rank == 0 && r < e.size; ++r) {
    std::uint64_t wanted;
    std::memcpy(&wanted, (*counts)[r].data(), sizeof wanted);
    t.take_until(r, wanted + more);
  }
  e.barrier();
  require(!t.take_one(), "more messages than were sent");
}

// All send to rank 0 until they are refused for a while. It makes progress and takes nothing; then it takes all.
template <bool runs>
void refuses_and_loses_nothing(rank_env& e) {
  traffic t(e);
  t.only_short();
  if (e.rank == 0) {
    runs ? e.barrier() : e.barrier_without_progress();
  } else {
    t.fill_up(0);
    e.barrier();
  }
  rank_0_takes_the_rest(e, t);
}

// Rank 0 holds one while the others send until they are refused, and it makes progress: its bytes stay what they are.
void a_message_stays_while_it_is_held(rank_env& e) {
  traffic t(e);
  t.only_short();
  if (e.rank == 0) {
    two_sided::message held;
    e.until_arrival("a message", [&] { return t.net().receive(held); });
    t.verify(held);
    e.barrier();
    t.verify(held);
    t.count(held.from);
  } else {
    t.fill_up(0);
    e.barrier();
  }
  rank_0_takes_the_rest(e, t);
}

// Rank 0 has no room for messages left, and takes none: what is done upon its memory goes on, and so does what it sends.
void a_full_target_is_reached_otherwise(rank_env& e) {
  traffic t(e);
  t.only_short();
  const area a = e.allocate(4096);
  const std::uint64_t rounds = 200 / time_scale;
  if (e.rank != 0) t.fill_up(0);
  e.barrier();
  if (e.rank == 0) {
    for (std::uint64_t n = 1; n <= rounds; ++n)
      for (rank_t r = 1; r < e.size; ++r) e.wait_word(a.word(64 * r), n);
    for (rank_t r = 1; r < e.size; ++r) e.until("a message to be taken", [&] { return t.offer(r); });
  } else {
    for (std::uint64_t n = 1; n <= rounds; ++n) {
      completion done;
      e.submit(put_signal(a.mine(), a.at(0, 2048 + 64 * e.rank), 64, a.segment, 64 * e.rank, n, &done));
      e.wait(done);
    }
    t.take_until(0, 1);
  }
  rank_0_takes_the_rest(e, t);
}

// All flood rank 0, which floods all of them, and takes what comes only as it goes.
void a_flood_of_one_that_floods(rank_env& e) {
  traffic t(e);
  const std::uint64_t each = 400 / time_scale;
  if (e.rank == 0) {
    for (std::uint64_t i = 0; i < each; ++i)
      for (rank_t r = 1; r < e.size; ++r) t.send(r, 1);
    for (rank_t r = 1; r < e.size; ++r) t.take_until(r, each);
  } else {
    t.send(0, each);
    t.take_until(0, each);
  }
  e.barrier();
}

// One sender is not passed over while others flood: it gets an answer to each of its messages.
void none_is_passed_over(rank_env& e) {
  traffic t(e);
  constexpr std::uint64_t answers = 40;
  if (e.rank == 0) {
    for (std::uint64_t n = 1; n <= answers; ++n) {
      t.take_until(1, n);
      t.send(1, 1);
    }
    for (rank_t r = 2; r < e.size; ++r) t.send(r, 1);
  } else if (e.rank == 1) {
    for (std::uint64_t n = 1; n <= answers; ++n) {
      t.send(0, 1);
      t.take_until(0, n);
    }
  } else {
    e.until("the end of the flood", [&] {
      for (int i = 0; i < 8; ++i)
        if (!t.offer(0)) break;
      return t.take_all(), t.taken(0) >= 1;
    });
  }
  rank_0_takes_the_rest(e, t);
}

// Random programs: who sends how many to whom in a round is drawn from the seed; each rank sends, takes, waits and signals as it
// comes, and may be rounds behind others. What is due is known by number, so that whatever comes otherwise is found out.
void random_programs(rank_env& e) {
  traffic t(e);
  const area a = e.allocate(64);
  std::mt19937_64 plan(e.seed);
  std::vector<std::uint64_t> due(e.size);
  for (std::uint64_t round = 1; round <= 6; ++round) {
    std::vector<std::uint64_t> left(e.size);
    std::uint64_t to_send = 0;
    for (rank_t from = 0; from < e.size; ++from)
      for (rank_t to = 0; to < e.size; ++to) {
        const std::uint64_t count = plan() % 3 ? plan() % 70 : 0;
        if (from == e.rank) left[to] = count, to_send += count;
        if (to == e.rank) due[from] += count;
      }
    bool signalled = false;
    while (to_send || !signalled) {
      const auto to = static_cast<rank_t>(e.random() % e.size);
      const std::uint64_t some = 1 + e.random() % 12;
      switch (e.random() % 8) {
        case 0: case 1: case 2: case 3:
          for (std::uint64_t i = 0; i < some && left[to] && t.offer(to); ++i) --left[to], --to_send;
          break;
        case 4: case 5:
          for (std::uint64_t i = 0; i < some && t.take_one(); ++i) {}
          break;
        case 6:
          if (e.random() % 8 == 0) e.pause(std::chrono::microseconds{e.random() % 200});
          break;
        default:
          if (!std::exchange(signalled, true)) e.submit(signal(a.at(right_of(e)), round));
      }
      e.net().progress();
    }
    for (rank_t r = 0; r < e.size; ++r)
      if (e.random() % 2) t.take_until(r, due[r]);
    e.until_arrival("a signal", [&] { return t.take_all(), reached(load(a.word()), round); });
  }
  for (rank_t r = 0; r < e.size; ++r) t.take_until(r, due[r]);
  e.barrier();
  require(!t.take_one(), "more messages than were sent");
}

// A word goes round; whoever waits for it sleeps with no limit, in sleep() or upon the descriptor.
template <bool by_descriptor>
void a_message_ends_a_sleep(rank_env& e) {
  traffic t(e);
  if (!e.net().caps().can_sleep) skip("it cannot sleep");
  if (by_descriptor && e.net().wait_fd() < 0) skip("no descriptor to wait on");
  const waiting_for w(e.place(), e.rank, "a message, asleep");
  const auto await = [&](std::uint64_t n) {
    const rank_t from = left_of(e);
    while (t.take_all(), t.taken(from) < n) {
      std::optional<armed> open;
      if (!by_descriptor) open.emplace(e.net().arm());
      if (by_descriptor ? !e.net().arm_fd() : !*open) {
        e.net().progress();
        continue;
      }
      t.take_all();
      if (t.taken(from) >= n) return e.net().disarm();
      pollfd p{e.net().wait_fd(), POLLIN, 0};
      if (by_descriptor) ::poll(&p, 1, -1);
      else e.net().sleep(std::move(*open), e.net().now() + 1h);
      e.net().progress();
    }
  };
  const std::uint64_t rounds = 300 / time_scale;
  for (std::uint64_t n = 1; n <= rounds; ++n) {
    if (e.rank != 0) await(n);
    if (e.random() % 4 == 0) e.pause(std::chrono::microseconds{e.random() % 200});
    t.send(right_of(e), 1);
    if (e.rank == 0) await(n);
  }
  e.barrier();
}

// Who is refused and sleeps goes on when there is room.
void room_ends_a_sleep(rank_env& e) {
  traffic t(e);
  const std::uint64_t count = 600 / time_scale;
  if (e.rank == 0) {
    e.until("everything, taken slowly", [&] {
      while (t.taken(1) < count && t.take_one())
        if (e.random() % 32 == 0) e.pause(200us);
      return t.taken(1) >= count;
    });
  } else {
    t.send(0, count);
  }
  e.barrier();
}

constexpr rank_t victim = 2;

// It dies while all send to all. What it had sent comes in order as far as it goes; it is told; the others go on.
void a_death_in_the_middle(rank_env& e) {
  traffic t(e);
  const auto round = [&](bool with_victim) {
    for (rank_t r = 0; r < e.size; ++r)
      if (r != victim) t.send(r, 1);
      else if (with_victim) t.offer(r);
    t.take_all();
  };
  for (int i = 0; i < 30; ++i) round(true);
  if (e.rank == victim) {
    for (int i = 0; i < 50; ++i) t.offer(static_cast<rank_t>(i % 2)), e.net().progress();
    e.die();
  }
  for (int i = 0; i < 30; ++i) round(true);
  while (!e.place().is_gone(victim)) t.offer(victim), t.take_all(), e.net().progress();
  const time_point began = e.net().now();
  e.until("health() to tell the death", [&] { return t.take_all(), e.net().health(victim).failed(); });
  require(e.net().now() - began < 1s * time_scale, "a death was noticed late");
  require_equal(e.net().health(victim).peer(), victim, "health() names it");
  for (int i = 0; i < 300; ++i) e.until("a message for a dead rank to be taken", [&] { return t.take_all(), t.offer(victim); });
  for (int i = 0; i < 100; ++i) round(false);
  for (rank_t r = 0; r < e.size; ++r)
    if (r != victim) t.take_until(r, 160);
  e.barrier();
}

// A rank that only offers, and makes progress while it is refused, is not refused for ever by a dead one.
void a_dead_target_is_not_full_for_ever(rank_env& e) {
  traffic t(e);
  t.only_short();
  for (rank_t r = 0; r < e.size; ++r) t.send(r, 1);
  for (rank_t r = 0; r < e.size; ++r) t.take_until(r, 1);
  e.barrier();
  if (e.rank == victim) e.die();
  const waiting_for w(e.place(), e.rank, "room towards a dead rank");
  const auto most = t.net().query();
  time_point gone_at{};
  for (std::uint64_t extra = 0; extra < (most.fixed_bytes + e.size * most.peer_bytes) / 8; ++extra)
    while (!t.offer(victim)) {
      e.net().progress();
      if (e.place().is_gone(victim) && gone_at == time_point{}) gone_at = e.net().now();
      if (gone_at != time_point{} && e.net().now() - gone_at > 2s * time_scale) fail("a dead rank refuses for ever");
    }
}

// Ranks leave with messages on their way to them and from them, and one in their hands.
void teardown_with_messages_under_way(rank_env& e) {
  traffic t(e);
  e.barrier();  // all are connected
  for (int i = 0; i < 50; ++i)
    for (rank_t r = 0; r < e.size; ++r)
      if (!t.offer(r)) e.net().progress();
  t.take_one();
  if (e.rank == 0) {
    e.close();
    return;
  }
  e.until("its leave", [&] {
    t.take_one();
    return e.net().health(0).failed();
  });
  require(e.net().health(0).native() == peer_left, "a leave is no death: " + std::string{e.net().health(0).text()});
  for (int i = 0; i < 300; ++i) e.until("a message for a rank that has left to be taken", [&] { return t.offer(0); });
  e.close();
}

constexpr std::array cases{
    conformance_case{"in_order_and_exactly_once", 4, in_order_and_exactly_once},
    conformance_case{"every_length", 2, every_length},
    conformance_case{"to_itself", 1, to_itself},
    conformance_case{"a_full_target_refuses_and_loses_nothing", 4, refuses_and_loses_nothing<true>},
    conformance_case{"a_target_that_does_not_run", 3, refuses_and_loses_nothing<false>},
    conformance_case{"a_message_stays_while_it_is_held", 3, a_message_stays_while_it_is_held},
    conformance_case{"a_full_target_is_reached_otherwise", 4, a_full_target_is_reached_otherwise},
    conformance_case{"a_flood_of_one_that_floods", 5, a_flood_of_one_that_floods},
    conformance_case{"none_is_passed_over", 4, none_is_passed_over},
    conformance_case{"random_programs", 4, random_programs},
    conformance_case{"a_message_ends_a_sleep", 3, a_message_ends_a_sleep<false>},
    conformance_case{"a_message_makes_the_descriptor_readable", 3, a_message_ends_a_sleep<true>},
    conformance_case{"room_ends_a_sleep", 2, room_ends_a_sleep},
    conformance_case{"a_death_in_the_middle", 4, a_death_in_the_middle, victim},
    conformance_case{"a_dead_target_is_not_full_for_ever", 4, a_dead_target_is_not_full_for_ever, victim},
    conformance_case{"teardown_with_messages_under_way", 3, teardown_with_messages_under_way},
};

}  // namespace

clause two_sided_clause() { return {"two_sided", cases}; }

}  // namespace tutti::test

// Tagged messages against "messages" of api/tutti.h, on every fabric: what random programs do not reach.
#include "core/job/registration_cache.h"
#include "tests/messaging/messages_env.h"

namespace {

using namespace tutti;
using namespace tutti::test;
using messaging::envelope;
using messaging::operation;

void on_every_fabric(std::uint32_t ranks, const std::function<void(messenger&)>& body) {
  for (const fabric_spec& fabric : every_fabric())
    run_ranks(fabric, ranks, [&](rank_env& env) {
      messenger me(env);
      body(me);
      me.meet();
    });
}

// Each end at once, so that neither is complete before the other receives.
void every_length(messenger& me) {
  const rank_t peer = 1 - me.env.rank;
  const std::uint64_t one = me.m->end().limits().max_payload;
  for (const std::uint64_t bytes : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{40}, one - 1, one, one + 1, 3 * one, std::uint64_t{65536},
                                    std::uint64_t{65537}, std::uint64_t{1000003}}) {
    const auto data = payload_of(bytes + me.env.rank, bytes);
    std::vector<std::byte> in(bytes);
    envelope found;
    require(me.tagged().exchange({&me.world(), peer, bytes, data.data(), bytes}, {&me.world(), peer, bytes, messenger::whole, in.data(), bytes, &found}),
            "exchange");
    require_equal(found.bytes, bytes, "its length");
    require_payload(in, bytes + peer, "its payload");
  }
}

// Long messages from the same memory and into the same: where they go by registrations that are kept, each is made once.
void memory_is_registered_once(messenger& me) {
  constexpr std::uint64_t bytes = 200'003, rounds = 4;
  const rank_t peer = 1 - me.env.rank;
  std::vector<std::byte> in(bytes);
  const auto out = payload_of(me.env.rank, bytes);
  const registration_cache& kept = me.j->registrations();
  const auto before = kept.counted();
  for (std::uint64_t i = 0; i < rounds; ++i) {
    require(me.tagged().exchange({&me.world(), peer, 1, out.data(), bytes}, {&me.world(), peer, 1, messenger::whole, in.data(), bytes, nullptr}), "exchange");
    require_payload(in, peer, "its payload");
  }
  const std::uint64_t made = kept.counted().misses - before.misses, found = kept.counted().hits - before.hits;
  if (!kept.keeps() || made + found == 0) return;  // none is kept, or the data were copied
  require(made <= 2, "one registration of each memory");
  require(made + found >= rounds, "which serves all messages");
}

// The last tag is received first: far more messages than are kept here, from sends that are all under way.
void tags_in_reverse(messenger& me) {
  constexpr std::uint64_t count = 2500, bytes = 300;
  if (me.env.rank == 0) {
    std::vector<completion> done(count);
    std::vector<std::vector<std::byte>> data;
    for (std::uint64_t i = 0; i < count; ++i) {
      data.push_back(payload_of(i, bytes));
      me.start_send(1, i, data[i], done[i]);
    }
    for (completion& d : done) require(me.wait(d), "a send");
  } else {
    std::vector<std::byte> in(bytes);
    for (std::uint64_t i = count; i-- > 0;) {
      require_equal(me.receive(0, i, messenger::whole, in).bytes, bytes, "its length");
      require_payload(in, i, "in reverse");
    }
  }
}

// A flood that nobody receives is held at the bound, and is there in order afterwards: in the room of all senders (messages_env.h), and in
// this sender's own 256 KiB.
void a_flood_is_bounded(messenger& me) {
  constexpr std::uint64_t count = 6000, bytes = 200;
  if (me.env.rank == 0) {
    for (std::uint64_t i = 0; i < count; ++i) me.send(1, 5, payload_of(i, bytes));
  } else {
    for (int i = 0; i < 300; ++i) me.j->progress(), me.env.pause(std::chrono::microseconds(10));
    const std::uint64_t held = me.m->end().buffers().bytes();
    if (held > 2'500'000 + unexpected_bytes) fail("a flood of 1,200 kB, of which 1 MiB and 256 KiB are kept, takes " + std::to_string(held) + " bytes");
    require(held > unexpected_bytes / 2, "a flood uses the room");
    std::vector<std::byte> in(bytes);
    for (std::uint64_t i = 0; i < count; ++i) {
      (void)me.receive(messenger::any, 5, messenger::whole, in);
      require_payload(in, i, "in order");
    }
  }
}

// Of more short messages than those two hold, data come with the envelopes: no receive waits for a turn of the sender.
void short_data_come_with_their_envelopes(messenger& me) {
  constexpr std::uint64_t count = 4400, bytes = 8;
  static_assert(count > unexpected_bytes / messaging::credits::memory_of(bytes) + messaging::credits::for_data / 2);
  if (me.env.rank == 0) {
    for (std::uint64_t i = 0; i <= count; ++i) {
      if (i == count / 2)  // copies of them all would be more than the sender keeps
        me.until("credit of the room", [&] { return me.m->end().find(1)->tagged.credit >= messaging::credits::due; });
      me.send(1, i == count ? 6 : 5, payload_of(i, bytes));
    }
    me.meet();
    me.env.barrier_without_progress();
  } else {
    messaging::kept* k = nullptr;
    require(me.tagged().probe({&me.world(), 0, 6, messenger::whole, nullptr, 0, nullptr}, k), "the last one");
    me.meet();
    std::vector<std::byte> in(bytes);
    for (std::uint64_t i = 0; i < count; ++i) {
      completion done;
      (void)me.start_receive(0, 5, messenger::whole, in, done);
      require(done.idle() && done.outcome().ok(), "the data are here");
      require_payload(in, i, "in order");
    }
    me.env.barrier_without_progress();
    (void)me.receive(0, 6, messenger::whole, in);
  }
}

void any_source(messenger& me) {
  constexpr std::uint64_t each = 40;
  if (me.env.rank == 0) {
    std::vector<std::uint64_t> next(me.env.size, 0);
    for (std::uint64_t n = 0; n < each * (me.env.size - 1); ++n) {
      std::vector<std::byte> in(2000);
      const envelope got = me.receive(messenger::any, 7, n % 2 ? messenger::whole : 7, in);
      require(got.source > 0 && got.source < me.env.size, "its source");
      require_payload(std::span(in).first(got.bytes), got.source * each + next[got.source], "each source in order");
      ++next[got.source];
    }
  } else {
    for (std::uint64_t n = 0; n < each; ++n) me.send(0, 7, payload_of(me.env.rank * each + n, 8 + n * 30));
  }
}

void probes_and_cancel(messenger& me) {
  const std::vector<std::byte> data = payload_of(3, 500), other = payload_of(4, 70'000);
  std::vector<std::byte> in(70'000);
  if (me.env.rank == 0) {
    completion never;
    operation* const o = me.start_receive(1, 99, messenger::whole, in, never);
    require(o && me.tagged().cancel(*o) && never.idle(), "cancelled");
    me.send(1, 10, data);
    completion sent;
    me.start_send(1, 11, other, sent);
    me.send(1, 12, data);
    require(me.wait(sent), "the long one");
  } else {
    messaging::kept* k = nullptr;
    require(me.tagged().probe({&me.world(), messenger::any, 11, messenger::whole, nullptr, 0, nullptr}, k), "probe");
    require_equal(me.tagged().envelope_of(*k, me.world()).bytes, 70'000, "its length");
    const std::uint64_t ticket = me.tagged().take_out(*k, me.world());
    require(me.tagged().find({&me.world(), 0, 11, messenger::whole, nullptr, 0, nullptr}) == nullptr, "it is out of the matching");
    require_equal(me.receive(0, 12, messenger::whole, in).bytes, 500, "one that came later");
    envelope found;
    require(me.tagged().receive_matched(*me.tagged().with_ticket(ticket), {.data = in.data(), .room = in.size(), .found = &found}), "the one taken out");
    require_equal(found.bytes, 70'000, "its length");
    require_payload(in, 4, "its payload");
    require_equal(me.receive(0, 0, 0, in).tag, 10, "the oldest");
  }
}

void synchronous(messenger& me) {
  std::vector<std::byte> in(100);
  if (me.env.rank == 0) {
    const auto data = payload_of(1, 100);
    completion done;
    me.start_send(1, 1, data, done, true);
    for (int i = 0; i < 50; ++i) me.j->progress();
    require(!done.idle(), "nobody has received it");
    me.meet();
    require(me.wait(done), "matched");
  } else {
    me.meet();
    (void)me.receive(0, 1, messenger::whole, in);
    require_payload(in, 1, "its payload");
  }
}

void to_itself(messenger& me) {
  for (const std::uint64_t bytes : {std::uint64_t{8}, std::uint64_t{10'000}, std::uint64_t{300'000}}) {
    const auto data = payload_of(bytes, bytes);
    std::vector<std::byte> in(bytes);
    completion received, sent;
    me.start_receive(me.env.rank, 1, messenger::whole, in, received);
    me.start_send(me.env.rank, 1, data, sent, true);
    require(me.wait(sent), "sent");
    require(me.wait(received), "received");
    require_payload(in, bytes, "its payload");
  }
}

// Messages of a team may come before it was made here, and those left of one that is freed are dropped.
void teams_are_apart(messenger& me) {
  const auto plan = [](void*, const rank_map&) { return team_request{}; };
  const rank_t peer = 1 - me.env.rank;
  std::vector<std::byte> in(8);
  for (int round = 0; round < 3; ++round) {
    auto made = take(me.world().create(std::vector<std::uint32_t>{1, 0}, plan, nullptr), "create");
    require(made->id() != 0, "its number");
    const std::uint32_t to = made->members().index_of(peer);
    const auto data = payload_of(round, 8), left = payload_of(77, 8);
    require(me.tagged().send({made.get(), to, 1, data.data(), 8}), "over the team");
    require(me.tagged().send({made.get(), to, 2, left.data(), 8}), "one that is left");
    me.send(peer, 1, left);
    (void)me.receive(peer, 1, messenger::whole, in);
    require_payload(in, 77, "that of the world");
    envelope found;
    require(me.tagged().receive({made.get(), messenger::any, 1, messenger::whole, in.data(), 8, &found}), "of the team");
    require_payload(in, round, "that of the team");
    require_equal(found.source, to, "its source in the team");
    require(made->settle(), "settle");
    me.m->forget(*made);
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(between_two) {
  on_every_fabric(2, [](messenger& me) {
    short_data_come_with_their_envelopes(me);  // first: an odd unit of credit would be for an announcement
    every_length(me);
    memory_is_registered_once(me);
    tags_in_reverse(me);
    a_flood_is_bounded(me);
    probes_and_cancel(me);
    synchronous(me);
    to_itself(me);
    teams_are_apart(me);
  });
}

BOOST_AUTO_TEST_CASE(among_four) {
  on_every_fabric(4, [](messenger& me) { any_source(me); });
}

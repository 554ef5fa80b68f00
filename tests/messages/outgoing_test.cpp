// What goes out, over a link that takes, keeps or refuses as it is told: queues, operations by key, and who is to be seen to.
#include <boost/test/unit_test.hpp>
#include <cstring>

#include "providers/messages/messenger.h"

using namespace tutti;
using namespace tutti::messages;

namespace {

// Its library does at once what it is told to, and its fabric needs nobody at the target.
struct told_link final : link, one_sided {
  link_traits told;
  sending answer = sending::taken;
  reaching how = reaching::done;
  bool ordered = false;
  std::uint64_t doze = 0;           // of the peer
  std::vector<message> sent;
  const std::byte* payload_at = nullptr;  // of the last
  std::vector<std::string> log;     // what was done by key

  const link_traits& traits() const noexcept override { return told; }
  status start(messenger&) override { return {}; }
  result<std::vector<std::byte>> address() override { return std::vector<std::byte>{}; }
  status open(peer&, std::span<const std::byte>) noexcept override { return {}; }
  void close(peer&) noexcept override {}
  sending send(peer&, const message& m, const std::byte* payload, std::uint32_t, bool may_keep) noexcept override {
    if (answer == sending::kept && !may_keep) return sending::full;
    if (answer != sending::full) sent.push_back(m), payload_at = payload;
    return answer;
  }
  unsigned progress() noexcept override { return 0; }
  int fd() const noexcept override { return -1; }
  bool arm() noexcept override { return true; }
  void push_out(own_time) noexcept override {}

  result<void*> register_region(std::span<std::byte>, std::vector<std::byte>&) override { return nullptr; }
  void deregister_region(void*) noexcept override {}
  void* unlock(peer&, std::span<const std::byte>) noexcept override { return nullptr; }
  void forget(void*) noexcept override {}
  reaching put(frame&, void*, std::uint64_t offset, const std::byte*, std::uint32_t bytes, status&) noexcept override {
    log.push_back("put " + std::to_string(bytes) + " at " + std::to_string(offset));
    return how;
  }
  reaching get(frame&, void*, std::uint64_t, std::byte* to, std::uint32_t, status&) noexcept override {
    std::memcpy(to, &doze, sizeof doze);
    log.push_back("glance");
    return reaching::done;
  }
  void fence(peer&) noexcept override { log.push_back("fence"); }
  bool in_order(std::uint32_t) const noexcept override { return ordered; }
  reaching flush(frame&, void*) noexcept override { return log.push_back("flush"), how; }
};

struct outgoing {
  told_link line;
  link_traits traits;
  region_table regions;
  frame_pool frames;
  worklist due{traits};
  responder answers{regions};
  remote_access keys{frames, due};
  sender out{traits, frames, keys, answers, due};
  peer p;
  std::vector<std::byte> payload = std::vector<std::byte>(250);

  outgoing() {
    traits.name = "the told link", traits.piece_bytes = 100;
    frames.open();
    out.open(line, 3);
    keys.open(&line, traits.piece_bytes);
    due.reserve(1);
    p.rank = 1, p.line = &line, p.asked = true;
  }
  frame& put(std::uint64_t bytes, bool signals) {
    frame& f = *frames.take(p, message_kind::put);
    f.source = payload.data(), f.left = bytes, f.signals = signals;
    return f;
  }
  frame& word(std::uint64_t offset) {
    frame& f = *frames.take(p, message_kind::put);
    f.what = frame_kind::word, f.op.signal_offset = offset, f.needs = p.writes;
    return f;
  }
  void write(frame& f, std::uint32_t bytes) { keys.put(f, nullptr, 0, payload.data(), bytes); }
};

}  // namespace

BOOST_AUTO_TEST_CASE(a_signal_goes_with_the_last_piece) {
  outgoing o;
  o.out.queue(o.put(250, true));
  BOOST_TEST_REQUIRE(o.line.sent.size() == 3u);
  for (std::uint32_t i = 0; i < 3; ++i) {
    const message& m = o.line.sent[i];
    BOOST_TEST((m.sequence == i + 1));
    BOOST_TEST(m.origin == 3u);
    BOOST_TEST(m.offset == 100 * i);
    BOOST_TEST(m.bytes == (i < 2 ? 100u : 50u));
    BOOST_TEST(bool(m.flags & with_signal) == (i == 2));
  }
  BOOST_TEST(o.frames.busy() == 0u);
}

BOOST_AUTO_TEST_CASE(what_is_refused_is_offered_again_in_its_order) {
  outgoing o;
  o.line.answer = sending::full;
  o.out.queue(o.put(150, false));
  o.out.queue(o.put(10, true));
  BOOST_TEST(o.line.sent.empty());
  BOOST_TEST(o.due.any_stalled());
  o.out.pump_stalled();
  BOOST_TEST(o.due.any_stalled());
  o.line.answer = sending::taken;
  o.out.pump_stalled();
  BOOST_TEST(!o.due.any_stalled());
  BOOST_TEST_REQUIRE(o.line.sent.size() == 3u);
  BOOST_TEST(o.line.sent[1].offset == 100u);
  BOOST_TEST(o.line.sent[2].flags == with_signal);
  BOOST_TEST((o.line.sent[2].sequence == 3));  // a refusal took no number
}

// A region may be dropped while a link reads what it keeps.
BOOST_AUTO_TEST_CASE(a_link_keeps_an_answer_as_a_copy_alone) {
  for (const auto taken : {sending::taken, sending::kept}) {
    outgoing o;
    std::vector<std::byte> memory(200, std::byte{7});
    const auto id = o.regions.add(memory);
    BOOST_TEST_REQUIRE(id.ok());
    BOOST_TEST_REQUIRE(o.p.answers.reserve(true, o.traits.piece_bytes));
    message asks;
    asks.kind = message_kind::get, asks.region = static_cast<std::uint32_t>(*id), asks.offset = 50, asks.bytes = 100;
    frame& f = *o.p.answers.take(o.p, asks.kind);
    o.answers.answer(f, asks, true);
    o.line.answer = taken;
    o.out.queue(f);
    BOOST_TEST_REQUIRE(o.line.sent.size() == 1u);
    BOOST_TEST((o.line.payload_at == memory.data() + 50) == (taken == sending::taken));
    o.regions.drop(*id, false);
    std::ranges::fill(memory, std::byte{0});
    if (taken == sending::kept) BOOST_TEST((o.line.payload_at[99] == std::byte{7}));
    o.line.answer = sending::taken;
    if (taken == sending::kept) o.out.sent(o.p, {});
    BOOST_TEST(!o.p.queue.front());
  }
}

BOOST_AUTO_TEST_CASE(nothing_is_offered_beside_what_the_link_keeps) {
  outgoing o;
  o.line.answer = sending::kept;
  o.out.queue(o.put(10, false));
  o.out.queue(o.put(10, false));
  BOOST_TEST(o.line.sent.size() == 1u);
  o.out.sent(o.p, {});
  BOOST_TEST(o.line.sent.size() == 2u);
  BOOST_TEST(o.frames.busy() == 1u);
  // The peer ends: what is kept lives until the link lets go, and so does the connection.
  o.p.life.ends(rank_died(1), told_by::connection);
  o.out.queue(o.put(10, false));
  o.out.fail_all(o.p);
  o.due.close(o.p);
  BOOST_TEST(o.frames.busy() == 1u);
  BOOST_TEST(!o.due.next_to_close());
  o.out.sent(o.p, {});
  BOOST_TEST(o.frames.busy() == 0u);
  BOOST_TEST(o.due.next_to_close() == &o.p);
  BOOST_TEST(!o.due.next_to_close());
}

BOOST_AUTO_TEST_CASE(a_word_by_key_waits_for_writes_that_the_link_does_not_order) {
  for (const bool ordered : {false, true}) {
    outgoing o;
    o.line.ordered = ordered, o.line.how = reaching::under_way;
    frame& data = o.put(0, false);
    o.write(data, 200);
    frame& word = o.word(8);
    BOOST_TEST(o.keys.may_set_word(word) == ordered);
    if (ordered) continue;
    ++o.p.held;
    o.out.queue(word);
    BOOST_TEST(o.line.log == std::vector<std::string>{"put 200 at 0"}, boost::test_tools::per_element());
    BOOST_TEST(!o.keys.reached(data, {}));
    o.line.how = reaching::done;
    o.out.pump(o.p);
    const std::vector<std::string> all{"put 200 at 0", "fence", "put 8 at 8", "glance"};
    BOOST_TEST(o.line.log == all, boost::test_tools::per_element());
    BOOST_TEST(o.p.held == 0u);
    BOOST_TEST(o.frames.busy() == 0u);
  }
}

BOOST_AUTO_TEST_CASE(a_sleeper_is_rung_once_for_each_sleep) {
  outgoing o;
  const struct { std::uint64_t doze; std::size_t bells; } turns[] = {{2, 0}, {3, 1}, {3, 1}, {4, 1}, {5, 2}};
  for (const auto& t : turns) {
    o.line.doze = t.doze;
    ++o.p.held;
    o.out.queue(o.word(0));
    BOOST_TEST(o.line.sent.size() == t.bells);
  }
  for (const message& m : o.line.sent) BOOST_TEST((m.kind == message_kind::bell));
}

BOOST_AUTO_TEST_CASE(a_message_that_signals_follows_what_was_written_by_key) {
  outgoing o;
  o.line.how = reaching::under_way;
  frame& data = o.put(0, false);
  o.write(data, 200);
  o.out.queue(o.put(10, true));
  BOOST_TEST(o.line.sent.empty());
  BOOST_TEST(o.line.log.back() == "flush");
  BOOST_TEST(!o.keys.reached(data, {}));
  o.out.pump(o.p);
  BOOST_TEST(o.line.sent.empty());  // put is not yet placed
  BOOST_TEST(!o.keys.reached(o.p.placing, {}));
  o.out.pump(o.p);
  BOOST_TEST(o.line.sent.size() == 1u);
  BOOST_TEST(!o.p.unplaced());
}

BOOST_AUTO_TEST_CASE(a_lost_write_is_told_with_the_end_of_its_peer) {
  outgoing o;
  o.line.how = reaching::under_way;
  completion done;
  frame& data = o.put(0, false);
  data.op.done = &done, done.begin();
  o.write(data, 200);
  BOOST_TEST(!o.keys.reached(data, {errc::fabric, "lost"}));
  BOOST_TEST(!done.idle());
  BOOST_TEST(o.p.life.suspected());
  int suspects = 0;
  o.due.suspect(o.p, {errc::fabric, "again"}, told_by::connection);
  o.due.each_suspect([&](peer&) { return ++suspects, true; });
  BOOST_TEST(suspects == 1);
  o.p.life.ends(rank_died(1), told_by::connection);
  o.out.fail_all(o.p);
  BOOST_TEST((done.outcome().code() == errc::peer_dead));
}

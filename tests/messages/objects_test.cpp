// The objects that a transport by messages is made of, each by itself.
#include <boost/test/unit_test.hpp>
#include <cstring>

#include "providers/messages/frame_pool.h"
#include "providers/messages/responder.h"

using namespace tutti;
using namespace tutti::messages;

namespace {

message numbered(std::uint64_t sequence) {
  message m;
  m.sequence = sequence;
  return m;
}
std::uint64_t number_of(const std::vector<std::byte>& whole) { return whole.empty() ? 0 : head_of<message>(whole)->sequence; }

struct thing {
  thing* next = nullptr;
};

struct one_region {
  region_table regions;
  responder target{regions};
  std::span<std::byte> memory;
  std::uint32_t id;
  one_region() { id = static_cast<std::uint32_t>(*regions.allocate(4096, memory)); }
  std::uint64_t word(std::size_t i) const {
    std::uint64_t value;
    std::memcpy(&value, memory.data() + 8 * i, 8);
    return value;
  }
};

// Its library may go on with what peers had begun.
struct lingering_library final : one_sided {
  int registered = 0;
  result<void*> register_region(std::span<std::byte>, std::vector<std::byte>&) override { return ++registered, static_cast<void*>(this); }
  void deregister_region(void*) noexcept override { --registered; }
  bool lingers() const noexcept override { return true; }
  void* unlock(peer&, std::span<const std::byte>) noexcept override { return nullptr; }
  void forget(void*) noexcept override {}
  reaching put(frame&, void*, std::uint64_t, const std::byte*, std::uint32_t, status&) noexcept override { return reaching::done; }
  reaching get(frame&, void*, std::uint64_t, std::byte*, std::uint32_t, status&) noexcept override { return reaching::done; }
  void fence(peer&) noexcept override {}
  reaching flush(frame&, void*) noexcept override { return reaching::done; }
};

}  // namespace

BOOST_AUTO_TEST_CASE(a_queue_gives_out_in_order_and_lets_go_of_any) {
  thing t[4];
  linked_queue<thing> q;
  for (thing& one : t) q.push(one);
  q.remove(t[3]);
  q.remove(t[1]);
  q.push_front(t[1]);
  BOOST_TEST(q.size() == 3u);
  BOOST_TEST(q.pop() == &t[1]);
  BOOST_TEST(q.pop() == &t[0]);
  q.push(t[3]);
  BOOST_TEST(q.pop() == &t[2]);
  BOOST_TEST(q.pop() == &t[3]);
  BOOST_TEST(q.pop() == nullptr);
  q.push_front(t[0]);
  q.push(t[1]);
  BOOST_TEST(q.pop() == &t[0]);
  BOOST_TEST(q.pop() == &t[1]);
  BOOST_TEST(q.size() == 0u);
}

BOOST_AUTO_TEST_CASE(messages_are_taken_in_the_order_of_their_numbers) {
  using arrival = message_order::arrival;
  message_order order;
  const std::byte payload[3] = {};
  BOOST_TEST((order.admit(numbered(3), payload, true) == arrival::held));
  BOOST_TEST((order.admit(numbered(3), payload, true) == arrival::repeated));
  BOOST_TEST((order.admit(numbered(2), {}, true) == arrival::held));
  BOOST_TEST(order.take_held().empty());
  BOOST_TEST((order.admit(numbered(1), {}, true) == arrival::next));
  BOOST_TEST(number_of(order.take_held()) == 2u);
  const auto third = order.take_held();
  BOOST_TEST(number_of(third) == 3u);
  BOOST_TEST(third.size() == sizeof(message) + sizeof payload);
  BOOST_TEST(order.take_held().empty());
  for (const std::uint64_t old : {0u, 1u, 3u}) BOOST_TEST((order.admit(numbered(old), {}, true) == arrival::repeated));
  BOOST_TEST((order.admit(numbered(4 + most_held), {}, true) == arrival::held));
  BOOST_TEST((order.admit(numbered(5 + most_held), {}, true) == arrival::lost));
  BOOST_TEST((order.admit(numbered(5), {}, false) == arrival::lost));
  BOOST_TEST((order.admit(numbered(4), {}, false) == arrival::next));
}

BOOST_AUTO_TEST_CASE(answers_to_requests_and_to_those_for_memory_that_is_gone) {
  one_region r;
  frame f;
  message m;
  m.kind = message_kind::fetch_add, m.region = r.id, m.offset = 16, m.operand = 5, m.cookie = 77;
  r.target.answer(f, m, true);
  BOOST_TEST((f.head.kind == message_kind::old_value));
  BOOST_TEST(f.head.cookie == 77u);
  BOOST_TEST(f.head.operand == 0u);
  m.kind = message_kind::compare_swap, m.signal_offset = 5, m.operand = 9;
  r.target.answer(f, m, true);
  BOOST_TEST(f.head.operand == 5u);
  BOOST_TEST(r.word(2) == 9u);
  m.offset = 4096 - 7;
  r.target.answer(f = {}, m, true);
  BOOST_TEST(f.head.flags == memory_gone);
  m.offset = 16;
  r.target.answer(f = {}, m, false);
  BOOST_TEST(f.head.flags == memory_gone);
  BOOST_TEST(r.word(2) == 9u);
}

BOOST_AUTO_TEST_CASE(a_get_is_answered_from_its_region_and_ends_with_it) {
  one_region r;
  message m;
  m.kind = message_kind::get, m.region = r.id, m.offset = 8, m.bytes = 100;
  frame f;
  r.target.answer(f, m, true);
  BOOST_TEST(f.left == 100u);
  f.piece = 64;
  BOOST_TEST(r.target.next_piece(f) == r.memory.data() + 8);
  r.regions.drop(region_id{r.id}, false);
  f.head.offset = 64, f.piece = 36;
  BOOST_TEST(r.target.next_piece(f) == nullptr);
  BOOST_TEST(f.left == 0u);
  BOOST_TEST(f.head.flags == memory_gone);
}

BOOST_AUTO_TEST_CASE(a_put_that_does_not_fit_signals_nothing) {
  one_region r;
  const std::uint64_t value = 3;
  const auto payload = std::as_bytes(std::span{&value, 1});
  message m;
  m.kind = message_kind::put, m.flags = with_signal | signal_adds;
  m.region = m.signal_region = r.id, m.signal_offset = 8, m.operand = 2;
  r.target.apply_put(m, payload);
  BOOST_TEST(r.word(0) == 3u);
  BOOST_TEST(r.word(1) == 2u);
  m.offset = 4096 - 4;
  r.target.apply_put(m, payload);
  BOOST_TEST(r.word(1) == 2u);
}

// Memory that something may still write to is nobody else's until that has ended.
BOOST_AUTO_TEST_CASE(a_dropped_region_keeps_its_memory_while_it_is_in_use) {
  one_region r;
  r.regions.drop(region_id{r.id}, true);
  BOOST_TEST(!r.regions.find(region_id{r.id}));
  BOOST_TEST(r.regions.holds_dropped());
  r.memory[0] = std::byte{1};
  r.regions.release_dropped();
  BOOST_TEST(!r.regions.holds_dropped());
}

BOOST_AUTO_TEST_CASE(a_region_at_rest_does_not_linger) {
  lingering_library library;
  region_table regions;
  regions.open(&library, false);
  std::span<std::byte> memory;
  const auto drops = [&](bool at_rest, bool in_use) {
    const region_id id = *regions.allocate(4096, memory);
    regions.at_rest(at_rest);
    regions.drop(id, in_use);
    regions.at_rest(false);
  };
  drops(true, false);
  BOOST_TEST(library.registered == 0);
  drops(true, true);
  BOOST_TEST(library.registered == 1);
  regions.release_dropped();
  BOOST_TEST(library.registered == 0);
  drops(false, false);
  BOOST_TEST(library.registered == 1);
  memory[0] = std::byte{1};  // its addresses are nobody else's
  regions.close();
  BOOST_TEST(library.registered == 0);
}

BOOST_AUTO_TEST_CASE(a_frame_that_is_used_again_has_another_life) {
  frame_pool pool;
  pool.open();
  peer p[2];
  std::vector<frame*> taken;
  for (peer& one : p)
    for (std::uint32_t i = 0; i < queue_limit; ++i) {
      taken.push_back(pool.take(one, message_kind::put));
      BOOST_TEST_REQUIRE(taken.back());
      one.queue.push(*taken.back());
    }
  BOOST_TEST(!pool.take(p[0], message_kind::put));  // it has as many as it may
  BOOST_TEST(pool.busy() == pool_frames);
  const std::uint32_t life = taken[5]->life;
  p[0].queue.remove(*taken[5]);
  pool.finish(*taken[5], {});
  BOOST_TEST(pool.take(p[0], message_kind::put) == taken[5]);
  BOOST_TEST(taken[5]->life == life + 1);
  BOOST_TEST(pool.all()[taken[5]->index].life == life + 1);
}

BOOST_AUTO_TEST_CASE(a_frame_tells_its_completion_or_the_peers_next_flush) {
  frame_pool pool;
  pool.open();
  peer p;
  completion done;
  frame* told = pool.take_request(p, message_kind::get);
  told->op.done = &done, done.begin();
  BOOST_TEST(p.unanswered == 1u);
  pool.finish(*told, {errc::fabric, "told"});
  BOOST_TEST(p.unanswered == 0u);
  BOOST_TEST(done.idle());
  BOOST_TEST((done.outcome().code() == errc::fabric));
  BOOST_TEST(p.unreported.ok());
  for (const char* text : {"first", "second"}) pool.finish(*pool.take(p, message_kind::put), {errc::fabric, text});
  BOOST_TEST(std::string_view{p.unreported.text()} == "first");
  BOOST_TEST(pool.busy() == 0u);
  for (std::uint32_t i = 0; i < request_limit; ++i) BOOST_TEST_REQUIRE(pool.take_request(p, message_kind::mark));
  BOOST_TEST(!pool.take_request(p, message_kind::mark));
}

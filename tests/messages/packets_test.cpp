// Two-sided messages by messages: room at either end, turns among origins, what breaks the protocol, and memory.
#include <malloc.h>

#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>

#include "core/transport/two_sided.h"
#include "tests/messages/fake_link.h"

using namespace tutti;
using namespace tutti::test;
using messages::inbox;
using messages::message;
using messages::message_kind;
using messages::packet_window;

namespace {

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span{text}); }
std::string text_of(std::span<const std::byte> bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

struct packet_rank : lone_rank {
  using lone_rank::lone_rank;
  two_sided& calls() { return *net->sendrecv(); }
  void bring_packet(rank_t from, std::string_view header, std::string_view payload, std::uint64_t received = 0) {
    message m;
    m.kind = message_kind::packet, m.offset = header.size(), m.operand = received;
    const std::string both = std::string{header} + std::string{payload};
    m.bytes = static_cast<std::uint32_t>(both.size());
    tell(from, m, bytes_of(both));
  }
  void bring_room(rank_t from, std::uint64_t received) {
    message m;
    m.kind = message_kind::room, m.operand = received;
    tell(from, m);
  }
  // "from:header/payload", empty: none.
  std::string next_packet() {
    two_sided::message m;
    if (!calls().receive(m)) return {};
    return std::to_string(m.from) + ":" + text_of(m.header) + "/" + text_of(m.payload);
  }
  unsigned fill(rank_t to, std::size_t bytes) {
    const std::vector<std::byte> payload(bytes);
    unsigned n = 0;
    while (n < 100'000 && calls().send(to, {}, payload)) ++n;
    return n;
  }
  const sent_message& last() const { return line->sent.back(); }
};

}  // namespace

BOOST_AUTO_TEST_CASE(origins_take_turns_and_each_keeps_its_order) {
  packet_rank r;
  for (const char* n : {"1", "2", "3"}) r.bring_packet(1, "h", n);
  r.bring_packet(2, "", "x");
  r.bring_packet(3, "only a header", "");
  r.bring_packet(2, "", "");
  for (const char* wanted : {"1:h/1", "2:/x", "3:only a header/", "1:h/2", "2:/", "1:h/3", "", ""}) BOOST_TEST(r.next_packet() == wanted);
}

BOOST_AUTO_TEST_CASE(what_it_sends_is_one_message_with_both_parts) {
  packet_rank r;
  BOOST_TEST(r.calls().send(2, bytes_of("head"), bytes_of("payload")));
  BOOST_TEST((r.last().head.kind == message_kind::packet));
  BOOST_TEST(r.last().to == 2u);
  BOOST_TEST(r.last().head.offset == 4u);
  BOOST_TEST(r.last().head.bytes == 11u);
  BOOST_TEST(text_of(r.last().payload) == "headpayload");
  BOOST_TEST(r.calls().send(0, bytes_of("to"), bytes_of("itself")));
  BOOST_TEST(r.next_packet() == "0:to/itself");
}

BOOST_AUTO_TEST_CASE(a_target_that_receives_nothing_refuses_and_its_room_comes_back) {
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{100}, std::size_t{3968}}) {
    packet_rank r;
    const std::uint32_t room = inbox::room_of(0, bytes);
    BOOST_TEST(r.fill(1, bytes) == packet_window / room);
    BOOST_TEST(r.fill(2, bytes) == packet_window / room);  // which is another's room
    r.bring_room(1, 2 * room);
    BOOST_TEST(r.fill(1, bytes) == 2u);
    r.bring_packet(1, "", "by the way", 3 * room);
    BOOST_TEST(r.fill(1, bytes) == 1u);
    r.bring_room(1, 3 * room);
    BOOST_TEST(r.fill(1, bytes) == 0u);
    BOOST_TEST(!r.ended(1));
  }
}

// It tells of half a window at once, and with what it sends of any room.
BOOST_AUTO_TEST_CASE(received_is_told_in_time) {
  packet_rank r;
  const std::string payload(1000, 'x');
  const std::uint32_t room = inbox::room_of(0, payload.size());
  std::uint64_t sent = 0, told = 0;
  for (int i = 0; i < 200; ++i) {
    BOOST_TEST_REQUIRE(sent - told + room <= packet_window);  // else its origin would wait for room now
    r.bring_packet(1, "", payload), sent += room;
    BOOST_TEST_REQUIRE(!r.next_packet().empty());
    BOOST_TEST_REQUIRE(r.next_packet().empty());
    if (!r.line->sent.empty() && r.last().head.kind == message_kind::room) told = r.last().head.operand;
  }
  r.bring_packet(1, "", payload), sent += room;
  (void)r.next_packet(), (void)r.next_packet();
  BOOST_TEST(r.calls().send(1, {}, {}));
  BOOST_TEST(r.last().head.operand == sent);
}

BOOST_AUTO_TEST_CASE(room_is_told_again_where_the_link_kept_the_news) {
  packet_rank r;
  const std::string payload(1000, 'x');
  BOOST_TEST(r.calls().send(1, {}, {}));  // they are connected
  r.line->answer = messages::sending::kept;
  std::uint64_t received = 0;
  const auto bring_half = [&] {
    for (const std::uint64_t end = received + packet_window / 2; received < end; received += inbox::room_of(0, 1000)) {
      r.bring_packet(1, "", payload);
      BOOST_TEST_REQUIRE(!r.next_packet().empty());
      BOOST_TEST_REQUIRE(r.next_packet().empty());
    }
  };
  bring_half();
  BOOST_TEST((r.last().head.kind == message_kind::room));
  BOOST_TEST(r.last().head.operand == received);
  const std::size_t sent = r.line->sent.size();
  bring_half();
  BOOST_TEST(r.line->sent.size() == sent);  // nothing is offered beside what is kept
  r.line->answer = messages::sending::taken;
  r.messages().sent(*r.messages().peers().of(1), {});
  BOOST_TEST(r.line->sent.size() == sent + 1);
  BOOST_TEST((r.last().head.kind == message_kind::room));
  BOOST_TEST(r.last().head.operand == received);
}

BOOST_AUTO_TEST_CASE(who_breaks_the_rules_of_room_ends_alone) {
  const std::string payload(3968, 'x');
  for (int how = 0; how < 3; ++how) {
    packet_rank r;
    r.bring_packet(2, "", "from another");
    BOOST_TEST(r.calls().send(1, {}, {}));
    switch (how) {
      case 0:
        for (std::uint32_t room = 0; room <= packet_window; room += inbox::room_of(0, payload.size())) r.bring_packet(1, "", payload);
        break;
      case 1: r.bring_room(1, inbox::room_of(0, 0) + 1); break;
      default: r.bring_room(1, inbox::room_of(0, 0)), r.bring_room(1, 0);
    }
    BOOST_TEST((r.net->health(1).code() == errc::protocol));
    BOOST_TEST(std::string(r.net->health(1).text()).find("rank 1") != std::string::npos);
    BOOST_TEST(!r.ended(2));
    BOOST_TEST(r.next_packet() == "2:/from another");
    BOOST_TEST(r.fill(1, 8) == 100'000u);  // what is for it is lost, not refused
  }
}

BOOST_AUTO_TEST_CASE(what_came_before_the_end_of_its_origin_is_received) {
  packet_rank r;
  r.bring_packet(1, "", "last words");
  message bye;
  bye.kind = message_kind::bye;
  r.tell(1, bye);
  BOOST_TEST(r.ended(1));
  BOOST_TEST(r.next_packet() == "1:/last words");
  BOOST_TEST(r.next_packet().empty());
}

// A link whose library knows of no death keeps a message for ever, and would tell of it when it is closed itself.
BOOST_AUTO_TEST_CASE(a_connection_with_a_message_that_is_kept_is_closed_before_its_link) {
  std::vector<rank_t> closed;
  {
    packet_rank r;
    r.line->closed = &closed;
    BOOST_TEST(r.calls().send(2, {}, {}));
    r.line->answer = messages::sending::kept;
    BOOST_TEST(r.calls().send(1, {}, {}));
    message bye;
    bye.kind = message_kind::bye;
    r.tell(1, bye);
    BOOST_TEST(closed.empty());
  }
  BOOST_TEST(std::count(closed.begin(), closed.end(), 1u) == 1);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
namespace {
std::size_t in_use = 0;  // bytes of the heap

void* counted(std::size_t bytes) noexcept {
  void* const p = std::malloc(bytes);
  if (p) in_use += malloc_usable_size(p);
  return p;
}
}  // namespace

void* operator new(std::size_t bytes) {
  if (void* const p = counted(bytes)) return p;
  throw std::bad_alloc{};
}
void* operator new[](std::size_t bytes) { return ::operator new(bytes); }
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept { return counted(bytes); }
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept { return counted(bytes); }
void operator delete(void* p) noexcept {
  in_use -= malloc_usable_size(p);
  std::free(p);
}
void operator delete[](void* p) noexcept { ::operator delete(p); }
void operator delete(void* p, std::size_t) noexcept { ::operator delete(p); }
void operator delete[](void* p, std::size_t) noexcept { ::operator delete(p); }

// A constant, and so much for each that it talked to; nothing for the others of a thousand.
BOOST_AUTO_TEST_CASE(memory_at_a_thousand_ranks_is_that_of_the_formula) {
  for (const std::uint32_t peers : {1u, 10u, 100u, 500u}) {
    packet_rank r(fake_traits(), true, 1000);
    r.line->forgets = true;
    const auto limits = r.calls().query();
    const std::string payload(3000, 'x');
    const std::size_t before = in_use;
    for (rank_t p = 1; p <= peers; ++p) {
      (void)r.fill(p, 3000);
      for (int i = 0; i < 5; ++i) r.bring_packet(p, "", payload);
    }
    const std::size_t grown = in_use - before;
    BOOST_TEST(grown <= limits.fixed_bytes + peers * limits.peer_bytes, peers << " peers: " << grown << " bytes");
    BOOST_TEST(grown >= peers * packet_window, "this test sees memory");
  }
}
#endif

// What a rank does with whatever a wire brings: whose it is, whether it came before, in which order, and for what memory.
#include <sys/resource.h>

#include <array>
#include <boost/test/unit_test.hpp>
#include <cstring>
#include <set>

#include "tests/harness/resources.h"
#include "tests/messages/fake_link.h"

using namespace tutti;
using namespace tutti::test;
using messages::message;
using messages::message_kind;

namespace {

const std::uint64_t five = 5;
const auto payload = std::as_bytes(std::span{&five, 1});

message put_of(const lone_rank& r, std::size_t word) {
  message m;
  m.kind = message_kind::put, m.region = r.region, m.offset = 8 * word, m.bytes = 8;
  return m;
}

message add_to(const lone_rank& r, std::uint64_t offset) {
  message m;
  m.kind = message_kind::fetch_add, m.region = r.region, m.offset = offset, m.operand = 7;
  return m;
}

message of_kind(message_kind k) {
  message m;
  m.kind = k;
  return m;
}

bool untouched(const lone_rank& r) {
  for (const std::byte b : r.memory)
    if (b != std::byte{}) return false;
  return true;
}

// The answer to the last request of a peer, once its greeting was sent.
const message& last_answer(const lone_rank& r) { return r.line->sent.back().head; }

}  // namespace

BOOST_AUTO_TEST_CASE(a_message_without_the_key_changes_nothing) {
  lone_rank r;
  std::uint64_t brought = 0;
  const auto bring = [&](message m, std::span<const std::byte> with = {}) {
    for (const std::uint64_t check : {std::uint64_t{0}, std::uint64_t{0x5555'5555'5555'5555}, m.check}) {
      m.origin = 1, m.check = check;
      for (const std::uint64_t sequence : {1u, 2u, 200u, 100'000u}) m.sequence = sequence, r.bring(m, with), ++brought;
    }
  };
  bring(put_of(r, 0), payload);
  bring(add_to(r, 0));
  for (const auto k : {message_kind::bye, message_kind::hello, message_kind::bell}) bring(of_kind(k));
  for (unsigned i = 0; i < 200; ++i) bring(put_of(r, i % 32), payload);
  BOOST_TEST(untouched(r));
  BOOST_TEST(r.messages().rejected() == brought);
  BOOST_TEST_REQUIRE(r.notices.size() == 1u);  // the user is told once
  BOOST_TEST(r.notices[0].find("rank 0 drops messages without proof") != std::string::npos);
  BOOST_TEST(r.messages().opened().empty());  // nor was a peer made, or answered
  BOOST_TEST(r.line->sent.empty());
  r.tell(1, put_of(r, 0), payload);
  BOOST_TEST(r.word(0) == 5u);
  BOOST_TEST(!r.ended(1));
}

BOOST_AUTO_TEST_CASE(each_bit_of_a_header_is_covered) {
  lone_rank r;
  const message sound = r.from(1, put_of(r, 0));
  for (std::size_t bit = 0; bit < 8 * sizeof sound; ++bit) {
    std::array<std::byte, sizeof sound> bytes;
    std::memcpy(bytes.data(), &sound, sizeof sound);
    bytes[bit / 8] ^= std::byte{1} << (bit % 8);
    r.messages().receive(bytes, payload);
  }
  BOOST_TEST(r.messages().rejected() == 8 * sizeof sound);
  BOOST_TEST(untouched(r));
}

BOOST_AUTO_TEST_CASE(a_cut_header_is_dropped) {
  lone_rank r;
  const message sound = r.from(1, put_of(r, 0));
  for (std::size_t n = 0; n < sizeof sound; ++n) r.messages().receive(std::as_bytes(std::span{&sound, 1}).first(n), {});
  BOOST_TEST(r.messages().rejected() == sizeof sound);
}

BOOST_AUTO_TEST_CASE(a_message_to_or_from_another_is_none_of_mine) {
  lone_rank r;
  message m = put_of(r, 0);
  m.sequence = 1, m.origin = 1;
  m.check = check_of(m, {}, messages::key_between(r.key, 1, 2));  // to rank 2
  r.bring(m, payload);
  m.check = check_of(m, {}, messages::key_between(r.key, 0, 1));  // what I sent, come back
  r.bring(m, payload);
  m.origin = 0, m.check = check_of(m, {}, messages::key_between(r.key, 0, 0));
  r.bring(m, payload);
  m.origin = r.size, m.check = check_of(m, {}, messages::key_between(r.key, r.size, 0));
  r.bring(m, payload);
  BOOST_TEST(r.messages().rejected() == 4u);
  BOOST_TEST(untouched(r));
}

BOOST_AUTO_TEST_CASE(payloads_are_covered_where_datagrams_can_be_forged) {
  auto t = fake_traits();
  t.forgeable = true;
  lone_rank r{t};
  message m = put_of(r, 0);
  m.sequence = 1, m.origin = 1;
  m.check = check_of(m, payload, messages::key_between(r.key, 1, 0));
  const std::uint64_t six = 6;
  r.bring(m, std::as_bytes(std::span{&six, 1}));
  BOOST_TEST(r.messages().rejected() == 1u);
  r.bring(m, payload);
  BOOST_TEST(r.word(0) == 5u);
}

BOOST_AUTO_TEST_CASE(a_recorded_message_has_no_second_effect) {
  lone_rank r;
  const message add = r.from(1, add_to(r, 0));
  for (int i = 0; i < 3; ++i) r.bring(add);
  BOOST_TEST(r.word(0) == 7u);
  BOOST_TEST(r.messages().rejected() == 2u);
  r.tell(1, add_to(r, 0));
  BOOST_TEST(r.word(0) == 14u);
}

BOOST_AUTO_TEST_CASE(early_messages_wait_for_those_before_them) {
  lone_rank r;
  const std::uint64_t last = messages::most_held + 1;
  for (std::uint64_t s = last; s > 1; --s) {
    message m = put_of(r, 0);
    m.sequence = s;
    for (int twice = 0; twice < 2; ++twice) r.bring(r.from(1, m), std::as_bytes(std::span{&s, 1}));
    BOOST_TEST(r.word(0) == 0u);
  }
  BOOST_TEST(r.messages().rejected() == last - 1);
  message first = put_of(r, 1);
  first.sequence = 1;
  r.bring(r.from(1, first), payload);
  BOOST_TEST(r.word(0) == last);
  BOOST_TEST(r.word(1) == 5u);
  BOOST_TEST(!r.ended(1));
}

BOOST_AUTO_TEST_CASE(nobody_is_held_beyond_the_bound) {
  lone_rank r;
  message far = put_of(r, 0);
  far.sequence = messages::most_held + 2;
  r.bring(r.from(1, far), payload);
  BOOST_TEST((r.net->health(1).code() == errc::protocol));
  r.tell(2, put_of(r, 0), payload);  // nor anyone else hindered
  BOOST_TEST(r.word(0) == 5u);
}

BOOST_AUTO_TEST_CASE(a_gap_ends_the_connection_of_a_link_that_keeps_order) {
  auto t = fake_traits();
  t.reorders = false;
  lone_rank r{t};
  message m = put_of(r, 0);
  m.sequence = 2;
  r.bring(r.from(1, m), payload);
  BOOST_TEST((r.net->health(1).code() == errc::protocol));
}

BOOST_AUTO_TEST_CASE(words_that_are_not_aligned_are_no_memory) {
  lone_rank r;
  r.tell(1, add_to(r, 4));
  BOOST_TEST((last_answer(r).kind == message_kind::old_value));
  BOOST_TEST(last_answer(r).flags == messages::memory_gone);
  message signal = of_kind(message_kind::put);
  signal.flags = messages::with_signal, signal.signal_region = r.region, signal.operand = 9;
  for (const std::uint64_t offset : {std::uint64_t{4}, std::uint64_t{256}, ~std::uint64_t{7}, ~std::uint64_t{0}}) {
    signal.signal_offset = offset;
    r.tell(1, signal);
  }
  BOOST_TEST(untouched(r));
  BOOST_TEST(!r.ended(1));
  signal.signal_offset = 8;
  r.tell(1, signal);
  BOOST_TEST(r.word(1) == 9u);
}

BOOST_AUTO_TEST_CASE(ranges_that_wrap_around_are_no_memory) {
  lone_rank r;
  message m = put_of(r, 0);
  for (const std::uint64_t offset : {~std::uint64_t{0}, ~std::uint64_t{7}, std::uint64_t{249}, std::uint64_t{256}}) {
    m.offset = offset;
    r.tell(1, m, payload);
    message get = of_kind(message_kind::get);
    get.region = r.region, get.offset = offset, get.bytes = 8;
    r.tell(1, get);
    BOOST_TEST(last_answer(r).flags == messages::memory_gone);
  }
  BOOST_TEST(untouched(r));
  BOOST_TEST(!r.ended(1));
}

// An answer that would land before or behind the memory that a get is to fill.
BOOST_AUTO_TEST_CASE(answers_land_where_they_were_asked_for_or_not_at_all) {
  struct { std::uint64_t offset; std::size_t bytes; } const wrong[] = {
      {~std::uint64_t{0} - 7, 8}, {~std::uint64_t{0} - 63, 64}, {8, 8}, {0, 65}, {1u << 30, 8}};
  for (const auto& w : wrong) {
    lone_rank r;
    std::array<std::byte, 192> around{};
    rma_op get{.kind = op_kind::get};
    completion done;
    get.rank = 1, get.remote = r.segment, get.bytes = 64, get.done = &done;
    get.local_offset = reinterpret_cast<std::uint64_t>(around.data() + 64);
    BOOST_REQUIRE(r.net->submit({&get, 1}) == 1u);
    message answer = of_kind(message_kind::data);
    answer.cookie = r.line->sent.back().head.cookie;
    answer.offset = w.offset, answer.bytes = static_cast<std::uint32_t>(w.bytes);
    const std::vector<std::byte> ones(w.bytes, std::byte{1});
    r.tell(1, answer, ones);
    BOOST_TEST((r.net->health(1).code() == errc::protocol));
    for (const std::byte b : around) BOOST_TEST((b == std::byte{}));
    BOOST_TEST(done.outcome().failed());
  }
}

BOOST_AUTO_TEST_CASE(an_answer_of_another_kind_is_none) {
  lone_rank r;
  std::uint64_t old = 0;
  rma_op add{.kind = op_kind::fetch_add};
  completion done;
  add.rank = 1, add.remote = r.segment, add.local_offset = reinterpret_cast<std::uint64_t>(&old), add.done = &done;
  BOOST_REQUIRE(r.net->submit({&add, 1}) == 1u);
  message answer = of_kind(message_kind::data);
  answer.cookie = r.line->sent.back().head.cookie, answer.bytes = 8;
  r.tell(1, answer, payload);
  BOOST_TEST((r.net->health(1).code() == errc::protocol));
  BOOST_TEST(old == 0u);
}

BOOST_AUTO_TEST_CASE(ids_of_regions_cannot_be_guessed) {
  std::set<std::uint32_t> first, all, upper_halves;
  for (int i = 0; i < 8; ++i) first.insert(lone_rank{}.region);
  BOOST_TEST(first.size() == 8u);
  lone_rank r;
  std::vector<region_id> made;
  std::vector<std::uint64_t> words(1000);
  for (std::uint64_t& w : words) {
    made.push_back(*r.net->add(std::as_writable_bytes(std::span{&w, 1})));
    all.insert(static_cast<std::uint32_t>(made.back()));
    upper_halves.insert(static_cast<std::uint32_t>(made.back()) >> 16);
  }
  BOOST_TEST(all.size() == words.size());
  BOOST_TEST(upper_halves.size() > 900u);  // of 1000 at random 992 differ; fewer than this, once in 10^50 runs
  for (std::size_t i = 0; i < words.size(); i += 2) r.net->drop(made[i]);
  for (std::size_t i = 0; i < words.size(); ++i) {
    message m = put_of(r, 0);
    m.region = static_cast<std::uint32_t>(made[i]);
    r.tell(1, m, payload);
  }
  for (std::size_t i = 0; i < words.size(); ++i) BOOST_TEST(words[i] == (i % 2 ? 5u : 0u));
  BOOST_TEST(!r.ended(1));
}

// --- what this process lacks ------------------------------------------------------------------------------------------------

// Whether the link cannot open a connection, or says later that it was lost.
BOOST_AUTO_TEST_CASE(a_connection_that_got_no_descriptor_ends_no_peer) {
  for (const bool opens : {false, true})
    for (const bool has_descriptors : {false, true}) BOOST_TEST_CONTEXT(opens << has_descriptors) {
      lone_rank r;
      const status broken{errc::fabric, "socket() failed", 1};
      rlimit before{};
      ::getrlimit(RLIMIT_NOFILE, &before);
      const rlimit none{static_cast<rlim_t>(open_descriptors()), before.rlim_max};
      if (!has_descriptors) BOOST_REQUIRE(::setrlimit(RLIMIT_NOFILE, &none) == 0);
      if (!opens) r.line->opening = broken;
      status s = r.net->health(1);
      if (opens) {
        r.messages().suspect(*r.messages().opened()[0], broken);
        while (s.ok()) s = r.net->health(1);
      }
      ::setrlimit(RLIMIT_NOFILE, &before);
      BOOST_TEST((s.code() == (has_descriptors ? errc::peer_dead : errc::no_resource)));
      BOOST_TEST_CONTEXT(s.text()) {
        BOOST_TEST(std::string_view{s.text()}.find("socket() failed") != std::string_view::npos);
        BOOST_TEST((std::string_view{s.text()}.find("ulimit -n") != std::string_view::npos) == !has_descriptors);
      }
    }
}

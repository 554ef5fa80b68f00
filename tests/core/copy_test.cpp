// Copies give what std::memcpy and std::memmove give, wherever the ends lie, those included of which string moves are slow.
#include <boost/test/unit_test.hpp>

#include <vector>

#include "core/base/copy.h"
#include "core/base/shared_writer.h"

namespace {

using namespace tutti;

constexpr std::size_t page = 4096, most = 3 * page;

std::vector<std::byte> pattern(std::size_t bytes) {
  std::vector<std::byte> out(bytes);
  for (std::size_t i = 0; i < bytes; ++i) out[i] = static_cast<std::byte>(i * 7 + i / 251);
  return out;
}

}  // namespace

BOOST_AUTO_TEST_CASE(copies_as_memcpy) {
  const std::vector<std::byte> source = pattern(most + page);
  for (const std::size_t ahead : {0, 1, 8, 16, 31, 63, 64, 2000, 4095})
    for (const std::size_t at : {0, 5, 16})
      for (const std::size_t bytes : {0, 1, 63, 2048, 2049, 2111, 2112, 4096, 9999}) {
        std::vector<std::byte> target(most + 2 * page), expected = target;
        std::byte* const base = target.data() + page - reinterpret_cast<std::uintptr_t>(target.data()) % page;
        const std::byte* const from = source.data() + at;
        std::byte* const to = base + (reinterpret_cast<std::uintptr_t>(from) + ahead) % page;
        BOOST_REQUIRE_EQUAL(lies_awkwardly(to, from), ahead != 0 && ahead < 64);
        copy_bytes(to, from, bytes);
        std::memcpy(expected.data() + (to - target.data()), from, bytes);
        BOOST_TEST((target == expected), ahead << " ahead, " << bytes << " bytes");
      }
}

BOOST_AUTO_TEST_CASE(streams_as_memcpy) {
  const std::vector<std::byte> source = pattern(most + page);
  for (const std::size_t ahead : {0, 1, 15, 16, 48, 63, 64})
    for (const std::size_t at : {0, 5})
      for (const std::size_t bytes : {0, 1, 63, 64, 127, 128, 200, 4096, 9999}) {
        std::vector<std::byte> target(most), expected = target;
        stream_bytes(target.data() + ahead, source.data() + at, bytes);
        if (bytes) std::memcpy(expected.data() + ahead, source.data() + at, bytes);
        BOOST_TEST((target == expected), ahead << " ahead, " << bytes << " bytes");
      }
}

namespace {

// What is copied, whichever way it goes, has arrived.
std::size_t copies_until_the_clock(shared_writer& w) {
  const std::vector<std::byte> source = pattern(shared_writer::least);
  for (std::size_t copies = 0; copies < 1000; ++copies) {
    if (w.looks_next()) return copies;
    std::vector<std::byte> target(source.size());
    w.copy(target.data(), source.data(), source.size());
    BOOST_REQUIRE(target == source);
  }
  return 1000;
}

constexpr float slow = 3, plain = 12;

}  // namespace

BOOST_AUTO_TEST_CASE(one_slow_copy_means_nothing_two_mean_a_trial) {
  shared_writer w;
  w.judge(slow), w.judge(plain);
  BOOST_TEST(copies_until_the_clock(w) > 0u);
  w.judge(slow), w.judge(slow), w.judge(4 * slow);
  BOOST_TEST(!w.streams());
  w.judge(slow);  // as slow as before
  BOOST_TEST(w.streams());
  BOOST_TEST(copies_until_the_clock(w) > 100u);
}

BOOST_AUTO_TEST_CASE(what_was_slow_for_a_moment_alone_is_no_reason) {
  shared_writer w;
  w.judge(slow), w.judge(slow), w.judge(4 * slow), w.judge(plain);
  BOOST_TEST(!w.streams());
  copies_until_the_clock(w);
  w.judge(slow);
  BOOST_TEST(!w.streams());
}

BOOST_AUTO_TEST_CASE(streaming_stays_while_it_is_worthwhile_and_ends_when_plain_copies_are_fast_again) {
  shared_writer w;
  w.judge(slow), w.judge(slow), w.judge(4 * slow), w.judge(slow);
  for (int k = 0; k < 3; ++k) {
    copies_until_the_clock(w);
    w.judge(slow);  // a plain copy
    BOOST_TEST(w.looks_next());
    w.judge(4 * slow), w.judge(slow);  // a streaming one and a plain one
    BOOST_TEST(w.streams());
  }
  copies_until_the_clock(w);
  w.judge(plain);
  BOOST_TEST(!w.streams());
}

// Data that come slowly out of memory are no faster by streaming stores.
BOOST_AUTO_TEST_CASE(what_is_no_faster_is_not_kept) {
  shared_writer w;
  for (int copy = 0; copy < 4; ++copy) w.judge(slow);
  BOOST_TEST(!w.streams());
  BOOST_TEST(copies_until_the_clock(w) > 100u);
}

BOOST_AUTO_TEST_CASE(moves_as_memmove) {
  for (const std::size_t from : {0, 100, 5000})
    for (const std::size_t to : {0, 1, 16, 99, 100, 101, 116, 4999, 5000, 5016})
      for (const std::size_t bytes : {0, 1, 2049, 5000}) {
        std::vector<std::byte> moved = pattern(most), expected = moved;
        move_bytes(moved.data() + to, moved.data() + from, bytes);
        std::memmove(expected.data() + to, expected.data() + from, bytes);
        BOOST_TEST((moved == expected), "from " << from << " to " << to << ", " << bytes << " bytes");
      }
}

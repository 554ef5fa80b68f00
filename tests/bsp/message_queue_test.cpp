// Messages that are copied: what lies where, and that they stay within what may be buffered.
#include <boost/test/unit_test.hpp>
#include <random>

#include "bsp/message_queue.h"
#include "bsp/placer.h"

namespace {

using namespace tutti::bsp;

constexpr std::uint64_t mib = std::uint64_t{1} << 20;

struct copy {
  std::byte* at;
  std::uint64_t bytes;
  std::byte value;
};

bool whole(const std::vector<copy>& all) {
  for (const copy& c : all)
    for (std::uint64_t i = 0; i < c.bytes; ++i)
      if (c.at[i] != c.value) return false;
  return true;
}

}  // namespace

BOOST_AUTO_TEST_CASE(copies_do_not_meet_and_memory_is_bounded) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    std::mt19937_64 g(seed);
    budget memory(8 * mib);
    message_queue queue(memory);
    memory.when_short([&] { queue.spare(); });
    for (int step = 0; step < 40; ++step) {
      // Supersteps of small messages, then of large ones: what one has made must not keep the next from its share.
      const std::uint64_t most = std::uint64_t{1} << (4 + g() % 18);
      std::vector<copy> all;
      for (std::uint64_t sum = 0; all.size() < 2000;) {
        const std::uint64_t bytes = 1 + g() % most;
        if ((sum += bytes) > 3 * mib) break;
        std::byte* const at = queue.keep(bytes);
        BOOST_REQUIRE_MESSAGE(at, "seed " << seed << ", superstep " << step << ": " << sum << " bytes, by up to " << most);
        BOOST_REQUIRE(reinterpret_cast<std::uintptr_t>(at) % 16 == 0);
        const std::byte value{static_cast<unsigned char>(g())};
        std::fill_n(at, bytes, value);
        all.push_back({at, bytes, value});
      }
      BOOST_REQUIRE(whole(all));
      BOOST_REQUIRE(queue.kept_bytes() <= memory.bytes());
      BOOST_REQUIRE(memory.left() == memory.bytes() - queue.kept_bytes());
      queue.clear();
    }
  }
}

BOOST_AUTO_TEST_CASE(too_much_is_refused_and_the_rest_stays) {
  budget memory(2 * mib);
  message_queue queue(memory);
  memory.when_short([&] { queue.spare(); });
  std::vector<copy> all;
  for (std::byte* at; (at = queue.keep(100000)) != nullptr;) {
    std::fill_n(at, 100000, std::byte(all.size()));
    all.push_back({at, 100000, std::byte(all.size())});
    BOOST_REQUIRE(all.size() < 21);
  }
  BOOST_TEST(all.size() >= 14u);
  BOOST_TEST(!queue.keep(2 * mib + 1));
  BOOST_TEST(whole(all));
  queue.clear();
  BOOST_TEST(queue.keep(2 * mib - 64));  // the blocks before are in nobody's way
  BOOST_TEST(queue.kept_bytes() <= 2 * mib);
}

BOOST_AUTO_TEST_CASE(what_is_packed_gets_what_messages_do_not_use) {
  budget memory(2 * mib);
  message_queue queue(memory);
  memory.when_short([&] { queue.spare(); });
  BOOST_REQUIRE(queue.keep(mib));
  BOOST_TEST(!memory.take(mib + mib / 2));  // in use
  queue.clear();
  BOOST_TEST(memory.take(mib + mib / 2));
  BOOST_TEST(!queue.keep(mib));
  memory.give(mib + mib / 2);
  BOOST_TEST(queue.keep(mib));
}

BOOST_AUTO_TEST_CASE(the_list_counts_too) {
  budget memory(64 * 1024);
  message_queue queue(memory);
  std::uint64_t n = 0;
  while (queue.add(message({message_mark, 0, 0}, nullptr))) BOOST_REQUIRE(++n < 10000);
  BOOST_TEST(n >= 1000u);
  BOOST_TEST(n * sizeof(message) <= 64u * 1024);
  BOOST_TEST(queue.count() == n);
}

#include "core/base/id_map.h"

#include <boost/test/unit_test.hpp>
#include <map>
#include <random>

#include "core/base/blob_stream.h"

using tutti::id_map;

namespace {
enum class id : std::uint32_t {};
std::uint32_t number(id i) { return static_cast<std::uint32_t>(i); }
}  // namespace

BOOST_AUTO_TEST_CASE(what_is_not_there_gives_itself) {
  id_map<id> m;
  BOOST_TEST(number(m[id{5}]) == 5u);
  m.reserve_one();
  m.set(id{5}, id{9});
  BOOST_TEST(number(m[id{5}]) == 9u);
  BOOST_TEST(number(m[id{9}]) == 9u);
  m.set(id{5}, id{10});
  BOOST_TEST(number(m[id{5}]) == 10u);
  BOOST_TEST(m.size() == 1u);
  m.erase(id{6});
  m.erase(id{5});
  BOOST_TEST(!m.contains(id{5}));
  BOOST_TEST(m.size() == 0u);
}

// Against std::map, with ids from few values so that collisions, growth and erasure in the midst of a run all happen.
BOOST_AUTO_TEST_CASE(it_agrees_with_a_map_under_random_use) {
  for (unsigned seed = 1; seed <= 50; ++seed) {
    BOOST_TEST_CONTEXT("seed " << seed) {
      std::mt19937 random{seed};
      const unsigned range = 8u << random() % 8, stride = random() % 2 ? 1 : 1u << 16;
      id_map<id> m;
      std::map<std::uint32_t, std::uint32_t> model;
      bool same = true;
      for (int step = 0; step < 3000; ++step) {
        const std::uint32_t key = random() % range * stride;
        if (random() % 3) {
          m.reserve_one();
          m.set(id{key}, id{static_cast<std::uint32_t>(step)});
          model[key] = static_cast<std::uint32_t>(step);
        } else {
          m.erase(id{key});
          model.erase(key);
        }
        const std::uint32_t probe = random() % range * stride;
        const auto found = model.find(probe);
        same &= number(m[id{probe}]) == (found == model.end() ? probe : found->second);
        same &= m.contains(id{probe}) == (found != model.end()) && m.size() == model.size();
      }
      for (const auto& [key, value] : model) same &= number(m[id{key}]) == value;
      BOOST_TEST(same);
    }
  }
}

BOOST_AUTO_TEST_CASE(pairs_of_blobs_come_apart_as_they_were) {
  for (const std::size_t a : {0u, 1u, 3u, 300u, 70000u})
    for (const std::size_t b : {0u, 1u, 300u}) {
      const std::vector<std::byte> first(a, std::byte{1}), second(b, std::byte{2});
      const auto both = tutti::joined({first, second});
      const auto parts = tutti::blobs_in(both, 2);
      BOOST_REQUIRE(parts);
      BOOST_TEST(std::ranges::equal((*parts)[0], first));
      BOOST_TEST(std::ranges::equal((*parts)[1], second));
      if (a) BOOST_TEST(!tutti::blobs_in(std::span{both}.first(8 + a - 1), 2));  // cut short
      BOOST_TEST(!tutti::blobs_in(std::span{both}.first(7), 2));
      BOOST_TEST(!tutti::blobs_in(both, 1));
    }
}

#include "core/base/rank_map.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <random>

using namespace tutti;

BOOST_AUTO_TEST_CASE(a_run_of_ranks_knows_its_members) {
  for (const rank_t first : {0u, 3u, 4'000'000'000u})
    for (const rank_t stride : {1u, 4u}) {
      const rank_map m = rank_map::strided(first, 5, stride);
      for (std::uint32_t i = 0; i < 5; ++i) BOOST_TEST(m.index_of(m[i]) == i);
      BOOST_TEST(m.index_of(first - 1) == 5u);
      BOOST_TEST(m.index_of(first + 5 * stride) == 5u);
      if (stride > 1) BOOST_TEST(m.index_of(first + 1) == 5u);
    }
  BOOST_TEST(rank_map{}.index_of(0) == 0u);  // of nobody
}

BOOST_AUTO_TEST_CASE(a_list_knows_its_members_by_their_first_place) {
  for (unsigned seed = 1; seed <= 50; ++seed) {
    BOOST_TEST_CONTEXT("seed " << seed) {
      std::mt19937 random{seed};
      const rank_t job = 1 + random() % 5000, distance = random() % 2 ? 1 : 1u << 20;
      std::vector<rank_t> ranks(random() % 300);
      for (rank_t& r : ranks) r = random() % job * distance;
      const rank_map m = rank_map::listed(ranks), copy = m;
      bool same = m.size() == ranks.size();
      for (rank_t r = 0; r < job; ++r) {
        const auto first = std::find(ranks.begin(), ranks.end(), r * distance);
        same &= copy.index_of(r * distance) == static_cast<std::uint32_t>(first - ranks.begin());
      }
      for (std::uint32_t i = 0; i < m.size(); ++i) same &= m[i] == ranks[i];
      BOOST_TEST(same);
    }
  }
}

// Matching against a model that looks through lists.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <deque>
#include <list>
#include <random>

#include "messaging/matching.h"

namespace {

using namespace tutti;
using namespace tutti::messaging;

bool matches(const posted_receive& r, const arrival& a) {
  return r.team == a.team && (r.source == no_rank || r.source == a.source) && ((r.tag ^ a.tag) & r.mask) == 0;
}

}  // namespace

BOOST_AUTO_TEST_CASE(random_programs_match_as_lists_do) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    std::mt19937_64 random(seed);
    matching m;
    std::deque<posted_receive> receives;
    std::deque<arrival> arrivals;
    std::list<posted_receive*> posted;
    std::list<arrival*> waiting;
    const std::uint64_t teams = 1 + random() % 3, tags = 1 + random() % 6, sources = 1 + random() % 4;
    const std::uint64_t bias = random() % 3;  // few of one kind, many of the other, or alike
    for (int step = 0; step < 1500; ++step) {
      BOOST_REQUIRE(m.make_room());
      const std::uint64_t what = random() % 10;
      if (what == 0 && !posted.empty()) {
        auto at = posted.begin();
        std::advance(at, random() % posted.size());
        m.withdraw(**at);
        posted.erase(at);
      } else if (what == 1 && !waiting.empty()) {
        auto at = waiting.begin();
        std::advance(at, random() % waiting.size());
        m.remove(**at);
        waiting.erase(at);
      } else if (what < 4 + 2 * bias) {
        posted_receive& r = receives.emplace_back();
        r.team = random() % teams, r.tag = random() % tags, r.source = random() % 3 ? static_cast<rank_t>(random() % sources) : no_rank;
        const std::uint64_t masks[] = {~std::uint64_t{0}, ~std::uint64_t{0}, ~std::uint64_t{0}, 0, 1};
        r.mask = masks[random() % 5];
        const auto due = std::ranges::find_if(waiting, [&](arrival* a) { return matches(r, *a); });
        arrival* const found = m.find_arrival(r.team, r.source, r.tag, r.mask);
        BOOST_REQUIRE_MESSAGE(found == (due == waiting.end() ? nullptr : *due), "seed " << seed << " step " << step);
        if (found) m.remove(*found), waiting.erase(due);
        else m.post(r), posted.push_back(&r);
      } else {
        arrival& a = arrivals.emplace_back();
        a.team = random() % teams, a.tag = random() % tags, a.source = static_cast<rank_t>(random() % sources);
        const auto due = std::ranges::find_if(posted, [&](posted_receive* r) { return matches(*r, a); });
        posted_receive* const found = m.take_posted(a.team, a.source, a.tag);
        BOOST_REQUIRE_MESSAGE(found == (due == posted.end() ? nullptr : *due), "seed " << seed << " step " << step);
        if (found) posted.erase(due);
        else m.enter(a), waiting.push_back(&a);
      }
      BOOST_REQUIRE_EQUAL(m.posted(), posted.size());
      BOOST_REQUIRE_EQUAL(m.arrivals(), waiting.size());
    }
    std::size_t seen = 0;
    m.each_posted([&](posted_receive& r) { ++seen, m.withdraw(r); });
    BOOST_TEST(seen == posted.size());
    BOOST_TEST(m.posted() == 0u);
  }
}

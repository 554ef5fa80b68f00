// The queue gives events in the order of time and number, whatever the order in which they come: compared with a sorted list.
#include <boost/test/unit_test.hpp>

#include <set>

#include "providers/sim/event_queue.h"
#include "providers/sim/random.h"

using namespace tutti;

namespace {

struct event {
  std::int64_t at;
  std::uint64_t seq;
  bool operator<(const event& o) const noexcept { return at != o.at ? at > o.at : seq > o.seq; }
};

// Random pushes and pops. `span`: how far ahead an event may be; `behind`: how far before the last one that came out.
void trial(std::uint64_t seed, std::uint64_t span, std::int64_t behind) {
  sim::random r(seed);
  sim::event_queue<event> q;
  std::set<std::pair<std::int64_t, std::uint64_t>> model;
  std::int64_t now = 0;
  std::uint64_t next = 1;
  for (int i = 0; i < 20000; ++i) {
    const bool grows = (i / 2000) % 2 == 0;
    if (model.empty() || r.chance(grows ? 0.7 : 0.3)) {
      const std::int64_t at = std::max<std::int64_t>(0, now + static_cast<std::int64_t>(r.next() % span) - behind);
      const std::uint64_t seq = r.chance(0.2) ? 1000000 + (next++ ^ 0xff) : next++;  // not always the order in which they come
      if (!model.insert({at, seq}).second) continue;
      q.push({at, seq});
    } else {
      if (r.chance(0.3)) BOOST_REQUIRE(q.top().at == model.begin()->first);  // looking changes nothing
      const event e = q.take();
      BOOST_REQUIRE(e.at == model.begin()->first);
      BOOST_REQUIRE(e.seq == model.begin()->second);
      model.erase(model.begin());
      now = e.at;
    }
    BOOST_REQUIRE(q.size() == model.size());
  }
  for (const auto& [at, seq] : model) {
    const event e = q.take();
    BOOST_REQUIRE(e.at == at);
    BOOST_REQUIRE(e.seq == seq);
  }
  BOOST_TEST(q.empty());
}

}  // namespace

BOOST_AUTO_TEST_CASE(events_come_out_in_order) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed)
    for (const std::uint64_t span : {1ull, 2ull, 10ull, 1000ull, 1ull << 40})
      for (const std::int64_t behind : {0, 1, 500}) trial(seed, span, behind);
}

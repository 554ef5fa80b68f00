#include "bsp/metadata_cost.h"

#include <limits>

namespace tutti::bsp {

// Words leave one after the other, and the last one's way is a message's. By dissemination rounds come one after the other,
// and each is a whole message. By multicast the root takes in n messages, and a datagram goes out.
picoseconds metadata_cost(metadata_way way, std::uint32_t n, std::uint32_t besides, const metadata_costs& c) noexcept {
  const picoseconds hop = c.link.message(), each = c.link.interval(), word = c.loads ? each / 4 : each;
  switch (way) {
    case metadata_way::direct: return (n - 1) * word + hop;
    case metadata_way::dissemination: return rounds_of(n) * hop + besides * word;
    case metadata_way::multicast: break;
  }
  if (!c.multicast) return std::numeric_limits<picoseconds>::max();
  return hop + (n - 1) * each / 2 + *c.multicast + besides * word;
}

metadata_way choose_metadata_way(std::uint32_t n, const metadata_costs& c) noexcept {
  metadata_way best = metadata_way::direct;
  if (n <= 2) return best;
  for (const metadata_way way : {metadata_way::dissemination, metadata_way::multicast})
    if (metadata_cost(way, n, 0, c) < metadata_cost(best, n, 0, c)) best = way;
  return best;
}

std::uint32_t words_pay_from(metadata_way way, std::uint32_t n, const metadata_costs& c) noexcept {
  const picoseconds direct = metadata_cost(metadata_way::direct, n, 0, c);
  std::uint32_t besides = 0;
  while (besides < n && metadata_cost(way, n, besides, c) < direct) ++besides;
  return besides;
}

}  // namespace tutti::bsp

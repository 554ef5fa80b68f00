#include "tests/doubles/faulty_multicast.h"
#include "core/transport/multicast.h"

#include <algorithm>
#include <utility>

namespace tutti {

bool faulty_multicast::holds_any() const noexcept {
  return std::any_of(groups_.begin(), groups_.end(), [](const auto& g) { return !g.second.held.empty(); });
}

result<multicast::group_id> faulty_multicast::create(const rank_map& members, std::vector<std::byte>& token,
                                                     time_point deadline) {
  if (status s = dice_.setup_call("multicast create"); s.failed()) return s;
  return inner_.create(members, token, deadline);
}

result<multicast::group_id> faulty_multicast::join(const rank_map& members, std::span<const std::byte> token,
                                                   time_point deadline) {
  if (status s = dice_.setup_call("multicast join"); s.failed()) return s;
  return inner_.join(members, token, deadline);
}

bool faulty_multicast::hand_out(group& g, copy c, datagram& out) noexcept {
  g.given = std::move(c);
  out = {g.given.from, g.given.tag, g.given.payload};
  return true;
}

// A held datagram comes out when nothing else is there, or after a few calls: so it is overtaken, and never starves.
bool faulty_multicast::receive(group_id id, datagram& out) noexcept {
  group& g = groups_[static_cast<std::uint32_t>(id)];
  const auto release = [&] {
    const auto at = g.held.begin() + static_cast<std::ptrdiff_t>(dice_.below(g.held.size()));
    copy c = std::move(*at);
    g.held.erase(at);
    g.passed = 0;
    return hand_out(g, std::move(c), out);
  };
  if (!g.held.empty() && ++g.passed > dice_.plan.patience) return release();
  datagram arrived;
  while (inner_.receive(id, arrived)) {
    if (dice_.roll(dice_.plan.lose)) continue;
    copy c{arrived.from, arrived.tag, {arrived.payload.begin(), arrived.payload.end()}};
    if (dice_.roll(dice_.plan.repeat)) g.held.push_back(c);
    if (dice_.roll(dice_.plan.reorder)) {
      g.held.push_back(std::move(c));
      continue;
    }
    return hand_out(g, std::move(c), out);
  }
  return !g.held.empty() && release();
}

void faulty_multicast::leave(group_id id) noexcept {
  groups_.erase(static_cast<std::uint32_t>(id));
  inner_.leave(id);
}

}  // namespace tutti

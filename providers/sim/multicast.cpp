// Datagrams: lost, repeated and reordered by the seed, each receiver by itself.
#include <algorithm>
#include <cstring>

#include "core/transport/multicast.h"
#include "providers/sim/net.h"

namespace tutti::sim {

void fabric::release_datagram(std::uint32_t index) {
  if (--datagrams[index].uses) return;
  datagrams[index].payload.clear();
  free_datagrams.push_back(index);
}

void fabric::deliver_datagram(const event& e) {
  const auto index = static_cast<std::uint32_t>(e.arg);
  const rank_state& rs = ranks[e.who];
  if (rs.transport && !rs.dead && rs.transport->mcast_.take_in(datagrams[index].group, index)) {
    active();
    wake(e.who, e.at);
  } else {
    release_datagram(index);
  }
}

// The switches copy a datagram on its way down a tree, and members may cost each by itself. Links are not occupied: one copy at most
// travels on each.
ns fabric::multicast_latency(std::uint32_t members) const noexcept {
  std::uint32_t levels = 0;
  for (std::uint64_t reached = 1; reached < members; reached *= std::max(par.mcast_branches, 2u)) ++levels;
  return to_ns(par.mcast_latency_us + par.mcast_level_us * levels + par.mcast_member_us * members);
}

rank_multicast::~rank_multicast() {
  while (!memberships_.empty()) leave(group_id{memberships_.back()->group});
}

multicast::limits rank_multicast::query() const noexcept {
  const parameters& par = owner_.f_.par;
  const ns each = owner_.f_.net_link.wire(par.mcast_payload) + owner_.f_.net_link.gap;  // full datagram
  std::optional<double> rate;
  if (par.mcast_bytes_per_ns > 0) rate = par.mcast_bytes_per_ns;
  else if (each > 0) rate = par.mcast_payload / static_cast<double>(each);
  return {par.mcast_payload, 64, par.mcast_depth, static_cast<double>(owner_.f_.multicast_latency(par.ranks)) / 1000, rate};
}

rank_multicast::membership* rank_multicast::find(std::uint32_t group) noexcept {
  for (const auto& m : memberships_)
    if (m->group == group && group) return m.get();
  return nullptr;
}

multicast::group_id rank_multicast::enter(std::uint32_t group) {
  auto m = std::make_unique<membership>();
  m->group = group;
  auto& g = owner_.f_.groups[group];
  m->place = static_cast<std::uint32_t>(g.joined.size());
  g.joined.push_back(owner_.rank_);
  ++g.present;
  memberships_.push_back(std::move(m));
  return group_id{group};
}

result<multicast::group_id> rank_multicast::create(const rank_map& members, std::vector<std::byte>& token, time_point) {
  fabric& f = owner_.f_;
  if (members.index_of(owner_.rank_) == members.size())
    return status(errc::invalid, "who creates a group is a member of it");
  if (memberships_.size() >= query().max_groups) return status(errc::no_resource, "64 multicast groups are joined");
  const std::uint32_t group = f.next_group++;
  f.groups[group].members = members;
  token.resize(sizeof group);
  std::memcpy(token.data(), &group, sizeof group);
  return enter(group);
}

result<multicast::group_id> rank_multicast::join(const rank_map&, std::span<const std::byte> token, time_point) {
  fabric& f = owner_.f_;
  std::uint32_t group = 0;
  if (token.size() == sizeof group) std::memcpy(&group, token.data(), sizeof group);
  const auto known = f.groups.find(group);
  if (known == f.groups.end()) return status(errc::invalid, "not the token of a multicast group");
  const rank_map& members = known->second.members;
  if (members.index_of(owner_.rank_) == members.size())
    return status(errc::invalid, worded("rank ", owner_.rank_, " is no member of the multicast group"));
  if (find(group)) return status(errc::invalid, "joined already");
  if (memberships_.size() >= query().max_groups) return status(errc::no_resource, "64 multicast groups are joined");
  return enter(group);
}

bool rank_multicast::send(group_id id, std::uint32_t tag, std::span<const std::byte> payload) noexcept {
  fabric& f = owner_.f_;
  rank_state& rs = owner_.me();
  const auto group = static_cast<std::uint32_t>(id);
  owner_.glances_ = 0;
  if (f.rng.chance(f.par.refuse)) {
    ++f.stats.refused;
    owner_.refused_ = true;
    return false;
  }
  const auto known = f.groups.find(group);
  if (known == f.groups.end() || payload.size() > f.par.mcast_payload) return true;  // clause 13: lost
  f.spend(rs, f.net_link.overhead);
  const double rate = f.par.mcast_bytes_per_ns;
  const ns sent = std::max(rs.clock, f.tx(owner_.rank_, false)) +
                  (rate > 0 ? static_cast<ns>(static_cast<double>(payload.size()) / rate + 0.5) : f.net_link.wire(payload.size()));
  f.tx(owner_.rank_, false) = sent + (rate > 0 ? 0 : f.net_link.gap);
  ++f.stats.datagrams_sent;

  std::uint32_t index;
  if (f.free_datagrams.empty()) {
    index = static_cast<std::uint32_t>(f.datagrams.size());
    f.datagrams.emplace_back();
  } else {
    index = f.free_datagrams.back();
    f.free_datagrams.pop_back();
  }
  datagram_record& d = f.datagrams[index];
  d.from = owner_.rank_, d.tag = tag, d.group = group, d.uses = 1;
  d.payload.assign(payload.begin(), payload.end());

  const ns latency = f.multicast_latency(known->second.present);
  const auto deliver = [&](rank_t r, ns later) {
    ++d.uses;
    f.push(sent + f.way(owner_.rank_, r) - f.wire_between(owner_.rank_, r).latency + latency + f.extra(latency) + later, f.draw(), event_kind::datagram, r, index);
  };
  const auto late = [&] { return 1 + static_cast<ns>(f.rng.unit() * 8.0 * static_cast<double>(latency)); };
  for (const rank_t r : known->second.joined) {
    if (r == owner_.rank_ || r == no_rank) continue;
    ++f.stats.datagrams_due;
    if (f.rng.chance(f.par.mcast_loss)) {
      ++f.stats.datagrams_lost;
      continue;
    }
    deliver(r, f.rng.chance(f.par.mcast_reorder) ? late() : 0);
    if (f.rng.chance(f.par.mcast_duplicate)) {
      ++f.stats.datagrams_duplicated;
      deliver(r, late());
    }
  }
  f.release_datagram(index);
  return true;
}

bool rank_multicast::take_in(std::uint32_t group, std::uint32_t record) {
  membership* m = find(group);
  if (!m) return false;
  if (m->waiting.size() >= owner_.f_.par.mcast_depth) {
    ++owner_.f_.stats.datagrams_overrun;
    return false;
  }
  m->waiting.push_back(record);
  return true;
}

bool rank_multicast::receive(group_id id, datagram& out) noexcept {
  membership* m = find(static_cast<std::uint32_t>(id));
  if (!m) return false;
  fabric& f = owner_.f_;
  if (m->current != ~0u) f.release_datagram(std::exchange(m->current, ~0u));
  if (m->waiting.empty()) return false;
  owner_.glances_ = 0;
  (void)owner_.reap();
  f.spend(owner_.me(), f.net_link.overhead);
  m->current = m->waiting.front();
  m->waiting.pop_front();
  const datagram_record& d = f.datagrams[m->current];
  out = {d.from, d.tag, d.payload};
  return true;
}

void rank_multicast::leave(group_id id) noexcept {
  const auto group = static_cast<std::uint32_t>(id);
  membership* m = find(group);
  if (!m) return;
  fabric& f = owner_.f_;
  if (m->current != ~0u) f.release_datagram(m->current);
  for (const auto record : m->waiting) f.release_datagram(record);
  auto& g = f.groups[group];
  g.joined[m->place] = no_rank;
  if (--g.present == 0) f.groups.erase(group);
  std::erase_if(memberships_, [&](const auto& p) { return p.get() == m; });
}

}  // namespace tutti::sim

// What a rank's processor does: its work, with what disturbs it (noise.h), and the core that it may have to share (cores.h).
#include "providers/sim/net.h"

namespace tutti::sim {

void fabric::disturbed(rank_state& rs, ns work) noexcept {
  disturbance& d = disturbances[rank_of(rs)];
  if (d.slow()) work = static_cast<ns>(static_cast<double>(work) * par.noise.factor + 0.5);
  rs.clock = d.after(par.noise, rs.clock, rs.clock + work);
}

core_state& fabric::core_of(rank_t r) noexcept {
  return cores[std::size_t{node_of(r)} * par.cores.per_node + r % par.ranks_per_node % par.cores.per_node];
}

// False: another rank has it at that time, and this one goes on when that one gives it away.
bool fabric::has_core(rank_state& rs, ns at) {
  if (cores.empty()) return true;
  const rank_t r = rank_of(rs);
  const core_state& c = core_of(r);
  if (c.last == r || c.free <= std::max(at, rs.clock)) return true;
  go_on_at(rs, c.free);
  return false;
}

// A rank for which nothing has come only looks: that is part of the turns that others are charged.
void fabric::goes_on(rank_state& rs, ns at) noexcept {
  rs.clock = std::max(rs.clock, at);
  if (!cores.empty() && rs.called) {
    const rank_t r = rank_of(rs), first = r - r % par.ranks_per_node, mine = r % par.ranks_per_node % par.cores.per_node;
    const rank_t end = std::min(first + par.ranks_per_node, par.ranks);
    for (rank_t q = first + mine; q < end; q += par.cores.per_node) {
      const rank_state& other = ranks[q];
      if (q != r && !other.dead && (other.state == rank_state::blocked || other.state == rank_state::queued)) rs.clock += turn;
    }
  }
  rs.went_on = rs.clock;
  if (!disturbances.empty()) disturbed(rs, 0);
}

void fabric::gives_core(rank_state& rs) noexcept {
  if (cores.empty()) return;
  const rank_t r = rank_of(rs);
  core_state& c = core_of(r);
  if (rs.called || rs.clock > rs.went_on || c.last == r) c.free = std::max(c.free, rs.clock), c.last = r;
  rs.called = false;
}

}  // namespace tutti::sim

// The exchange at start, between ranks that are functions.
#include <algorithm>

#include "core/job/bootstrap_simulated.h"
#include "providers/sim/net.h"

namespace tutti::sim {

host_id rank_bootstrap::host() const noexcept { return simulated_host(rank_ / f_.par.ranks_per_node); }

result<shared_blobs> rank_bootstrap::allgather(std::span<const std::byte> mine, time_point deadline) {
  const std::uint32_t n = f_.par.ranks;
  if (n > 1 && f_.mode != fabric::mode_t::fibers)
    return status(errc::unsupported, "an exchange among virtual ranks blocks: inside world::run, or world::exchange");
  rank_state& rs = f_.ranks[rank_];
  f_.catch_up(rs);
  auto& slot = f_.gatherings[round_];
  if (!slot) {
    slot = std::make_shared<fabric::gathering>();
    slot->blobs.resize(n), slot->given.resize(n);
    slot->missing = n;
  }
  const auto g = slot;
  const std::uint32_t round = round_++;
  g->blobs[rank_].assign(mine.begin(), mine.end());
  g->given[rank_] = true;
  ++g->waiting;
  for (rank_t r = 0; r < n; ++r)
    if (const rank_state& peer = f_.ranks[r]; !g->given[r] && peer.dead && peer.noticed_at <= rs.clock && g->error.ok())
      g->error = {errc::peer_dead, worded("rank ", r, " died before the exchange"), r};
  if (--g->missing == 0) {
    auto table = std::make_shared<blob_table>();
    for (auto& blob : g->blobs) table->push_back(blob), blob = {};
    g->table = std::move(table);
    for (rank_t r = 0; r < n; ++r)
      if (r != rank_) f_.wake(r, rs.clock + f_.net_link.latency);
  }
  while (!g->table && g->error.ok() && rs.clock < to_ns(deadline)) f_.block(rs, to_ns(deadline));
  if (--g->waiting == 0 && !g->missing) f_.gatherings.erase(round);
  if (g->table) return g->table;
  if (g->error.failed()) return g->error;
  return status(errc::timed_out, worded(g->missing, " of ", n, " ranks did not come to the exchange in time"));
}

}  // namespace tutti::sim

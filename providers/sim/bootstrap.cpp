// The exchange at start, between ranks that are functions.
#include <algorithm>

#include "core/job/bootstrap_simulated.h"
#include "providers/sim/net.h"

namespace tutti::sim {

host_id rank_bootstrap::host() const noexcept { return simulated_host(rank_ / f_.par.ranks_per_node); }

std::shared_ptr<fabric::gathering> rank_bootstrap::give(std::span<const std::byte> mine) {
  const std::uint32_t n = f_.par.ranks, round = round_++;
  const ns at = f_.ranks[rank_].clock;
  auto& slot = f_.gatherings[round];
  if (!slot) {
    slot = std::make_shared<fabric::gathering>();
    slot->blobs.resize(n), slot->given.resize(n);
    slot->missing = n;
  }
  const auto g = slot;
  g->blobs[rank_].assign(mine.begin(), mine.end());
  g->given[rank_] = true;
  for (rank_t r = 0; f_.died && r < n; ++r)
    if (const rank_state& peer = f_.ranks[r]; !g->given[r] && peer.dead && peer.noticed_at <= at && g->error.ok())
      g->error = {errc::peer_dead, worded("rank ", r, " died before the exchange"), r};
  if (--g->missing) return g;
  f_.gatherings.erase(round);  // those who wait have it
  auto table = std::make_shared<blob_table>();
  for (auto& blob : g->blobs) table->push_back(blob), blob = {};
  g->table = std::move(table);
  for (rank_t r = 0; r < n; ++r)
    if (r != rank_) f_.wake(r, at + f_.net_link.latency);
  return g;
}

result<shared_blobs> rank_bootstrap::allgather(std::span<const std::byte> mine, time_point deadline) {
  const std::uint32_t n = f_.par.ranks;
  if (n > 1 && f_.mode != fabric::mode_t::fibers)
    return status(errc::unsupported, "an exchange among virtual ranks blocks: inside world::run, or world::exchange");
  rank_state& rs = f_.ranks[rank_];
  f_.catch_up(rs);
  const auto g = give(mine);
  while (!g->table && g->error.ok() && rs.clock < to_ns(deadline)) f_.block(rs, to_ns(deadline));
  if (g->table) return g->table;
  if (g->error.failed()) return g->error;
  return status(errc::timed_out, worded(g->missing, " of ", n, " ranks did not come to the exchange in time"));
}

world::gathered world::gather(rank_t r, std::span<const std::byte> mine) {
  (void)boot(r);
  return [g = f_->boots[r]->give(mine)]() -> result<shared_blobs> {
    if (g->error.failed()) return g->error;
    return g->table;
  };
}

}  // namespace tutti::sim

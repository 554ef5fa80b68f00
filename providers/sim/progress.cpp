// Driving and waiting.
#include <algorithm>

#include "providers/sim/net.h"

namespace tutti::sim {

namespace {
constexpr ns poll_least = 100, poll_most = 100'000'000;
}

// Tells completions, and performs what waits for this rank's progress.
unsigned rank_transport::work() noexcept {
  if (std::exchange(packets_came_, false)) two_sided_.show_arrived();
  const auto told = static_cast<unsigned>(ready_.size());
  for (const ending& e : ready_) e.done->finish(e.outcome);
  ready_.clear();
  unsigned performed = 0;
  if (!inbox_.empty()) {
    f_.progressing = rank_;
    for (; performed < inbox_.size(); ++performed) {
      const std::uint32_t index = inbox_[performed];
      rank_state& rs = me();
      f_.spend(rs, f_.wire_between(rank_, f_.messages[index].origin).overhead);
      f_.perform(index, rs.clock);
      f_.release(index);
    }
    inbox_.clear();
    f_.progressing = no_rank;
  }
  return told + performed;
}

// With nothing to do, time passes until something arrives, and otherwise in steps that grow with the wait: a loop that
// polls until a deadline ends soon after it, and one that polls for a second does not take ten million events. A rank
// that did something else since its last call has not been waiting.
unsigned rank_transport::progress() noexcept {
  glances_ = 0;
  armed_ = false;
  rank_state& rs = me();
  if (f_.mode != fabric::mode_t::steps) f_.catch_up(rs);
  unsigned n = work();
  if (!n && f_.mode != fabric::mode_t::steps && seen_ == f_.arrived(rs)) {
    if (rs.clock != polled_at_) idle_since_ = rs.clock;
    rs.polling = true;
    f_.block(rs, rs.clock + std::clamp((rs.clock - idle_since_) / 16, poll_least, poll_most));
    rs.polling = false;
    polled_at_ = rs.clock;
    n = work();
  }
  if (n || seen_ != f_.arrived(rs)) idle_since_ = rs.clock;
  seen_ = f_.arrived(rs);
  if (n) f_.active();
  return n;
}

armed rank_transport::arm() noexcept {
  glances_ = 0;
  rank_state& rs = me();
  if (f_.hostile() && f_.mode != fabric::mode_t::steps && f_.rng.chance(0.25)) {
    // Time may pass between the caller's last look at its words and this call: what arrives here ends no sleep.
    rs.clock += 1 + f_.extra(f_.net_link.latency);
    f_.catch_up(rs);
  }
  if (std::exchange(packets_came_, false)) two_sided_.show_arrived();
  armed_ = ready_.empty() && inbox_.empty();
  armed_at_ = f_.arrived(rs);
  return armed_if(armed_);
}

void rank_transport::sleep(armed, time_point deadline) noexcept {
  glances_ = 0;
  if (!std::exchange(armed_, false)) return;
  if (f_.mode == fabric::mode_t::steps) return call_again_at(deadline);
  rank_state& rs = me();
  ns until = to_ns(deadline);
  if (rs.dead) {  // nothing reaches it; its owner tears it down, and waits in vain for what it had begun
    if (until != never) rs.clock = std::max(rs.clock, until);
    return;
  }
  f_.catch_up(rs);
  if (f_.arrived(rs) != armed_at_ || !ready_.empty() || !inbox_.empty() || until <= rs.clock) return;
  if (f_.hostile() && f_.rng.chance(1.0 / 16)) until = std::min(until, rs.clock + 1 + f_.extra(f_.net_link.latency));
  if (two_sided_.refused()) until = std::min(until, rs.clock + f_.net_link.latency);
  f_.block(rs, until);
}

void rank_transport::after_step() noexcept {
  rank_state& rs = me();
  rs.state = rank_state::blocked;
  const ns timer = std::exchange(timer_, never);
  if (std::exchange(refused_, false) || !ready_.empty() || !inbox_.empty()) f_.go_on_at(rs, rs.clock + poll_least);
  else if (timer != never) f_.go_on_at(rs, std::max(timer, rs.clock));
}

// A rank that reads its clock or a peer's health in a loop waits for time to pass.
void rank_transport::glance() const noexcept {
  if (++glances_ < 64) return;
  rank_state& rs = me();
  rs.clock += poll_least;
  if (f_.mode != fabric::mode_t::steps) f_.catch_up(rs);
}

time_point rank_transport::now() const noexcept {
  glance();
  return time_point(std::chrono::nanoseconds(me().clock));
}

status rank_transport::health(rank_t peer) noexcept {
  glance();
  if (peer == rank_ || peer >= f_.par.ranks) return {};
  const rank_state& rs = f_.ranks[peer];
  if (rs.dead && rs.noticed_at <= me().clock)
    return {errc::peer_dead,
            worded("rank ", peer, " died at ", rs.died_at / 1000, " us"), peer};
  if (rs.left) return {errc::peer_dead, worded("rank ", peer, " left"), peer, peer_left};
  return {};
}

}  // namespace tutti::sim

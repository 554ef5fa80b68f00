#include "providers/shm/transport.h"

namespace tutti::shm {

unsigned shm_transport::progress() noexcept {
  if (armed_ != doze::awake) disarm();
  if (rings_owed_) pay_rings();
  unsigned n = read_mails();
  if (asked_) n += read_replies();
  if (mailing_ || !flushes_.empty()) n += finish_flushes();
  if (++ticks_ % 64 == 0) look_around();
  return n;
}

// Whoever waits by polling or only submits finds dead peers here; whoever sleeps, in sleep().
void shm_transport::look_around() noexcept {
  const time_point t = now();
  if (t < next_check_) return;
  next_check_ = t + std::chrono::milliseconds{100};
  if (peers_) check_all();
}

// Direct operations are done when they are taken, and a full fence makes them visible; only mails may be under way.
bool shm_transport::flush(rank_t rank, completion* done) noexcept {
  full_fence();
  if (++ticks_ % 64 == 0) look_around();
  const auto report = [&](const status& s) {
    if (!done) return;
    done->begin();
    done->finish(s);
  };
  if (rank != no_rank) {
    peer* p = find(rank);
    if (!p) {
      report({errc::invalid, worded("rank ", rank, not_on_this_node), rank});
      return true;
    }
    settle(*p);
    if (p->mail_pending && done) {
      if (flushes_.size() == flush_capacity_) return false;
      done->begin();
      flushes_.push_back({p, done, p->mail_ticket});
    }
    if (p->deferred.failed()) report(std::exchange(p->deferred, {}));
    else if (!p->life.alive()) report(p->life.end());
    return true;
  }
  std::size_t pending = 0;
  for (std::uint32_t i = 0; mailing_ && i < peer_count_; ++i) {
    settle(peers_[i]);
    pending += peers_[i].mail_pending;
  }
  if (pending && done && flushes_.size() + pending > flush_capacity_) return false;
  for (std::uint32_t i = 0; i < peer_count_; ++i) {
    peer& p = peers_[i];
    if (p.mail_pending && done) {
      done->begin();
      flushes_.push_back({&p, done, p.mail_ticket});
    }
    if (p.deferred.failed()) report(std::exchange(p.deferred, {}));
  }
  return true;
}

unsigned shm_transport::finish_flushes() noexcept {
  unsigned n = 0;
  for (std::size_t i = 0; i < flushes_.size();) {
    const pending_flush& f = flushes_[i];
    if (!reached(f.to->page->posted.tail.load(std::memory_order_acquire), f.ticket)) {
      ++i;
      continue;
    }
    completion* done = f.done;
    flushes_[i] = flushes_.back();
    flushes_.pop_back();
    ++n;
    done->finish();
  }
  for (std::uint32_t i = 0; mailing_ && i < peer_count_; ++i) settle(peers_[i]);
  return n;
}

bool shm_transport::flush_waits() const noexcept {
  for (const pending_flush& f : flushes_)
    if (reached(f.to->page->posted.tail.load(std::memory_order_acquire), f.ticket)) return true;
  return false;
}

}  // namespace tutti::shm

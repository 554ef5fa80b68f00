// Meeting the ranks of this node, and noticing when they are gone.
//
// A process that ends, however it ends, makes its pidfd readable at once, also while it is a zombie. A transport that
// is destroyed in order says so in its control page first, and that is looked at first: "left" is told from "died"
// even when the process has gone as well. Threads of this process have no pidfd of their own, only the mark. Where no
// descriptor is left for a pidfd, a path in /proc tells whether the process still holds its control page.
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include "providers/shm/transport.h"

namespace tutti::shm {

status shm_transport::contact(peer& p) noexcept {
  if (p.rank == rank_) {
    p.page = &page();
    p.fence = no_membarrier_;
    p.direct = true;
    return {};
  }
  auto memory = open_memory(p.name, "the control page", 0, ring_offset());
  if (!memory) {
    if (memory.error().code() != errc::peer_dead) return not_opened(p, memory.error());
    // Only operations towards it fail. One that runs has left: some are through with everything before others have met them.
    process_watch process;
    if (watch_owner(p.name, process) != process_watch::found::ended) ended(p, rank_left(p.rank), told_by::itself);
    else ended(p, rank_ended(p.rank), told_by::its_process);
    return {};
  }
  p.page_memory = std::move(*memory);
  p.page = reinterpret_cast<control_page*>(p.page_memory.get());
  p.fence = no_membarrier_ || p.page->no_membarrier;
  p.direct = true;
  return {};
}

void shm_transport::ended(peer& p, status how, told_by who) noexcept {
  if (!p.life.alive()) return;
  read_replies();  // what it answered while it lived counts
  p.life.ends(std::move(how), who);
  p.direct = false;
  any_ended_ = true;
  if (p.mail_pending) p.mail_pending = false, --mailing_;
  for (std::uint32_t i = 0; i < reply_slots; ++i) {
    if (!(asked_ >> i & 1) || questions_[i].to != &p) continue;
    asked_ &= ~(std::uint64_t{1} << i);
    if (questions_[i].done) questions_[i].done->finish(p.life.end());
  }
  for (std::size_t i = 0; i < flushes_.size();) {
    if (flushes_[i].to != &p) {
      ++i;
      continue;
    }
    completion* done = flushes_[i].done;
    flushes_[i] = flushes_.back();
    flushes_.pop_back();
    done->finish(p.life.end());
  }
}

bool shm_transport::check(peer& p) noexcept {
  if (!p.life.alive()) return true;
  if (&p == self_) return false;
  if (p.page->left.load(std::memory_order_acquire)) {
    ended(p, rank_left(p.rank), told_by::itself);
    return true;
  }
  if (p.same_process) return false;
  const bool gone = p.process ? p.process.ended() : watch_owner(p.name, p.process) == process_watch::found::ended;
  if (!gone) return false;
  // It may have left and ended between the two looks.
  if (p.page->left.load(std::memory_order_acquire)) ended(p, rank_left(p.rank), told_by::itself);
  else ended(p, rank_ended(p.rank), told_by::its_process);
  return true;
}

// A process that ends lets go of its memory, then of its descriptors, and only then does its pidfd tell. On a busy machine
// each may take its time, but none of it fails to come; the bound is for a kernel that hangs.
bool shm_transport::ends(peer& p) noexcept {
  if (check(p)) return true;
  for (int ms = 0; !p.process && ms < 5000; ++ms) {  // of too many files
    ::usleep(1000);
    if (check(p)) return true;
  }
  (void)p.process.ended(5000);
  return check(p);
}

// A living process keeps its control page open, unless its program closes what it has not opened.
bool shm_transport::has_let_go(peer& p) noexcept {
  return check(p) || (!is_held(p.name) && !still_runs(p.name.owner) && ends(p));
}

status shm_transport::closed_by_itself(const peer& p) noexcept {
  page().cut_off.store(reach::closed, std::memory_order_release);
  return {errc::unavailable, worded("rank ", p.rank, " has closed the descriptors of its memory", remedy_of_closing), p.rank};
}

// One system call for all that have a pidfd, since each of n ranks looks at n. Where the kernel refuses it (more peers than
// this process may have files), one for each.
bool shm_transport::check_all() noexcept {
  bool found = false;
  for (std::uint32_t i = 0; i < peer_count_; ++i) {
    peer& p = peers_[i];
    polled_[i] = {-1, POLLIN, 0};  // which poll() passes over
    if (!p.life.alive()) continue;
    if (p.process && !p.page->left.load(std::memory_order_acquire)) polled_[i].fd = p.process.fd();
    else if (check(p)) found = true;
  }
  const int told = ::poll(polled_.data(), peer_count_, 0);
  for (std::uint32_t i = 0; told != 0 && i < peer_count_; ++i)
    if (polled_[i].fd >= 0 && (told < 0 || polled_[i].revents) && check(peers_[i])) found = true;
  return found;
}

void shm_transport::watch_all() noexcept {
  for (std::uint32_t i = 0; i < peer_count_; ++i) {
    peer& p = peers_[i];
    if (check(p)) {
      // It stays readable; once known it must not make wait_fd() so for ever.
      if (std::exchange(p.watched, false)) epoll_.remove(p.process.fd());
    } else if (!p.watched && p.process) {
      p.watched = epoll_.add(p.process.fd(), nullptr);
    }
  }
}

void shm_transport::wake_all() noexcept {
  for (std::uint32_t i = 0; i < peer_count_; ++i)
    if (peers_[i].life.alive() && &peers_[i] != self_) wake(peers_[i]);
}

status shm_transport::health(rank_t r) noexcept {
  peer* p = find(r);
  if (!p) return {errc::invalid, worded("rank ", r, not_on_this_node), r};
  check(*p);
  if (!p->life.alive()) return p->life.end();
  // An operation without a completion that could not be done, for want of a descriptor, say: until a flush has told it, who
  // waits for that rank's answer may wait in vain (clause 10). Memory that the peer has dropped is its own choice.
  if (p->deferred.failed() && p->deferred.code() != errc::invalid) return p->deferred;
  const reach of_peer = p == self_ ? reach::all : p->page->cut_off.load(std::memory_order_acquire);
  if (of_peer != reach::all)
    return {errc::fabric, worded("rank ", r, " cannot reach the memory of all other ranks",
                                 (of_peer == reach::refused ? remedy_of_access : remedy_of_closing)), r};
  return {};
}

}  // namespace tutti::shm

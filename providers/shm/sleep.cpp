// Clause 9, without a fence on the signaller's side.
//
// A sleeper writes `waiting`, then looks at the words; a signaller writes a word, then looks at `waiting` (wake()). If
// neither saw the other's write, the wake-up would be lost. The usual remedy is a full fence on both sides, which would
// cost the signaller more than the signal itself. Here the sleeper, who has time, pays for both: its membarrier puts a
// full fence into every running thread of every rank, somewhere in its program order (a thread that does not run has
// passed one when it was switched out). A signaller whose look at `waiting` comes after that fence sees it set, and
// rings. One whose look comes before has also written its word before, since the compiler keeps the two in order, and
// the fence makes the word visible to the sleeper, who looks at it after arm() has returned. That holds wherever the
// signaller is stopped between its store and its look, and on processors that reorder more than x86 does, as the fence
// is one of program order. Membarrier reaches only processes that registered: a signaller that could not, and all who
// signal a sleeper that cannot use it, fence for themselves (peer::fence), and the sleeper does so in its place.
//
// `waiting` is 0 while awake, else how the rank waits and, above two bits, a number that each sleep has for itself: a
// ringer that was stopped in the middle cannot take a later sleep for the one it saw and swap that one's value away.
//
// The futex: the ringer swaps `waiting` back to 0 and then wakes; the sleeper waits for as long as the value is that of
// its sleep, which the kernel compares again before it puts it to sleep. So a ring between arm() and sleep() ends the
// sleep, a late wake is a spurious one, and one sleep costs one wake however many signal. If the ringer dies between its
// swap and its wake, nobody else rings: that is why a sleep is cut into slices of 100 ms, after each of which the sleeper
// looks at `waiting` again. The slices also serve to look whether a peer has died, which ends the sleep.
//
// The pipe, for wait_fd(): the ringer opens the sleeper's pipe through /proc, writes a byte, and only then swaps
// `waiting` back, so that a ringer that dies has either written, or left the others to ring. Its own signal may go
// unannounced then, but not its death: wait_fd() is an epoll descriptor that holds the pipe and the pidfds of all
// peers.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "providers/shm/multicast.h"
#include "providers/shm/transport.h"
#include "providers/shm/two_sided.h"

namespace tutti::shm {

namespace {

constexpr auto slice_of_sleep = std::chrono::milliseconds{100};
constexpr auto short_nap = std::chrono::milliseconds{1};

constexpr doze how_of(std::uint32_t waiting) noexcept { return static_cast<doze>(waiting & 3); }

}  // namespace

void shm_transport::ring(peer& p) noexcept {
  std::atomic<std::uint32_t>& waiting = p.page->waiting;
  std::uint32_t seen = waiting.load(std::memory_order_acquire);
  switch (how_of(seen)) {
    case doze::awake: return;
    case doze::on_futex:
      if (waiting.compare_exchange_strong(seen, 0)) futex_wake(waiting);
      return;
    case doze::on_pipe: break;
  }
  auto pipe = open_descriptor(p.name.owner, p.page->pipe_fd.load(std::memory_order_relaxed),
                              p.page->pipe_inode.load(std::memory_order_relaxed),
                              p.page->pipe_device.load(std::memory_order_relaxed), O_RDWR);  // RDWR: never SIGPIPE
  if (!pipe) {
    if (pipe.error().code() != errc::peer_dead) owe_ring(p);
    return;
  }
  const char byte = 1;
  (void)!::write(pipe->get(), &byte, 1);  // a full pipe is readable already
  waiting.compare_exchange_strong(seen, 0);
}

// No descriptor was free to ring with: progress() tries again, and until it succeeds this rank does not sleep for long.
void shm_transport::owe_ring(peer& p) noexcept {
  if (!p.ring_owed) p.ring_owed = true, ++rings_owed_;
}

void shm_transport::pay_rings() noexcept {
  rings_owed_ = 0;
  for (std::uint32_t i = 0; i < peer_count_; ++i)
    if (std::exchange(peers_[i].ring_owed, false) && peers_[i].life.alive()) wake(peers_[i]);
}

bool shm_transport::has_work() noexcept {
  return mail_waits() || (asked_ && reply_waits()) || flush_waits() || multicast_->news() || two_sided_->passes_dead();
}

bool shm_transport::arm(doze how) noexcept {
  if (armed_ != doze::awake) disarm();
  if (rings_owed_) pay_rings();
  if (has_work()) return false;
  if (rings_owed_ && how == doze::on_pipe) return false;
  if (how == doze::on_pipe) {
    if (wait_fd() < 0) return false;
    watch_all();
    drain_pipe();
  }
  armed_as_ = ++sleeps_ << 2 | static_cast<std::uint32_t>(how);
  page().waiting.store(armed_as_, std::memory_order_release);
  if (no_membarrier_) full_fence();
  else membarrier_everywhere();
  armed_ = how;
  if (!has_work()) return true;
  disarm();
  return false;
}

void shm_transport::sleep(armed, time_point deadline) noexcept {
  if (armed_ != doze::on_futex) return;
  std::atomic<std::uint32_t>& waiting = page().waiting;
  const bool send_refused = std::exchange(send_refused_, false);
  while (waiting.load(std::memory_order_acquire) == armed_as_) {
    const time_point t = now();
    if (t >= deadline) break;
    const bool nap = refused_ || send_refused || rings_owed_;  // nobody rings when a queue has room again, or a descriptor is free
    const auto slice = nap ? short_nap : slice_of_sleep;
    const bool last = deadline - t <= slice;
    futex_wait(waiting, armed_as_, last ? deadline : t + slice);
    if (waiting.load(std::memory_order_acquire) != armed_as_) break;
    if (nap || check_all()) break;
  }
  disarm();
}

void shm_transport::disarm() noexcept {
  if (armed_ == doze::awake) return;
  page().waiting.store(0, std::memory_order_relaxed);
  if (armed_ == doze::on_pipe) drain_pipe();
  armed_ = doze::awake;
}

void shm_transport::drain_pipe() noexcept {
  char bytes[64];
  while (::read(pipe_read_.get(), bytes, sizeof bytes) == static_cast<ssize_t>(sizeof bytes)) {}
}

int shm_transport::wait_fd() noexcept {
  if (epoll_.fd() >= 0) return epoll_.fd();
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC | O_NONBLOCK)) return -1;
  unique_fd reader{ends[0]}, writer{ends[1]};
  epoll_set all;
  struct stat st;
  if (!all.open() || ::fstat(ends[1], &st) || !all.add(ends[0], nullptr)) return -1;
  pipe_read_ = std::move(reader);
  pipe_write_ = std::move(writer);
  epoll_ = std::move(all);
  page().pipe_fd.store(ends[1], std::memory_order_relaxed);
  page().pipe_device.store(st.st_dev, std::memory_order_relaxed);
  page().pipe_inode.store(st.st_ino, std::memory_order_relaxed);  // `waiting` publishes them
  return epoll_.fd();
}

}  // namespace tutti::shm

#include "core/transport/progress_thread.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>

#include "core/base/quiet_thread.h"

namespace tutti {
namespace {

constexpr int absence_ms = 1;           // without a call, and the rank is away
constexpr int longest_look_ms = 16;     // while the rank has a sleep armed, which may last
constexpr std::size_t most_driven = 7;  // a router has two

}  // namespace

status progress_thread::start() {
  bell_ = unique_fd{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  if (!bell_) return {errc::no_resource, worded("TUTTI_PROGRESS=thread: eventfd: ", std::strerror(errno)), no_rank, errno};
  if (driven_.size() > most_driven) return {errc::invalid, "too many transports for one progress thread"};
  try {
    thread_ = quiet_thread([this] { run(); });
  } catch (const std::system_error& e) {
    return {errc::no_resource, worded("TUTTI_PROGRESS=thread: no thread: ", e.what()), no_rank, e.code().value()};
  }
  return {};
}

progress_thread::~progress_thread() {
  over_ = true;
  if (thread_.joinable()) {
    ::eventfd_write(bell_.get(), 1);
    thread_.join();
  }
}

void progress_thread::enter() noexcept {
  if (!mutex_.try_lock()) {
    wanted_.store(true);
    mutex_.lock();
    wanted_.store(false);
  }
  visits_.fetch_add(1, std::memory_order_relaxed);
  if (!standing_in_) return;
  standing_in_ = false;
  for (transport* t : driven_) t->disarm();
  ::eventfd_write(bell_.get(), 1);
}

void progress_thread::run() noexcept {
  while (stay_away() && stand_in()) {}
}

bool progress_thread::stay_away() noexcept {
  std::uint64_t seen = visits_.load(std::memory_order_relaxed);
  for (int pause = absence_ms; !over_;) {
    const bool early = wait(pause, false) == woke::by_bell;
    const std::uint64_t now = visits_.load(std::memory_order_relaxed);
    const bool armed = armed_.load(std::memory_order_relaxed);
    if (now == seen && !armed && !early) return !over_;
    pause = now == seen && armed ? std::min(2 * pause, longest_look_ms) : absence_ms;
    seen = now;
  }
  return false;
}

bool progress_thread::stand_in() noexcept {
  const std::uint64_t seen = visits_.load(std::memory_order_relaxed);
  for (int idle = 0;;) {
    bool asleep = false;
    unsigned events = 0;
    {
      const std::lock_guard lock{mutex_};
      standing_in_ = false;
      if (visits_.load(std::memory_order_relaxed) != seen || armed_.load(std::memory_order_relaxed)) return true;
      for (transport* t : driven_) events += t->progress();
      if (!events && !over_) asleep = standing_in_ = arm();
    }
    if (wanted_.load()) return true;
    if (over_) return false;
    if (events) {
      idle = 0;
      continue;
    }
    // What cannot be armed now has something to do that no event will tell.
    wait(asleep ? -1 : std::min(idle++ / 16, absence_ms), asleep);
  }
}

bool progress_thread::arm() noexcept {
  for (std::size_t i = 0; i < driven_.size(); ++i) {
    if (driven_[i]->wait_fd() >= 0 && driven_[i]->arm_fd()) continue;
    while (i-- > 0) driven_[i]->disarm();
    return false;
  }
  return true;
}

progress_thread::woke progress_thread::wait(int timeout_ms, bool also_for_work) noexcept {
  pollfd fds[1 + most_driven] = {{bell_.get(), POLLIN, 0}};
  nfds_t n = 1;
  if (also_for_work)
    for (transport* t : driven_) fds[n++] = {t->wait_fd(), POLLIN, 0};
  if (::poll(fds, n, timeout_ms) <= 0) return woke::by_time;
  if (!(fds[0].revents & POLLIN)) return woke::by_work;
  eventfd_t rings;
  ::eventfd_read(bell_.get(), &rings);
  return woke::by_bell;
}

}  // namespace tutti

// The system calls by which a process waits for descriptors and for time.
#include <poll.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>

#include <algorithm>

#include "tests/seeded/calls.h"

namespace tutti::test {
namespace {

using namespace std::chrono_literals;

struct epoll : object {
  struct item {
    std::weak_ptr<object> what;
    epoll_event event;
    std::uint64_t seen;
  };
  std::map<int, item> items;
  static bool ready(const item& i) {
    const auto o = i.what.lock();
    return o && (i.event.events & EPOLLET ? o->events != i.seen : o->readable());
  }
  bool readable() const override {
    return std::any_of(items.begin(), items.end(), [](const auto& i) { return ready(i.second); });
  }
};

struct timer : object {
  nanoseconds ends{0};  // 0: none
  bool readable() const override { return ends.count() && world->now() >= ends; }
};

// Until one of them is readable, or for so long; -1 ms: for ever.
// Nothing of the kernel's is held meanwhile: the process may be killed here.
void wait_for(const std::vector<int>& fds, nanoseconds longest) {
  const bool ready = std::any_of(fds.begin(), fds.end(), [](int fd) {
    const auto o = world->find(fd);
    return o && o->readable();
  });
  if (ready || longest == 0ns) world->step();
  else world->wait(fds, world->now() + (longest < 0ns ? std::chrono::hours{1} : longest));
}

}  // namespace

void unwatch(int fd) {
  for (const auto& [number, o] : running->fakes)
    if (const auto e = std::dynamic_pointer_cast<epoll>(o)) {
      const in_kernel k;
      e->items.erase(fd);
    }
}

}  // namespace tutti::test

using namespace tutti::test;
using namespace std::chrono_literals;

extern "C" {

int __real_poll(pollfd*, nfds_t, int);

int __wrap_epoll_create1(int) {
  world->step();
  return open_new<epoll>();
}

int __wrap_epoll_ctl(int fd, int what, int which, epoll_event* event) {
  world->step();
  const auto e = find_as<epoll>(fd);
  const auto o = world->find(which);
  if (!e || !o) return failed(EBADF);
  const in_kernel k;
  const auto found = e->items.find(which);
  const bool there = found != e->items.end() && !found->second.what.expired();
  if (what == EPOLL_CTL_DEL) {
    if (!there) return failed(ENOENT);
    e->items.erase(found);
    return 0;
  }
  if (what == EPOLL_CTL_ADD && there) return failed(EEXIST);
  if (what == EPOLL_CTL_MOD && !there) return failed(ENOENT);
  if (what == EPOLL_CTL_ADD && std::dynamic_pointer_cast<pid_object>(o) && world->random.one_in(2 * world->no_pidfd_one_in)) return failed(ENOMEM);
  e->items[which] = {o, *event, o->events - o->readable()};
  return 0;
}

int __wrap_epoll_wait(int fd, epoll_event* out, int most, int timeout_ms) {
  wait_for({fd}, std::chrono::milliseconds{timeout_ms});
  const auto e = find_as<epoll>(fd);
  if (!e) return failed(EBADF);
  int n = 0;
  const in_kernel k;
  for (auto i = e->items.begin(); i != e->items.end();) {
    const auto o = i->second.what.lock();
    if (!o) {
      i = e->items.erase(i);
      continue;
    }
    if (n < most && epoll::ready(i->second)) {
      i->second.seen = o->events;
      out[n++] = i->second.event;
    }
    ++i;
  }
  return n;
}

int __wrap_timerfd_create(int, int) {
  world->step();
  return open_new<timer>();
}

int __wrap_timerfd_settime(int fd, int, const itimerspec* to, itimerspec*) {
  world->step();
  const auto t = find_as<timer>(fd);
  if (!t) return failed(EBADF);
  const nanoseconds in = std::chrono::seconds{to->it_value.tv_sec} + nanoseconds{to->it_value.tv_nsec};
  t->ends = in.count() ? world->now() + in : 0ns;
  if (in.count()) {
    const in_kernel k;
    world->at(t->ends, [] {});  // those who wait for it are looked at
  }
  return 0;
}

int __wrap_ppoll(pollfd* p, nfds_t n, const timespec* longest, const sigset_t*) {
  std::vector<int> fds;
  for (nfds_t i = 0; i < n; ++i) fds.push_back(p[i].fd);
  wait_for(fds, longest ? std::chrono::seconds{longest->tv_sec} + nanoseconds{longest->tv_nsec} : nanoseconds{-1});
  int ready = 0;
  for (nfds_t i = 0; i < n; ++i) {
    const auto o = world->find(p[i].fd);
    p[i].revents = !o ? POLLNVAL : o->readable() ? POLLIN : 0;
    ready += p[i].revents != 0;
  }
  return ready;
}

int __wrap_poll(pollfd* p, nfds_t n, int timeout_ms) {
  if (!running) return __real_poll(p, n, timeout_ms);
  const timespec t{timeout_ms / 1000, timeout_ms % 1000 * 1'000'000L};
  return __wrap_ppoll(p, n, timeout_ms < 0 ? nullptr : &t, nullptr);
}

}  // extern "C"

#include "tools/run/output_mux.h"

#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <string>

namespace tutti::launching {
namespace {

constexpr std::size_t most_read = 65536;  // all that a usual pipe holds, and the largest page, so no write is cut

// A pipe of packets (O_DIRECT), each write being one, with room for one.
bool let_hold_one_write(int fd) {
  return fcntl(fd, F_SETPIPE_SZ, 1) == sysconf(_SC_PAGESIZE) && (fcntl(fd, F_GETFL) & O_DIRECT) != 0;
}

}  // namespace

output_mux::output_mux() : arrivals_(epoll_create1(EPOLL_CLOEXEC)), bytes_(most_read) {}

result<rank_output> output_mux::add(std::string tag, bool alone) {
  auto output = add(output_, tag, alone);
  if (!output) return output.error();
  auto error = add(error_, std::move(tag), alone);
  if (!error) return error.error();
  return rank_output{*std::move(output), *std::move(error)};
}

result<unique_fd> output_mux::add(side& of, std::string tag, bool alone) {
  int fds[2];
  if (pipe2(fds, O_CLOEXEC | O_DIRECT) != 0 && pipe2(fds, O_CLOEXEC) != 0)
    return status{errc::no_resource, std::string{"cannot make the pipes of a rank (`ulimit -n` raises the limit): "} + std::strerror(errno), no_rank, errno};
  unique_fd from{fds[0]}, to{fds[1]};
  const bool one_write = !alone && let_hold_one_write(to.get());
  if (!one_write) fcntl(to.get(), F_SETFL, 0);
  fcntl(from.get(), F_SETFL, O_NONBLOCK);
  streams_.push_back({std::move(from), &of, {std::move(tag), alone, {}}, one_write});
  stream& s = streams_.back();
  epoll_event event{};
  event.events = EPOLLIN | (one_write ? EPOLLET : EPOLLONESHOT);
  event.data.ptr = &s;
  if (epoll_ctl(arrivals_.get(), EPOLL_CTL_ADD, s.from.get(), &event) != 0)
    return status{errc::no_resource, std::string{"cannot watch a rank's output: "} + std::strerror(errno), no_rank, errno};
  return to;
}

void output_mux::interests(std::vector<pollfd>& all) const {
  all.push_back({arrivals_.get(), POLLIN, 0});
  for (const side* s : {&output_, &error_})
    if (!s->to.idle()) all.push_back({s->to.fd(), POLLOUT, 0});
}

void output_mux::read(const arrival& a) {
  stream& s = *a.at;
  side& other = s.of == &output_ ? error_ : output_;
  if (!other.to.idle()) send(other);  // both may lead to one terminal
  while (s.from) {
    const ssize_t got = ::read(s.from.get(), bytes_.data(), bytes_.size());
    if (got > 0) {
      s.of->to.take(s.lines, {bytes_.data(), static_cast<std::size_t>(got)});
      if (!a.ended) break;
    } else if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
      s.of->to.finish(s.lines);
      s.from.close();
    } else if (errno == EAGAIN) {
      break;
    }
  }
  if (s.one_write || !s.from) return;
  epoll_event event{};
  event.events = EPOLLIN | EPOLLONESHOT;
  event.data.ptr = &s;
  epoll_ctl(arrivals_.get(), EPOLL_CTL_MOD, s.from.get(), &event);
}

std::size_t output_mux::collect() {
  epoll_event came[64];
  const int n = epoll_wait(arrivals_.get(), came, std::size(came), 0);
  for (int i = 0; i < n; ++i) {
    const arrival a{static_cast<stream*>(came[i].data.ptr), (came[i].events & EPOLLHUP) != 0};
    if (side& of = *a.at->of; of.due.empty() && !of.to.full()) read(a);
    else of.due.push_back(a);
  }
  return n > 0 ? static_cast<std::size_t>(n) : 0;
}

void output_mux::send(side& to) {
  outlet& o = to.to;
  pollfd ready{o.fd(), POLLOUT, 0};
  while (!o.idle() && poll(&ready, 1, 0) == 1) {
    const bool lost_before = o.lost();
    if (!o.send()) {  // nobody reads: the ranks shall learn it as any writer does, by SIGPIPE
      for (stream& s : streams_)
        if (s.of == &to) s.from.close();
    } else if (!lost_before && o.lost() && &to == &output_) {
      say(std::string{"tutti run: cannot write the output: "} + std::strerror(o.lost()) + "; the job goes on, what it prints is lost");
    }
  }
}

// What is due stays so only while the outlet is full, and then the outlet waits to be written to.
void output_mux::pass_on() {
  for (side* s : {&output_, &error_}) {
    send(*s);
    while (!s->due.empty() && !s->to.full()) {
      read(s->due.front());
      s->due.pop_front();
      if (s->due.empty() || s->to.full()) send(*s);
    }
  }
}

// A rank that writes on waits for each read. To sleep between them would take it some 10 us a line.
void output_mux::proceed() {
  using namespace std::chrono;
  constexpr auto now = steady_clock::now;
  const auto begun = now();
  std::size_t came = collect();
  pass_on();
  for (auto last = begun; came > 0 && now() < begun + milliseconds(5);) {
    if (collect() > 0) {
      last = now();
      if (output_.to.bytes() + error_.to.bytes() >= PIPE_BUF) pass_on();
    } else if (now() > last + microseconds(20)) {
      break;
    } else {
      sched_yield();
    }
  }
  pass_on();
}

void output_mux::settle() {
  const auto pass_on_all = [&] {
    for (pass_on(); !output_.to.idle() || !error_.to.idle(); pass_on()) {
      pollfd ready[2] = {{output_.to.idle() ? -1 : 1, POLLOUT, 0}, {error_.to.idle() ? -1 : 2, POLLOUT, 0}};
      poll(ready, 2, -1);
    }
  };
  std::size_t came = 1;
  for (std::size_t all = 0; came > 0 && all < 2 * streams_.size(); all += came) {  // of each what it holds, and its end
    came = collect();
    pass_on_all();
  }
  for (stream& s : streams_)
    if (s.from) s.of->to.finish(s.lines);
  pass_on_all();
}

}  // namespace tutti::launching

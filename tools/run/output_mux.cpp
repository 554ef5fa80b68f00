#include "tools/run/output_mux.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

namespace tutti::launching {

void output_mux::add(rank_process& rank, std::string tag, bool alone) {
  streams_.push_back({std::move(rank.output), &output_, {tag, alone, {}}});
  streams_.push_back({std::move(rank.error), &error_, {std::move(tag), alone, {}}});
}

void output_mux::interests(std::vector<pollfd>& all) const {
  for (const stream& s : streams_)
    if (s.from && !s.to->full()) all.push_back({s.from.get(), POLLIN, 0});
  for (const outlet* o : {&output_, &error_})
    if (!o->idle()) all.push_back({o->fd(), POLLOUT, 0});
}

bool output_mux::move(stream& s) {
  if (!s.from || s.to->full()) return false;
  char bytes[16384];
  const ssize_t got = read(s.from.get(), bytes, sizeof bytes);
  if (got > 0) {
    s.to->take(s.lines, {bytes, static_cast<std::size_t>(got)});
    return true;
  }
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  s.to->finish(s.lines);
  s.from.close();
  return false;
}

void output_mux::send(outlet& o) {
  pollfd ready{o.fd(), POLLOUT, 0};
  while (!o.idle() && poll(&ready, 1, 0) == 1) {
    const bool lost_before = o.lost();
    if (o.send()) {
      if (!lost_before && o.lost() && &o == &output_)
        error_.say(std::string{"tutti run: cannot write the output: "} + std::strerror(o.lost()) + "; the job goes on, what it prints is lost");
      continue;
    }
    for (stream& s : streams_)  // nobody reads: the ranks shall learn it as any writer does, by SIGPIPE
      if (s.to == &o) s.from.close();
    return;
  }
}

// One read a stream, so that a rank that never stops writing keeps nobody else from it.
void output_mux::proceed() {
  for (stream& s : streams_) move(s);
  send(output_);
  send(error_);
}

void output_mux::settle() {
  for (bool more = true; more || !output_.idle() || !error_.idle();) {
    more = false;
    for (stream& s : streams_) more |= move(s) || (s.from && s.to->full());
    send(output_);
    send(error_);
    if (output_.idle() && error_.idle()) continue;
    pollfd ready[2] = {{output_.idle() ? -1 : 1, POLLOUT, 0}, {error_.idle() ? -1 : 2, POLLOUT, 0}};
    poll(ready, 2, -1);
  }
  for (stream& s : streams_)
    if (s.from) s.to->finish(s.lines);
  send(output_);
  send(error_);
}

}  // namespace tutti::launching

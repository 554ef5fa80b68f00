#include "tests/seeded/sockets.h"

#include <algorithm>
#include <cerrno>
#include <map>

namespace tutti::test {
namespace {

using namespace std::chrono_literals;

constexpr auto longest_way = 3ms;  // of a packet

std::map<int, std::weak_ptr<listener>> ports;
int next_port = 20000;

// A packet's way to whoever holds `s`.
void later(const std::shared_ptr<stream>& s, std::function<void(stream&)> what) {
  world->at(world->now() + 10us + world->random.time(longest_way), [s, what = std::move(what)] {
    what(*s);
    ++s->events;
  });
}

}  // namespace

void forget_sockets() { ports.clear(), next_port = 20000; }

void bind_listener(const std::shared_ptr<listener>& l) {
  l->port = next_port++;
  ports[l->port] = l;
}

void connect_stream(const std::shared_ptr<stream>& s, int host, int port) {
  s->now = stream::state::connecting;
  later(s, [weak = std::weak_ptr{s}, host, port](stream& mine) {
    const auto found = ports.find(port);
    const auto l = found == ports.end() ? nullptr : found->second.lock();
    if (world->silent_hosts.count(host)) return;
    if (!l || !l->listens || l->host != host) {
      mine.error = ECONNREFUSED, mine.now = stream::state::closed;
      return;
    }
    mine.now = stream::state::standing;
    l->waiting.push_back(weak.lock());
    ++l->events;
  });
}

void listener::closed() {
  listens = false;
  for (const auto& s : waiting) {
    if (world->silent_hosts.count(host)) {  // probes tell
      world->at(world->now() + 3s + world->random.time(500ms), [s] {
        s->error = ETIMEDOUT, s->now = stream::state::closed;
        ++s->events;
      });
      continue;
    }
    later(s, [](stream& t) { t.error = ECONNRESET, t.now = stream::state::closed; });
  }
  waiting.clear();
}

// The accepted end goes: whatever it has sent comes first.
void stream::closed() {
  if (const auto o = other.lock()) {
    const auto arrives = world->now() + longest_way + 20us;
    world->at(arrives, [o, reset = resets] {
      if (o->now == state::standing && reset) o->error = ECONNRESET, o->now = state::closed;
      else if (o->now == state::standing) o->now = state::ended_by_peer;
      ++o->events;
    });
  }
}

}  // namespace tutti::test

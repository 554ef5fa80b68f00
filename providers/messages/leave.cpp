// How this rank leaves: what it owes is delivered, its peers are told, and the link is brought to a state in which its
// library can be closed.
#include <unistd.h>

#include <algorithm>

#include "providers/messages/transport.h"

namespace tutti::messages {
namespace {

using namespace std::chrono_literals;

constexpr auto longest_leave = 500ms;  // a destructor must end though no peer answers

}  // namespace

void message_transport::close_suspects() noexcept {
  for (peer* p : suspects_) end_peer(*p, {errc::peer_dead, "its connection was lost while this rank left", p->rank});
  suspects_.clear();
  close_endpoints();
}

void message_transport::part_from(peer& p) noexcept {
  open_endpoint(p);
  if (!p.alive() || p.farewell.to) return;
  p.farewell.to = &p;
  p.farewell.head.kind = message_kind::bye;
  queue(p.farewell);
}

// Delivers what was taken, then says goodbye to everyone who has a connection with this rank, all within a bounded
// time of its own (own_time.h). A goodbye that gets lost is no harm: the peer then suspects, and judges rightly by itself. False: the
// link's library must not be closed (link::settle()).
bool message_transport::say_goodbye() noexcept {
  own_time longest{longest_leave, now()};
  leaving_ = true;
  disarm();
  drain();
  for (auto& p : peers_) {
    if (!p || !p->alive() || (!p->asked && !p->heard)) continue;
    part_from(*p);
  }
  const auto busy = [&] {
    return std::any_of(open_.begin(), open_.end(),
                       [](const peer* p) { return p->alive() && !p->life.suspected() && (p->queue.front() || p->under_way); });
  };
  while (busy() && !longest.over(now()))
    if (!progress()) ::usleep(50);

  link_->push_out(longest);
  liveness_.say_goodbye();
  const bool settled = link_->settle({longest_leave, now()});
  for (peer* p : open_) end_peer(*p, {errc::peer_dead, "closed here", p->rank});  // so short that it needs no memory
  if (settled) close_endpoints();
  return settled && link_->settle({longest_leave, now()});
}

}  // namespace tutti::messages

// Sleeping until something arrives: transport.h says what wakes, and by what argument nothing is missed.
//
// One descriptor is waited for. It holds the completion channel (this rank's completions, rings, and datagrams), the connection manager's
// notifications, and an alarm. The alarm bounds a sleep while peers have yet to confirm that they ring, and where peers on
// other hosts are to be probed, who cannot be watched.
#include <sys/eventfd.h>

#include <algorithm>

#include "providers/verbs/death.h"
#include "providers/verbs/transport.h"

namespace tutti::verbs {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::nanoseconds shortest_nap = 200us, longest_nap = 20ms;
constexpr std::chrono::nanoseconds for_ever = 1h, while_draining = 10ms;

}  // namespace

// Tells every peer that I sleep now and then, unless it knows; one that may not be connected yet, at the next sleep: what
// reaches it now would be dropped, and come again only after the retry time.
void verbs_transport::announce() noexcept {
  if (!std::exchange(sleeps_, true)) manager_.owner_sleeps();
  if (untold_ == 0) return;
  for (peer* p : lines_) {
    if (p->told || !p->out.is_open() || !p->confirmed || p->failing || !post_ring(*p, ring_kind::announce)) continue;
    p->told = true;
    --untold_;
    ++unsure_;
  }
}

std::chrono::nanoseconds verbs_transport::patience() noexcept {
  if (untold_ || unsure_) return nap_ = std::clamp<std::chrono::nanoseconds>(2 * nap_, shortest_nap, longest_nap);
  nap_ = {};
  if (draining_) return while_draining;
  return peers_elsewhere_ ? between_probes : for_ever;
}

bool verbs_transport::arm_all() noexcept {
  if (sleep_.armed()) return true;
  announce();
  if (peers_elsewhere_)
    for (peer* p : lines_)
      if (elsewhere(p->rank)) probe(*p);
  eventfd_t notified;
  ::eventfd_read(notify_.get(), &notified);  // before the look at what was notified of
  if (manager_.has_events() || swaps_waiting_) return false;
  ibv_cq* cq = nullptr;
  void* context = nullptr;
  while (ibv_get_cq_event(channel_.get(), &cq, &context) == 0) {
    (cq == sends_.get() ? sends_armed_ : cq == in_.cq() ? receives_armed_ : multicast_armed_) = false;
    ibv_ack_cq_events(cq, 1);
  }
  if (!std::exchange(sends_armed_, true)) ibv_req_notify_cq(sends_.get(), 0);
  if (!std::exchange(receives_armed_, true)) ibv_req_notify_cq(in_.cq(), 1);
  if (multicast_ && !std::exchange(multicast_armed_, true)) ibv_req_notify_cq(multicast_->cq(), 1);
  if (multicast_ && multicast_->progress() != 0) return false;
  if (poll_sends() + hear_rings() + handle_events() != 0) return false;
  sleep_.arm();
  return true;
}

bool verbs_transport::arm_fd() noexcept {
  if (!arm_all()) return false;
  sleep_.arm_fd([this] { return patience(); });
  return true;
}

void verbs_transport::disarm() noexcept { sleep_.disarm(); }

void verbs_transport::sleep(armed, time_point deadline) noexcept {
  if (sleep_.armed()) sleep_.sleep(std::min<std::chrono::nanoseconds>(deadline - now(), patience()));
  disarm();
}

}  // namespace tutti::verbs

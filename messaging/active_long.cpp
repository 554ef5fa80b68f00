// Long messages: the data are put, a flush tells that they are at the target, and then the message announces them.
#include <algorithm>
#include <cstring>
#include <new>

#include "core/transport/wait_out.h"
#include "messaging/active_header.h"

namespace tutti::messaging {

// A request from reserve() on, so there are at most most_requests of them towards a peer.
struct active_messages::long_message {
  peer* to = nullptr;
  completion flushed;
  bool offered = false;  // the flush
  std::uint32_t header_bytes = 0, front_bytes = 0;
  alignas(8) std::byte header[active_header_bytes(most_arguments)];
  alignas(8) std::byte front[active_front_bytes(most_arguments, true)];
  long_message* next = nullptr;
};

active_messages::~active_messages() {
  end_.serve(engine_number::active, nullptr);
  for (long_message* m = long_; m; m = m->next) wait_out(end_.parent_job().net(), {&m->flushed});
  for (long_message* list : {long_, free_})
    while (long_message* const m = list) {
      list = m->next;
      delete m;
    }
}

status active_messages::reserve(rank_t to, const contents& c, const wire_long& at, long_message*& out) noexcept {
  peer* const p = end_.find(to);
  if (status s = ready_for(p); s.failed()) return s;
  contents whole = c;
  whole.payload = bytes_of(at);
  const outgoing_message built(end_.buffers(), active_kind::long_request, whole);
  if (!free_) free_ = new (std::nothrow) long_message;
  if (!free_ || !built.whole()) return {errc::no_resource, "out of memory"};
  if (p->active.requests < most_requests) asked(*p);
  else if (status s = wait_for_room(*p, active_kind::long_request, nullptr); s.failed()) return s;
  // Handlers that ran meanwhile may have taken the free one.
  if (!free_) free_ = new (std::nothrow) long_message;
  if (!free_) {
    credited(*p, 1);
    return {errc::no_resource, "out of memory"};
  }
  out = std::exchange(free_, free_->next);
  out->to = p, out->offered = false;
  out->header_bytes = static_cast<std::uint32_t>(built.header().size()), out->front_bytes = static_cast<std::uint32_t>(built.payload().size());
  std::ranges::copy(built.header(), out->header);
  std::ranges::copy(built.payload(), out->front);
  return {};
}

void active_messages::recycle(long_message& m) noexcept {
  m.flushed.clear();
  m.next = free_;
  free_ = &m;
}

void active_messages::cancel(long_message& m) noexcept {
  credited(*m.to, 1);  // unless it is lost, when nothing counts any more
  recycle(m);
}

void active_messages::announce(long_message& m) noexcept {
  if (step(m)) return recycle(m);
  m.next = long_;
  long_ = &m;
}

bool active_messages::step(long_message& m) noexcept {
  peer& p = *m.to;
  if (!m.offered) m.offered = end_.parent_job().net().flush(p.rank, &m.flushed);
  if (!m.offered || !m.flushed.idle()) return !m.offered && p.broken;
  if (p.broken) return true;
  if (const status s = m.flushed.outcome(); s.failed()) {
    credited(p, 1);
    if (failed_.ok()) failed_ = s.during("the data of an active message"), ++troubles_;
    return true;
  }
  const auto credits = static_cast<std::uint16_t>(p.active.owed);
  std::memcpy(m.header + offsetof(wire_prefix, credits), &credits, sizeof credits);
  if (!end_.send(p, {m.header, m.header_bytes}, {m.front, m.front_bytes})) return false;
  told(p);
  return true;
}

void active_messages::step_long() noexcept {
  for (long_message** link = &long_; *link;) {
    long_message& m = **link;
    if (!step(m)) {
      link = &m.next;
      continue;
    }
    *link = m.next;
    recycle(m);
  }
}

}  // namespace tutti::messaging

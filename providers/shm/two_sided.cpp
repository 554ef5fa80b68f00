// Two-sided messages. A sender claims a cell of its target's ring (ring_places.h), copies header and payload into it, stamps it and
// rings as for a signal. The target takes the cells in the order of their positions, so the messages of one sender come in the order
// of its claims, which is that of its sends; and a cell is free for the next lap only when it was received, so that nothing is
// overwritten and a sender that finds no free cell is refused. The target frees some cells at a time, since senders fetch what it says
// from its cache: so a ring may count as full while as many are free.
//
// A sender that dies between claim and stamp leaves a cell that is never filled. The target cannot pass it over while the sender
// lives, since order is what the ring is for; it sees the claimer's name now and then while nothing comes, asks the kernel about that
// process, and passes the cell over when the process has ended. Nothing of a later message is lost by that, and the message that was
// being written was not taken: its send() had not returned. Where the target sleeps, the death ends that sleep.
//
// Whoever can stamp next finds the ring in no rank's favour: senders race for free cells, and the target takes them as they come. So
// of senders that all find it full none is passed over for good while the target receives.
#include "providers/shm/two_sided.h"

#include <cstring>
#include <new>

#include "core/base/copy.h"
#include "core/base/round_up.h"

namespace tutti::shm {

namespace {

constexpr std::uint32_t max_header = 128;
constexpr std::uint64_t freed_at_once = cell_count / 4;

}  // namespace

std::size_t ring_offset() noexcept { return round_up(sizeof(control_page), page_bytes()); }

shm_two_sided::shm_two_sided(shm_transport& owner) noexcept
    : net_(owner), own_(*std::launder(reinterpret_cast<cell_ring*>(owner.page_.memory.get() + ring_offset()))) {}

two_sided::limits shm_two_sided::query() const noexcept {
  return {.max_header = max_header, .max_payload = cell_bytes - max_header, .fixed_bytes = sizeof(cell_ring) + page_bytes(), .peer_bytes = 0};
}

bool shm_two_sided::open(target& t, peer& p) noexcept {
  if (&p == net_.self_) {
    t.ring = &own_;
    return true;
  }
  auto memory = open_memory(p.name, "two-sided messages", ring_offset());
  if (!memory) {
    const bool closed = memory.error().code() == errc::peer_dead;
    if (closed && net_.has_let_go(p)) return false;
    if (p.deferred.ok()) p.deferred = closed ? net_.closed_by_itself(p) : net_.not_opened(p, memory.error());
    return false;
  }
  t.memory = std::move(*memory);
  t.ring = reinterpret_cast<cell_ring*>(t.memory.get());
  return true;
}

// Starts to take a line of memory from the processor that read it last, to write it later.
inline void begin_to_own(const void* at) noexcept {
#ifdef __x86_64__
  asm volatile("prefetchw %0" ::"m"(*static_cast<const char*>(at)));  // which __builtin_prefetch() is only where the compiler is told of it
#else
  __builtin_prefetch(at, 1);
#endif
}

bool shm_two_sided::send(rank_t to, std::span<const std::byte> header, std::span<const std::byte> payload) noexcept {
  net_.look_when_due();
  ++net_.unlooked_;
  peer* const p = net_.find(to);
  if (!p || !p->life.alive()) return true;
  target& t = targets_[static_cast<std::size_t>(p - net_.peers_.get())];
  if (!t.ring && !open(t, *p)) [[unlikely]] return !p->life.alive() || !(net_.send_refused_ = true);
  const auto position = t.ring->places.claim(net_.self_index(), t.seen_tail);
  if (!position) return !(net_.send_refused_ = true);
  cell& c = t.ring->at(*position);
  c.from = net_.rank_;
  c.header = static_cast<std::uint16_t>(header.size());
  c.payload = static_cast<std::uint16_t>(payload.size());
  if (header.size() == 24) std::memcpy(c.data, header.data(), 24);  // an envelope's, by moves instead of a call
  else if (header.size() == 8) std::memcpy(c.data, header.data(), 8);
  else if (!header.empty()) std::memcpy(c.data, header.data(), header.size());
  std::byte* const at = c.data + round_up(header.size(), 8);
  if (payload.size() == 8) std::memcpy(at, payload.data(), 8);
  else if (!payload.empty()) net_.writer_for(*p).copy(at, payload.data(), payload.size());
  c.stamp.store(stamp_of(*position), std::memory_order_release);
  net_.wake(*p);
  if (std::exchange(sent_last_, true)) begin_to_own(&t.ring->at(*position + 4));  // who sends one after the other
  return true;
}

bool shm_two_sided::in_vain(std::uint64_t position, bool at_once) noexcept {
  return net_.claimed_in_vain(own_.places.claim_of(position), own_.at(position).stamp, position, at_once);
}

bool shm_two_sided::receive(message& out) noexcept {
  if (next_ - freed_ >= freed_at_once) own_.places.tail.store(freed_ = next_, std::memory_order_release);
  for (;; ++next_) {
    const cell& c = own_.at(next_);
    if (c.stamp.load(std::memory_order_acquire) == stamp_of(next_)) {
      out = {c.from, {c.data, c.header}, {c.data + round_up(c.header, 8), c.payload}};
      ++next_;
      sent_last_ = false;
      return true;
    }
    if (!in_vain(next_, false)) return false;
  }
}

// Nobody rings for what was published behind them: so this is work, once, and not for as long as the caller receives nothing.
bool shm_two_sided::passes_dead() noexcept {
  bool any = false;
  for (; in_vain(next_, true); ++next_) any = true;
  return any;
}

}  // namespace tutti::shm

// Two-sided messages. A sender claims a cell of its target's ring (ring_places.h), copies header and payload into it, publishes it
// and rings as for a signal. The target takes the cells in the order of their positions, so the messages of one sender come in the
// order of its claims, which is that of its sends; and a cell is free for the next lap only when it was received, so that nothing
// is overwritten and a sender that finds no free cell is refused.
//
// A sender that dies between claim and publication leaves a cell that is never filled. The target cannot pass it over while the
// sender lives, since order is what the ring is for; it sees the claimer's name in the cell, asks the kernel about that process
// now and then, and frees the cell when the process has ended. Nothing of a later message is lost by that, and the message that
// was being written was not taken: its send() had not returned. Where the target sleeps, the death ends that sleep.
//
// Whoever can publish next finds the ring in no rank's favour: senders race for free cells, and the target takes them as they
// come. So of senders that all find it full none is passed over for good while the target receives.
#include "providers/shm/two_sided.h"

#include <cstring>
#include <new>

#include "core/base/copy.h"
#include "core/base/round_up.h"
#include "providers/shm/ring_places.h"

namespace tutti::shm {

namespace {

constexpr std::uint32_t max_header = 128;

}  // namespace

std::size_t ring_offset() noexcept { return round_up(sizeof(control_page), page_bytes()); }

shm_two_sided::shm_two_sided(shm_transport& owner) noexcept
    : net_(owner), own_(std::launder(reinterpret_cast<cell_ring*>(owner.page_.memory.get() + ring_offset()))) {
  for (std::uint64_t i = 0; i < cell_count; ++i) own().at(i).state.store(place_state::free(i).word(), std::memory_order_relaxed);
}

two_sided::limits shm_two_sided::query() const noexcept {
  return {.max_header = max_header, .max_payload = cell_bytes - max_header, .fixed_bytes = sizeof(cell_ring) + page_bytes(), .peer_bytes = 0};
}

cell_ring* shm_two_sided::ring_of(peer& p) noexcept {
  if (&p == net_.self_) return &own();
  mapping& ring = rings_[static_cast<std::uint32_t>(&p - net_.peers_.get())];
  if (!ring) {
    auto memory = open_memory(p.name, "two-sided messages", ring_offset());
    if (!memory) {
      if (memory.error().code() == errc::peer_dead) net_.has_let_go(p);
      else if (p.deferred.ok()) p.deferred = {memory.error().code(), memory.error().text(), p.rank, memory.error().native()};
      return nullptr;
    }
    ring = std::move(*memory);
  }
  return reinterpret_cast<cell_ring*>(ring.get());
}

bool shm_two_sided::send(rank_t to, std::span<const std::byte> header, std::span<const std::byte> payload) noexcept {
  net_.look_when_due();
  ++net_.unlooked_;
  peer* const p = net_.find(to);
  if (!p || !p->life.alive()) return true;
  cell_ring* const ring = ring_of(*p);
  if (!p->life.alive()) return true;
  const auto position = ring ? claim_place(ring->head, [&](std::uint64_t at) -> auto& { return ring->at(at).state; }, net_.self_index())
                             : std::nullopt;
  if (!position) return !(net_.send_refused_ = true);
  cell& c = ring->at(*position);
  c.from = net_.rank_;
  c.header = static_cast<std::uint16_t>(header.size());
  c.payload = static_cast<std::uint16_t>(payload.size());
  if (header.size() == 24) std::memcpy(c.data, header.data(), 24);  // an envelope's, by moves instead of a call
  else if (header.size() == 8) std::memcpy(c.data, header.data(), 8);
  else if (!header.empty()) std::memcpy(c.data, header.data(), header.size());
  std::byte* const at = c.data + round_up(header.size(), 8);
  if (payload.size() == 8) std::memcpy(at, payload.data(), 8);
  else if (!payload.empty()) copy_bytes(at, payload.data(), payload.size());
  c.state.store(place_state::published(*position).word(), std::memory_order_release);
  net_.wake(*p);
  return true;
}

void shm_two_sided::release(std::uint64_t position) noexcept {
  own().at(position).state.store(place_state::free(position + cell_count).word(), std::memory_order_release);
}

bool shm_two_sided::receive(message& out) noexcept {
  if (held_) release(*held_);
  held_.reset();
  for (;; release(next_++)) {
    const cell& c = own().at(next_);
    const place_state state{c.state.load(std::memory_order_acquire)};
    if (state == place_state::published(next_)) {
      out = {c.from, {c.data, c.header}, {c.data + round_up(c.header, 8), c.payload}};
      held_ = next_++;
      return true;
    }
    if (!state.writer(next_) || !net_.claimed_in_vain(c.state, next_)) return false;
  }
}

// Nobody rings for what was published behind them: so this is work, once, and not for as long as the caller receives nothing.
bool shm_two_sided::passes_dead() noexcept {
  bool any = false;
  for (; net_.claimed_in_vain(own().at(next_).state, next_, false); release(next_++)) any = true;
  return any;
}

}  // namespace tutti::shm

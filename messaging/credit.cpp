// The credits of tagged messages; the rules and why nothing stops for want of them stand in messaging/tagged_pair.h.
#include <cstring>
#include <utility>

#include "core/base/copy.h"
#include "messaging/tagged.h"

namespace tutti::messaging {
namespace {

tagged& engine_of(endpoint& e) noexcept { return static_cast<tagged&>(*e.engine(engine_number::tagged)); }

}  // namespace

tagged& tagged::of(endpoint& e) noexcept { return engine_of(e); }

void tagged::credits_came(peer& p, std::uint32_t units) noexcept {
  constexpr std::uint32_t never = std::uint32_t{1} << 30;  // what no receiver lends
  if (units > never - std::min(p.tagged.credit, never)) return end_.malformed(p, "more credit than there is");
  p.tagged.credit += units;
  if (p.tagged.waiting_first) dispatch_waiting(p);
}

void tagged::charge(peer& p, std::uint32_t cost) noexcept {
  p.tagged.allowance -= cost;
  if (p.tagged.allowance == 0) ++exhausted_;
}

void tagged::release(peer& p, std::uint32_t cost) noexcept {
  tagged_pair& pair = p.tagged;
  const std::uint32_t paid_back = std::min(pair.lent, cost);
  pair.lent -= paid_back;
  pair.owed += cost - paid_back;
  if (pair.owed >= credits::due) return_credits(p);
}

void tagged::hold(kept& k) noexcept {
  const std::uint64_t bytes = credits::memory_of(k.data_bytes);
  if (bytes <= room_) room_ -= bytes, k.in_room = true, released(k);
  if (k.from->tagged.allowance == 0) relieve(*k.from);
}

bool tagged::copy_to_send(operation& o) noexcept {
  const std::uint64_t bytes = credits::memory_of(o.room);
  if (bytes > room_to_send_) return false;
  std::byte* const copy = end_.buffers().take(o.room);
  if (!copy) return false;
  if (o.pieces) o.where->read(0, {copy, o.room});
  else if (o.room > 0) copy_bytes(copy, o.data, o.room);
  room_to_send_ -= bytes;
  o.pieces = false, o.data = copy, o.copied = true;
  return true;
}

void tagged::let_go_of_copy(operation& o) noexcept {
  if (!std::exchange(o.copied, false)) return;
  end_.buffers().give(o.data, o.room);
  room_to_send_ += credits::memory_of(o.room);
}

void tagged::return_credits(peer& p) noexcept {
  tagged_pair& pair = p.tagged;
  if (p.broken || pair.returning.queued) return;
  const auto offer = [](outgoing&, endpoint& e, peer& to) noexcept {
    tagged& t = of(e);
    const wire_prefix prefix = t.prefix_for(to.tagged, wire_kind::credit);
    if (prefix.credits == 0) return true;
    if (!e.send_in_turn(to, bytes_of(prefix), {})) return false;
    t.credits_went(to, prefix);
    return true;
  };
  if (offer(pair.returning, end_, p)) return;
  pair.returning.offer = offer;
  pair.returning.over = [](outgoing&, endpoint&, peer& to, const status&) noexcept { to.tagged.returning.queued = false; };
  pair.returning.queued = true;
  end_.enqueue(p, pair.returning);
}

void tagged::relieve(peer& p) noexcept {
  tagged_pair& pair = p.tagged;
  if (p.broken || pair.allowance > 0 || (pair.awaited == 0 && from_any_ == 0)) return;
  if (pair.owed == 0) pair.owed = credits::loan, pair.lent += credits::loan;
  return_credits(p);
}

void tagged::relieve_all(operation& o) noexcept {
  if (exhausted_ == 0) return;
  if (o.with) return relieve(*o.with);
  end_.each_peer([&](peer& p) { relieve(p); });
}

}  // namespace tutti::messaging

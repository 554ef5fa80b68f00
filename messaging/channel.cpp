#include "messaging/channel.h"

#include <atomic>
#include <cstring>
#include <string>

#include "core/transport/ops.h"

namespace tutti::messaging {
namespace {

struct offer_head {
  std::uint32_t slots, slot_bytes;
};

std::string between(rank_t peer) { return "a channel with rank " + std::to_string(peer); }

}  // namespace

result<std::unique_ptr<channel>> channel::offer(job& j, rank_t peer, const shape& s, std::vector<std::byte>& blob) {
  std::unique_ptr<channel> c(new channel(j, peer, s));
  std::span<std::byte> memory;
  auto region = j.net().allocate(slots_at + std::size_t{s.slots} * s.slot_bytes, memory);
  if (!region) return region.error().during(between(peer));
  c->region_ = *region, c->base_ = memory.data(), c->exposed_ = true;
  auto key = j.net().key(*region);
  if (!key) return key.error().during(between(peer));
  const offer_head head{s.slots, s.slot_bytes};
  blob.resize(sizeof head);
  std::memcpy(blob.data(), &head, sizeof head);
  blob.insert(blob.end(), key->begin(), key->end());
  return c;
}

status channel::accept(std::span<const std::byte> blob) {
  offer_head head{};
  if (blob.size() >= sizeof head) std::memcpy(&head, blob.data(), sizeof head);
  if (head.slots != shape_.slots || head.slot_bytes != shape_.slot_bytes)
    return {errc::protocol, worded(between(peer_), ": it offers ", head.slots, " slots of ", head.slot_bytes, " bytes, this rank ",
                                   shape_.slots, " of ", shape_.slot_bytes), peer_};
  auto keys = std::make_shared<blob_table>();
  keys->push_back(blob.subspan(sizeof head));
  auto segment = job_.net().attach(rank_map::strided(peer_, 1), std::move(keys));
  if (!segment) return segment.error().during(between(peer_));
  segment_ = *segment, attached_ = true;
  return {};
}

channel::~channel() {
  if (attached_) job_.net().drop(segment_);
  if (exposed_) job_.net().drop(region_);
}

std::uint64_t channel::load(std::uint64_t offset) const noexcept {
  return std::atomic_ref<std::uint64_t>(*reinterpret_cast<std::uint64_t*>(base_ + offset))
      .load(std::memory_order_acquire);
}

bool channel::send(region_id local, std::uint64_t offset, const chunk_head& head, completion* done) noexcept {
  if (full()) return false;
  const rma_op op = with_signal(move_op(op_kind::put, local, offset, peer_, segment_, next_slot(), head.bytes, done),
                                segment_, arrival_at, sent_ + 1);
  if (job_.net().submit({&op, 1}) == 0) return false;
  ++sent_;
  return true;
}

bool channel::send(std::span<const std::byte> front, region_id local, std::uint64_t offset, std::uint32_t bytes,
                   completion* done) noexcept {
  if (full()) return false;
  const std::uint64_t slot = next_slot();
  rma_op ops[] = {move_op(op_kind::put, unregistered_memory, reinterpret_cast<std::uintptr_t>(front.data()), peer_, segment_, slot,
                          static_cast<std::uint32_t>(front.size()), done),
                  with_signal(move_op(op_kind::put, local, offset, peer_, segment_, slot + front.size(), bytes, done),
                              segment_, arrival_at, sent_ + 1)};
  ops[1].order = not_before::everything;  // the front is no part of its payload
  const std::size_t first = front_sent_;
  const std::size_t taken = first + job_.net().submit(std::span(ops).subspan(first));
  front_sent_ = taken == 1;
  sent_ += taken == 2;
  return taken == 2;
}

std::span<const std::byte> channel::front() const noexcept {
  if (!reached(load(arrival_at), taken_ + 1)) return {};
  const std::byte* const slot = base_ + slots_at + (taken_ & (shape_.slots - 1)) * shape_.slot_bytes;
  chunk_head head;
  std::memcpy(&head, slot, sizeof head);
  return {slot, head.bytes};
}

void channel::release() noexcept {
  ++taken_;
  settle();
}

bool channel::settle() noexcept {
  if (taken_ - credited_ < shape_.slots / 2) return true;
  const rma_op op = signal_op({peer_, segment_, credit_at}, taken_);
  if (job_.net().submit({&op, 1}) == 0) return false;
  credited_ = taken_;
  return true;
}

}  // namespace tutti::messaging

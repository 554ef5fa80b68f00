#include "providers/messages/packets.h"

#include <cstring>
#include <utility>

#include "core/base/copy.h"

namespace tutti::messages {

two_sided::limits packets::limits() const noexcept {
  const std::uint32_t longest = std::min(max_packet_bytes, traits_.piece_bytes);
  return {.max_header = max_packet_header,
          .max_payload = longest - max_packet_header,
          .fixed_bytes = frame_pool::large_bytes() + 4096,  // what is made with the first peer
          .peer_bytes = inbox::ring_bytes + sizeof(peer) + 128};  // its places in lists, and the allocator's own
}

bool packets::send(rank_t to, std::span<const std::byte> header, std::span<const std::byte> payload) noexcept {
  peer* const p = peers_.of(to);
  if (!p) return false;
  const std::uint32_t room = inbox::room_of(header.size(), payload.size());
  if (to == self_) {
    if (!p->inbox.reserve() || !p->inbox.takes(room)) return false;
    put(*p, header, payload);
    return true;
  }
  if (!p->alive()) return true;
  if (!p->packet_room.take(room)) return false;
  frame* const f = frames_.take(*p, message_kind::packet);
  std::byte* const copy = f ? frames_.bytes_of(*f, header.size() + payload.size()) : nullptr;
  if (!copy) {
    if (f) frames_.finish(*f, {});
    p->packet_room.give_back(room);
    return false;
  }
  peers_.open_endpoint(*p);
  if (!p->alive()) return true;  // that it cannot be reached has ended the frame too
  if (!header.empty()) std::memcpy(copy, header.data(), header.size());
  if (!payload.empty()) copy_bytes(copy + header.size(), payload.data(), payload.size());
  f->head.offset = header.size();
  f->source = copy, f->left = header.size() + payload.size();
  out_.queue(*f);
  return true;
}

void packets::arrive(peer& p, const message& m, std::span<const std::byte> payload) noexcept {
  room(p, m.operand);
  if (!p.alive()) return;
  if (!p.inbox.reserve()) return peers_.end(p, {errc::no_resource, "out of memory", p.rank});  // so short that it needs none itself
  const auto header = payload.first(static_cast<std::size_t>(m.offset)), rest = payload.subspan(header.size());
  if (!p.inbox.takes(inbox::room_of(header.size(), rest.size()))) return refuse(p, "sends more two-sided messages than there is room for");
  put(p, header, rest);
}

void packets::room(peer& p, std::uint64_t received) noexcept {
  if (!p.packet_room.freed(received)) refuse(p, "says to have received other two-sided messages than were sent");
}

void packets::refuse(peer& p, const char* what) noexcept {
  peers_.end(p, {errc::protocol, worded("rank ", p.rank, " ", what), p.rank});
}

void packets::put(peer& p, std::span<const std::byte> header, std::span<const std::byte> payload) noexcept {
  p.inbox.put(header, payload);
  if (!std::exchange(p.in_line, true)) wait_in_line(p);  // also true while one of its packets is held
}

void packets::wait_in_line(peer& p) noexcept {
  p.next_in_line = nullptr;
  (last_ ? last_->next_in_line : first_) = &p;
  last_ = &p;
}

void packets::release_held() noexcept {
  peer* const p = std::exchange(held_by_, nullptr);
  if (!p) return;
  p->inbox.pop(held_);
  if (p->inbox.empty()) p->in_line = false;
  else wait_in_line(*p);
  if (p->rank != self_) out_.tell_room(*p);
}

bool packets::receive(two_sided::message& out) noexcept {
  release_held();
  if (!first_) return false;
  held_by_ = std::exchange(first_, first_->next_in_line);
  if (!first_) last_ = nullptr;
  held_.from = held_by_->rank;
  held_by_->inbox.front(held_);
  out = held_;
  return true;
}

}  // namespace tutti::messages

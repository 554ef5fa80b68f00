// What comes: checked, credited, and given to its handler.
#include <cstring>

#include "messaging/active_header.h"

namespace tutti::messaging {
namespace {

// Told to the sender. One waits for a peer at most; of what is refused meanwhile nothing more is said.
bool offer_refusal(outgoing&, endpoint& e, peer& p) noexcept {
  const wire_prefix prefix{.kind = static_cast<std::uint8_t>(active_kind::refused), .number = p.active.refusing - 1};
  return e.send_in_turn(p, bytes_of(prefix), {});
}

}  // namespace

bool active_messages::take(peer& from, const wire_prefix& prefix, std::span<const std::byte> header, std::span<const std::byte> payload) noexcept {
  active_pair& pair = from.active;
  if (prefix.kind == static_cast<std::uint8_t>(active_kind::long_request) && is_early(prefix, payload)) [[unlikely]] return false;
  if (prefix.kind > static_cast<std::uint8_t>(active_kind::refused)) return end_.malformed(from, "an active message of an unknown kind"), true;
  if (!credited(from, prefix.credits)) [[unlikely]] return end_.malformed(from, "more answers than it was asked for"), true;
  const auto kind = static_cast<active_kind>(prefix.kind);
  if (kind == active_kind::credit) return true;
  if (prefix.number >= handlers) [[unlikely]] return end_.malformed(from, "an active message with no number of a handler"), true;
  if (kind == active_kind::refused) {
    if (!pair.refused && !pair.unanswered) ++troubles_;
    pair.refused = prefix.number + 1;
    return true;
  }
  const bool request = kind == active_kind::request || kind == active_kind::long_request;
  if (request && pair.open++ >= most_requests) [[unlikely]] return end_.malformed(from, "more requests than may be under way"), true;
  if (!deliver(from, kind, prefix, header, payload)) [[unlikely]] return end_.malformed(from, "an active message of the wrong size, or beyond its window"), true;
  if (request) {
    if (!message_.replied) ++pair.owed;
    settle(from);
  }
  return true;
}

// A member that has made a window may send by it while this rank still waits in the same call. Until that is over, which needs no messages,
// this one and what comes behind it wait in the transport.
bool active_messages::is_early(const wire_prefix& prefix, std::span<const std::byte> payload) noexcept {
  if (prefix.flags > most_arguments || payload.size() != active_front_bytes(prefix.flags, true)) return false;
  wire_long at;
  std::memcpy(&at, payload.data() + payload.size() - sizeof at, sizeof at);
  std::span<std::byte> part;
  return around_.part(at.team, at.window, part) == surroundings::window_state::later;
}

// False: it is not what it says.
bool active_messages::deliver(peer& from, active_kind kind, const wire_prefix& prefix, std::span<const std::byte> header,
                          std::span<const std::byte> payload) noexcept {
  message_.replied = false;
  const std::size_t n = prefix.flags;
  const bool is_long = kind == active_kind::long_request;
  if (n > most_arguments || header.size() != active_header_bytes(n)) return false;
  const std::size_t front = active_front_bytes(n, is_long);
  if (payload.size() < front || (is_long && payload.size() != front)) return false;
  std::uint64_t arguments[most_arguments];
  std::memcpy(arguments, header.data() + sizeof prefix, header.size() - sizeof prefix);
  if (n > arguments_in_header) std::memcpy(arguments + arguments_in_header, payload.data(), sizeof(std::uint64_t));
  std::span<std::byte> data(const_cast<std::byte*>(payload.data()) + front, payload.size() - front);
  const handler h = handlers_ ? handlers_[prefix.number] : handler{};
  if (!h.run) [[unlikely]] return refuse(from, prefix.number), true;
  if (is_long) {
    wire_long at;
    std::memcpy(&at, payload.data() + front - sizeof at, sizeof at);
    std::span<std::byte> part;
    if (around_.part(at.team, at.window, part) != surroundings::window_state::there)
      return notice(from, prefix.number, "with data in a window that was freed here"), true;
    if (at.offset > part.size() || at.bytes > part.size() - at.offset) return false;
    data = part.subspan(at.offset, at.bytes);
  }
  message_.from = &from;
  message_.request = kind == active_kind::request || is_long;
  message_.live = true;
  in_handler_.store(true, std::memory_order_relaxed);
  h.run(&message_, arguments, n, data.empty() ? nullptr : data.data(), data.size(), h.context);
  in_handler_.store(false, std::memory_order_relaxed);
  message_.live = false;
  return true;
}

void active_messages::refuse(peer& from, std::uint32_t number) noexcept {
  if (from.active.refusing == 0) {
    from.active.refusing = number + 1;
    from.active.refusal.offer = offer_refusal;
    from.active.refusal.over = [](outgoing&, endpoint&, peer& p, const status&) noexcept { p.active.refusing = 0; };
    end_.enqueue(from, from.active.refusal);
  }
  if (noticed_.test(number)) return;
  noticed_.set(number);
  notice(from, number, "for which this rank has no handler");
}

void active_messages::notice(const peer& from, std::uint32_t number, const char* why) noexcept {
  try {
    if (const auto& told = end_.parent_job().options().notice)
      told("rank " + std::to_string(from.rank) + " sent an active message to number " + std::to_string(number) + ", " + why + "; nothing was run");
  } catch (const std::exception&) {  // no memory for the text
  }
}

// What goes to the peer anyway tells what is owed. This is for when nothing does.
void active_messages::settle(peer& p) noexcept {
  if (p.active.owed < credit_at) return;
  const wire_prefix prefix{.kind = static_cast<std::uint8_t>(active_kind::credit), .credits = static_cast<std::uint16_t>(p.active.owed)};
  if (end_.send(p, bytes_of(prefix), {})) told(p);
  else short_of_memory_ = true;
}

void active_messages::advance() noexcept {
  if (short_of_memory_) [[unlikely]] {
    short_of_memory_ = false;
    end_.each_peer([&](peer& p) { settle(p); });
  }
  if (long_) step_long();
}

}  // namespace tutti::messaging

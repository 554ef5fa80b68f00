// The order of the messages that come from one peer. They are numbered from 1 on. The next one is taken. One that came
// already, or was recorded by somebody and is sent again, is dropped: its first coming has had its effect. One that is early
// is held where the link reorders, and is the end of the connection where it does not.
//
// Held in memory of its own, so that an origin whose next message never comes keeps no receive buffer from the others; and
// most_held of them, so that it cannot fill this rank's memory either. Links that do reorder do so seldom and little.
#pragma once
#include <cstdint>
#include <map>
#include <new>
#include <span>
#include <vector>

#include "providers/messages/wire.h"

namespace tutti::messages {

// More than any library has under way to one peer: libfabric's udp, the one that reorders much, sends up to 128 datagrams
// before the first is acknowledged.
inline constexpr std::uint32_t most_held = 256;

class message_order {
 public:
  enum class arrival : std::uint8_t { next, held, repeated, lost, no_memory };

  // `next`: it is counted as taken. `lost`: an earlier one will not come any more, or the link has reordered against its word.
  arrival admit(const message& m, std::span<const std::byte> payload, bool link_reorders) noexcept {
    if (m.sequence <= taken_) return arrival::repeated;
    if (m.sequence == taken_ + 1) return ++taken_, arrival::next;
    if (!link_reorders || m.sequence - taken_ - 1 > most_held) return arrival::lost;
    try {
      std::vector<std::byte> whole;
      append(whole, &m);
      append(whole, payload.data(), payload.size());
      return early_.try_emplace(m.sequence, std::move(whole)).second ? arrival::held : arrival::repeated;
    } catch (const std::bad_alloc&) {
      return arrival::no_memory;
    }
  }
  // The next one, header and payload, if it is held: counted as taken. Empty: it is not.
  std::vector<std::byte> take_held() noexcept {
    if (early_.empty() || early_.begin()->first != taken_ + 1) return {};
    ++taken_;
    return std::move(early_.extract(early_.begin()).mapped());
  }
  void clear() noexcept { early_.clear(); }

 private:
  std::uint64_t taken_ = 0;
  std::map<std::uint64_t, std::vector<std::byte>> early_;  // by number: header and payload
};

}  // namespace tutti::messages

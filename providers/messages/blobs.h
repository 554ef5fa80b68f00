// The two blobs that a rank hands to its peers, read in one place. They come through the bootstrap, or through the program,
// and are believed no more than a message: what does not fit is refused before anything uses it.
#pragma once
#include <cstddef>
#include <optional>
#include <span>

#include "providers/messages/wire.h"

namespace tutti::messages {

struct address_parts {             // of transport::address()
  address_head head;
  std::span<const std::byte> link;       // the link's own
  std::span<const std::byte> doze_key;
  std::span<const std::byte> multicast;  // the rest; core/multicast/ip_multicast reads it
};
std::optional<address_parts> read_address(std::span<const std::byte> blob) noexcept;

struct key_parts {                 // of transport::key()
  key_head head;
  std::span<const std::byte> link;
};
std::optional<key_parts> read_key(std::span<const std::byte> blob) noexcept;

}  // namespace tutti::messages

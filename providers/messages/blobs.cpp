#include "providers/messages/blobs.h"

#include "providers/messages/rules.h"

namespace tutti::messages {
namespace {

// Nameless, or a file that could be one: map_shared_memory() compares the rest with the file that it finds.
bool sound(const memory_name& m) noexcept { return m.pid == 0 ? m.bytes == 0 : m.pid > 0 && m.fd >= 0 && m.bytes > 0; }

bool sound(const liveness_address& a) noexcept {
  return a.place.version == ip_place::current && a.place.count <= a.place.at.size() && a.port <= 0xffff;
}

}  // namespace

std::optional<address_parts> read_address(std::span<const std::byte> blob) noexcept {
  const auto head = head_of<address_head>(blob);
  if (!head || head->version != wire_version || head->pid <= 0 || !sound(head->doze) || !sound(head->line)) return std::nullopt;
  if (head->doze.bytes != 0 && head->doze.bytes < word_bytes) return std::nullopt;
  const auto rest = blob.subspan(sizeof *head);
  if (head->link_bytes > rest.size() || head->doze_key_bytes > rest.size() - head->link_bytes) return std::nullopt;
  return address_parts{*head, rest.first(head->link_bytes), rest.subspan(head->link_bytes, head->doze_key_bytes),
                       rest.subspan(head->link_bytes + std::size_t{head->doze_key_bytes})};
}

std::optional<key_parts> read_key(std::span<const std::byte> blob) noexcept {
  const auto head = head_of<key_head>(blob);
  if (!head || head->region == 0 || head->bytes == 0 || !sound(head->memory)) return std::nullopt;
  if (head->memory.bytes != 0 && head->memory.bytes < head->bytes) return std::nullopt;
  const auto rest = blob.subspan(sizeof *head);
  if (rest.size() != head->key_bytes) return std::nullopt;
  return key_parts{*head, rest};
}

}  // namespace tutti::messages

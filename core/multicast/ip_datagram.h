// What every datagram of core/multicast/ip_multicast begins with. Words go as this machine stores them: the ranks of a job run on
// machines of one byte order (as their RDMA does).
#pragma once
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

#include "core/base/authentication.h"
#include "core/base/status.h"

namespace tutti {

enum class datagram_kind : std::uint8_t {
  data,    // a member's, to the group
  probe,   // a joiner's, to the creator alone: do you hear me?
  answer,  // the creator's, to that joiner alone: yes
  hello,   // the creator's, to the group: whoever hears this can receive
  heard,   // a joiner's, to the creator alone: I have heard you
};

struct datagram_head {
  static constexpr std::uint32_t expected_magic = 0x746d6331;  // "tmc1"
  std::uint32_t magic = expected_magic;
  datagram_kind kind{};
  std::uint8_t reserved[3] = {};
  std::uint64_t group = 0;  // from the job's id, the creator and the creator's number of the group
  rank_t from = no_rank;
  std::uint32_t tag = 0;
  std::uint64_t check = 0;  // of all that stands before it and of the payload, by the group's key
};
static_assert(sizeof(datagram_head) == 32);

// What a group's creator hands to those who join.
struct ip_group_token {
  static constexpr std::uint32_t expected_magic = 0x746d7431;
  std::uint32_t magic = expected_magic;
  rank_t creator = 0;
  std::uint64_t group = 0;   // datagram_head::group
  siphash_key key{};
  std::uint32_t address = 0; // of the group, host byte order
  std::uint32_t from = 0;    // where the creator answers probes
  std::uint16_t port = 0, from_port = 0;
  std::uint32_t reserved = 0;
};

// Where groups are: IP's local scope (RFC 2365), and ports above those that Linux gives out by itself.
inline constexpr std::uint32_t group_scope = 0xefff0000, group_scope_mask = 0xffff0000;  // 239.255.0.0/16
inline constexpr std::uint16_t group_port_first = 61000, group_ports = 4096;

// A token comes from a peer and says where this rank is to listen and whom to ask, so it must not lead anywhere but to a group
// of this kind. Null: it is no such token.
inline std::optional<ip_group_token> read_group_token(std::span<const std::byte> bytes) noexcept {
  ip_group_token t;
  if (bytes.size() != sizeof t) return std::nullopt;
  std::memcpy(&t, bytes.data(), sizeof t);
  const bool is_group = (t.address & group_scope_mask) == group_scope && t.port >= group_port_first &&
                        t.port < group_port_first + group_ports;
  const bool may_answer = t.from != 0 && t.from < 0xe0000000 && t.from_port != 0;  // one host
  if (t.magic != ip_group_token::expected_magic || !is_group || !may_answer) return std::nullopt;
  return t;
}

// False: no datagram of this group. Cheap checks come first: an outsider's datagrams should cost little.
inline bool read_datagram(std::span<const std::byte> bytes, std::uint64_t group, const siphash_key& key,
                          datagram_head& head) noexcept {
  if (bytes.size() < sizeof head) return false;
  std::memcpy(&head, bytes.data(), sizeof head);
  return head.magic == datagram_head::expected_magic && head.group == group &&
         head.check == check_of(head, bytes.subspan(sizeof head), key);
}

}  // namespace tutti

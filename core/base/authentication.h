// Proof that a message is from a holder of a key.
#pragma once
#include <cstddef>
#include <span>
#include <type_traits>

#include "core/base/siphash.h"

namespace tutti {

// SipHash-2-4 of a header and of what it stands for. Head::check is the header's last field: all before it is covered.
template <class Head>
std::uint64_t check_of(const Head& head, std::span<const std::byte> covered, const siphash_key& key) noexcept {
  static_assert(offsetof(Head, check) + sizeof head.check == sizeof head);
  static_assert(std::has_unique_object_representations_v<Head>);  // no padding, whose bytes are anything
  siphash h(key);
  h.add(std::as_bytes(std::span{&head, 1}).first(offsetof(Head, check)));
  h.add(covered);
  return h.value();
}

}  // namespace tutti

// An active message as it is handed to the fabric: where its arguments go, and its data with what stands before them.
#pragma once
#include <algorithm>
#include <cstring>

#include "messaging/active.h"

namespace tutti::messaging {

inline constexpr std::size_t arguments_in_header = 7;  // 64 bytes with the prefix, which every fabric takes

// Where the arguments and the rest of a message of so many arguments lie; the sizes that both ends reckon with.
constexpr std::size_t active_header_bytes(std::size_t arguments) noexcept {
  return sizeof(wire_prefix) + std::min(arguments, arguments_in_header) * sizeof(std::uint64_t);
}
constexpr std::size_t active_front_bytes(std::size_t arguments, bool is_long) noexcept {  // before the data
  return (arguments > arguments_in_header ? sizeof(std::uint64_t) : 0) + (is_long ? sizeof(wire_long) : 0);
}

// Built on the sender's stack. Only with an eighth argument its data are copied.
class active_messages::outgoing_message {
 public:
  outgoing_message(buffer_pool& pool, active_kind kind, const contents& c) noexcept : pool_(pool), payload_(c.payload) {
    const std::size_t n = c.arguments.size();
    words_[0] = 0;
    const wire_prefix prefix{.kind = static_cast<std::uint8_t>(kind), .flags = static_cast<std::uint8_t>(n), .number = c.number};
    std::memcpy(words_, &prefix, sizeof prefix);
    std::copy_n(c.arguments.begin(), std::min(n, arguments_in_header), words_ + 1);
    bytes_ = active_header_bytes(n);
    if (n <= arguments_in_header) [[likely]] return;
    whole_bytes_ = sizeof(std::uint64_t) + c.payload.size();
    buffer_ = pool_.take(whole_bytes_);
    if (!buffer_) return;
    std::memcpy(buffer_, &c.arguments[arguments_in_header], sizeof(std::uint64_t));
    std::copy(c.payload.begin(), c.payload.end(), buffer_ + sizeof(std::uint64_t));
    payload_ = {buffer_, whole_bytes_};
  }
  ~outgoing_message() {
    if (buffer_) [[unlikely]] pool_.give(buffer_, whole_bytes_);
  }
  outgoing_message(const outgoing_message&) = delete;
  outgoing_message& operator=(const outgoing_message&) = delete;

  bool whole() const noexcept { return buffer_ || whole_bytes_ == 0; }  // false: there was no memory
  void set_credits(std::uint32_t n) noexcept {
    const auto credits = static_cast<std::uint16_t>(n);
    std::memcpy(reinterpret_cast<std::byte*>(words_) + offsetof(wire_prefix, credits), &credits, sizeof credits);
  }
  std::span<const std::byte> header() const noexcept { return {reinterpret_cast<const std::byte*>(words_), bytes_}; }
  std::span<const std::byte> payload() const noexcept { return payload_; }

 private:
  buffer_pool& pool_;
  std::uint64_t words_[1 + arguments_in_header];
  std::size_t bytes_ = 0, whole_bytes_ = 0;
  std::byte* buffer_ = nullptr;
  std::span<const std::byte> payload_;
};

}  // namespace tutti::messaging

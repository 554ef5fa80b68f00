#pragma once
#include <cstdint>

namespace tutti {

// The least multiple of `to` that is no less than n.
constexpr std::uint64_t round_up(std::uint64_t n, std::uint64_t to) noexcept { return (n + to - 1) / to * to; }

}  // namespace tutti

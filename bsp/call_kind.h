// The calls that move bytes, by name for errors.
#pragma once
#include <cstddef>
#include <cstdint>

namespace tutti::bsp {

enum class call_kind : std::uint8_t { put, get, hpput, hpget, send };

constexpr const char* name_of(call_kind k) noexcept {
  constexpr const char* names[] = {"bsp_put", "bsp_get", "bsp_hpput", "bsp_hpget", "bsp_send"};
  return names[static_cast<std::size_t>(k)];
}

}  // namespace tutti::bsp

// The calls that move bytes and the places they name, in words for errors.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>

namespace tutti::bsp {

enum class call_kind : std::uint8_t { put, get, hpput, hpget, send };

constexpr const char* name_of(call_kind k) noexcept {
  constexpr const char* names[] = {"bsp_put", "bsp_get", "bsp_hpput", "bsp_hpget", "bsp_send"};
  return names[static_cast<std::size_t>(k)];
}

inline std::string process_name(std::uint32_t pid) { return "process " + std::to_string(pid); }

inline std::string hex(const void* address) {
  char text[24];
  std::snprintf(text, sizeof text, "%p", address);
  return text;
}

}  // namespace tutti::bsp

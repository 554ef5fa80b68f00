// Lists as a sentence names them: "shm, ucx, ofi", or reasons between semicolons.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace tutti {

inline void add_to_list(std::string& list, std::string_view item, std::string_view separator = ", ") {
  if (!list.empty()) list.append(separator);
  list.append(item);
}

// The ranks below `ranks` for which meant() is true: "2, 3, 4"; of more than 16 the first ones, and how many more.
template <class Meant>
std::string list_of_ranks(std::uint32_t ranks, Meant meant) {
  constexpr std::uint32_t most = 16;
  std::string list;
  std::uint32_t n = 0;
  for (std::uint32_t r = 0; r < ranks; ++r)
    if (meant(r) && ++n <= most) add_to_list(list, std::to_string(r));
  return n > most ? list + " and " + std::to_string(n - most) + " more" : list;
}

// What follows a rank's death in a text where the rank's host may be gone as well.
template <class Meant>
std::string and_its_host(std::uint32_t ranks, Meant on_its_host) {
  return " (ranks of its host: " + list_of_ranks(ranks, on_its_host) + ")";
}

}  // namespace tutti

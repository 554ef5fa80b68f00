#include "bsp/scheme.h"

#include <string>

#include "core/base/listing.h"

namespace tutti::bsp {
namespace {

// In the order of `scheme`.
constexpr scheme_row table[] = {
    {scheme::automatic, "auto", true, true, true, true, true, 0, true, metadata_choice::chosen, "everything, where it is cheapest"},
    {scheme::baseline, "B", false, false, false, false, false, never, true, metadata_choice::direct, "baseline (3.1)"},
    {scheme::compressed, "H", true, false, false, false, false, never, true, metadata_choice::direct, "B with short headers (3.2)"},
    {scheme::dissemination, "D", false, false, false, false, false, never, true, metadata_choice::dissemination,
     "B with metadata by dissemination"},
    {scheme::multicast, "M", false, false, false, false, false, never, true, metadata_choice::multicast,
     "B with metadata by multicast (3.2)"},
    {scheme::rdma, "R", false, false, false, false, false, 1, true, metadata_choice::direct,
     "B with data read by the target (3.2)"},
    {scheme::single_reads, "N", false, false, false, false, false, 1, false, metadata_choice::direct,
     "R without scatter lists (4.1, no-scatter)"},
};
static_assert([] {
  for (std::size_t i = 0; i < std::size(table); ++i)
    if (table[i].id != scheme(i)) return false;
  return true;
}(), "rows stand in the order of `scheme`");

}  // namespace

std::span<const scheme_row> schemes() noexcept { return table; }
const scheme_row& row_of(scheme s) noexcept { return table[static_cast<std::size_t>(s)]; }

result<scheme> parse_scheme(std::string_view name) {
  std::string all;
  for (const scheme_row& row : table) {
    if (row.name == name) return row.id;
    add_to_list(all, row.name);
  }
  return status(errc::invalid, "no BSP scheme is called " + std::string(name) + "; use one of " + all);
}

}  // namespace tutti::bsp

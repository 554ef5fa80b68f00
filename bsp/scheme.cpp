#include "bsp/scheme.h"

#include <string>

#include "core/base/listing.h"

namespace tutti::bsp {
namespace {

// In the order of `scheme`.
constexpr scheme_row table[] = {
    {.id = scheme::automatic, .name = "auto", .compresses = true, .joins = true, .eager = true, .in_place = true, .direct = true,
     .pulls_from = 0, .metadata = {}, .meaning = "everything, where it is cheapest"},
    {.id = scheme::baseline, .name = "B", .meaning = "baseline (3.1)"},
    {.id = scheme::compressed, .name = "H", .compresses = true, .meaning = "B with short headers (3.2)"},
    {.id = scheme::dissemination, .name = "D", .metadata = metadata_way::dissemination, .meaning = "B with metadata by dissemination"},
    {.id = scheme::multicast, .name = "M", .metadata = metadata_way::multicast, .meaning = "B with metadata by multicast (3.2)"},
    {.id = scheme::rdma, .name = "R", .pulls_from = 1, .meaning = "B with data read by the target (3.2)"},
    {.id = scheme::single_reads, .name = "N", .pulls_from = 1, .scatters = false,
     .meaning = "R without scatter lists (4.1, no-scatter)"},
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
  return status(errc::invalid, worded("no BSP scheme is called ", name, "; use one of ", all));
}

}  // namespace tutti::bsp

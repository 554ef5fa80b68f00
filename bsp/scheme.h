// How a sync exchanges: a row of features. The schemes of Birk 2006 use nothing but metadata words, chunks and what they are
// named for, whatever the fabric is, so that its tables can be measured again; `auto` uses all, each where it is the
// cheapest.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "bsp/metadata_cost.h"
#include "core/base/status.h"

namespace tutti::bsp {

enum class scheme : std::uint8_t { automatic, baseline, compressed, dissemination, multicast, rdma, single_reads };

inline constexpr std::uint64_t never = ~std::uint64_t{0};

struct scheme_row {
  scheme id;
  std::string_view name;
  bool compresses = false;  // headers of 4 bytes where they fit
  bool joins = false;       // a put that goes on where the last one ended needs no header
  bool eager = false;       // the first chunk goes with the metadata word
  bool in_place = false;    // chunks are read where they were packed, where the fabric maps memory
  bool direct = false;      // large hp calls are not packed
  std::uint64_t pulls_from = never;  // bytes: puts of so many stay with the sender until they are read; 0: where the fabric
                                     // reads by itself (transport::native_towards) and it pays, for each destination and superstep
  bool scatters = true;     // reads of such puts go by scatter lists, several puts a read; else each put is read by itself
  std::optional<metadata_way> metadata = metadata_way::direct;  // none: the cheapest
  std::string_view meaning;
};

std::span<const scheme_row> schemes() noexcept;
const scheme_row& row_of(scheme) noexcept;
// By name; the error names all.
result<scheme> parse_scheme(std::string_view name);

}  // namespace tutti::bsp

#include "collectives/bcast/bcast.h"

namespace tutti {
namespace {

// name, summary, source, needs multicast, schedule
constexpr bcast_algorithm rows[] = {
    {"multicast", "each fragment is multicast once, in a sliding window; what is lost is asked for",
     "Kini 2003, 5.4; Birk 2006, 3.2", true, nullptr},
    {"binomial", "puts along a binomial tree, in pieces: ceil(log2 n) hops", "Thakur et al. 2005", false, bcasts::binomial},
    {"chain", "puts from each rank to the next, in pieces: one send a rank", "Pjesivac-Grbovic et al. 2007 (pipelined chain)", false,
     bcasts::chain},
};

}  // namespace

std::span<const bcast_algorithm> bcast_algorithms() noexcept { return rows; }

const bcast_algorithm* find_bcast(std::string_view name) noexcept {
  for (const bcast_algorithm& row : rows)
    if (row.name == name) return &row;
  return nullptr;
}

}  // namespace tutti

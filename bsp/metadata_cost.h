// What a sync's metadata costs by each way, in LogGP (collectives/cost.h), and the cheapest way. Pure.
#pragma once
#include <cstdint>

#include "collectives/cost.h"

namespace tutti::bsp {

enum class metadata_way : std::uint8_t { direct, dissemination, multicast };

struct metadata_costs {
  link_cost link;
  std::optional<picoseconds> multicast;  // from the root's send until the last process has it; none: there is none
  bool loads = false;         // all read each other's memory in place, where a word is a store
};

// Of a process that sends words to `besides` others though its metadata goes another way than by words.
picoseconds metadata_cost(metadata_way, std::uint32_t processes, std::uint32_t besides, const metadata_costs&) noexcept;
// The cheapest for so many processes in an empty superstep.
metadata_way choose_metadata_way(std::uint32_t processes, const metadata_costs&) noexcept;
// From how many words besides on words alone cost no more than that way. `processes`: they always do.
std::uint32_t words_pay_from(metadata_way, std::uint32_t processes, const metadata_costs&) noexcept;

}  // namespace tutti::bsp

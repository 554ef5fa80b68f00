// What stands behind the rows of table.cpp: two pure functions a file, and the index arithmetic that they share.
//
// Why every one of them is safe, once for all; each file adds what is its own:
//  * A word holds the number of the last epoch its writer announced there. It is written by one rank only (counter.cpp
//    is the exception and says why), signals of one origin to one word take effect in order (core/transport/transport.h, clause
//    5), and a rank runs its epochs in order, so a word only ever advances.
//  * A stale word cannot release a barrier early: whatever stood there before this epoch's signal is an earlier epoch,
//    which has not reached this one.
//  * A fast peer cannot make a wait miss: a word that already shows epoch e+1 has reached e, and it says the truth,
//    since its writer announced e before. So the next epoch may overwrite what a slow peer has not looked at yet, and
//    no second set of words, no reset and no acknowledgement is needed.
//  * The comparison through the wrap of 2^64 is sound because no word is ever far from its target: a rank leaves epoch
//    e only after all have entered it, hence no rank is more than one epoch ahead of any other, and a word differs from
//    the epoch that is waited for by one at most.
#pragma once
#include <bit>
#include <cstdint>

#include "collectives/barrier/barrier.h"
#include "collectives/cost.h"

namespace tutti::barriers {

std::uint32_t dissemination_words(const barrier_shape&);
schedule dissemination(const barrier_shape&);
std::uint32_t pairwise_words(const barrier_shape&);
schedule pairwise(const barrier_shape&);
std::uint32_t nway_words(const barrier_shape&);
schedule nway(const barrier_shape&);
std::uint32_t tree_words(const barrier_shape&);
schedule tree(const barrier_shape&);
std::uint32_t flat_words(const barrier_shape&);
schedule flat(const barrier_shape&);
std::uint32_t counter_words(const barrier_shape&);
schedule counter(const barrier_shape&);
std::uint32_t multicast_words(const barrier_shape&);
schedule multicast(const barrier_shape&);
std::uint32_t hierarchical_words(const barrier_shape&);
schedule hierarchical(const barrier_shape&);
std::uint32_t offloaded_words(const barrier_shape&);
schedule offloaded(const barrier_shape&);
bool can_be_offloaded(const barrier_algorithm&);  // signals and waits alone

inline constexpr std::uint32_t nway_default = 4;       // three messages leave in the time of one on most adapters
inline constexpr std::uint32_t tree_default = 3;
inline constexpr std::uint32_t multicast_default = 7;  // the best fan-in Kini measured (6, figure 6)

// Radix 0 asks for the default; less than `least` means `least` (the chooser refuses such a radix by name before).
constexpr std::uint32_t radix_of(const barrier_shape& s, std::uint32_t fallback, std::uint32_t least) noexcept {
  return s.radix == 0 ? fallback : s.radix < least ? least : s.radix;
}

}  // namespace tutti::barriers

// Whether the large puts of one process to another are read by the other, straight to their places, or pushed to it through
// the channel and copied from there: chosen for each destination and superstep when it ends and all of them are known
// (Birk 2006, 4.1, who leave such a policy to the future).
//
// What differs. Pushed bytes are copied at the target; the sender submits two operations for each slot. Pulled ones cost a
// round trip, once, since all reads run side by side; a read for every so many puts, by the adapter's scatter list; and a
// slice for each put. The time on the wire is the same, and is left out. It does not hide the copy: what the wire brings is
// written into memory once, and the copy reads and writes it again, in the same memory. (Bulk relations in the paper's
// table: 17 flops a word pulled against 21 pushed, where the wire was much slower than a copy.)
//
// Pulling is right for a sender only whose memory the fabric reads by itself: it may have left the sync, and compute for
// long, when its data are read.
#pragma once
#include <cstdint>

#include "core/transport/transport.h"

namespace tutti::bsp {

struct bulk_load {           // to one process in one superstep
  std::uint64_t puts = 0, bytes = 0;
};

struct bulk_way {            // towards that process
  loggp cost;
  std::uint32_t slices = 0;     // of one read; 0 as 1
  std::uint64_t most_read = 1;  // bytes of one read
  std::uint32_t slot = 1;       // bytes of data in a slot of the channel
};

// Microseconds beyond what both ways cost.
double pushed_us(const bulk_load&, const bulk_way&) noexcept;
double pulled_us(const bulk_load&, const bulk_way&) noexcept;
inline bool pays_to_pull(const bulk_load& l, const bulk_way& w) noexcept { return pulled_us(l, w) < pushed_us(l, w); }

// Bytes from which a put by itself can gain from being pulled among others: smaller ones are packed with their headers.
std::uint64_t least_bulk() noexcept;

}  // namespace tutti::bsp

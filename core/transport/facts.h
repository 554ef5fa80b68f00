// What the members of a job have to know alike of their transports: costs, limits and abilities, by which engines choose. Each
// rank's own may differ (two adapters of unlike speed, a trial that failed in one): a rank that chose by its own would
// choose otherwise than its peers, and wait for messages that nobody sends. So all ranks exchange theirs when the job is
// made, and everybody goes by what holds for all.
#pragma once
#include <cstdint>

#include "core/transport/transport.h"

namespace tutti {

struct fabric_facts {
  loggp network, node;                     // the dearest; node: inside a node
  double multicast_us = 0;                 // multicast::limits::latency_us; 0: unknown before all are connected
  std::uint64_t max_bytes = 0;             // the least
  std::uint32_t target_must_progress = 0;  // 1: somewhere
  std::uint32_t native_atomics = 0;        // 1: everywhere; likewise
  std::uint32_t maps_mates = 0;
  std::uint32_t reserved = 0;
};

// Whether a fabric may have such: what a rank tells is checked before anybody reckons with it. Microseconds up to a second, and
// nothing (unknown) or 1e-6 to 1e6 bytes a nanosecond.
bool plausible_us(double us) noexcept;
bool plausible_rate(double bytes_per_ns) noexcept;
bool plausible(const fabric_facts&) noexcept;

fabric_facts facts_of(transport&);              // of this rank alone
void agree(fabric_facts&, const fabric_facts& another) noexcept;  // what holds for both; in whatever order

}  // namespace tutti

// Proof that a message comes from a rank of this job and was meant for this one.
//
// The check of a message is SipHash-2-4 of the rest of its header, by a key of its own for each origin and target, which both
// derive from the job's key (core/transport/provider.h). So a message without the key is right by one guess in 2^64, and a message of i
// to j is none of j to i, nor of anyone else. Why that function: it is the one that its authors propose as a message
// authentication code, where SipHash-1-3 is meant for hash tables; for these 56 bytes it takes 25 ns where that takes 17
// (tests/bench/authentication.cpp), and both are little beside a message. One of the processor's own instructions would be faster
// still, and would need a second way for the processors that lack them.
//
// The payload's length is a field of the header, its bytes are not covered: over a connection whoever could change those
// sits on the path, and could as well read the job's memory. Where a library cuts messages into datagrams that anybody can
// forge (libfabric's udp), a link asks for the payload to be covered too (link_traits::forgeable).
//
// A message that was recorded and is sent again has the right check and an old number, and receive() drops it.
#pragma once
#include <array>
#include <span>

#include "core/base/authentication.h"
#include "providers/messages/wire.h"

namespace tutti::messages {

inline siphash_key key_between(const siphash_key& job, rank_t origin, rank_t target) noexcept {
  siphash_key derived;
  for (std::uint64_t half = 0; half < derived.size(); ++half) {
    const std::array<std::uint64_t, 2> of{std::uint64_t{origin} << 32 | target, half};
    siphash h(job);
    h.add(std::as_bytes(std::span{of}));
    derived[half] = h.value();
  }
  return derived;
}

}  // namespace tutti::messages

// How processes learn what all others have for them, other than by a word from each to each (superstep.cpp): a byte of
// flags for every pair. Whoever has all bytes knows that everyone has entered the sync, so each of these is a barrier.
//
//   dissemination   log2 n messages a process, of n / 2 bytes (Bruck et al. 1997)
//   multicast       a message to process 0, which multicasts what everyone needs to know (Birk 2006, 3.2)
//
// Both keep two halves of everything that others write, used in turn; superstep.cpp argues why that is enough. Supersteps
// that went by words alone leave gaps in the epochs that an exchange sees.
//
// A process that has something for most others sends most of them a word all the same, with its first chunk. Where that
// holds for all, words alone are cheaper. So every process says with its flags whether it objects to words alone, and all
// learn whether anybody does: from that comes the way of the supersteps after (superstep.cpp).
#pragma once
#include <cstdint>
#include <memory>
#include <span>

#include "core/job/team.h"

namespace tutti::bsp {

class metadata_exchange {
 public:
  virtual ~metadata_exchange() = default;
  // `to`: my flags for each process. They must not change until the exchange is over. `objects`: this process does.
  virtual void begin(std::uint64_t epoch, std::span<const std::uint8_t> to, bool objects) noexcept = 0;
  // Goes as far as it can. True: everyone's flags for me are in `from`; mine for myself are not touched.
  virtual bool advance(std::span<std::uint8_t> from) noexcept = 0;
  virtual bool objected() const noexcept = 0;           // somebody; alike in all, when the exchange is over
  virtual rank_t awaited() const noexcept = 0;          // whose message is missing, or no_rank
  virtual const status& outcome() const noexcept = 0;   // of what it sent
};

// Collective over the team; each blocks.
result<std::unique_ptr<metadata_exchange>> make_dissemination(team&);
// Errors, alike in all: unsupported or unavailable, there is no multicast or it could not be formed.
result<std::unique_ptr<metadata_exchange>> make_multicast(team&);

}  // namespace tutti::bsp

// How much memory can be had. A memfd or an anonymous mapping has no limit of its own, as /dev/shm has: asked for too much, the
// kernel goes on giving until it has to kill a process, which may be an uninvolved one.
#pragma once
#include <cstdint>
#include <span>

#include "core/base/status.h"
#include "core/base/time_point.h"

namespace tutti {

inline constexpr std::uint64_t room_unknown = ~std::uint64_t{0};

// Bytes that this machine, and the cgroups of this process with all above them (versions 1 and 2), can still give. Memory that
// the file cache can give back counts. `root` goes before each path, for tests.
std::uint64_t memory_room(const char* root = "") noexcept;

// The same for a request of `bytes`, and without a dozen files for each of many small ones: a reading serves for a tenth of a second, less
// what was asked for since. What the machine's other processes take in that time no reading tells, for they take it after a fresh one as
// well. And all requests that one reading serves ask together for 1/4096 of it at most, where the callers leave 1/16 alone for all ranks of
// a node; so what is not small is measured by a reading of its own.
class memory_readings {
 public:
  explicit constexpr memory_readings(const char* root = "") noexcept : root_(root) {}
  std::uint64_t room_for(std::uint64_t bytes, time_point now) noexcept;

 private:
  const char* root_;
  std::uint64_t room_ = 0, asked_ = 0;
  time_point read_{};
};
std::uint64_t memory_room_for(std::uint64_t bytes) noexcept;  // by this thread's readings

// What one rank asks for, and what it found.
struct memory_request {
  std::uint32_t node = 0;
  std::uint64_t bytes = 0;  // new memory; 0: none
  std::uint64_t room = room_unknown;
};

// no_resource where the ranks of one node ask together for more than there is: with both sums, the rank that asks for most,
// and the remedy. A pure function of what all ranks know alike, so that all refuse alike. ranks[i]: whose request i is.
status fits_together(std::span<const memory_request> of_ranks, std::span<const rank_t> ranks);

}  // namespace tutti

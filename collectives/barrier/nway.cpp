// n-way dissemination: radix k, ceil(log_k n) rounds. In round m rank i signals i + j*k^m for j = 1 .. k-1 and waits
// for i - j*k^m. Radix 2 is dissemination. It trades k-1 messages a round for fewer rounds, which pays where several
// leave an adapter in the time that one takes to arrive (Hoefler, Mehlan, Mietke, Rehm: Fast barrier synchronization
// for InfiniBand, 2006).
//
// Lines: one a message, in the order of sending: (k-1) * floor(log_k n) at most, plus those of the last round, where
// partners at a distance of n or more, whom i has heard of already, are left out. A line is written by one rank alone.
//
// Safe (with algorithms.h): as dissemination. After round m rank i has heard from the k^(m+1) ranks that end at i; in
// the last round, distances j*k^m < n and the k^m ranks behind each reach all around the ring.
#include "collectives/barrier/algorithms.h"

namespace tutti::barriers {
namespace {

// visit(round's stride, partners in it, first line of it)
template <class F>
std::uint32_t for_each_round(std::uint32_t size, std::uint32_t radix, F visit) {
  std::uint32_t line = 0;
  for (std::uint64_t stride = 1; stride < size; stride *= radix) {
    const std::uint64_t left = (size - 1) / stride;  // distances j * stride below size
    const std::uint32_t partners = static_cast<std::uint32_t>(left < radix - 1 ? left : radix - 1);
    visit(stride, partners, line);
    line += partners;
  }
  return line;
}

}  // namespace

std::uint32_t nway_words(const barrier_shape& s) {
  return for_each_round(s.size, radix_of(s, nway_default, 2), [](std::uint64_t, std::uint32_t, std::uint32_t) {});
}

schedule nway(const barrier_shape& s) {
  schedule out;
  out.words = for_each_round(
      s.size, radix_of(s, nway_default, 2), [&](std::uint64_t stride, std::uint32_t partners, std::uint32_t line) {
        for (std::uint32_t j = 1; j <= partners; ++j)
          out.signal(static_cast<std::uint32_t>((s.rank + j * stride) % s.size), line + j - 1);
        for (std::uint32_t j = 1; j <= partners; ++j)
          out.wait(static_cast<std::uint32_t>((s.rank + s.size - j * stride) % s.size), line + j - 1);
      });
  return out;
}

}  // namespace tutti::barriers

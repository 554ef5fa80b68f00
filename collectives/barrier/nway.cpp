// n-way dissemination: radix k, ceil(log_k n) rounds. In round m rank i signals i + j*k^m for j = 1 .. k-1 and waits
// for i - j*k^m. Radix 2 is dissemination. It trades k-1 messages a round for fewer rounds, which pays where several
// leave an adapter in the time that one takes to arrive (Hoefler, Mehlan, Mietke, Rehm: Fast barrier synchronization
// for InfiniBand, 2006).
//
// Lines: one a message, in the order of sending: (k-1) * floor(log_k n) at most, plus those of the last round, where
// partners at a distance of n or more, whom i has heard of already, are left out. A line is written by one rank alone.
//
// Safe (with barriers.h): as dissemination. After round m rank i has heard from the k^(m+1) ranks that end at i; in
// the last round, distances j*k^m < n and the k^m ranks behind each reach all around the ring.
#include <algorithm>

#include "collectives/barrier/barriers.h"

namespace tutti::barriers {
namespace {

// visit(round's stride, partners in it, first line of it)
template <class F>
std::uint32_t for_each_round(const shape& s, F visit) {
  const std::uint32_t radix = radix_of(nway, s.radix);
  std::uint32_t line = 0;
  for (std::uint64_t stride = 1; stride < s.size; stride *= radix) {
    const std::uint64_t left = (s.size - 1) / stride;  // distances j * stride below size
    const auto partners = static_cast<std::uint32_t>(std::min<std::uint64_t>(left, radix - 1));
    visit(stride, partners, line);
    line += partners;
  }
  return line;
}

std::uint32_t words(const shape& s) {
  return for_each_round(s, [](std::uint64_t, std::uint32_t, std::uint32_t) {});
}

schedule make(const shape& s) {
  schedule out;
  out.words = for_each_round(s, [&](std::uint64_t stride, std::uint32_t partners, std::uint32_t line) {
    for (std::uint32_t j = 1; j <= partners; ++j)
      out.signal(static_cast<std::uint32_t>((s.rank + j * stride) % s.size), line + j - 1);
    for (std::uint32_t j = 1; j <= partners; ++j)
      out.wait(static_cast<std::uint32_t>((s.rank + s.size - j * stride) % s.size), line + j - 1);
  });
  return out;
}

picoseconds chain(const form_input& in) {
  picoseconds total = 0;
  for_each_round({.size = in.size, .radix = in.radix},
                 [&](std::uint64_t, std::uint32_t partners, std::uint32_t) { total += hop(in, partners); });
  return total;
}
std::int64_t messages(const form_input& in) { return std::int64_t{in.size} * words({.size = in.size, .radix = in.radix}); }

// n-way sends n * k * log_k n messages in all. Alone on a core they overlap; on a shared one each delays another rank.
template <std::uint32_t N>
bool roomy_from(const placement& p) { return p.ranks >= N && !p.oversubscribed; }
constexpr variant variants[] = {
    {.radix = 3, .considered = roomy_from<3>, .reason = "fewer rounds of two messages: pays where sending is cheap against latency"},
    {.radix = 4, .considered = roomy_from<4>, .reason = "half the rounds, of three messages: pays where sending is cheap against latency"},
    {.radix = 8, .considered = roomy_from<8>, .reason = "a third of the rounds, of seven messages: for low overhead and long wires"},
};

}  // namespace

constinit const algorithm nway{
    .of = collective::barrier,
    .name = "nway",
    .summary = "dissemination with k-1 partners a round, ceil(log_k n) rounds",
    .source = "Hoefler et al. 2006 (n-way dissemination); Kini 2003, 3.2",
    .default_radix = 4,  // three messages leave in the time of one on most adapters
    .least_radix = 2,
    .variants = variants,
    .words = words,
    .make = make,
    .form = {chain, messages},
};

}  // namespace tutti::barriers

// Alltoallv, gatherv, scatterv and those of a neighbourhood in which each rank gets its blocks out of the others' memory (direct.h). A pair
// between which nothing goes in a run says nothing, and counts runs by itself, as in unlike.cpp. Result in place: the ranks expose a copy.
// Copies of each block: one, by the fabric or the kernel.
#include "collectives/direct.h"

namespace tutti::alltoalls {
namespace {

schedule make(const shape& s) {
  schedule out;
  out.words = direct::words(s);
  for (std::uint32_t k = 1; k < s.size; ++k) {
    const std::uint32_t to = (s.rank + k) % s.size;
    direct::expose(out, s, to, to, data_in);
  }
  out.local(step_kind::copy, s.rank, {data_in}, {data_out});
  for (std::uint32_t k = 1; k < s.size; ++k) {
    const std::uint32_t from = (s.rank + s.size - k) % s.size;
    direct::fetch(out, from, from);
  }
  out.add(step_kind::complete, any_peer);
  for (std::uint32_t k = 1; k < s.size; ++k) {
    const std::uint32_t from = (s.rank + s.size - k) % s.size;
    direct::release(out, s, from, from);
  }
  for (std::uint32_t k = 1; k < s.size; ++k) {
    const std::uint32_t to = (s.rank + k) % s.size;
    direct::await_release(out, s, to, to, data_in);
  }
  return out;
}

picoseconds chain(const form_input& in) { return 2 * hop(in, in.size - 1) + direct::taken(in, in.size - 1); }
std::int64_t messages(const form_input& in) { return 2 * std::int64_t{in.size} * (in.size - 1); }

constexpr variant variants[] = {{.reason = "no copy in between"}};

}  // namespace

extern const algorithm unlike_direct;
constinit const algorithm unlike_direct{
    .of = collective::alltoallv,
    .name = "direct",
    .summary = "each rank gets its blocks out of the others' own memory",
    .source = "Ma et al. 2011 (one copy by the kernel)",
    .data = {.blocks = direct::slots, .slots = direct::slots, .exposes = true},
    .variants = variants,
    .words = direct::words,
    .make = make,
    .form = {chain, messages},
};

}  // namespace tutti::alltoalls

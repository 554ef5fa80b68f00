// Alltoall and alltoallv (with gatherv, scatterv and those of a neighbourhood) in which each rank gets its blocks out of the others' memory
// (direct.h). Members of an alltoallv between which nothing goes in a run say nothing, and count runs by pairs, as in unlike.cpp. For a
// result in place the ranks expose a copy.
// Copies of each block: one, by the fabric or the kernel.
#include "collectives/direct.h"

namespace tutti::alltoalls {
namespace {

schedule make(const shape& s) { return direct::exchange(s, false); }
picoseconds chain(const form_input& in) { return 2 * hop(in, in.size - 1) + direct::taken(in, in.size - 1); }
std::int64_t messages(const form_input& in) { return 2 * std::int64_t{in.size} * (in.size - 1); }

constexpr variant variants[] = {{.reason = "no copy in between"}};

}  // namespace

extern const algorithm direct_alltoall, unlike_direct;
constinit const algorithm direct_alltoall{
    .of = collective::alltoall,
    .name = "direct",
    .summary = "each rank gets its blocks out of the others' own memory",
    .source = "Ma et al. 2011 (one copy by the kernel)",
    .data = {.blocks = direct::slots, .slots = direct::slots, .exposes = true},
    .variants = variants,
    .words = direct::words,
    .make = make,
    .form = {chain, messages},
};
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

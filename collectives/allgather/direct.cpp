// Allgather in which each rank gets the blocks out of the others' memory (direct.h).
// Copies of each block: one, by the fabric or the kernel.
#include "collectives/direct.h"

namespace tutti::allgathers {
namespace {

schedule make(const shape& s) { return direct::exchange(s, true); }
picoseconds chain(const form_input& in) { return 2 * hop(in, in.size - 1) + direct::taken(in, in.size - 1); }
std::int64_t messages(const form_input& in) { return 2 * std::int64_t{in.size} * (in.size - 1); }

constexpr variant variants[] = {{.reason = "no copy in between"}};

}  // namespace

extern const algorithm direct_allgather;
constinit const algorithm direct_allgather{
    .of = collective::allgather,
    .name = "direct",
    .summary = "each rank gets the blocks out of the others' own memory",
    .source = "Ma et al. 2011 (one copy by the kernel)",
    .data = {.blocks = direct::slots, .slots = direct::slots, .exposes = true},
    .variants = variants,
    .words = direct::words,
    .make = make,
    .form = {chain, messages},
};

}  // namespace tutti::allgathers

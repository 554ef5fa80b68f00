// Gather in which the root gets the blocks out of the others' memory (direct.h).
// Copies of each block: one, by the fabric or the kernel.
#include "collectives/direct.h"

namespace tutti::gathers {
namespace {

schedule make(const shape& s) { return direct::to_root(s); }
picoseconds chain(const form_input& in) { return 2 * hop(in, 1) + direct::taken(in, in.size - 1); }
std::int64_t messages(const form_input& in) { return 2 * (in.size - 1); }

constexpr variant variants[] = {{.reason = "no copy in between"}};

}  // namespace

extern const algorithm direct_gather;
constinit const algorithm direct_gather{
    .of = collective::gather,
    .name = "direct",
    .summary = "the root gets the blocks out of the others' own memory",
    .source = "Ma et al. 2011 (one copy by the kernel)",
    .data = {.blocks = direct::slots, .slots = direct::slots, .exposes = true},
    .variants = variants,
    .words = direct::words,
    .make = make,
    .form = {chain, messages},
};

}  // namespace tutti::gathers

// Scatter in which each rank gets its block out of the root's memory (direct.h).
// Copies of each block: one, by the fabric or the kernel.
#include "collectives/direct.h"

namespace tutti::scatters {
namespace {

schedule make(const shape& s) { return direct::from_root(s, data_in, false); }
picoseconds chain(const form_input& in) { return 2 * hop(in, in.size - 1) + direct::taken(in, 1); }
std::int64_t messages(const form_input& in) { return 2 * (in.size - 1); }

constexpr variant variants[] = {{.reason = "no copy in between"}};

}  // namespace

extern const algorithm direct_scatter;
constinit const algorithm direct_scatter{
    .of = collective::scatter,
    .name = "direct",
    .summary = "each rank gets its block out of the root's own memory",
    .source = "Ma et al. 2011 (one copy by the kernel)",
    .data = {.blocks = direct::slots, .slots = direct::slots, .exposes = true},
    .variants = variants,
    .words = direct::words,
    .make = make,
    .form = {chain, messages},
};

}  // namespace tutti::scatters

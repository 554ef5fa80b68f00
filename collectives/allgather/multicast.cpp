// The RGM pattern (collectives/reduce/multicast.cpp) for allgather: the gather up a binomial tree to rank 0
// (collectives/gather/binomial.cpp, which says whose its words and slots are), and one reliable multicast of all blocks down, which
// begins as a part of the same operation when rank 0 has them.
//
// A rank that is ahead in the multicast of its operation disturbs nobody: that uses other memory. In place: a rank's block is in the
// root's hands or its parent's before the result comes, and the result brings the same bytes to where it stands.
// Copies of each block: those of the gather, and of the multicast.
#include "collectives/price.h"

namespace tutti::gathers {
extern const algorithm binomial;
}
namespace tutti::broadcasts {
extern const algorithm multicast;
}

namespace tutti::allgathers {
namespace {

schedule make(const shape& s) {
  shape up = s;
  up.root = 0;
  return gathers::binomial.make(up);
}

picoseconds chain(const form_input& in) {
  form_input all = in;
  all.bytes = in.bytes * in.size;
  return gathers::binomial.form.chain(in) + broadcasts::multicast.form.chain(all);
}

bool several(const placement& p) { return p.ranks > 2 && p.ranks <= 1024; }
constexpr variant variants[] = {{.considered = several, .reason = "n - 1 messages up a binomial tree, one multicast down"}};

}  // namespace

extern const algorithm rgm;
constinit const algorithm rgm{
    .of = collective::allgather,
    .name = "multicast",
    .alias = "rgm",
    .summary = "gather up a binomial tree, one reliable multicast of all blocks down",
    .source = "Kini et al. 2003, 3.3 and 8",
    .needs = {.multicast = true, .alike = true},
    .down_by_multicast = true,
    .data = {.blocks = [](const shape& s) { return s.size; }, .most_bytes = 32 << 10, .slots = [](const shape& s) { return s.size; },
             .together = [](const shape& s) { return (s.size + 1) / 2; }, .synchronizes = true},
    .resources = &gathers::binomial,
    .variants = variants,
    .words = [](const shape& s) { return 2 * rounds_of(s.size); },
    .make = make,
    .form = {chain},
};

}  // namespace tutti::allgathers

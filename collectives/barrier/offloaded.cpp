// A barrier in the adapter (Buntinas 2001): the schedule of another row, run by the fabric and not by the program. This
// file only makes the schedule; offloaded_run.h is what hands it over. By default dissemination, which is the fastest at
// any size where all rounds cost alike; Buntinas ran pairwise ("offloaded:pairwise", 2.2). Safe as that one is: the words
// are the plan's own, and core/transport/transport.h (offload) promises of signals and waits what barriers.h asks for.
#include "collectives/barrier/barriers.h"

namespace tutti::barriers {
namespace {

const algorithm& inner(const shape& s) {
  const algorithm* a = find_algorithm(collective::barrier, s.inner);
  return a && can_be_offloaded(*a) ? *a : dissemination;
}

std::uint32_t words(const shape& s) { return inner(s).words(s); }

schedule make(const shape& s) { return inner(s).make(s); }

picoseconds chain(const form_input& in) { return dissemination.form.chain(in); }
std::int64_t messages(const form_input& in) { return dissemination.form.messages(in); }

}  // namespace

extern const algorithm offloaded;
constinit const algorithm offloaded{
    .of = collective::barrier,
    .name = "offloaded",
    .summary = "dissemination or another, run by the fabric while the program computes",
    .source = "Buntinas 2001, 2",
    .needs = {.offload = true},
    .words = words,
    .make = make,
    .form = {chain, messages},
};

}  // namespace tutti::barriers

// A barrier in the adapter (Buntinas 2001): the schedule of another row, run by the fabric and not by the program. This
// file only makes the schedule; offloaded_run.h is what hands it over. By default dissemination, which is the fastest at
// any size where all rounds cost alike; Buntinas ran pairwise ("offloaded:pairwise", 2.2). Safe as that one is: the words
// are the plan's own, and core/transport/transport.h (offload) promises of signals and waits what algorithms.h asks for.
#include "collectives/barrier/algorithms.h"

namespace tutti::barriers {
namespace {

const barrier_algorithm& inner(const barrier_shape& s) {
  const barrier_algorithm* a = s.leaders.empty() ? nullptr : find_barrier(s.leaders);
  return a && can_be_offloaded(*a) ? *a : *find_barrier("dissemination");
}

}  // namespace

bool can_be_offloaded(const barrier_algorithm& a) {
  return !a.needs_multicast && !a.needs_fetch_add && !a.on_nodes && !a.offloaded;
}

std::uint32_t offloaded_words(const barrier_shape& s) { return inner(s).words(s); }

schedule offloaded(const barrier_shape& s) { return inner(s).make(s); }

}  // namespace tutti::barriers

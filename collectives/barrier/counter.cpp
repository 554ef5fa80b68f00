// Central counter (Mellor-Crummey & Scott 1991, 3.1, with the release on lines of the ranks' own): everyone adds one to
// a counter at rank 0, and whoever makes it full releases all. No rank has a part that others wait for, so nobody but
// the last arriver needs to be given a core: each rank runs twice a barrier, once to arrive and once to leave. That
// makes it the best when ranks outnumber cores, and the worst on a wide network, where n additions meet in one adapter.
//
// Lines: 2 for any n. Line 0 of rank 0 is the counter; line 1 of every rank is its release.
//
// Safe: the counter gains exactly n an epoch, since no rank arrives in e+1 before it was released from e, which the
// arrival that made it e*n did. So during epoch e it moves from (e-1)*n to e*n, one arriver alone sees itself make it
// e*n, and it is the last; all modulo 2^64, which e*n and the additions share.
// The release line is set by whoever came last, a different rank each time, and still advances only: the last arriver
// of e+1 signals after everyone's arrival in e+1, thus after each rank had read e in its own line. That is also why the
// last arriver signals and awaits itself: its line, too, has taken e before anyone can be last in e+1.
#include "collectives/barrier/barriers.h"

namespace tutti::barriers {
namespace {

std::uint32_t words(const shape& s) { return s.size < 2 ? 0 : 2; }

schedule make(const shape& s) {
  constexpr std::uint32_t count_line = 0, release_line = 1;
  schedule out;
  out.words = words(s);
  if (s.size < 2) return out;
  out.add(step_kind::arrive, 0, count_line, s.size).count = s.size;
  for (std::uint32_t i = 1; i <= s.size; ++i)  // itself last
    out.signal((s.rank + i) % s.size, release_line);
  out.wait(any_peer, release_line);
  return out;
}

picoseconds chain(const form_input& in) {
  if (in.size < 2) return 0;
  const picoseconds each = in.by_cpu ? in.link.overhead + in.link.latency : in.all.native_atomics ? in.link.gap : in.link.interval();
  const picoseconds trip = in.by_cpu ? 0 : 2 * in.link.message() - 2 * in.link.overhead;
  return trip + in.size * each + hop(in, in.size - 1);
}
std::int64_t messages(const form_input& in) {
  return (in.by_cpu ? 1 : in.all.native_atomics ? 2 : 3) * (std::int64_t{in.size} - 1);
}

constexpr variant variants[] = {
    {.considered = on_one_node, .reason = "each rank waits once, nobody for the master: best when ranks outnumber cores"}};

}  // namespace

extern const algorithm counter;
constinit const algorithm counter{
    .of = collective::barrier,
    .name = "counter",
    .summary = "all add to one counter, the last arriver releases all",
    .source = "Mellor-Crummey & Scott 1991, 3.1",
    .needs = {.fetch_add = true},
    .variants = variants,
    .words = words,
    .make = make,
    .form = {chain, messages},
};

}  // namespace tutti::barriers

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
#include "collectives/barrier/algorithms.h"

namespace tutti::barriers {

std::uint32_t counter_words(const barrier_shape& s) { return s.size < 2 ? 0 : 2; }

schedule counter(const barrier_shape& s) {
  constexpr std::uint32_t count_line = 0, release_line = 1;
  schedule out;
  out.words = counter_words(s);
  if (s.size < 2) return out;
  out.add(step_kind::arrive, 0, count_line, s.size).count = s.size;
  for (std::uint32_t i = 1; i <= s.size; ++i)  // itself last
    out.signal((s.rank + i) % s.size, release_line);
  out.wait(any_peer, release_line);
  return out;
}

}  // namespace tutti::barriers

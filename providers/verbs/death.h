// How soon a peer on another host is known to be gone: within the second of clause 10 (core/transport/transport.h). Nobody there says so;
// its adapter no longer acknowledges. A rank that waits without an operation under way finds out in these steps:
//   quiet_for        after the last completion of a peer, nobody is asked
//   between_probes   a rank that sleeps wakes this often, and posts an empty write to who has been quiet; one that does not
//                    asks health(), which does so, every `asked_every` (job::look_every)
//   longest()        the adapter repeats it until it gives up
//
// The last is 4.096 us * 2^timeout for each try, of which there are 1 + retries; the standard lets an adapter wait up to four
// times that. (7 retries would not mean seven but for ever on soft-RoCE.)
//
// Nobody is taken for dead who is merely busy: adapters acknowledge by themselves, whatever their hosts compute, and one
// without a receive posted says so, which is repeated without an end (receiver.h). For that to be lost seven times takes a
// fabric that carries nothing for 0.12 s. Soft-RoCE acknowledges in its kernel, which needs a core, though not one of the
// peer's process: it is exact, and has 0.67 s.
#pragma once
#include <chrono>
#include <cstdint>

namespace tutti::verbs {

struct repeating {
  std::uint8_t timeout, retries;
  unsigned at_most;              // times as long as it should take
};
inline constexpr repeating by_adapter{12, 6, 4}, by_software{15, 4, 1};

constexpr std::chrono::nanoseconds longest(const repeating& r) noexcept {
  return std::chrono::nanoseconds{4096ll << r.timeout} * (1 + r.retries) * r.at_most;
}

inline constexpr std::chrono::nanoseconds quiet_for = std::chrono::milliseconds{100}, between_probes = std::chrono::milliseconds{100};
inline constexpr std::chrono::nanoseconds asked_every = std::chrono::milliseconds{50};
static_assert(quiet_for + between_probes + asked_every + longest(by_adapter) < std::chrono::milliseconds{750});
static_assert(quiet_for + between_probes + asked_every + longest(by_software) < std::chrono::milliseconds{950});

}  // namespace tutti::verbs

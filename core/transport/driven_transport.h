// A decorator for programs that compute for long (TUTTI_PROGRESS=thread): the transport below serves its rank and, while the
// rank makes no call, a thread that drives it (core/transport/progress_thread.h). Peers' operations upon the rank's memory then
// complete within the time of a wake-up.
//
// Cost: a lock that is nearly always free, some 20 ns a call; a look of the thread each millisecond while the rank is
// busy with its transport; some microseconds when the rank comes back.
//
// The thread drives the transport and nothing above it: a collective that needs a step of this rank waits for the rank's next
// call. The repair of a lost multicast release needs no step: it is a read of this rank's memory
// (core/engine/reliable_multicast.h).
#pragma once
#include <memory>
#include <vector>

#include "core/transport/transport.h"

namespace tutti {

// `driven` are `whole` itself or the parts of it (a router's) that ask for progress. The thread begins with connect().
std::unique_ptr<transport> make_driven(std::unique_ptr<transport> whole, std::vector<transport*> driven);

// Whether peers' operations upon this rank's memory wait for its progress, all or some.
inline bool wants_progress(const capabilities& c) noexcept {
  return c.target_must_progress || !c.native_signal || !c.native_atomics;
}

}  // namespace tutti

// Waiting before memory is freed that this rank's own operations use.
#pragma once
#include <algorithm>
#include <initializer_list>

#include "core/base/own_time.h"
#include "core/transport/transport.h"

namespace tutti {

// Waits until the operations that name any of these completions have ended, or for two seconds of this rank's own time (towards a
// dead peer they end soon, clause 10).
inline void wait_out(transport& net, std::initializer_list<const completion*> all) {
  const auto over = [&] { return std::all_of(all.begin(), all.end(), [](const completion* c) { return c->idle(); }); };
  for (own_time longest{std::chrono::seconds(2), net.now()}; !over() && !longest.over(net.now());)
    if (net.progress() == 0)
      if (armed open = net.arm()) over() ? net.disarm() : net.sleep(std::move(open), net.now() + std::chrono::milliseconds(1));
}

}  // namespace tutti

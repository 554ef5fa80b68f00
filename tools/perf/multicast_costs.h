// What multicast costs, measured as the evaluator means it (collectives/cost.h).
#pragma once
#include "core/job/team.h"
#include "tools/perf/series.h"

namespace tutti::tools {

struct multicast_costs {
  series one_way_us;    // from the call that sends a small datagram until the peer has it: half a round trip
  series bytes_per_ns;  // one sender's full datagrams, as many on their way as a broadcast has
};

// Between member 0, who alone is told, and `peer`. Collective, with nothing under way upon the team. A chunk in which a datagram was
// lost does not count. A series is empty where half of its chunks were lost, both where no group can be formed.
multicast_costs measure_multicast(team&, std::uint32_t peer);

}  // namespace tutti::tools

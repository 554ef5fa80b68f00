// Which network carries a job between its nodes: the best one that every rank can use.
#pragma once
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "core/job/bootstrap.h"
#include "core/transport/provider.h"

namespace tutti {

// Of one rank: what it can use, as for TUTTI_PROVIDER ("ucx:rc"), best first by a rule that is the same everywhere: first
// those that need nobody's help at the target, then the others, each in the order of the registry.
using networks = std::vector<std::string>;

// Of this process. Without `all` some that could only be a last resort are left out (provider::between_nodes). What cannot
// be used is told in `why_not`.
networks usable_networks(bool all, std::string& why_not);

// The first of rank 0's that all have; "" if there is none.
std::string common_network(std::span<const networks> of_ranks);

// Collective over the job: the same answer in every rank. Two exchanges at the most. Errors: unavailable, which says what
// ranks have instead and what to do; those of an exchange. `usable` stands for usable_networks().
using ask_for_networks = std::function<networks(bool all, std::string& why_not)>;
result<std::string> agree_on_network(bootstrap&, time_point deadline, const ask_for_networks& usable = usable_networks);

}  // namespace tutti

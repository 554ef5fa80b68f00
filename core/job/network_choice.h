// Which network carries a job between its nodes: the best one that every rank can use.
#pragma once
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "core/job/bootstrap.h"
#include "core/transport/provider.h"

namespace tutti {

// The networks that one rank can use, in the words of TUTTI_PROVIDER ("ucx:rc"). Best first, by a rule that is the same in all
// ranks: first those that need no help of the target, then the others, each in the order of the registry.
using networks = std::vector<std::string>;

// Those of this process. Without `all`, networks of last resort may be left out (provider::between_nodes). `why_not` becomes what
// cannot be used, and why.
networks usable_networks(bool all, std::string& why_not);

// The first of rank 0's networks that all ranks have; "" if there is none.
std::string common_network(std::span<const networks> of_ranks);

// Collective over the job: the same answer in every rank. Two exchanges at most. Errors: unavailable, with what the ranks have
// instead and what to do; those of an exchange. `usable` stands for usable_networks().
using ask_for_networks = std::function<networks(bool all, std::string& why_not)>;
result<std::string> agree_on_network(bootstrap&, time_point deadline, const ask_for_networks& usable = usable_networks);

}  // namespace tutti

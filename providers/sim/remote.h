// Virtual ranks that are processes of their own.
#pragma once
#include <memory>

#include "core/job/simulated_link.h"
#include "core/transport/transport.h"

namespace tutti::sim {

// The transport of this process's rank, in the world behind the line.
result<std::unique_ptr<transport>> open_remote(simulated::line&);

}  // namespace tutti::sim

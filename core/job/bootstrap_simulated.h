// Ranks that are processes of a simulated world (simulated_link.h): they meet in virtual time.
#pragma once
#include <memory>

#include "core/job/bootstrap.h"
#include "core/job/simulated_link.h"

namespace tutti {

std::unique_ptr<bootstrap> make_simulated_bootstrap(simulated::line&);

// Of a virtual node, which is no host of this world.
host_id simulated_host(std::uint32_t node) noexcept;

}  // namespace tutti

// When this_host() (core/bootstrap.h) cannot tell: it is all zero then, which is no host's.
#pragma once
#include "core/bootstrap.h"

namespace tutti {

inline bool known(const host_id& h) noexcept { return h != host_id{}; }

// no_resource: why this thread's last this_host() was all zero.
status unknown_host();

}  // namespace tutti

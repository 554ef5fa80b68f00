// Which host this process runs on.
#pragma once
#include <array>
#include <cstddef>

#include "core/base/status.h"

namespace tutti {

// Two ranks share a node when their host ids are equal: they can then reach each other by shared memory.
using host_id = std::array<std::byte, 16>;

// Of this process: boot id, host name, and the namespaces that decide whether /dev/shm and pids are shared with a
// peer. Containers and network namespaces with a private IPC or mount namespace are hosts of their own. All zero, which is no
// host's, where that cannot be told.
host_id this_host() noexcept;
inline bool known(const host_id& h) noexcept { return h != host_id{}; }

// no_resource: why this thread's last this_host() was all zero.
status unknown_host();

}  // namespace tutti

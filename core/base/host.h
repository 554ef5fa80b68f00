// Which host this process runs on.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>

#include "core/base/status.h"

namespace tutti {

// Two ranks share a node when their host ids are equal: they can then reach each other by shared memory.
using host_id = std::array<std::byte, 16>;

// Of this process: boot id, host name, the namespaces that decide whether /dev/shm and pids are shared with a peer, and whose
// memory it may open: that of processes of its users and groups, in its user namespace. Containers and network namespaces with a
// private IPC or mount namespace are hosts of their own. So is a process that nobody may open, or whose /proc does not show the
// processes that it sees. All zero, which is no host's, where that cannot be told.
host_id this_host() noexcept;
inline bool known(const host_id& h) noexcept { return h != host_id{}; }

// Of the kernel that runs this process: alike in all hosts that it is parted into, and 0 where it cannot be told.
std::uint64_t this_machine() noexcept;

// no_resource: why this thread's last this_host() was all zero.
status unknown_host();

}  // namespace tutti

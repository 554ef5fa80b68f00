// What a killed rank leaves outside its process. Libfabric's shm provider names a file in /dev/shm after the process that
// opens an endpoint, PID:N:N, and only that process removes it. UCX's has a name there until it is mapped.
#pragma once
#include <sys/types.h>

namespace tutti::launching {

// While `pid` is still the dead rank's own: not yet reaped.
void remove_leavings(pid_t pid) noexcept;

}  // namespace tutti::launching

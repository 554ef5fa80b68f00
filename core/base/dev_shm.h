// /dev/shm, where UCX and libfabric keep what the processes of a host share, and where windows over them lie. Containers
// often have 64 MiB of it, or less.
#pragma once
#include <cstdint>
#include <string>

#include "core/base/status.h"

namespace tutti {

std::uint64_t room_in_dev_shm() noexcept;  // bytes free in it; 0 if there is none
std::string in_binary_units(std::uint64_t bytes);  // "64 KiB", "4.1 MiB"

// The error no_resource, with what /dev/shm has, what is needed and by whom ("UCX, for each rank"), and the remedy.
status dev_shm_too_small(const std::string& who, std::uint64_t needed, std::uint64_t room);

}  // namespace tutti

// This process's mappings, as the kernel lists them in /proc/self/maps.
#pragma once
#include <cstdint>
#include <utility>

#include "core/base/status.h"

namespace tutti {

// From where to where the mappings reach that hold [begin, end). `unsupported` where some of it is no private anonymous memory: a
// file's, shared memory, huge pages of hugetlbfs; or is not mapped. Costs a read of the list up to there.
result<std::pair<std::uintptr_t, std::uintptr_t>> private_mappings(std::uintptr_t begin, std::uintptr_t end);

// All mappings of private anonymous memory. Allocates nothing and gives nothing back.
void each_private_mapping(void (*tell)(void* whom, std::uintptr_t begin, std::uintptr_t end), void* whom) noexcept;

}  // namespace tutti

// This process's mappings, as the kernel lists them.
#pragma once
#include <cstdint>
#include <utility>

#include "core/base/status.h"

namespace tutti {

// From where to where the mappings reach that hold [begin, end). `unsupported` where some of it is no private anonymous memory: a
// file's, shared memory, huge pages of hugetlbfs; or is not mapped. Costs a read of /proc/self/maps up to there.
result<std::pair<std::uintptr_t, std::uintptr_t>> private_mappings(std::uintptr_t begin, std::uintptr_t end);

}  // namespace tutti

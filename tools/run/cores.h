// Where ranks run when they are bound.
#pragma once
#include <sched.h>

#include <vector>

#include "core/status.h"

namespace tutti::run {

// The cores this process may use, in the machine's order (neighbours share caches), each with its hardware threads.
// Rank i is bound to cores()[i % size].
result<std::vector<cpu_set_t>> usable_cores();

}  // namespace tutti::run

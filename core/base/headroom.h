// Whether this process may still open and map what a vendor's library will. To be asked before it is called: UCX aborts the
// process, and libfabric tries for seconds, where there is too little in the middle of their opening.
#pragma once
#include <cstddef>

#include "core/base/status.h"

namespace tutti {

// no_resource, with what is left, what is needed and by whom, and the mend. O(descriptors that are open).
// Address space of 0 bytes is not asked for.
status headroom(const char* who, unsigned descriptors, std::size_t address_space);

}  // namespace tutti

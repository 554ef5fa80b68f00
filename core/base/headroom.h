// Whether this process may still open and map what a vendor's library will need. To be asked before the library is called: where
// too little is left while they open, UCX aborts the process, and libfabric tries again for seconds.
#pragma once
#include <cstddef>

#include "core/base/status.h"

namespace tutti {

// no_resource, with what is left, what is needed and by whom, and the remedy. O(descriptors that are open).
// With an address_space of 0 bytes, address space is not checked.
status headroom(const char* who, unsigned descriptors, std::size_t address_space);

}  // namespace tutti

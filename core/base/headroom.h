// Whether this process may still open and map what a vendor's library will need. To be asked before the library is called: where
// too little is left while they open, UCX aborts the process, and libfabric tries again for seconds.
#pragma once
#include <cstddef>

#include "core/base/status.h"

namespace tutti {

struct mapped_bytes {
  std::size_t address_space = 0;  // 0: neither is checked
  std::size_t data = 0;           // the part of it that is written: most are stacks of threads
};

// no_resource, with what is left, what is needed and by whom, and the remedy. O(descriptors that are open).
status headroom(const char* who, unsigned descriptors, const mapped_bytes&);

}  // namespace tutti

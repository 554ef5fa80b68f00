// Shared memory: the ranks of one node, as processes or as threads of one process, reach each other by loads and
// stores. A put is a memcpy, a signal a release store, an atomic a CPU atomic; a rank that waits long sleeps on a
// futex in its own control page.
//
// What a rank's transport holds, with L ranks of the job on this node, S live segments and G multicast groups:
//   memory       20 KiB (its control page) + 261 KiB (its ring of two-sided messages) + 176 B * L + 16 B * L * S + 132 KiB per
//                group that it created, and 2 B for each rank between the lowest and the highest rank of this node, on top of
//                the regions;
//   descriptors  1 + one for each allocated region and created group; L - 1 more once it has waited for 100 ms, and
//                3 more after the first arm_fd().
// The regions of peers, and their rings, are mapped at first use. Every page is backed when it is made: nothing fails later with SIGBUS.
#pragma once
#include "core/transport/provider.h"

namespace tutti {

extern const provider shm_provider;

}  // namespace tutti

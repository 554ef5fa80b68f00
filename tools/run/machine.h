// This machine's cores, as far as a launcher needs to know them.
#pragma once
#include <sched.h>

#include <memory>
#include <vector>

#include "core/base/status.h"

namespace tutti::launching {

class machine {
 public:
  static result<machine> look();
  // The cores this process may use, in the machine's order (neighbours share caches), each with its hardware threads.
  // Rank i is bound to cores()[i % size].
  result<std::vector<cpu_set_t>> cores() const;
  void* hwloc() const noexcept { return topology_.get(); }  // hwloc_topology_t, for libpmix

 private:
  std::shared_ptr<void> topology_;
};

}  // namespace tutti::launching

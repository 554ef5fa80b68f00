#include "tools/run/cores.h"

#include <hwloc.h>
#include <hwloc/glibc-sched.h>

#include <cerrno>
#include <cstring>
#include <memory>

namespace tutti::run {
namespace {

struct topology_end {
  void operator()(hwloc_topology* t) const { hwloc_topology_destroy(t); }
};

}  // namespace

result<std::vector<cpu_set_t>> usable_cores() {
  const auto failed = [] {
    return status{errc::unavailable, std::string{"cannot learn the cores of this machine: "} + std::strerror(errno) +
                                         "; use --bind none", no_rank, errno};
  };
  cpu_set_t mine;  // what taskset, a container or a batch system left us
  if (sched_getaffinity(0, sizeof mine, &mine) != 0) return failed();
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) return failed();
  const std::unique_ptr<hwloc_topology, topology_end> topology{raw};
  hwloc_topology_set_all_types_filter(raw, HWLOC_TYPE_FILTER_KEEP_NONE);  // cores and threads are kept all the same
  hwloc_topology_set_type_filter(raw, HWLOC_OBJ_CORE, HWLOC_TYPE_FILTER_KEEP_ALL);
  if (hwloc_topology_load(raw) != 0) return failed();

  std::vector<cpu_set_t> cores;
  const int kind = hwloc_get_nbobjs_by_type(raw, HWLOC_OBJ_CORE) > 0 ? HWLOC_OBJ_CORE : HWLOC_OBJ_PU;
  for (hwloc_obj_t o = nullptr; (o = hwloc_get_next_obj_by_type(raw, static_cast<hwloc_obj_type_t>(kind), o));) {
    cpu_set_t set, usable;
    if (hwloc_cpuset_to_glibc_sched_affinity(raw, o->cpuset, &set, sizeof set) != 0) return failed();
    CPU_AND(&usable, &set, &mine);
    if (CPU_COUNT(&usable) > 0) cores.push_back(usable);
  }
  errno = ENODEV;
  if (cores.empty()) return failed();
  return cores;
}

}  // namespace tutti::run

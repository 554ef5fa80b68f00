#include "tools/run/machine.h"

#include <hwloc.h>
#include <hwloc/glibc-sched.h>
#include <stdlib.h>

#include <cerrno>
#include <cstring>

namespace tutti::launching {
namespace {

status failed() {
  return {errc::unavailable, std::string{"hwloc cannot tell the cores of this machine: "} + std::strerror(errno)};
}

}  // namespace

// Cores and nothing else: looking at everything takes ten times as long, most of it in plugins that look for graphics
// cards, as far as asking for X servers on this host.
result<machine> machine::look() {
  setenv("HWLOC_PLUGINS_PATH", "/nonexistent", 0);  // hwloc's own variable; a user's value stays
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) return failed();
  machine m;
  m.topology_ = {raw, [](void* t) { hwloc_topology_destroy(static_cast<hwloc_topology_t>(t)); }};
  hwloc_topology_set_all_types_filter(raw, HWLOC_TYPE_FILTER_KEEP_NONE);
  hwloc_topology_set_type_filter(raw, HWLOC_OBJ_CORE, HWLOC_TYPE_FILTER_KEEP_ALL);
  if (hwloc_topology_load(raw) != 0) return failed();
  return m;
}

result<std::vector<cpu_set_t>> machine::cores() const {
  const auto t = static_cast<hwloc_topology_t>(topology_.get());
  cpu_set_t mine;  // what taskset, a container or a batch system left us
  if (sched_getaffinity(0, sizeof mine, &mine) != 0) return failed();
  std::vector<cpu_set_t> cores;
  const auto kind = hwloc_get_nbobjs_by_type(t, HWLOC_OBJ_CORE) > 0 ? HWLOC_OBJ_CORE : HWLOC_OBJ_PU;
  for (hwloc_obj_t o = nullptr; (o = hwloc_get_next_obj_by_type(t, kind, o));) {
    cpu_set_t set, usable;
    if (hwloc_cpuset_to_glibc_sched_affinity(t, o->cpuset, &set, sizeof set) != 0) return failed();
    CPU_AND(&usable, &set, &mine);
    if (CPU_COUNT(&usable) > 0) cores.push_back(usable);
  }
  if (!cores.empty()) return cores;
  errno = ENODEV;
  return failed();
}

}  // namespace tutti::launching

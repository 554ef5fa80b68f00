// Where the machines that are shipped lie: beside the tool, in its build as in an installation.
#include <unistd.h>

#include <climits>

#include "tools/sim/machine.h"

namespace tutti::tools {

std::span<const std::string> machine_folders() {
  static const std::vector<std::string> folders = [] {
    std::vector<std::string> out;
    char path[PATH_MAX];
    const ssize_t n = readlink("/proc/self/exe", path, sizeof path);
    if (n <= 0 || n == static_cast<ssize_t>(sizeof path)) return out;
    std::string bin(path, static_cast<std::size_t>(n));
    bin.resize(bin.rfind('/'));
    for (const char* from_bin : {TUTTI_MACHINES_FROM_BUILT, TUTTI_MACHINES_FROM_BIN}) out.push_back(bin + "/" + from_bin);
    return out;
  }();
  return folders;
}

}  // namespace tutti::tools

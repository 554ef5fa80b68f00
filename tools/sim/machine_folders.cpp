// Where the machines that are shipped lie: beside the tool, in its build as in an installation.
#include "core/base/own_program.h"
#include "tools/sim/machine.h"

namespace tutti::tools {

std::span<const std::string> machine_folders() {
  static const std::vector<std::string> folders = [] {
    std::vector<std::string> out;
    std::string bin = own_program();
    if (bin.empty()) return out;
    bin.resize(bin.rfind('/'));
    for (const char* from_bin : {TUTTI_MACHINES_FROM_BUILT, TUTTI_MACHINES_FROM_BIN}) out.push_back(bin + "/" + from_bin);
    return out;
  }();
  return folders;
}

}  // namespace tutti::tools

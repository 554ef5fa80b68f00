#include "tools/mpi/library.h"

#include <unistd.h>

#include <filesystem>

#include "core/base/listing.h"
#include "providers/module.h"
#include "tools/process.h"

namespace tutti::tools {

std::optional<std::string> preloaded_library(const std::string& mpi, std::string& why_not) {
  std::string places;
  std::vector<std::string> folders = module_directories({});
  folders.push_back((std::filesystem::path(own_path()).parent_path().parent_path() / "lib").string());  // of a build
  for (const std::string& folder : folders) {
    const std::string file = folder + "/libtutti-" + mpi + ".so";
    if (::access(file.c_str(), R_OK) == 0) return std::filesystem::canonical(file).string();
    add_to_list(places, folder);
  }
  why_not = "libtutti-" + mpi + ".so is in none of " + places + ": tutti was built where lib" + mpi +
            "-dev was not installed; install it, and build again (scripts/build)";
  return std::nullopt;
}

}  // namespace tutti::tools

#include "tools/run/scratch_folder.h"

#include <stdlib.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

namespace tutti::launching {

std::string temporary_parent() {
  const char* set = std::getenv("TMPDIR");
  return set && *set ? set : "/tmp";
}

status scratch_folder::make(std::string_view parent) {
  std::string name{parent};
  name += "/tutti-run-XXXXXX";
  if (!mkdtemp(name.data()))
    return {errc::no_resource, "cannot make a folder in " + std::string{parent} + ": " + std::strerror(errno) +
                                   "; set TMPDIR to where there is room", no_rank, errno};
  path_ = std::move(name);
  return {};
}

scratch_folder::~scratch_folder() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

}  // namespace tutti::launching

// Providers that live in loadable modules: where they are looked for, and how one is loaded.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "core/transport/provider.h"

namespace tutti {

// Directories that may hold modules, in the order of search: those of `configured` (separated by colons), then beside
// the library or program that this code is part of (so that a build tree and a moved installation work), then where
// this build installs. A directory need not exist.
std::vector<std::string> module_directories(std::string_view configured);

// Loads `file` from the first directory that has it; that file decides, even if a later directory has a good one: two
// versions must never be mixed silently. The module stays loaded to the end of the process, since vendors' libraries
// leave threads and exit handlers behind. Errors are `unavailable`: not found (with the places), the loader's own words
// (such as a missing vendor's library), a file that is no module, or one built for another ABI. `setting`, as NAME=value with
// static storage, stands in the environment meanwhile unless the program has NAME there: what a vendor's library decides as
// it is loaded.
result<const provider*> load_provider_module(std::string_view file, const std::vector<std::string>& directories,
                                             const char* setting = nullptr);

}  // namespace tutti

#include "providers/module.h"

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "core/base/dispositions.h"
#include "core/base/lent_variable.h"
#include "core/base/listing.h"
#include "core/base/own_program.h"

namespace tutti {
namespace {

namespace fs = std::filesystem;

// The directory of the shared library that holds this code, or of the program if it is linked statically. The program's
// own name in the loader's list is empty or what the shell typed.
fs::path own_directory() {
  std::error_code ignored;
  Dl_info info{};
  link_map* map = nullptr;
  if (dladdr1(reinterpret_cast<void*>(&own_directory), &info, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP) != 0 &&
      map && map->l_name && map->l_name[0] != '\0')
    return fs::canonical(map->l_name, ignored).parent_path();
  return fs::path(own_program()).parent_path();
}

status unavailable(std::string text) { return {errc::unavailable, std::move(text)}; }

}  // namespace

std::vector<std::string> module_directories(std::string_view configured) {
  std::vector<std::string> found;
  while (!configured.empty()) {
    const std::string_view one = configured.substr(0, configured.find(':'));
    configured.remove_prefix(std::min(configured.size(), one.size() + 1));
    if (!one.empty()) found.emplace_back(one);
  }
  if (const fs::path own = own_directory(); !own.empty()) {
    found.push_back(own / "tutti");
    found.push_back(own.parent_path() / "lib" / "tutti");
#ifdef TUTTI_MULTIARCH
    found.push_back(own.parent_path() / "lib" / TUTTI_MULTIARCH / "tutti");
#endif
  }
  found.emplace_back(TUTTI_MODULE_DIR);
  return found;
}

result<const provider*> load_provider_module(std::string_view file, const std::vector<std::string>& directories,
                                             const char* setting) {
  std::string places;
  for (const std::string& directory : directories) {
    const std::string path = directory + '/' + std::string{file};
    if (::access(path.c_str(), F_OK) != 0) {
      add_to_list(places, directory);
      continue;
    }
    // Now, not lazily: a missing symbol must show here and not in the middle of a transfer. Local: two modules may
    // carry the same helpers of ours.
    const kept_dispositions kept;
    std::optional<lent_variable> lent;
    if (setting) lent.emplace(setting);
    void* module = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!module) {
      const char* words = ::dlerror();
      return unavailable(words ? words : path + " could not be loaded");
    }
    const auto entry = reinterpret_cast<provider_module_fn>(::dlsym(module, provider_module_symbol));
    if (!entry) return unavailable(path + " is no module of tutti: it exports no " + provider_module_symbol);
    const provider* loaded = entry(provider_abi);
    if (!loaded)
      return unavailable(path + " was built for another version of tutti: it refuses provider ABI " +
                         std::to_string(provider_abi) + "; install the module that came with this library");
    return loaded;
  }
  return unavailable(std::string{file} + " was not found in: " + places);
}

}  // namespace tutti

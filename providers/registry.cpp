#include "providers/registry.h"

#include <unistd.h>

#include "core/base/listing.h"
#include "core/base/nearest.h"
#include "providers/module.h"
#include "providers/shm/shm.h"
#include "providers/sim/sim.h"

namespace tutti {

// Their headers are not included: nothing here sees a vendor's headers.
#ifdef TUTTI_STATIC_UCX
extern const provider ucx_provider;
#endif
#ifdef TUTTI_STATIC_OFI
extern const provider ofi_provider;
#endif
#ifdef TUTTI_STATIC_VERBS
extern const provider verbs_provider;
#endif

namespace {

#ifndef TUTTI_STATIC_UCX
const char* why_not_ucx() {
  char name[65] = {};
  const bool too_long = gethostname(name, sizeof name) == 0 && name[63] != '\0';
  return too_long ? "UCX ends the process where the host's name has 64 letters; give it a shorter one (hostname)" : nullptr;
}
#endif

// Adding a provider adds a row. The order is that of `tutti info`.
const provider_row table[] = {
    {"shm", &shm_provider, {}},
    {"sim", &sim_provider, {}},
#ifdef TUTTI_STATIC_UCX
    {"ucx", &ucx_provider, {}},
#else
    {"ucx", nullptr, "tutti_ucx.so", "UCX_MEM_MMAP_HOOK_MODE=none", why_not_ucx},  // see quirks.h, memory hooks
#endif
#ifdef TUTTI_STATIC_VERBS
    {"verbs", &verbs_provider, {}},
#else
    {"verbs", nullptr, "tutti_verbs.so"},
#endif
#ifdef TUTTI_STATIC_OFI
    {"ofi", &ofi_provider, {}},
#else
    {"ofi", nullptr, "tutti_ofi.so"},
#endif
};

struct provider_path {
  std::mutex mutex;
  std::string directories;
};

provider_path& configured_path() {
  static provider_path path;
  return path;
}

provider_registry& the_registry() {
  static provider_registry registry{table, [] {
                                      const std::lock_guard lock{configured_path().mutex};
                                      return module_directories(configured_path().directories);
                                    }};
  return registry;
}

std::string unknown_name(std::string_view name, std::span<const provider_row> rows) {
  std::vector<std::string_view> names;
  std::string known;
  for (const provider_row& row : rows) {
    names.push_back(row.name);
    add_to_list(known, row.name);
  }
  std::string text = "there is no provider \"" + std::string{name} + '"';
  if (const std::string_view near = nearest_name(name, names); !near.empty())
    text += "; did you mean \"" + std::string{near} + "\"?";
  else
    text += ';';
  return text + " known: " + known;
}

}  // namespace

void set_provider_path(std::string directories) {
  const std::lock_guard lock{configured_path().mutex};
  configured_path().directories = std::move(directories);
}

provider_registry::provider_registry(std::span<const provider_row> rows,
                                     std::function<std::vector<std::string>()> directories)
    : rows_{rows}, ask_directories_{std::move(directories)}, loaded_{new std::once_flag[rows.size()]} {
  for (const provider_row& row : rows) entries_.push_back({row.name, row.built_in, {}});
}

void provider_registry::load(std::size_t i) {
  std::call_once(loaded_[i], [&] {
    if (rows_[i].built_in) return;
    if (const char* why = rows_[i].why_not ? rows_[i].why_not() : nullptr) {
      entries_[i].why_not = why;
      return;
    }
    std::call_once(asked_, [&] { directories_ = ask_directories_(); });
    provider_entry& entry = entries_[i];
    const auto loaded = load_provider_module(rows_[i].module_file, directories_, rows_[i].setting);
    if (!loaded)
      entry.why_not = loaded.error().text();
    else if ((*loaded)->name != entry.name)
      entry.why_not = std::string{rows_[i].module_file} + " holds the provider \"" + std::string{(*loaded)->name} +
                      "\" under another one's name";
    else
      entry.impl = *loaded;
  });
}

std::span<const provider_entry> provider_registry::all() {
  for (std::size_t i = 0; i < rows_.size(); ++i) load(i);
  return entries_;
}

result<provider_choice> provider_registry::find(std::string_view spec) {
  const std::size_t colon = spec.find(':');
  const std::string_view name = spec.substr(0, colon);
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    if (rows_[i].name != name) continue;
    load(i);
    const provider_entry& entry = entries_[i];
    if (!entry.impl)
      return status{errc::unavailable, worded("provider ", name, " could not be loaded: ", entry.why_not)};
    return provider_choice{entry.impl, std::string{colon == spec.npos ? std::string_view{} : spec.substr(colon + 1)}};
  }
  return status{errc::invalid, unknown_name(name, rows_)};
}

std::span<const provider_entry> providers() { return the_registry().all(); }

result<provider_choice> find_provider(std::string_view spec) { return the_registry().find(spec); }

}  // namespace tutti

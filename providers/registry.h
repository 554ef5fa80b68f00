// The table of providers. core/transport/provider.h declares what everyone uses; this header is for tests, which
// make registries of their own.
#pragma once
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/transport/provider.h"

namespace tutti {

// One row: a provider that is linked in, or the file of the module that holds it.
struct provider_row {
  std::string_view name;
  const provider* built_in = nullptr;
  std::string_view module_file;
  const char* setting = nullptr;  // of the environment while the module is loaded, as load_provider_module() has it
  const char* (*why_not)() = nullptr;  // asked before the module is loaded; null: nothing is in the way
};

// Rows, and what became of loading them. Thread-safe. A row is loaded when it is first asked for, so that a job that
// uses shared memory alone never waits for a vendor's library.
class provider_registry {
 public:
  // `directories` is asked once, when the first module is loaded.
  provider_registry(std::span<const provider_row> rows, std::function<std::vector<std::string>()> directories);

  std::span<const provider_entry> all();                 // loads every row
  result<provider_choice> find(std::string_view spec);   // loads that row alone

 private:
  void load(std::size_t row);

  std::span<const provider_row> rows_;
  std::function<std::vector<std::string>()> ask_directories_;
  std::once_flag asked_;
  std::vector<std::string> directories_;
  std::vector<provider_entry> entries_;       // entries_[i] is written once, under loaded_[i]
  std::unique_ptr<std::once_flag[]> loaded_;
};

}  // namespace tutti

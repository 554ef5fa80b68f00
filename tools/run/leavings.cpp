#include "tools/run/leavings.h"

#include <sys/mman.h>

#include <filesystem>
#include <string>
#include <system_error>

namespace tutti::launching {
namespace {

bool is_number(std::string_view text) noexcept {
  return !text.empty() && text.find_first_not_of("0123456789") == text.npos;
}

// PID:N:N
bool is_of(std::string_view name, std::string_view pid) noexcept {
  if (!name.starts_with(pid) || name.size() <= pid.size() || name[pid.size()] != ':') return false;
  name.remove_prefix(pid.size() + 1);
  const auto colon = name.find(':');
  return colon != name.npos && is_number(name.substr(0, colon)) && is_number(name.substr(colon + 1));
}

}  // namespace

void remove_leavings(pid_t pid) noexcept {
  try {
    const std::string of = std::to_string(pid);
    std::error_code gone;
    for (std::filesystem::directory_iterator at{"/dev/shm", gone}, end; !gone && at != end; at.increment(gone))
      if (const std::string name = at->path().filename().string(); is_of(name, of)) ::shm_unlink(("/" + name).c_str());
  } catch (...) {  // no memory to look for them: they stay
  }
}

}  // namespace tutti::launching

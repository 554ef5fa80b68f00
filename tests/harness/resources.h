// What a process holds of its machine: to be the same after a transport as before it.
#pragma once
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>

namespace tutti::test {

inline int open_descriptors() {
  int n = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator{"/proc/self/fd"}) ++n;
  return n;
}

inline int running_threads() {
  int n = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator{"/proc/self/task"}) ++n;
  return n;
}

inline std::size_t resident_bytes() {
  long pages = 0;
  if (std::FILE* f = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(f, "%*d %ld", &pages) != 1) pages = 0;
    std::fclose(f);
  }
  return static_cast<std::size_t>(pages) * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

struct resources {
  int descriptors = open_descriptors(), threads = running_threads();
};

// Files in /dev/shm that this process has mapped, or whose name holds `tag`.
inline std::set<std::string> shared_files(const std::string& tag) {
  std::set<std::string> found;
  std::ifstream maps{"/proc/self/maps"};
  for (std::string line; std::getline(maps, line);)
    if (const auto at = line.find("/dev/shm/"); at != std::string::npos) found.insert(line.substr(at));
  for (const auto& entry : std::filesystem::directory_iterator{"/dev/shm"})
    if (const auto name = entry.path().string(); name.find(tag) != std::string::npos) found.insert(name);
  return found;
}

}  // namespace tutti::test

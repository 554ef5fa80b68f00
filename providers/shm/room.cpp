// How much memory there is to be had. A memfd has no limit of its own, as /dev/shm has: asked for too much, the kernel
// would go on giving until it has to kill somebody.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "providers/shm/os.h"

namespace tutti::shm {

namespace {

constexpr std::uint64_t unknown = ~std::uint64_t{0};

bool read_text(const char* path, char* text, std::size_t room) noexcept {
  const unique_fd fd{::open(path, O_RDONLY | O_CLOEXEC)};
  const ssize_t n = fd ? ::read(fd.get(), text, room - 1) : -1;
  if (n <= 0) return false;
  text[n] = 0;
  return true;
}

// The number behind `name` in a file of lines; without a name, the one that the file holds. unknown: none ("max").
std::uint64_t read_number(const char* path, const char* name = "") noexcept {
  char text[4096];
  if (!read_text(path, text, sizeof text)) return unknown;
  const char* at = std::strstr(text, name);
  if (!at) return unknown;
  at += std::strlen(name);
  while (*at == ' ') ++at;
  return *at < '0' || *at > '9' ? unknown : std::strtoull(at, nullptr, 10);
}

std::uint64_t room_in(const char* folder, const char* limit, const char* usage) noexcept {
  char path[4352];
  std::snprintf(path, sizeof path, "%s/%s", folder, limit);
  const std::uint64_t most = read_number(path);
  std::snprintf(path, sizeof path, "%s/%s", folder, usage);
  const std::uint64_t used = read_number(path);
  if (most == unknown || used == unknown) return unknown;
  return most > used ? most - used : 0;
}

// Of the process's cgroup and of all above it, as far as they are mounted where they usually are.
std::uint64_t room_in_cgroups() noexcept {
  std::uint64_t room = room_in("/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes");
  char text[4096], folder[4224];
  if (!read_text("/proc/self/cgroup", text, sizeof text)) return room;
  const char* own = std::strstr(text, "0::/");
  if (!own) return room;
  std::snprintf(folder, sizeof folder, "/sys/fs/cgroup%.*s", static_cast<int>(std::strcspn(own + 3, "\n")), own + 3);
  for (const std::size_t top = std::strlen("/sys/fs/cgroup"); std::strlen(folder) >= top;) {
    room = std::min(room, room_in(folder, "memory.max", "memory.current"));
    *std::strrchr(folder, '/') = 0;
  }
  return room;
}

}  // namespace

std::uint64_t available_memory() noexcept {
  const std::uint64_t free_kib = read_number("/proc/meminfo", "MemAvailable:");
  const std::uint64_t swap_kib = read_number("/proc/meminfo", "SwapFree:");
  const std::uint64_t machine =
      free_kib == unknown ? unknown : (free_kib + (swap_kib == unknown ? 0 : swap_kib)) * 1024;
  return std::min(machine, room_in_cgroups());
}

}  // namespace tutti::shm

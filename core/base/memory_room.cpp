#include "core/base/memory_room.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <map>
#include <string>

#include "core/base/dev_shm.h"

namespace tutti {
namespace {

// A path below the root, made of two parts, cut off where it is longer than any.
struct path {
  char text[4352];
  path(const char* root, const char* folder, const char* file = "") noexcept {
    std::snprintf(text, sizeof text, "%s%s%s%s", root, folder, *file ? "/" : "", file);
  }
};

bool read_text(const char* name, char* text, std::size_t room) noexcept {
  const int fd = ::open(name, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const ssize_t n = ::read(fd, text, room - 1);
  ::close(fd);
  if (n <= 0) return false;
  text[n] = 0;
  return true;
}

// The number behind `name` at the beginning of a line; without a name, the one that the file holds. room_unknown: none ("max").
std::uint64_t read_number(const path& file, const char* name = "") noexcept {
  char text[8192];
  if (!read_text(file.text, text, sizeof text)) return room_unknown;
  const char* at = text;
  while (std::strncmp(at, name, std::strlen(name)) != 0) {
    at = std::strchr(at, '\n');
    if (!at) return room_unknown;
    ++at;
  }
  at += std::strlen(name);
  at += std::strspn(at, " ");
  return *at < '0' || *at > '9' ? room_unknown : std::strtoull(at, nullptr, 10);
}

// The names of one version's files.
struct accounts {
  const char *limit, *usage, *cache;  // cache: a line of memory.stat, pages of files that were not used lately
};
constexpr accounts version_1{"memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file "};
constexpr accounts version_2{"memory.max", "memory.current", "inactive_file "};

std::uint64_t room_in(const char* root, const char* folder, const accounts& of) noexcept {
  const std::uint64_t most = read_number({root, folder, of.limit}), used = read_number({root, folder, of.usage});
  if (most == room_unknown || used == room_unknown) return room_unknown;
  const std::uint64_t cache = read_number({root, folder, "memory.stat"}, of.cache);
  const std::uint64_t needed = cache == room_unknown ? used : used - std::min(used, cache);
  return most > needed ? most - needed : 0;
}

// Of a cgroup and of all above it. In a container the path that the kernel tells may not be mounted, but the top is.
std::uint64_t room_up_from(const char* root, const char* top, const char* own, std::size_t bytes, const accounts& of) noexcept {
  char folder[4352];
  std::snprintf(folder, sizeof folder, "%s%.*s", top, static_cast<int>(bytes), own);
  std::uint64_t room = room_unknown;
  for (;;) {
    room = std::min(room, room_in(root, folder, of));
    char* const last = std::strrchr(folder, '/');
    if (std::strlen(folder) <= std::strlen(top) || !last) return room;
    *last = 0;
  }
}

bool lists_memory(std::string_view of) noexcept {  // "cpu,memory"
  for (std::size_t comma; !of.empty(); of.remove_prefix(std::min(comma, of.size() - 1) + 1)) {
    comma = std::min(of.find(','), of.size());
    if (of.substr(0, comma) == "memory") return true;
  }
  return false;
}

std::uint64_t room_in_cgroups(const char* root) noexcept {
  constexpr char top_1[] = "/sys/fs/cgroup/memory", top_2[] = "/sys/fs/cgroup";
  std::uint64_t room = std::min(room_in(root, top_1, version_1), room_in(root, top_2, version_2));
  char text[8192];
  if (!read_text(path{root, "/proc/self/cgroup"}.text, text, sizeof text)) return room;
  for (const char* line = text; *line;) {  // "4:memory:/path" is version 1, "0::/path" version 2
    const std::size_t bytes = std::strcspn(line, "\n");
    const auto* const first = static_cast<const char*>(std::memchr(line, ':', bytes));
    const auto* const second = first ? static_cast<const char*>(std::memchr(first + 1, ':', bytes - (first + 1 - line))) : nullptr;
    if (second) {
      const std::string_view of{first + 1, static_cast<std::size_t>(second - first - 1)};
      const char* const own = second + 1;
      const std::size_t length = bytes - static_cast<std::size_t>(own - line);
      if (of.empty()) room = std::min(room, room_up_from(root, top_2, own, length, version_2));
      else if (lists_memory(of))
        room = std::min(room, room_up_from(root, top_1, own, length, version_1));
    }
    line += bytes;
    line += *line == '\n';
  }
  return room;
}

std::uint64_t sum(std::uint64_t a, std::uint64_t b) noexcept {
  return a > std::numeric_limits<std::uint64_t>::max() - b ? std::numeric_limits<std::uint64_t>::max() : a + b;
}

}  // namespace

std::uint64_t memory_room(const char* root) noexcept {
  const path meminfo{root, "/proc/meminfo"};
  const std::uint64_t free_kib = read_number(meminfo, "MemAvailable:"), swap_kib = read_number(meminfo, "SwapFree:");
  const std::uint64_t machine =
      free_kib == room_unknown ? room_unknown : (free_kib + (swap_kib == room_unknown ? 0 : swap_kib)) * 1024;
  return std::min(machine, room_in_cgroups(root));
}

std::uint64_t memory_readings::room_for(std::uint64_t bytes, time_point now) noexcept {
  constexpr auto fresh = std::chrono::milliseconds(100);
  std::uint64_t before = asked_;
  asked_ = sum(asked_, bytes);
  if (asked_ > room_ / 4096 || now - read_ > fresh) room_ = memory_room(root_), before = 0, asked_ = bytes, read_ = now;
  return room_ == room_unknown ? room_ : room_ - before;
}

std::uint64_t memory_room_for(std::uint64_t bytes) noexcept {
  thread_local constinit memory_readings readings;
  return readings.room_for(bytes, std::chrono::steady_clock::now());
}

// One sixteenth stays with the rest of the machine. Of what several ranks found the most counts: who looked later may have
// found less because of what another of them had taken.
status fits_together(std::span<const memory_request> of_ranks, std::span<const rank_t> ranks) {
  struct account {
    rank_t first = no_rank, greedy = no_rank;
    std::uint32_t asking = 0;
    std::uint64_t bytes = 0, most = 0, room = 0;
  };
  std::map<std::uint32_t, account> nodes;
  for (std::size_t i = 0; i < of_ranks.size(); ++i) {
    const memory_request& w = of_ranks[i];
    if (w.bytes == 0) continue;
    account& a = nodes[w.node];
    if (a.asking++ == 0) a.first = ranks[i];
    a.bytes = sum(a.bytes, w.bytes), a.room = std::max(a.room, w.room);
    if (w.bytes > a.most) a.most = w.bytes, a.greedy = ranks[i];
  }
  for (const auto& [node, a] : nodes) {
    if (a.bytes <= a.room - a.room / 16) continue;
    std::string text = "rank " + std::to_string(a.greedy) + " asks for " + in_binary_units(a.most);
    if (a.asking > 1)
      text = std::to_string(a.asking) + " ranks on the node of rank " + std::to_string(a.first) + " ask together for " +
             in_binary_units(a.bytes) + ", of which " + text;
    return {errc::no_resource, worded(text, ", and ", in_binary_units(a.room), " are available there; ask for less, spread the "
                               "ranks over more nodes, or raise the memory limit of the container or cgroup"), a.greedy};
  }
  return {};
}

}  // namespace tutti

#include "core/base/mappings.h"

#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <memory>

namespace tutti {

result<std::pair<std::uintptr_t, std::uintptr_t>> private_mappings(std::uintptr_t begin, std::uintptr_t end) {
  struct closes {
    void operator()(std::FILE* f) const noexcept { std::fclose(f); }
  };
  const std::unique_ptr<std::FILE, closes> maps{std::fopen("/proc/self/maps", "re")};
  if (!maps) return status{errc::unsupported, "/proc/self/maps cannot be read", no_rank, errno};
  std::uintptr_t first = 0, reached = begin;
  for (char line[512]; reached < end && std::fgets(line, sizeof line, maps.get());) {
    std::uintptr_t from = 0, to = 0;
    std::uint64_t inode = 0;
    char rights[5] = {};
    const bool whole = std::strchr(line, '\n') != nullptr;
    if (std::sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %4s %*x %*x:%*x %" SCNu64, &from, &to, rights, &inode) == 4 && to > begin) {
      if (from > reached) break;
      if (rights[3] != 'p' || inode != 0) return status{errc::unsupported, "memory of a file, or shared memory"};
      if (reached == begin) first = from;
      reached = to;
    }
    for (int c = whole ? '\n' : 0; c != '\n' && c != EOF;) c = std::fgetc(maps.get());  // the rest of a long name
  }
  if (reached < end) return status{errc::unsupported, "memory that is not mapped"};
  return std::pair{first, reached};
}

}  // namespace tutti

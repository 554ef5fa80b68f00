#include "core/base/mappings.h"

#include <fcntl.h>

#include <cerrno>
#include <cinttypes>
#include <cstdio>

#include "core/base/unique_fd.h"

namespace tutti {
namespace {

struct mapping {
  std::uintptr_t begin = 0, end = 0;
  bool private_memory = false;
};

// The list, line by line, without stdio's buffer: a line's end is a name of any length, of which nothing is kept.
class mapping_list {
 public:
  bool readable() const noexcept { return static_cast<bool>(file_); }
  bool next(mapping& m) noexcept {
    char line[96];
    std::size_t n = 0;
    for (int c; (c = get()) != '\n';) {
      if (c < 0) return false;
      if (n + 1 < sizeof line) line[n++] = static_cast<char>(c);
    }
    line[n] = 0;
    std::uint64_t inode = 1;
    char rights[5] = {};
    if (std::sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %4s %*x %*x:%*x %" SCNu64, &m.begin, &m.end, rights, &inode) != 4) return false;
    m.private_memory = rights[3] == 'p' && inode == 0;
    return true;
  }

 private:
  int get() noexcept {
    if (at_ == have_) {
      have_ = ::read(file_.get(), buffer_, sizeof buffer_);
      at_ = 0;
      if (have_ <= 0) return have_ = 0, -1;
    }
    return static_cast<unsigned char>(buffer_[at_++]);
  }

  unique_fd file_{::open("/proc/self/maps", O_RDONLY | O_CLOEXEC)};
  ssize_t at_ = 0, have_ = 0;
  char buffer_[4096];
};

}  // namespace

result<std::pair<std::uintptr_t, std::uintptr_t>> private_mappings(std::uintptr_t begin, std::uintptr_t end) {
  mapping_list list;
  if (!list.readable()) return status{errc::unsupported, "/proc/self/maps cannot be read", no_rank, errno};
  std::uintptr_t first = 0, reached = begin;
  for (mapping m; reached < end && list.next(m);) {
    if (m.end <= begin) continue;
    if (m.begin > reached) break;
    if (!m.private_memory) return status{errc::unsupported, "memory of a file, or shared memory"};
    if (reached == begin) first = m.begin;
    reached = m.end;
  }
  if (reached < end) return status{errc::unsupported, "memory that is not mapped"};
  return std::pair{first, reached};
}

void each_private_mapping(void (*tell)(void*, std::uintptr_t, std::uintptr_t), void* whom) noexcept {
  mapping_list list;
  for (mapping m; list.next(m);)
    if (m.private_memory) tell(whom, m.begin, m.end);
}

}  // namespace tutti

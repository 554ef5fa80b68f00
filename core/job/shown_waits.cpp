#include "core/job/shown_waits.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "core/job/launchers_file.h"

namespace tutti {

shown_waits::~shown_waits() {
  if (all_) ::munmap(static_cast<void*>(all_), bytes_);
}

bool shown_waits::map(const unique_fd& fd, std::uint32_t ranks) noexcept {
  const std::size_t bytes = std::size_t{ranks} * sizeof(one);
  void* const at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
  if (at == MAP_FAILED) return false;
  all_ = static_cast<one*>(at), bytes_ = bytes;
  return true;
}

status shown_waits::make(const std::string& folder, std::uint32_t ranks) {
  const std::string path = folder + "/" + file_name;
  const unique_fd fd{::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600)};
  if (!fd || ::posix_fallocate(fd.get(), 0, off_t{ranks} * off_t{sizeof(one)}) != 0 || !map(fd, ranks))
    return {errc::no_resource, worded("cannot make ", path, ": ", std::strerror(errno)), no_rank, errno};
  return {};
}

void shown_waits::find(const std::string& beside, std::uint32_t ranks) noexcept {
  const std::size_t slash = beside.rfind('/');
  if (slash == beside.npos) return;
  char path[4096];
  if (std::snprintf(path, sizeof path, "%.*s/%s", static_cast<int>(slash), beside.c_str(), file_name) >= static_cast<int>(sizeof path)) return;
  if (const unique_fd fd = open_launchers_file(path, O_RDWR, off_t{ranks} * off_t{sizeof(one)})) (void)map(fd, ranks);
}

std::vector<std::string> shown_waits::in_words(const std::vector<rank_t>& ranks) const {
  std::vector<std::string> busy, waiting;
  bool known = false;
  for (const rank_t r : ranks) {
    if (!all_ || (r + std::size_t{1}) * sizeof(one) > bytes_) continue;
    one o = all_[r];
    o.words[sizeof o.words - 1] = 0;
    for (char& c : o.words)
      if (c != 0 && (c < ' ' || c > '~')) c = '?';
    known = known || o.now != state::unknown;
    const std::string name = "rank " + std::to_string(r);
    if (o.now == state::waits) waiting.push_back(name + " waits " + o.words);
    else busy.push_back(name + " waits in no call of tutti");
  }
  if (!known) return {};
  busy.insert(busy.end(), waiting.begin(), waiting.end());
  return busy;
}

}  // namespace tutti

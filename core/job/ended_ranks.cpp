#include "core/job/ended_ranks.h"

#include <cerrno>
#include <cstring>
#include <iterator>

#include "core/base/file_limit.h"
#include "core/job/launchers_file.h"

namespace tutti {
namespace {

constexpr off_t bytes_for(std::uint32_t ranks) { return off_t{ranks} * off_t{sizeof(ended_ranks::one)}; }

}  // namespace

result<ended_ranks> ended_ranks::make(const std::string& folder, std::uint32_t ranks) {
  ended_ranks e;
  const std::string path = folder + "/" + file_name;
  if (!file_may_have(bytes_for(ranks)))
    return status{errc::no_resource, worded("cannot make ", path, ": ", std::strerror(EFBIG), remedy_of_long_files), no_rank, EFBIG};
  e.fd_ = unique_fd{::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600)};
  if (!e.fd_ || ::ftruncate(e.fd_.get(), bytes_for(ranks)) != 0)
    return status{errc::no_resource, worded("cannot make ", path, ": ", std::strerror(errno)), no_rank, errno};
  e.ranks_ = ranks;
  return e;
}

ended_ranks ended_ranks::look(const std::string& path, std::uint32_t ranks) {
  ended_ranks e;
  if (unique_fd fd = open_launchers_file(path.c_str(), O_RDONLY, bytes_for(ranks))) e.fd_ = std::move(fd), e.ranks_ = ranks;
  return e;
}

// If it cannot be written, the others find out by their deadlines.
void ended_ranks::mark(rank_t r, how ended) noexcept {
  const one entry{r, ended};
  if (!fd_ || next_ >= ranks_) return;
  [[maybe_unused]] const ssize_t put = ::pwrite(fd_.get(), &entry, sizeof entry, bytes_for(next_++));
}

std::optional<ended_ranks::one> ended_ranks::first_but(rank_t self) const noexcept {
  std::optional<one> found;
  one some[64];
  for (std::uint32_t at = 0; fd_ && at < ranks_; at += std::size(some)) {
    const ssize_t got = ::pread(fd_.get(), some, sizeof some, bytes_for(at));
    for (ssize_t i = 0; i < got / ssize_t{sizeof(one)}; ++i) {
      if (some[i].ended == how::not_yet) return found;  // where the launcher will write next
      if (some[i].rank == self) continue;
      if (some[i].ended == how::died) return some[i];
      if (!found) found = some[i];
    }
  }
  return found;
}

}  // namespace tutti

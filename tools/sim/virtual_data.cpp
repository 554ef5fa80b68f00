#include "tools/sim/virtual_data.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "core/base/round_up.h"
#include "core/base/unique_fd.h"

namespace tutti::tools {

bool standing_memory::read(const std::byte* from, void* to, std::size_t bytes) noexcept {
  std::memcpy(to, from, bytes);
  return true;
}

bool standing_memory::write(const void* from, std::byte* to, std::size_t bytes) noexcept {
  std::memcpy(to, from, bytes);
  return true;
}

// A process has some 65,000 mappings.
result<virtual_data> virtual_data::of(std::uint64_t bytes) {
  if (bytes > most) return status(errc::invalid, worded(bytes, " bytes of data in all are too many to simulate, at most ", most));
  constexpr std::uint64_t most_mappings = 16384, fewest = 1 << 20;
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  const std::uint64_t piece = round_up(std::clamp<std::uint64_t>(bytes, 1, std::max(fewest, bytes / most_mappings)), page);
  const std::uint64_t whole = round_up(std::max(bytes, piece), piece);
  const auto failed = [&](const char* what) { return status(errc::no_resource, worded("no ", bytes, " virtual bytes: ", what, ": ", std::strerror(errno))); };
  const unique_fd file{::memfd_create("tutti sim", MFD_CLOEXEC)};
  if (!file || ::ftruncate(file.get(), static_cast<off_t>(piece)) != 0) return failed("memfd");
  void* const at = ::mmap(nullptr, whole, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) return failed("mmap");
  virtual_data made(std::span(static_cast<std::byte*>(at), whole));
  for (std::uint64_t done = 0; done < whole; done += piece)
    if (::mmap(made.memory_.data() + done, piece, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file.get(), 0) == MAP_FAILED) return failed("mmap");
  return made;
}

virtual_data::virtual_data(virtual_data&& o) noexcept : memory_(std::exchange(o.memory_, {})) {}

virtual_data::~virtual_data() {
  if (!memory_.empty()) ::munmap(memory_.data(), memory_.size());
}

}  // namespace tutti::tools

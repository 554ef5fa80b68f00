#include "providers/ofi/quirks.h"

#include <rdma/fi_cm.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>

#include "core/base/adapters.h"
#include "core/base/dev_shm.h"
#include "core/base/headroom.h"
#include "providers/ofi/context.h"

namespace tutti::ofi::quirks {
namespace {

// A fabric, a domain, an endpoint and their queues over tcp; each connection takes one more.
constexpr unsigned descriptors_of_an_endpoint = 32;
constexpr mapped_bytes mapped_by_an_endpoint{.address_space = 128 << 20, .data = 64 << 20};

// What ofi_rxm is told where the environment says nothing.
struct answer {
  const char* name;
  char value[8];
};
answer answers[] = {{"FI_OFI_RXM_MSG_RX_SIZE", "1024"},            // receive buffers of 16 KiB, and as many more at a time; not 4096
                    {"FI_OFI_RXM_CM_PROGRESS_INTERVAL", "500"}};  // us; not 10000

// Called by libfabric alone, and by whichever thread of it.
FILE* fopen_but_symbols(const char* path, const char* mode) {
  if (std::strcmp(path, "/proc/kallsyms") != 0) return ::fopen(path, mode);
  errno = ENOENT;
  return nullptr;
}

char* getenv_or_answer(const char* name) {
  if (char* const value = ::getenv(name)) return value;
  for (answer& a : answers)
    if (std::strcmp(name, a.name) == 0) return a.value;
  return nullptr;
}

bool is_first() noexcept {
  static std::atomic<bool> begun = false;
  return !begun.exchange(true);
}

const void* inside_libfabric(bool wanted) noexcept { return wanted ? reinterpret_cast<const void*>(&fi_getinfo) : nullptr; }

// "pid:uid:number"; empty: of another provider.
std::string_view file_of(std::span<const std::byte> address) noexcept {
  constexpr std::string_view scheme = "fi_shm://";
  const std::string_view name{reinterpret_cast<const char*>(address.data()),
                              ::strnlen(reinterpret_cast<const char*>(address.data()), address.size())};
  return name.starts_with(scheme) ? name.substr(scheme.size()) : std::string_view{};
}

status refuse_file_of_others(std::span<const std::byte> address) {
  const std::string path = "/dev/shm/" + std::string{file_of(address)};
  struct stat file{};
  if (path.back() == '/' || ::lstat(path.c_str(), &file) != 0) return {};
  if (file.st_uid == ::geteuid() && S_ISREG(file.st_mode) && (file.st_mode & 022) == 0) return {};
  return {errc::unavailable, path + ", the memory of this endpoint by its name, is another user's file (uid " +
                                 std::to_string(file.st_uid) + "); remove it, or take the provider shm, which needs no such name"};
}

}  // namespace

first_call::first_call(std::string_view device) noexcept
    : first_(is_first()),
      files_(inside_libfabric(first_ && !has_adapters()), "fopen", reinterpret_cast<void*>(fopen_but_symbols)),
      variables_(inside_libfabric(first_ && (device == "tcp" || device.starts_with("tcp;"))), "getenv",
                 reinterpret_cast<void*>(getenv_or_answer)) {}

status room_to_open() { return headroom("libfabric", descriptors_of_an_endpoint, mapped_by_an_endpoint); }

status too_small_for(std::string_view provider) {
  constexpr std::uint64_t endpoint_bytes = 16 << 20;
  const auto cores = static_cast<std::uint64_t>(std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN)));
  const std::uint64_t room = room_in_dev_shm();
  if (provider != "shm" || room >= cores * endpoint_bytes) return {};
  return dev_shm_too_small("libfabric's shm, for " + std::to_string(cores) + (cores == 1 ? " core," : " cores,"),
                           cores * endpoint_bytes, room);
}

void remove_file_of(std::span<const std::byte> address) noexcept {
  char file[64] = "/";
  const std::string_view name = file_of(address);
  if (name.empty() || name.size() >= sizeof file - 1) return;
  name.copy(file + 1, sizeof file - 2);
  ::shm_unlink(file);
}

void remove_file_of_dead(std::span<const std::byte> address) noexcept {
  const std::string_view name = file_of(address);
  pid_t pid = 0;
  std::from_chars(name.data(), name.data() + name.size(), pid);
  if (pid > 0 && ::kill(pid, 0) != 0 && errno == ESRCH) remove_file_of(address);
}

status enable(fid_ep& endpoint) {
  std::byte name[256];
  std::size_t bytes = sizeof name;
  if (fi_getname(&endpoint.fid, name, &bytes) != 0) bytes = 0;
  const std::span<const std::byte> address{name, std::min(bytes, sizeof name)};
  if (status s = refuse_file_of_others(address); s.failed()) return s;
  int e = fi_enable(&endpoint);
  if (e == -FI_EBUSY) remove_file_of(address), e = fi_enable(&endpoint);
  return e != 0 ? vendor_error(e, "fi_enable") : refuse_file_of_others(address);
}

void count_no_early_messages(fi_info& info) {
  if (core_name(info.fabric_attr->prov_name) == "sockets")
    info.rx_attr->total_buffered_recv = std::numeric_limits<std::int64_t>::max();
}

bool answers_in_order(const fi_info& info) { return !reaches_other_hosts(info); }

send_window usual_window(const fi_info& info) noexcept { return is_udp(info) ? send_window{2, 16} : send_window{}; }

}  // namespace tutti::ofi::quirks

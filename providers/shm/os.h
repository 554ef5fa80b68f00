// What shared memory needs of the kernel, each as one function that returns a status.
#pragma once
#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <string>
#include <utility>

#include "core/job/bootstrap.h"
#include "core/base/status.h"
#include "providers/common/process_watch.h"

namespace tutti::shm {

// A process for as long as it lives: a pid alone may be given to another process afterwards.
struct process_id {
  std::int32_t pid = 0;
  std::uint32_t reserved = 0;
  std::uint64_t start_ticks = 0;  // since boot, from /proc/<pid>/stat
  bool operator==(const process_id&) const = default;
};

// Behind "rank 3".
inline constexpr const char* not_on_this_node =
    " is on another node, and TUTTI_PROVIDER=shm reaches this node alone; unset it, or take shm+ucx:tcp or shm+ofi:tcp";
// Where the kernel refuses a rank what another one has.
inline constexpr const char* remedy_of_access =
    "; ranks must stay dumpable processes of one user and user namespace, and no seccomp filter may forbid this; or choose a network "
    "by TUTTI_PROVIDER (ucx:tcp, ofi:tcp)";

process_id this_process() noexcept;
std::size_t page_bytes() noexcept;

// Memory that has no name anywhere. Peers find it as /proc/<pid>/fd/<fd>, so it is gone with its last user, however
// that ends: there is nothing in /dev/shm for a SIGKILL to leave behind. Opening the link needs the right to read the
// process (same user, dumpable), which Yama's ptrace_scope does not restrict.
struct memory_name {
  process_id owner;
  std::uint64_t bytes = 0;   // a whole number of pages
  std::uint64_t inode = 0;   // the descriptor may have been closed and its number used again
  std::uint64_t device = 0;
  std::int32_t fd = -1;
  std::uint32_t reserved = 0;
};

class mapping {
 public:
  mapping() noexcept = default;
  mapping(void* at, std::size_t bytes) noexcept : at_(at), bytes_(bytes) {}
  mapping(mapping&& o) noexcept : at_(std::exchange(o.at_, nullptr)), bytes_(o.bytes_) {}
  mapping& operator=(mapping&& o) noexcept { std::swap(at_, o.at_), std::swap(bytes_, o.bytes_); return *this; }
  ~mapping();
  std::byte* get() const noexcept { return static_cast<std::byte*>(at_); }
  std::size_t bytes() const noexcept { return bytes_; }
  explicit operator bool() const noexcept { return at_ != nullptr; }
  void release() noexcept { at_ = nullptr; }  // whoever has the address unmaps it

 private:
  void* at_ = nullptr;
  std::size_t bytes_ = 0;
};

struct shared_memory {
  unique_fd fd;       // open while others may still come
  mapping memory;
  memory_name name;
};

// Zeroed, backed by pages and sealed against shrinking. `what` names it in /proc/<pid>/maps and in errors.
result<shared_memory> create_memory(std::size_t bytes, const char* what);
// Whether peers still find it: a program may have closed descriptors that are not its own.
bool is_open(const shared_memory&) noexcept;
// Of it, what begins at `offset`, a whole number of pages, at most `bytes`. peer_dead without a rank if the owner is gone or has
// closed it. `whole`: its pages are entered at once, if they are few.
result<mapping> open_memory(const memory_name&, const char* what, std::size_t offset = 0, std::size_t bytes = ~std::size_t{0},
                            bool whole = true);

// Whether the process has not begun to end. Needs no descriptor; true in doubt.
bool still_runs(const process_id&) noexcept;

// Whether its owner still has it open: false for a zombie too. Needs no descriptor; true in doubt.
bool is_held(const memory_name&) noexcept;

// Opens what another process has as descriptor `fd`, if it still is that inode.
result<unique_fd> open_descriptor(const process_id&, int fd, std::uint64_t inode, std::uint64_t device, int flags);

status os_error(const text_parts& what, int error) noexcept;

// Watches the owner's process, and not another one with its pid. Ended: it has, or has let go of this memory.
process_watch::found watch_owner(const memory_name&, process_watch&) noexcept;

// Lets this process's membarriers reach, and be reached by, those of its peers. False: the kernel or a filter refuses.
bool register_membarrier() noexcept;
// A full fence in every running thread of every registered process.
void membarrier_everywhere() noexcept;

inline void full_fence() noexcept { __sync_synchronize(); }  // std::atomic_thread_fence is not known to tsan
inline void compiler_fence() noexcept { std::atomic_signal_fence(std::memory_order_seq_cst); }

// Across processes. Wait returns when woken, interrupted, at once if the word is not `expected`, or at `until`.
void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t expected, time_point until) noexcept;
void futex_wake(std::atomic<std::uint32_t>& word) noexcept;

}  // namespace tutti::shm

// Which addresses of this process have lost their memory: for those who keep registrations of memory that is not theirs.
//
// An adapter that has registered memory keeps its pages, whatever munmap(), mremap() or madvise() make of the addresses. Whoever
// keeps such a registration asks here, before each use, what has been unmapped. The answer comes from one of two places.
//
// - userfaultfd. Anonymous private memory is registered for write-protect faults and none of it is write-protected, so it never
//   faults. What is wanted are the events: the kernel reports each munmap(), mremap(), mmap() over it, brk(), MADV_DONTNEED, MADV_FREE
//   and MADV_REMOVE upon it, whoever made the call, also inside the C library or by a bare system call.
// - Interposition. The program has loaded libtutti-unmap (preload/unmap.c), whose functions stand before the C library's and say
//   which addresses are about to go.
//
// Why no stale range gets past settle(), with userfaultfd. The thread that unmaps is held inside its system call until its event has
// been read. Events are read under the mutex of this class, and are with the listeners before the mutex is released; settle() takes
// the same mutex. So a thread that has seen the call return sees its range. Another thread may be given the same addresses by
// mmap() earlier: when the memory is gone and the event is not yet there to be read. For that, the kernel counts a change under way
// before it releases the lock of the address space, and takes it back after the event has been read. Whoever has been given the
// addresses has held that lock since, so sees the count, which settle() asks for (an ioctl that is refused with EAGAIN meanwhile). If
// there is one, settle() reads what there is to be read and says that it is not sure: then nothing that is kept may be used.
//
// What else might part a page from its address: fork(), after which the kernel leaves a page that an adapter has with the parent
// (Linux 5.9; this asks for 5.11), migration and swapping, which leave it alone, and another process that punches a hole into a
// file, which is why memory of files, huge pages and shared memory are refused by watch().
//
// One call is not reported: madvise(MADV_GUARD_INSTALL), of Linux 6.13. docs/fabrics.md says so.
//
// No event may be left without a reader, or the thread that caused it waits for ever. The stack of this class's own thread may lie in a
// mapping that is watched, and the C library gives a stack's pages back when its thread ends. So that thread, told to end, takes
// back the watch upon every mapping first. To close the descriptor would do the same, but for a forked child that has it too. Such
// a child has no thread and nothing watched; it leaves what it has inherited alone.
//
// Mappings are watched whole. A watch upon a part of one would split it in two for the kernel, and mremap() refuses to move both.
// They stay watched until they are unmapped; each such call of the program then costs it the time in which a thread of this
// class wakes up, some 10 us. That thread allocates nothing, frees nothing and takes no lock but the one.
#pragma once
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <thread>

#include "core/base/fork_mark.h"
#include "core/base/status.h"
#include "core/base/unique_fd.h"

namespace tutti {

class unmap_watch {
 public:
  enum class by { userfaultfd, interposition };
  struct range {
    std::uintptr_t begin = 0, end = 0;
  };

  // One who is told. Each range that goes lies here until settle() takes it.
  class listener {
   public:
    explicit listener(std::shared_ptr<unmap_watch>) noexcept;
    listener(const listener&) = delete;
    listener& operator=(const listener&) = delete;
    ~listener();

    // From now on settle() tells of these addresses. `unsupported`: nobody can tell. Costs microseconds.
    status watch(range);
    // What has gone since the last call, of any watched memory. `all`: more than there is room for, so anything may have.
    // `sure`: there is nothing else; if not, nothing that was registered before this call may be used.
    struct news {
      std::span<const range> gone;
      bool all = false, sure = true;
    };
    news settle() noexcept;

   private:
    friend class unmap_watch;
    static constexpr std::size_t room = 64;
    std::shared_ptr<unmap_watch> watch_;
    listener* next_ = nullptr;
    std::array<range, room> gone_, taken_;
    std::size_t count_ = 0;
    bool all_ = false;
  };

  // The one of this process; the first call makes it. `unavailable`: why it cannot be had.
  static result<std::shared_ptr<unmap_watch>> open(by);
  unmap_watch(const unmap_watch&) = delete;
  unmap_watch& operator=(const unmap_watch&) = delete;
  ~unmap_watch();

 private:
  explicit unmap_watch(by how) noexcept : how_(how) {}
  status start_faults();
  status try_faults();
  status start_interposed();
  bool changing() const noexcept;
  bool read_events() noexcept;
  void tell(range) noexcept;
  void run() noexcept;
  void stop_watching() noexcept;
  bool intact() const noexcept { return !intact_ || intact_() != 0; }
  static void interposed(void* watch, const void* begin, std::size_t bytes) noexcept;

  const by how_;
  std::mutex mutex_;  // held while nothing is allocated, freed or unmapped, since that may wait for who holds it
  listener* first_ = nullptr;
  int (*intact_)() = nullptr;  // interposition: whether it still stands
  unique_fd faults_, bell_;
  std::unique_ptr<std::thread> thread_;
  const fork_mark owner_;
};

}  // namespace tutti

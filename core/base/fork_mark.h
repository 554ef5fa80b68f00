// Whether this is still the process in which something was made, or a forked child with a copy of it: one load.
#pragma once
#include <sys/mman.h>

#include <new>

namespace tutti {

class fork_mark {
 public:
  fork_mark() {  // throws std::bad_alloc
    void* const at = ::mmap(nullptr, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) throw std::bad_alloc{};
    byte_ = static_cast<char*>(at);
    if (::madvise(at, page, MADV_WIPEONFORK) != 0) {
      ::munmap(at, page);
      throw std::bad_alloc{};
    }
    *byte_ = 1;
  }
  fork_mark(const fork_mark&) = delete;
  fork_mark& operator=(const fork_mark&) = delete;
  ~fork_mark() { ::munmap(byte_, page); }
  bool inherited() const noexcept { return *byte_ == 0; }  // fork() empties the page in the child

 private:
  static constexpr std::size_t page = 4096;
  char* byte_ = nullptr;
};

}  // namespace tutti

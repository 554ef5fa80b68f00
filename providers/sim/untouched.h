// Zeroed memory of which only what is written takes room: regions of many virtual ranks, whose control memory has parts that
// are read and written in rare cases only and grow with the ranks.
//
// From calloc such memory is whole: it clears what it hands out. Pages fresh from the kernel need no clearing. Each large
// enough region begins on a page of its own, in mappings of 64 MiB, since one mapping for each of a hundred thousand is more
// than the kernel grants. A region that is given back gives back its pages, and the last one of a mapping the mapping.
#pragma once
#include <sys/mman.h>

#include <cstddef>
#include <memory>

namespace tutti::sim {

class untouched {
 public:
  // Smaller ones are the heap's, where sanitizers see who writes beyond their end.
  static constexpr std::size_t least = 8 << 10, most = 16 << 20;

  // `least` to `most` bytes, aligned to a page; null: no memory.
  std::shared_ptr<std::byte> allocate(std::size_t bytes) {
    constexpr std::size_t page = 4096, mapping = 64 << 20;
    bytes = (bytes + page - 1) / page * page;
    if (!current_ || used_ + bytes > mapping) {
      void* base = mmap(nullptr, mapping, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      if (base == MAP_FAILED) return nullptr;
      madvise(base, mapping, MADV_NOHUGEPAGE);  // or one touched page takes 2 MiB
      current_ = std::shared_ptr<std::byte>(static_cast<std::byte*>(base), [](std::byte* p) { munmap(p, mapping); });
      used_ = 0;
    }
    std::byte* at = current_.get() + used_;
    used_ += bytes;
    return std::shared_ptr<std::byte>(at, [of = current_, bytes](std::byte* p) { madvise(p, bytes, MADV_DONTNEED); });
  }

 private:
  std::shared_ptr<std::byte> current_;
  std::size_t used_ = 0;
};

}  // namespace tutti::sim

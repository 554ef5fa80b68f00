// Where data of the program's lie otherwise than tutti takes them: the memory that they go through.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "mpi/datatype.h"

namespace tutti::mpi {

// An address for tutti, which takes no null, also for no data.
template <class T>
T* some(T* p, std::size_t bytes) noexcept {
  static std::byte nothing[8];
  return p || bytes > 0 ? p : reinterpret_cast<T*>(nothing);
}

// Data of other than contiguous types on their way through memory that is. The program's memory is written at the end.
class staging {
 public:
  // Memory to send from: `count` elements at `from`, themselves or packed.
  const void* input(const void* from, std::size_t count, const type_ref&);
  // Memory to receive `count` elements into. `filled`: it holds them already, for they are read as well.
  void* output(void* to, std::size_t count, const type_ref&, bool filled = false);
  // Elements of a reduction lie as the program's do, at their extents, but the gaps are this object's.
  const void* input_elements(const void* from, std::size_t count, const datatype&);
  void* output_elements(void* to, std::size_t count, const type_ref&);

  // A block for each member: lists of lengths and distances in bytes, from the result.
  struct block {
    std::ptrdiff_t offset;  // from the buffer, in bytes
    std::size_t count;
    const type_ref* type;
  };
  struct blocks {
    std::byte* base = nullptr;
    std::vector<std::size_t> bytes, offsets;
  };
  enum class way : std::uint8_t { read, write, both };
  template <class Of>
  blocks lay_out(const void* buffer, int members, way w, bool apart, Of of);  // `apart`: staged in any case

  std::byte* copy_of(const void* from, std::size_t bytes);
  void finish(std::size_t bytes = SIZE_MAX) const;  // of which so many came

 private:
  struct unpacking {
    const std::byte* from;
    void* to;
    std::size_t count;
    type_ref type;
    bool elements;
  };
  std::byte* memory(std::size_t bytes);
  std::vector<std::unique_ptr<std::byte[]>> memory_;
  std::vector<unpacking> later_;
};

template <class Of>
staging::blocks staging::lay_out(const void* buffer, int members, way w, bool apart, Of of) {
  blocks out;
  const auto n = static_cast<std::size_t>(members);
  out.bytes.resize(n), out.offsets.resize(n);
  std::ptrdiff_t least = PTRDIFF_MAX;  // by which the base moves: what MPI_BOTTOM and absolute distances describe is no block from null on
  std::size_t all = 0;
  for (int m = 0; m < members; ++m) {
    const block b = of(m);
    const datatype& t = **b.type;
    const std::size_t bytes = b.count * t.size;
    out.bytes[static_cast<std::size_t>(m)] = bytes;
    all += bytes;
    if (bytes == 0) continue;
    apart = apart || !t.contiguous;
    least = std::min(least, b.offset + t.first());
  }
  if (all == 0) least = 0;
  auto* const base = static_cast<std::byte*>(const_cast<void*>(buffer));
  std::byte* packed = apart ? memory(all) : nullptr;
  out.base = apart ? packed : base + least;
  for (int m = 0; m < members; ++m) {
    const auto i = static_cast<std::size_t>(m);
    if (out.bytes[i] == 0) continue;
    const block b = of(m);
    const type_ref& t = *b.type;
    if (!apart) {
      out.offsets[i] = static_cast<std::size_t>(b.offset + t->first() - least);
      continue;
    }
    out.offsets[i] = static_cast<std::size_t>(packed - out.base);
    if (w != way::write) t->pack(base + b.offset, b.count, packed);
    if (w != way::read) later_.push_back({packed, base + b.offset, b.count, t, false});
    packed += out.bytes[i];
  }
  return out;
}

}  // namespace tutti::mpi

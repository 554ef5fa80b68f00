// MPI's datatypes as tutti's layouts, taken apart once by their envelopes.
#pragma once
#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "api/tutti.h"
#include "mpi/real.h"

namespace tutti::mpi {

// What some layout lists, so many times, each `stride` bytes after the one before. Good as long as that layout.
class layout {
 public:
  layout(const tutti_layout_t&, std::ptrdiff_t offset, std::size_t count, std::ptrdiff_t stride);
  layout(const struct datatype&, std::size_t count);
  layout(const layout&) = delete;
  layout& operator=(const layout&) = delete;
  operator const tutti_layout_t*() const noexcept { return &it_; }

 private:
  tutti_layout_t it_{};
  std::size_t counts_[8];
  std::ptrdiff_t strides_[8], offset_;
  const tutti_layout_t* part_;
};

// How data lie, whatever the address: a block, the same thing at even distances, or a list of things. So it takes the memory of what
// the program has described, however many blocks that comes to.
struct shape;
using shape_ref = std::shared_ptr<const shape>;
struct shape {
  std::size_t bytes = 0;
  std::ptrdiff_t first = 0;          // byte of the data,
  std::ptrdiff_t low = 0, high = 0;  // and all bytes lie at distances in [low, high)
  unsigned depth = 0;
  tutti_layout_t lists{};            // of a block or a list
  std::optional<layout> repeats;     // of the same thing
  std::vector<std::ptrdiff_t> offsets;
  std::vector<std::size_t> lengths;           // of blocks,
  std::vector<const tutti_layout_t*> parts;   // and what is none; empty where all are
  std::vector<shape_ref> inner;

  const tutti_layout_t& as() const noexcept { return repeats ? **repeats : lists; }
  bool is_block() const noexcept { return as().kind == TUTTI_CONTIGUOUS; }
};
struct placed {
  std::ptrdiff_t offset = 0;
  shape_ref what;  // null: no bytes
};

// Calls f(address, bytes) for each block, in the order of the data, as long as it gives true.
template <class Byte, class F>
bool each_listed(const tutti_layout_t& l, Byte* at, F& f) {
  for (std::size_t i = 0; i < l.count; ++i)
    if (!f(at + l.offsets[i], l.lengths[i])) return false;
  return true;
}
template <class Byte, class F>
bool each_block(const tutti_layout_t& l, Byte* at, F& f, std::size_t dimension = 0) {
  switch (l.kind) {
    case TUTTI_CONTIGUOUS: return f(at, l.block_bytes);
    case TUTTI_STRIDED: {
      const std::ptrdiff_t stride = l.strides[dimension];
      const bool innermost = dimension + 1 == l.count;
      for (std::size_t i = 0; i < l.counts[dimension]; ++i, at += stride)
        if (!(innermost ? f(at, l.block_bytes) : each_block(l, at, f, dimension + 1))) return false;
      return true;
    }
    case TUTTI_INDEXED: return each_listed(l, at, f);
    default:
      for (std::size_t i = 0; i < l.count; ++i) {
        Byte* each = at + l.offsets[i];
        for (std::size_t n = l.counts ? l.counts[i] : 1; n > 0; --n, each += l.counts ? l.strides[i] : 0)
          if (!(l.parts[i] ? each_block(*l.parts[i], each, f) : f(each, l.lengths[i]))) return false;
      }
      return true;
  }
}

struct datatype {
  MPI_Datatype handle;
  std::size_t size = 0;           // bytes of data
  std::ptrdiff_t extent = 0;      // from element to element
  placed data;                    // of one element
  MPI_Datatype leaf = MPI_DATATYPE_NULL;  // what it is made of in the end, where that is one type
  bool contiguous = false;        // elements are one piece each and follow each other without gaps
  bool within = false;            // all bytes of an element lie in [0, extent)

  mutable bool committed = false;  // for good

  // MPI has no function that tells; but it refuses to send elements of a type that was not committed, if it looks at its arguments at all.
  bool is_committed() const noexcept { return committed || ask(); }
  std::ptrdiff_t first() const noexcept { return data.what ? data.offset + data.what->first : 0; }
  std::ptrdiff_t low() const noexcept { return data.what ? data.offset + data.what->low : 0; }
  std::ptrdiff_t high() const noexcept { return data.what ? data.offset + data.what->high : 0; }
  // f(address, bytes) for each block of `count` elements, as long as it gives true.
  template <class Byte, class F>
  void each(Byte* base, std::size_t count, F f) const {
    if (!data.what) return;
    base += data.offset;
    const tutti_layout_t& l = data.what->as();  // often an array of records, which are short lists
    for (std::size_t i = 0; i < count && (l.kind == TUTTI_INDEXED ? each_listed(l, base, f) : each_block(l, base, f)); ++i) base += extent;
  }
  // Elements one after the other, without gaps.
  void pack(const void* from, std::size_t count, std::byte* to) const;
  // The other way, as far as there are bytes.
  void unpack(const std::byte* from, std::size_t bytes, void* to, std::size_t count) const;

 private:
  bool ask() const noexcept;
};
using type_ref = std::shared_ptr<const datatype>;  // outlives MPI_Type_free

// Null: no type (MPI_DATATYPE_NULL), or one that MPI does not take apart.
const type_ref& type_of(MPI_Datatype);

// Null where the arguments are wrong. Of a type that was not committed, none may be used.
inline const type_ref* elements(MPI_Count count, MPI_Datatype type) {
  if (count < 0) return nullptr;
  const type_ref& t = type_of(type);
  return t && (count == 0 || t->is_committed()) ? &t : nullptr;
}
inline std::size_t bytes_of(MPI_Count count, const datatype& t) noexcept { return static_cast<std::size_t>(count) * t.size; }
// Of a message. (Types of absolute addresses are used with MPI_BOTTOM, which is a null pointer.)
inline const type_ref* elements(const void* data, MPI_Count count, MPI_Datatype type) {
  const type_ref* const t = elements(count, type);
  return t && !data && count > 0 && (*t)->size > 0 && (*t)->first() == 0 ? nullptr : t;
}

}  // namespace tutti::mpi

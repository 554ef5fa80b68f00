// MPI's datatypes as lists of pieces, taken apart once by their envelopes.
#pragma once
#include <cstddef>
#include <memory>
#include <vector>

#include "api/tutti.h"
#include "mpi/real.h"

namespace tutti::mpi {

struct piece {
  std::ptrdiff_t offset;  // bytes, from the element's address
  std::size_t bytes;
};

struct datatype {
  MPI_Datatype handle;
  std::size_t size = 0;           // bytes of data
  std::ptrdiff_t extent = 0;      // from element to element
  std::vector<piece> pieces;      // in the order of the data; those that follow each other are joined
  MPI_Datatype leaf = MPI_DATATYPE_NULL;  // what it is made of in the end, where that is one type
  bool contiguous = false;        // elements are one piece each and follow each other without gaps
  bool within = false;            // its pieces lie in [0, extent)

  mutable bool committed = false;  // for good

  // MPI has no function that tells; but it refuses to send elements of a type that was not committed, if it looks at its arguments at all.
  bool is_committed() const noexcept { return committed || ask(); }
  std::ptrdiff_t first() const noexcept { return pieces.empty() ? 0 : pieces[0].offset; }
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
// Of a message. (Types of absolute addresses are used with MPI_BOTTOM, which is a null pointer.)
inline const type_ref* elements(const void* data, MPI_Count count, MPI_Datatype type) {
  const type_ref* const t = elements(count, type);
  return t && !data && count > 0 && (*t)->size > 0 && (*t)->first() == 0 ? nullptr : t;
}

// `count` elements as tutti describes them; good as long as the object and the type.
class layout {
 public:
  layout(const datatype&, std::size_t count);
  operator const tutti_layout_t*() const noexcept { return &it_; }

 private:
  tutti_layout_t it_{};
  std::size_t counts_[2];
  std::ptrdiff_t strides_[2];
  std::vector<std::ptrdiff_t> offsets_;
  std::vector<std::size_t> lengths_;
};

}  // namespace tutti::mpi

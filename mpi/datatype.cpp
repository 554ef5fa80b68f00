#include "mpi/datatype.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>

#include "mpi/reduction.h"
#include "mpi/world.h"

namespace tutti::mpi {
namespace {

// Thrown where MPI does not say what a type is made of.
struct unknown_type {};

struct builder {
  std::vector<piece> pieces;
  MPI_Datatype leaf = MPI_DATATYPE_NULL;
  bool mixed = false;  // of several leaves

  void made_of(MPI_Datatype t) noexcept {
    mixed = mixed || (leaf != MPI_DATATYPE_NULL && leaf != t);
    leaf = t;
  }

  void add(std::ptrdiff_t offset, std::size_t bytes) {
    if (bytes == 0) return;
    if (!pieces.empty() && pieces.back().offset + static_cast<std::ptrdiff_t>(pieces.back().bytes) == offset) pieces.back().bytes += bytes;
    else pieces.push_back({offset, bytes});
  }
  void add(const std::vector<piece>& of, std::ptrdiff_t offset) {
    for (const piece& p : of) add(offset + p.offset, p.bytes);
  }
  // `n` elements.
  void add(const datatype& of, std::ptrdiff_t offset, std::size_t n) {
    if (n > 0) made_of(of.leaf);
    if (of.contiguous) return add(offset + of.first(), n * of.size);
    for (std::size_t i = 0; i < n; ++i) add(of.pieces, offset + static_cast<std::ptrdiff_t>(i) * of.extent);
  }
};

// A value and an int, between or behind which there may be padding.
template <class T>
struct pair_of {
  T value;
  int index;
};
template <class T>
void add_pair(builder& to) {
  to.add(0, sizeof(T));
  to.add(offsetof(pair_of<T>, index), sizeof(int));
}

void add_named(builder& to, MPI_Datatype type, std::size_t size) {
  if (type == MPI_FLOAT_INT) add_pair<float>(to);
  else if (type == MPI_DOUBLE_INT) add_pair<double>(to);
  else if (type == MPI_LONG_INT) add_pair<long>(to);
  else if (type == MPI_SHORT_INT) add_pair<short>(to);
  else if (type == MPI_LONG_DOUBLE_INT) {  // in C its size is not that of its parts: x87 numbers have 10 bytes in 16
    to.add(0, sizeof(long double));
    to.add(offsetof(pair_of<long double>, index), sizeof(int));
  } else to.add(0, size);
}

// How many numbers of which kind describe a type.
struct envelope {
#if MPI_VERSION >= 4
  MPI_Count integers = 0, addresses = 0, large = 0, types = 0;
  explicit envelope(MPI_Datatype t) noexcept : known(real.Type_get_envelope_c(t, &integers, &addresses, &large, &types, &combiner) == MPI_SUCCESS) {}
#else
  int integers = 0, addresses = 0, types = 0;
  explicit envelope(MPI_Datatype t) noexcept : known(real.Type_get_envelope(t, &integers, &addresses, &types, &combiner) == MPI_SUCCESS) {}
#endif
  int combiner = MPI_COMBINER_NAMED;
  bool known;  // MPI has said so
  bool is_named() const noexcept {
    return combiner == MPI_COMBINER_NAMED || combiner == MPI_COMBINER_F90_REAL || combiner == MPI_COMBINER_F90_COMPLEX || combiner == MPI_COMBINER_F90_INTEGER;
  }
};

// What MPI_Type_get_contents gives, and frees again. Numbers and places are in the order of that function, also of types that were made
// with counts of any size, by a function with _c (MPI 4.0, 5.1.13).
class contents {
 public:
  contents(MPI_Datatype of, const envelope& e) : places_(at_least_one(e.addresses)), inner_(at_least_one(e.types)), types_(static_cast<std::size_t>(e.types)) {
    std::vector<int> integers(at_least_one(e.integers));
#if MPI_VERSION >= 4
    std::vector<MPI_Count> large(at_least_one(e.large));
    if (real.Type_get_contents_c(of, e.integers, e.addresses, e.large, e.types, integers.data(), places_.data(), large.data(), inner_.data()) != MPI_SUCCESS)
      throw unknown_type{};
    if (e.large > 0) {
      put_in_order(e, integers, large);
      return;
    }
#else
    if (real.Type_get_contents(of, e.integers, e.addresses, e.types, integers.data(), places_.data(), inner_.data()) != MPI_SUCCESS) throw unknown_type{};
#endif
    numbers_.assign(integers.begin(), integers.end());
  }
  ~contents() {
    for (std::size_t i = 0; i < types_; ++i)
      if (const envelope e(inner_[i]); e.known && !e.is_named()) real.Type_free(&inner_[i]);
  }
  contents(const contents&) = delete;
  contents& operator=(const contents&) = delete;
  MPI_Count number(std::size_t i) const { return numbers_.at(i); }
  std::size_t size(std::size_t i) const { return static_cast<std::size_t>(numbers_.at(i)); }
  MPI_Aint place(std::size_t i) const { return places_.at(i); }
  const datatype& inner(std::size_t i) {
    kept_.push_back(make(inner_.at(i)));
    if (!kept_.back()) throw unknown_type{};
    return *kept_.back();
  }
  static type_ref make(MPI_Datatype);

 private:
  static std::size_t at_least_one(MPI_Count n) { return static_cast<std::size_t>(std::max<MPI_Count>(n, 1)); }
#if MPI_VERSION >= 4
  // Large counts hold the counts, and the places where the type was made with such; of arrays the sizes, between other integers.
  void put_in_order(const envelope& e, const std::vector<int>& integers, const std::vector<MPI_Count>& large) {
    const auto first = large.begin(), end = large.begin() + e.large;
    const auto places_from = [&](std::ptrdiff_t n) { numbers_.assign(first, first + n), places_.assign(first + n, end); };
    switch (e.combiner) {
      case MPI_COMBINER_HVECTOR:
      case MPI_COMBINER_HINDEXED_BLOCK: return places_from(2);
      case MPI_COMBINER_HINDEXED:
      case MPI_COMBINER_STRUCT: return places_from(1 + large[0]);
      case MPI_COMBINER_RESIZED: return places_from(0);
      case MPI_COMBINER_SUBARRAY:
      case MPI_COMBINER_DARRAY: {
        const std::ptrdiff_t before = e.combiner == MPI_COMBINER_SUBARRAY ? 1 : 3;
        numbers_.assign(integers.begin(), integers.begin() + before);
        numbers_.insert(numbers_.end(), first, end);
        numbers_.insert(numbers_.end(), integers.begin() + before, integers.begin() + e.integers);
        return;
      }
      default: numbers_.assign(first, end);
    }
  }
#endif
  std::vector<MPI_Count> numbers_;
  std::vector<MPI_Aint> places_;
  std::vector<MPI_Datatype> inner_;
  std::vector<type_ref> kept_;
  std::size_t types_;
};

// What a type takes of one dimension of an array: indices, in order.
struct run_of_indices {
  std::ptrdiff_t first, count;
};
struct dimension {
  std::ptrdiff_t full;  // indices that there are
  std::vector<run_of_indices> taken;
};

// Of an array of elements, whose dimensions come from the one that varies slowest.
void add_part_of_array(builder& to, const datatype& of, const std::vector<dimension>& array, std::size_t level, std::ptrdiff_t at) {
  const dimension& d = array[level];
  at *= d.full;
  for (const run_of_indices& r : d.taken)
    if (level + 1 == array.size()) to.add(of, (at + r.first) * of.extent, static_cast<std::size_t>(r.count));
    else
      for (std::ptrdiff_t i = 0; i < r.count; ++i) add_part_of_array(to, of, array, level + 1, at + r.first + i);
}
void add_part_of_array(builder& to, contents& c, std::vector<dimension> array, MPI_Count order) {
  if (order == MPI_ORDER_FORTRAN) std::ranges::reverse(array);
  add_part_of_array(to, c.inner(0), array, 0, 0);
}

// MPI 3.1, 4.1.13 says which numbers the contents hold.
void add_subarray(builder& to, contents& c) {
  const std::size_t n = c.size(0);
  std::vector<dimension> array;
  for (std::size_t d = 0; d < n; ++d) array.push_back({c.number(1 + d), {{c.number(1 + 2 * n + d), c.number(1 + n + d)}}});
  add_part_of_array(to, c, std::move(array), c.number(1 + 3 * n));
}

// The part of one process, of a grid of processes in the order of rows (MPI 3.1, 4.1.4).
void add_darray(builder& to, contents& c) {
  const std::size_t n = c.size(2);
  std::vector<dimension> array(n);
  MPI_Count rest = c.number(1);
  for (std::size_t d = n; d-- > 0;) {
    const MPI_Count kind = c.number(3 + n + d), given = c.number(3 + 2 * n + d), processes = kind == MPI_DISTRIBUTE_NONE ? 1 : c.number(3 + 3 * n + d);
    const std::ptrdiff_t full = array[d].full = c.number(3 + d), mine = rest % processes;
    rest /= processes;
    const std::ptrdiff_t block = kind == MPI_DISTRIBUTE_NONE                 ? full
                                 : given != MPI_DISTRIBUTE_DFLT_DARG         ? given
                                 : kind == MPI_DISTRIBUTE_BLOCK              ? (full + processes - 1) / processes
                                                                             : 1;
    for (std::ptrdiff_t first = mine * block; first < full && block > 0; first += block * processes) array[d].taken.push_back({first, std::min(block, full - first)});
  }
  add_part_of_array(to, c, std::move(array), c.number(3 + 4 * n));
}

void take_apart(builder& to, MPI_Datatype type, std::size_t size) {
  const envelope e(type);
  const int combiner = e.combiner;
  if (!e.known) throw unknown_type{};
  if (e.is_named()) return to.made_of(type), add_named(to, type, size);
  contents c(type, e);
  switch (combiner) {
    case MPI_COMBINER_DUP:
    case MPI_COMBINER_RESIZED: return to.add(c.inner(0), 0, 1);
    case MPI_COMBINER_CONTIGUOUS: return to.add(c.inner(0), 0, c.size(0));
    case MPI_COMBINER_VECTOR:
    case MPI_COMBINER_HVECTOR: {
      const datatype& of = c.inner(0);
      const std::ptrdiff_t stride = combiner == MPI_COMBINER_VECTOR ? c.number(2) * of.extent : c.place(0);
      for (MPI_Count i = 0; i < c.number(0); ++i) to.add(of, i * stride, c.size(1));
      return;
    }
    case MPI_COMBINER_INDEXED:
    case MPI_COMBINER_HINDEXED: {
      const datatype& of = c.inner(0);
      const std::size_t n = c.size(0);
      for (std::size_t i = 0; i < n; ++i)
        to.add(of, combiner == MPI_COMBINER_INDEXED ? c.number(1 + n + i) * of.extent : c.place(i), c.size(1 + i));
      return;
    }
    case MPI_COMBINER_INDEXED_BLOCK:
    case MPI_COMBINER_HINDEXED_BLOCK: {
      const datatype& of = c.inner(0);
      for (std::size_t i = 0; i < c.size(0); ++i)
        to.add(of, combiner == MPI_COMBINER_INDEXED_BLOCK ? c.number(2 + i) * of.extent : c.place(i), c.size(1));
      return;
    }
    case MPI_COMBINER_STRUCT:
      for (std::size_t i = 0; i < c.size(0); ++i) to.add(c.inner(i), c.place(i), c.size(1 + i));
      return;
    case MPI_COMBINER_SUBARRAY: return add_subarray(to, c);
    case MPI_COMBINER_DARRAY: return add_darray(to, c);
    default: throw unknown_type{};
  }
}

type_ref contents::make(MPI_Datatype type) {
  auto t = std::make_shared<datatype>();
  t->handle = type;
  MPI_Count size = 0;
  MPI_Aint lower = 0, extent = 0;
  if (real.Type_size_x(type, &size) != MPI_SUCCESS || size < 0 || real.Type_get_extent(type, &lower, &extent) != MPI_SUCCESS) return nullptr;
  t->size = static_cast<std::size_t>(size), t->extent = extent;
  try {
    builder b;
    take_apart(b, type, t->size);
    std::size_t listed = 0;
    t->within = extent > 0;
    for (const piece& p : b.pieces) {
      listed += p.bytes;
      t->within = t->within && p.offset >= 0 && p.offset + static_cast<std::ptrdiff_t>(p.bytes) <= extent;
    }
    if (listed != t->size) return nullptr;
    t->contiguous = t->size == 0 || (b.pieces.size() == 1 && t->extent == static_cast<std::ptrdiff_t>(t->size));
    t->pieces = std::move(b.pieces);
    t->leaf = b.mixed ? MPI_DATATYPE_NULL : b.leaf;
  } catch (const unknown_type&) {
    return nullptr;
  }
  return t;
}

std::unordered_map<MPI_Datatype, type_ref> datatypes;
struct {
  MPI_Datatype handle = MPI_DATATYPE_NULL;
  const type_ref* type = nullptr;
} recent[2];  // a call has one or two

}  // namespace

void datatype::pack(const void* from, std::size_t count, std::byte* to) const {
  const auto* base = static_cast<const std::byte*>(from);
  if (contiguous) {
    if (count * size > 0) std::memcpy(to, base + first(), count * size);
    return;
  }
  for (std::size_t i = 0; i < count; ++i, base += extent)
    for (const piece& p : pieces) std::memcpy(to, base + p.offset, p.bytes), to += p.bytes;
}

void datatype::unpack(const std::byte* from, std::size_t bytes, void* to, std::size_t count) const {
  auto* base = static_cast<std::byte*>(to);
  bytes = std::min(bytes, count * size);
  if (contiguous) {
    if (bytes > 0) std::memcpy(base + first(), from, bytes);
    return;
  }
  for (std::size_t i = 0; i < count && bytes > 0; ++i, base += extent)
    for (const piece& p : pieces) {
      const std::size_t n = std::min(bytes, p.bytes);
      std::memcpy(base + p.offset, from, n);
      from += n, bytes -= n;
    }
}

const type_ref& type_of(MPI_Datatype handle) {
  if (recent[0].handle == handle && recent[0].type) [[likely]] return *recent[0].type;
  if (recent[1].handle == handle && recent[1].type) {
    std::swap(recent[0], recent[1]);
    return *recent[0].type;
  }
  static const type_ref none;
  auto at = datatypes.find(handle);
  if (at == datatypes.end()) {
    type_ref made = handle == MPI_DATATYPE_NULL ? nullptr : contents::make(handle);
    if (!made) return none;
    at = datatypes.emplace(handle, std::move(made)).first;
  }
  recent[1] = recent[0];
  recent[0] = {handle, &at->second};  // nodes of the map stay where they are
  return at->second;
}

bool datatype::ask() const noexcept {
  const world& w = the_world();
  const char nothing = 0;  // some MPIs look at no type of no elements, or without a place
  return committed = !w.asks || real.Send(&nothing, 1, handle, MPI_PROC_NULL, 0, w.asking) == MPI_SUCCESS;
}

layout::layout(const datatype& t, std::size_t count) {
  if (t.contiguous && t.first() == 0) {
    it_.kind = TUTTI_CONTIGUOUS, it_.block_bytes = count * t.size;
    return;
  }
  const std::size_t n = t.pieces.size();
  it_.counts = counts_, it_.strides = strides_;
  // Pieces of one length and at one distance, in every element: no list.
  bool even = n > 0;
  for (std::size_t i = 2; i < n && even; ++i) even = t.pieces[i].offset - t.pieces[i - 1].offset == t.pieces[1].offset - t.pieces[0].offset;
  for (std::size_t i = 1; i < n && even; ++i) even = t.pieces[i].bytes == t.pieces[0].bytes;
  if (even && t.first() == 0) {
    it_.kind = TUTTI_STRIDED, it_.block_bytes = t.pieces[0].bytes, it_.count = 2;
    counts_[0] = count, strides_[0] = t.extent;
    counts_[1] = n, strides_[1] = n > 1 ? t.pieces[1].offset - t.pieces[0].offset : 0;
    return;
  }
  for (std::size_t e = 0; e < count; ++e)
    for (const piece& p : t.pieces) {
      offsets_.push_back(static_cast<std::ptrdiff_t>(e) * t.extent + p.offset);
      lengths_.push_back(p.bytes);
    }
  it_.kind = TUTTI_INDEXED, it_.count = offsets_.size(), it_.offsets = offsets_.data(), it_.lengths = lengths_.data();
}

}  // namespace tutti::mpi

using namespace tutti::mpi;

TUTTI_MPI_ENTRY(Type_free, (MPI_Datatype* type), MPI_COMM_WORLD, {
  if (type && the_world().ctx) {
    const held h;
    recent[0] = recent[1] = {};
    datatypes.erase(*type);
    reductions_forget(*type);
  }
  return real.Type_free(type);
})

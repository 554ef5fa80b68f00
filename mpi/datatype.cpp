#include "mpi/datatype.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>

#include "mpi/reduction.h"
#include "mpi/world.h"

namespace tutti::mpi {
namespace {

// Elements are what short blocks are; a call of memcpy costs more than they do.
void copy_block(std::byte* to, const std::byte* from, std::size_t n) noexcept {
  switch (n) {
    case 4: std::memcpy(to, from, 4); return;
    case 8: std::memcpy(to, from, 8); return;
    case 16: std::memcpy(to, from, 16); return;
    default: std::memcpy(to, from, n);
  }
}

// Thrown where MPI does not say what a type is made of.
struct unknown_type {};

shape_ref block_of(std::size_t bytes) {
  auto s = std::make_shared<shape>();
  s->bytes = bytes, s->high = static_cast<std::ptrdiff_t>(bytes);
  s->lists.kind = TUTTI_CONTIGUOUS, s->lists.block_bytes = bytes;
  return s;
}

placed repeated(const placed& p, std::size_t count, std::ptrdiff_t stride) {
  if (!p.what || count == 0) return {};
  if (count == 1) return p;
  const shape& of = *p.what;
  if (of.is_block() && stride == static_cast<std::ptrdiff_t>(of.bytes)) return {p.offset, block_of(count * of.bytes)};
  auto s = std::make_shared<shape>();
  const std::ptrdiff_t reach = static_cast<std::ptrdiff_t>(count - 1) * stride;
  s->bytes = count * of.bytes, s->first = of.first, s->depth = of.depth + 1;
  s->low = of.low + std::min<std::ptrdiff_t>(0, reach), s->high = of.high + std::max<std::ptrdiff_t>(0, reach);
  s->repeats.emplace(of.as(), 0, count, stride);
  s->inner.push_back(p.what);
  return {p.offset, s};
}

// A list in the making. Blocks that follow each other are joined, and what is alike and at even distances is no list.
class builder {
 public:
  void add(std::ptrdiff_t offset, std::size_t bytes) {
    if (bytes > 0) add(entry{offset, bytes, nullptr});
  }
  void add(std::ptrdiff_t offset, const placed& p) {
    if (!p.what) return;
    offset += p.offset;
    const shape& s = *p.what;
    if (s.is_block()) return add(entry{offset, s.bytes, nullptr});
    // Short lists become part of this one; and long ones where the depth grows, which tutti bounds. What is repeated doubles the bytes, and
    // so cannot reach the bound.
    constexpr std::size_t short_list = 4;
    constexpr unsigned deep = 64;
    if (s.repeats || (s.offsets.size() > short_list && s.depth < deep)) return add(entry{offset, 0, p.what});
    for (std::size_t i = 0; i < s.offsets.size(); ++i) add(entry{offset + s.offsets[i], s.lengths[i], s.inner.empty() ? nullptr : s.inner[i]});
  }
  placed finish();

 private:
  struct entry {
    std::ptrdiff_t offset;
    std::size_t bytes;  // of a block
    shape_ref what;     // or null
    std::ptrdiff_t end() const noexcept { return offset + static_cast<std::ptrdiff_t>(bytes); }
    bool is_like(const entry& o) const noexcept { return bytes == o.bytes && what == o.what; }
  };
  entry time(std::size_t i) const { return {all_[0].offset + static_cast<std::ptrdiff_t>(i) * stride_, all_[0].bytes, all_[0].what}; }
  void add(entry e) {
    if (!all_.empty() && !e.what) {
      const entry before = times_ > 1 ? time(times_ - 1) : all_.back();
      if (!before.what && before.end() == e.offset) {
        list_all();
        all_.back().bytes += e.bytes;
        return;
      }
    }
    if (all_.size() == 1 && e.is_like(all_[0])) {
      if (times_ == 1) stride_ = e.offset - all_[0].offset;
      if (time(times_).offset == e.offset) {
        ++times_;
        return;
      }
    }
    list_all();
    all_.push_back(std::move(e));
  }
  void list_all() {
    for (std::size_t i = 1; i < times_; ++i) all_.push_back(time(i));
    times_ = 1;
  }

  std::vector<entry> all_;
  std::size_t times_ = 1;  // of the first, where there is no other
  std::ptrdiff_t stride_ = 0;
};

placed builder::finish() {
  if (all_.empty()) return {};
  if (all_.size() == 1) return repeated({all_[0].offset, all_[0].what ? all_[0].what : block_of(all_[0].bytes)}, times_, stride_);
  auto s = std::make_shared<shape>();
  const std::size_t n = all_.size();
  const bool nested = std::ranges::any_of(all_, [](const entry& e) { return e.what != nullptr; });
  s->offsets.reserve(n), s->lengths.reserve(n), s->low = PTRDIFF_MAX, s->high = PTRDIFF_MIN;
  if (nested) s->parts.reserve(n), s->inner.reserve(n);
  for (const entry& e : all_) {
    const std::ptrdiff_t low = e.what ? e.offset + e.what->low : e.offset, high = e.what ? e.offset + e.what->high : e.end();
    s->bytes += e.what ? e.what->bytes : e.bytes;
    s->low = std::min(s->low, low), s->high = std::max(s->high, high);
    s->offsets.push_back(e.offset), s->lengths.push_back(e.bytes);
    if (e.what) s->depth = std::max(s->depth, e.what->depth);
    if (nested) s->parts.push_back(e.what ? &e.what->as() : nullptr), s->inner.push_back(e.what);
  }
  s->first = all_[0].offset + (all_[0].what ? all_[0].what->first : 0);
  ++s->depth;
  s->lists.kind = nested ? TUTTI_NESTED : TUTTI_INDEXED;
  s->lists.count = n, s->lists.offsets = s->offsets.data(), s->lists.lengths = s->lengths.data();
  if (nested) s->lists.parts = s->parts.data();
  return {0, s};
}

// What a type is made of.
class ingredients {
 public:
  void add(std::ptrdiff_t offset, std::size_t bytes) { list_.add(offset, bytes); }
  void add(const datatype& of, std::ptrdiff_t offset, std::size_t n) { list_.add(offset, times(of, n)); }
  void add(const placed& p) { list_.add(0, p); }
  // `n` elements, one after the other; alike calls in a row share what they get.
  const placed& times(const datatype& of, std::size_t n) {
    if (n > 0) made_of(of.leaf, of.size > 0);
    if (of.data.what != recent_.of || of.data.offset != recent_.offset || of.extent != recent_.extent || n != recent_.n)
      recent_ = {of.data.what, of.data.offset, of.extent, n, repeated(of.data, n, of.extent)};
    return recent_.all;
  }
  void made_of(MPI_Datatype t, bool bytes = true) noexcept {
    if (!bytes) return;
    mixed_ = mixed_ || t == MPI_DATATYPE_NULL || (leaf_ != MPI_DATATYPE_NULL && leaf_ != t);
    leaf_ = t;
  }
  placed finish() { return list_.finish(); }
  MPI_Datatype leaf() const noexcept { return mixed_ ? MPI_DATATYPE_NULL : leaf_; }

 private:
  builder list_;
  MPI_Datatype leaf_ = MPI_DATATYPE_NULL;
  bool mixed_ = false;  // of several leaves
  struct {
    shape_ref of;
    std::ptrdiff_t offset = 0, extent = 0;
    std::size_t n = 0;
    placed all;
  } recent_;
};

// A value and an int, between or behind which there may be padding.
template <class T>
struct pair_of {
  T value;
  int index;
};
template <class T>
void add_pair(ingredients& to) {
  to.add(0, sizeof(T));
  to.add(offsetof(pair_of<T>, index), sizeof(int));
}

void add_named(ingredients& to, MPI_Datatype type, std::size_t size) {
  if (type == MPI_FLOAT_INT) add_pair<float>(to);
  else if (type == MPI_DOUBLE_INT) add_pair<double>(to);
  else if (type == MPI_LONG_INT) add_pair<long>(to);
  else if (type == MPI_SHORT_INT) add_pair<short>(to);
  else if (type == MPI_LONG_DOUBLE_INT) add_pair<long double>(to);  // in C its size is not that of its parts: x87 numbers have 10 bytes in 16
  else to.add(0, size);
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
    type_ref& t = kept_[inner_.at(i)];
    if (!t && !(t = make(inner_[i]))) throw unknown_type{};
    return *t;
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
  std::unordered_map<MPI_Datatype, type_ref> kept_;
  std::size_t types_;
};

// What a type takes of one dimension of an array: so many times some indices in a row.
struct runs_of_indices {
  std::ptrdiff_t first;
  std::size_t count, times = 1;
  std::ptrdiff_t distance = 0;
};
struct dimension {
  std::ptrdiff_t full;  // indices that there are
  std::vector<runs_of_indices> taken;
};

// Of an array of elements, whose dimensions come from the one that varies slowest.
void add_part_of_array(ingredients& to, contents& c, std::vector<dimension> array, MPI_Count order) {
  if (order == MPI_ORDER_C) std::ranges::reverse(array);
  const datatype& of = c.inner(0);
  to.made_of(of.leaf, of.size > 0);
  placed part = of.data;
  std::ptrdiff_t stride = of.extent;
  for (const dimension& d : array) {
    builder all;
    for (const runs_of_indices& r : d.taken) all.add(r.first * stride, repeated(repeated(part, r.count, stride), r.times, r.distance * stride));
    part = all.finish();
    stride *= d.full;
  }
  to.add(part);
}

// MPI 3.1, 4.1.13 says which numbers the contents hold.
void add_subarray(ingredients& to, contents& c) {
  const std::size_t n = c.size(0);
  std::vector<dimension> array;
  for (std::size_t d = 0; d < n; ++d) array.push_back({c.number(1 + d), {{c.number(1 + 2 * n + d), c.size(1 + n + d)}}});
  add_part_of_array(to, c, std::move(array), c.number(1 + 3 * n));
}

// The part of one process, of a grid of processes in the order of rows (MPI 3.1, 4.1.4).
void add_darray(ingredients& to, contents& c) {
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
    const std::ptrdiff_t first = mine * block, distance = block * processes;
    if (block == 0 || first >= full) continue;
    const std::ptrdiff_t whole = (full - first) / distance + ((full - first) % distance >= block), partial = first + whole * distance;
    array[d].taken.push_back({first, static_cast<std::size_t>(block), static_cast<std::size_t>(whole), distance});
    if (partial < full) array[d].taken.push_back({partial, static_cast<std::size_t>(full - partial)});
  }
  add_part_of_array(to, c, std::move(array), c.number(3 + 4 * n));
}

void take_apart(ingredients& to, MPI_Datatype type, std::size_t size) {
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
      return to.add(repeated(to.times(of, c.number(0) > 0 ? c.size(1) : 0), c.size(0), stride));
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
    ingredients made;
    take_apart(made, type, t->size);
    t->data = made.finish(), t->leaf = made.leaf();
    if ((t->data.what ? t->data.what->bytes : 0) != t->size) return nullptr;
    t->within = extent > 0 && t->low() >= 0 && t->high() <= extent;
    t->contiguous = t->size == 0 || (t->data.what->is_block() && t->extent == static_cast<std::ptrdiff_t>(t->size));
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
  const auto* const base = static_cast<const std::byte*>(from);
  if (contiguous) {
    if (count * size > 0) std::memcpy(to, base + first(), count * size);
    return;
  }
  each(base, count, [&](const std::byte* at, std::size_t n) {
    copy_block(to, at, n);
    to += n;
    return true;
  });
}

void datatype::unpack(const std::byte* from, std::size_t bytes, void* to, std::size_t count) const {
  auto* const base = static_cast<std::byte*>(to);
  bytes = std::min(bytes, count * size);
  if (bytes == 0) return;
  if (contiguous) {
    std::memcpy(base + first(), from, bytes);
    return;
  }
  each(base, count, [&](std::byte* at, std::size_t n) {
    n = std::min(bytes, n);
    copy_block(at, from, n);
    from += n, bytes -= n;
    return bytes > 0;
  });
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

layout::layout(const tutti_layout_t& of, std::ptrdiff_t offset, std::size_t count, std::ptrdiff_t stride) : offset_(offset), part_(&of) {
  const std::size_t dimensions = of.kind == TUTTI_STRIDED ? of.count : 0;
  if (count == 1 && offset == 0) {
    it_ = of;
    return;
  }
  counts_[0] = count, strides_[0] = stride;
  it_.counts = counts_, it_.strides = strides_;
  if (offset == 0 && (of.kind == TUTTI_CONTIGUOUS || of.kind == TUTTI_STRIDED) && dimensions < std::size(counts_)) {
    std::copy_n(of.counts, dimensions, counts_ + 1), std::copy_n(of.strides, dimensions, strides_ + 1);
    it_.kind = TUTTI_STRIDED, it_.block_bytes = of.block_bytes, it_.count = dimensions + 1;
  } else {
    it_.kind = TUTTI_NESTED, it_.count = 1, it_.offsets = &offset_, it_.parts = &part_;
  }
}

namespace {
constexpr tutti_layout_t no_bytes{};
}

layout::layout(const datatype& t, std::size_t count)
    : layout(t.data.what ? t.data.what->as() : no_bytes, t.data.offset, count, t.extent) {}

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

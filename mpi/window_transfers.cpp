// What moves data in MPI's windows (window.h): put, get and accumulates.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "mpi/datatype.h"
#include "mpi/reduction.h"
#include "mpi/request.h"
#include "mpi/window.h"
#include "mpi/world.h"

using namespace tutti::mpi;

namespace {

// The end of the other side.
struct target {
  std::uint32_t rank;
  std::uint64_t offset;  // in the part
  std::size_t count;
  const type_ref* type;
};

// Nothing: `code` is the error, or success where there is nothing to do.
std::optional<target> target_of(window& w, const call& k, int rank, MPI_Aint displacement, MPI_Count count, MPI_Datatype type, int& code) {
  code = MPI_SUCCESS;
  if (rank == MPI_PROC_NULL) return std::nullopt;
  if (rank < 0 || static_cast<std::uint32_t>(rank) >= w.size) return code = raise(w, k.name(), MPI_ERR_RANK, "no such rank"), std::nullopt;
  if (!w.may_move(static_cast<std::uint32_t>(rank))) return code = raise(w, k.name(), MPI_ERR_RMA_SYNC, "no epoch is open to that rank"), std::nullopt;
  const type_ref& t = type_of(type);
  if (!elements(count, type)) return code = raise(w, k.name(), count < 0 ? MPI_ERR_COUNT : MPI_ERR_TYPE, "wrong count or type of the target"), std::nullopt;
  if (count == 0 || t->size == 0) return std::nullopt;
  const window::part& p = w.parts[static_cast<std::size_t>(rank)];
  const std::ptrdiff_t begin = displacement * static_cast<std::ptrdiff_t>(p.unit), last = (count - 1) * t->extent;
  const std::ptrdiff_t low = t->low() + std::min<std::ptrdiff_t>(0, last), high = t->high() + std::max<std::ptrdiff_t>(0, last);
  if (begin + low < 0 || begin + high > static_cast<std::ptrdiff_t>(p.bytes)) {
    char text[160];
    std::snprintf(text, sizeof text, "bytes %td to %td of rank %d's part, which has %llu", begin + low, begin + high, rank,
                  static_cast<unsigned long long>(p.bytes));
    return code = raise(w, k.name(), MPI_ERR_RMA_RANGE, text), std::nullopt;
  }
  return target{static_cast<std::uint32_t>(rank), p.skew + static_cast<std::uint64_t>(begin), static_cast<std::size_t>(count), &t};
}

// Between elements of equal bytes.
void copy(const void* from, std::size_t count, const type_ref& t, void* to, std::size_t to_count, const type_ref& as) {
  if (as->contiguous) return t->pack(from, count, static_cast<std::byte*>(to) + as->first());
  const std::size_t bytes = count * t->size;
  const auto* packed = static_cast<const std::byte*>(from) + (t->contiguous ? t->first() : 0);
  std::vector<std::byte> between;
  if (!t->contiguous) between.resize(bytes), t->pack(from, count, between.data()), packed = between.data();
  as->unpack(packed, bytes, to, to_count);
}

tutti_status_t put(const window& w, const void* data, std::size_t count, const type_ref& t, const target& to, tutti_request_t* request) {
  if (std::byte* const part = w.parts[to.rank].mapped) return copy(data, count, t, part + to.offset, to.count, *to.type), TUTTI_OK;
  if (t->contiguous && (*to.type)->contiguous)
    return tutti_put(w.data, to.rank, to.offset + static_cast<std::uint64_t>((*to.type)->first()), static_cast<const std::byte*>(data) + t->first(),
                     count * t->size, request);
  return tutti_put_layout(w.data, to.rank, to.offset, layout(**to.type, to.count), data, layout(*t, count), request);
}
tutti_status_t get(const window& w, void* data, std::size_t count, const type_ref& t, const target& from, tutti_request_t* request) {
  if (const std::byte* const part = w.parts[from.rank].mapped) return copy(part + from.offset, from.count, *from.type, data, count, t), TUTTI_OK;
  if (t->contiguous && (*from.type)->contiguous)
    return tutti_get(w.data, from.rank, from.offset + static_cast<std::uint64_t>((*from.type)->first()), static_cast<std::byte*>(data) + t->first(),
                     count * t->size, request);
  return tutti_get_layout(w.data, from.rank, from.offset, layout(**from.type, from.count), data, layout(*t, count), request);
}

// MPI_Put and MPI_Get, and with `out` MPI_Rput and MPI_Rget.
template <class Move, class Data>
int move(window& w, call& k, Move function, Data* data, MPI_Count count, MPI_Datatype type, int rank, MPI_Aint displacement, MPI_Count target_count,
         MPI_Datatype target_type, MPI_Request* out) {
  const held h;
  int code;
  const auto to = target_of(w, k, rank, displacement, target_count, target_type, code);
  const type_ref& t = type_of(type);
  if (to && !elements(count, type)) return raise(w, k.name(), count < 0 ? MPI_ERR_COUNT : MPI_ERR_TYPE, "wrong count or type of the origin");
  if (to && bytes_of(count, *t) != to->count * (*to->type)->size)
    return raise(w, k.name(), MPI_ERR_TYPE, "origin and target differ in their bytes");
  if (code != MPI_SUCCESS) return code;
  if (to) k.moved(bytes_of(count, *t));
  tutti_request_t request{};
  std::optional<fresh_request> own;
  if (to && out) own.emplace();  // before anything is begun
  if (to)
    if (const auto s = function(w, data, static_cast<std::size_t>(count), t, *to, out ? &request : nullptr); s != TUTTI_OK) return raise(w, k.name(), s);
  if (out) *out = own ? request_of(*own, request, k.name()) : completed_send();
  return MPI_SUCCESS;
}

// `count` elements of a type made of `leaf`s, packed, become an array of leafs as MPI_Reduce_local() takes it.
class leaves {
 public:
  leaves(const std::byte* packed, std::size_t bytes, const datatype& leaf) : leaf_(leaf), count_(bytes / leaf.size) {
    memory_.resize(count_ * static_cast<std::size_t>(leaf.extent));
    leaf.unpack(packed, bytes, memory_.data(), count_);
  }
  std::byte* data() noexcept { return memory_.data(); }
  std::size_t count() const noexcept { return count_; }
  void pack(std::byte* to) const { leaf_.pack(memory_.data(), count_, to); }

 private:
  const datatype& leaf_;
  std::size_t count_;
  std::vector<std::byte> memory_;
};

// In the target's queue of accumulates; ended with the object at the latest, since memory may run out meanwhile.
class my_turn {
 public:
  my_turn(const window& w, std::uint32_t rank) : w_(w), rank_(rank), taken_(take_turn(w, rank, window::word::accumulating, turn_)) {}
  ~my_turn() { (void)end(); }
  my_turn(const my_turn&) = delete;
  my_turn& operator=(const my_turn&) = delete;
  tutti_status_t taken() const noexcept { return taken_; }
  tutti_status_t end() {
    if (std::exchange(taken_, TUTTI_INVALID) != TUTTI_OK) return TUTTI_OK;
    const auto s = end_turn(w_, rank_, window::word::accumulating, turn_);
    if (rank_ == w_.rank) serve_others();
    return s;
  }

 private:
  const window& w_;
  std::uint32_t rank_, turn_ = 0;
  tutti_status_t taken_;
};

struct origin {
  const void* data;
  MPI_Count count;
  MPI_Datatype type;
};
struct result {
  void* data = nullptr;
  MPI_Count count = 0;
  MPI_Datatype type = MPI_DATATYPE_NULL;
};

// Has its turn in the target's queue of accumulates while it reads, computes and writes. `compared`: what the target must hold for that.
int accumulate(window& w, call& k, const origin& in, const result& out, int rank, MPI_Aint displacement, MPI_Count count, MPI_Datatype type,
               MPI_Op op, const void* compared = nullptr) {
  int code;
  std::optional<target> to;
  type_ref target_type, leaf, old_type, bytes_type;
  std::unique_ptr<std::byte[]> packed, present;
  const std::byte* given = nullptr;  // without gaps
  std::size_t bytes = 0;
  {
    const held h;
    to = target_of(w, k, rank, displacement, count, type, code);
    if (!to) return code;
    target_type = *to->type;
    to->type = &target_type;
    leaf = type_of(target_type->leaf), bytes_type = type_of(MPI_BYTE);
    bytes = to->count * target_type->size;
    k.moved(bytes);
    if (out.type != MPI_DATATYPE_NULL) {  // MPI_BOTTOM may be where the result goes: the type tells whether there is one
      old_type = type_of(out.type);
      if (!elements(out.count, out.type) || bytes_of(out.count, *old_type) != bytes)
        return raise(w, k.name(), MPI_ERR_TYPE, "result and target differ in their bytes");
    }
    present = std::make_unique_for_overwrite<std::byte[]>(bytes);
    if (op != MPI_NO_OP) {
      const type_ref& t = type_of(in.type);
      if (!elements(in.count, in.type) || bytes_of(in.count, *t) != bytes || !leaf)
        return raise(w, k.name(), MPI_ERR_TYPE, "origin and target differ in their bytes");
      if (t->contiguous) {
        given = static_cast<const std::byte*>(in.data) + t->first();
      } else {
        packed = std::make_unique_for_overwrite<std::byte[]>(bytes);
        t->pack(in.data, static_cast<std::size_t>(in.count), packed.get());
        given = packed.get();
      }
    }
  }
  my_turn turn(w, to->rank);
  auto s = turn.taken();
  if (s != TUTTI_OK) return raise(w, k.name(), s);

  tutti_request_t request{};
  {
    const held h;
    s = get(w, present.get(), bytes, bytes_type, *to, &request);
  }
  if (s == TUTTI_OK) s = wait(&request);
  if (s == TUTTI_OK && old_type) {
    const held h;
    old_type->unpack(present.get(), bytes, out.data, static_cast<std::size_t>(out.count));
  }
  const bool writes = op != MPI_NO_OP && (!compared || std::memcmp(present.get(), compared, bytes) == 0);
  if (s == TUTTI_OK && writes) {
    const std::byte* becomes = present.get();
    if (op == MPI_REPLACE) {
      becomes = given;
    } else if (leaf->contiguous) {
      code = reduce_here(given, present.get(), bytes / leaf->size, leaf->handle, op);
    } else {
      leaves ours(given, bytes, *leaf), theirs(present.get(), bytes, *leaf);
      code = reduce_here(ours.data(), theirs.data(), ours.count(), leaf->handle, op);
      theirs.pack(present.get());
    }
    if (code == MPI_SUCCESS) {
      {
        const held h;
        s = put(w, becomes, bytes, bytes_type, *to, nullptr);
      }
      if (s == TUTTI_OK) s = flush(w, to->rank);
    }
  }
  const auto end = turn.end();
  if (s == TUTTI_OK) s = end;
  return s == TUTTI_OK ? code : raise(w, k.name(), s);
}

}  // namespace

TUTTI_MPI_TRANSFER(Put, (const void* d, count_t n, MPI_Datatype t, int r, MPI_Aint at, count_t m, MPI_Datatype u, MPI_Win win), (d, n, t, r, at, m, u, win),
                 return move(w, k, put, d, n, t, r, at, m, u, nullptr);)
TUTTI_MPI_TRANSFER(Get, (void* d, count_t n, MPI_Datatype t, int r, MPI_Aint at, count_t m, MPI_Datatype u, MPI_Win win), (d, n, t, r, at, m, u, win),
                 return move(w, k, get, d, n, t, r, at, m, u, nullptr);)
TUTTI_MPI_TRANSFER(Rput, (const void* d, count_t n, MPI_Datatype t, int r, MPI_Aint at, count_t m, MPI_Datatype u, MPI_Win win, MPI_Request* q),
                 (d, n, t, r, at, m, u, win, q), return move(w, k, put, d, n, t, r, at, m, u, q);)
TUTTI_MPI_TRANSFER(Rget, (void* d, count_t n, MPI_Datatype t, int r, MPI_Aint at, count_t m, MPI_Datatype u, MPI_Win win, MPI_Request* q),
                 (d, n, t, r, at, m, u, win, q), return move(w, k, get, d, n, t, r, at, m, u, q);)

TUTTI_MPI_TRANSFER(Accumulate, (const void* d, count_t n, MPI_Datatype t, int r, MPI_Aint at, count_t m, MPI_Datatype u, MPI_Op op, MPI_Win win),
                 (d, n, t, r, at, m, u, op, win), return accumulate(w, k, {d, n, t}, {}, r, at, m, u, op);)
TUTTI_MPI_TRANSFER(Raccumulate,
                 (const void* d, count_t n, MPI_Datatype t, int r, MPI_Aint at, count_t m, MPI_Datatype u, MPI_Op op, MPI_Win win, MPI_Request* q),
                 (d, n, t, r, at, m, u, op, win, q), {
                   const int s = accumulate(w, k, {d, n, t}, {}, r, at, m, u, op);
                   if (s == MPI_SUCCESS) *q = completed_send();
                   return s;
                 })
TUTTI_MPI_TRANSFER(Get_accumulate,
                 (const void* d, count_t n, MPI_Datatype t, void* old, count_t o, MPI_Datatype v, int r, MPI_Aint at, count_t m, MPI_Datatype u, MPI_Op op, MPI_Win win),
                 (d, n, t, old, o, v, r, at, m, u, op, win), return accumulate(w, k, {d, n, t}, {old, o, v}, r, at, m, u, op);)
TUTTI_MPI_TRANSFER(Rget_accumulate,
                 (const void* d, count_t n, MPI_Datatype t, void* old, count_t o, MPI_Datatype v, int r, MPI_Aint at, count_t m, MPI_Datatype u, MPI_Op op, MPI_Win win,
                  MPI_Request* q),
                 (d, n, t, old, o, v, r, at, m, u, op, win, q), {
                   const int s = accumulate(w, k, {d, n, t}, {old, o, v}, r, at, m, u, op);
                   if (s == MPI_SUCCESS) *q = completed_send();
                   return s;
                 })
TUTTI_MPI_WINDOW(Fetch_and_op, (const void* d, void* old, MPI_Datatype t, int r, MPI_Aint at, MPI_Op op, MPI_Win win), (d, old, t, r, at, op, win), win,
                 return accumulate(w, k, {d, 1, t}, {old, 1, t}, r, at, 1, t, op);)
TUTTI_MPI_WINDOW(Compare_and_swap, (const void* d, const void* compared, void* old, MPI_Datatype t, int r, MPI_Aint at, MPI_Win win),
                 (d, compared, old, t, r, at, win), win, {
                   if (!is_comparable(t)) return raise(w, k.name(), MPI_ERR_TYPE, "neither an integer nor a logical nor a byte");
                   return accumulate(w, k, {d, 1, t}, {old, 1, t}, r, at, 1, t, MPI_REPLACE, compared);
                 })

// MPI's windows, by tutti's (Huang 2005, 3.3: one-sided where the fabric is). MPI makes a window of its own over the same memory, which
// keeps what is asked of windows (attributes, groups, names, handlers of errors); what moves data goes by tutti.
//
// A window has a second one of tutti's beside it, of words, a line of them for each use (`words`):
//
//   the lock of MPI_Win_lock     0, the number of shared holders, or `writer`
//   the lock of accumulates      0, or 1 + the rank of who holds it. An accumulate gets, computes and puts while it holds the target's,
//                                so that all of them are atomic to each other, whatever their types.
//   posted, by member            how often that member has posted an exposure to this rank (MPI_Win_post)
//   completed, by member         how often that member has completed an access here (MPI_Win_complete); its signal overtakes none of its
//                                puts
//
// The counts only grow, and a wait is for the count of its own turn: a fast member's next post or completion cannot be taken for another
// turn's, and a word is not reset, so that nothing can be lost by it.
//
// The memory of a shared window (MPI_Win_allocate_shared) is MPI's, mapped by all members, and put and get are copies; there is no window
// of tutti's over it, only the words.
//
// Dynamic windows, and those of communicators without a team, are MPI's alone.
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "api/tutti.h"
#include "mpi/communicator.h"
#include "mpi/datatype.h"
#include "mpi/request.h"
#include "mpi/world.h"

using namespace tutti::mpi;

namespace {

struct window {
  MPI_Win handle = MPI_WIN_NULL;
  tutti_team_t team = nullptr;
  tutti_window_t data = nullptr, words = nullptr;  // data: null of a shared window
  std::uint32_t rank = 0, size = 0;
  struct part {
    std::uint64_t unit, skew, bytes;  // of a displacement; from the part's begin to MPI's base; from there
    std::byte* mapped;                // here, of a shared window
  };
  std::vector<part> parts;
  std::vector<int> access, exposure;                               // members of the epochs that are open
  std::vector<std::uint64_t> posted, started, completed, awaited;  // by member: turns so far
  std::vector<int> locked;                                         // by member: MPI_LOCK_SHARED, MPI_LOCK_EXCLUSIVE, or 0

  enum class word : std::uint64_t { lock, accumulating, first_of_members };
  static std::uint64_t at(word w) noexcept { return 8 * static_cast<std::uint64_t>(w); }
  std::uint64_t post_of(std::uint32_t member) const noexcept { return at(word::first_of_members) + 8 * std::uint64_t{member}; }
  std::uint64_t completion_of(std::uint32_t member) const noexcept { return post_of(size + member); }
};

std::unordered_map<MPI_Win, std::unique_ptr<window>> all;

window* find(MPI_Win w) noexcept {
  if (all.empty()) return nullptr;
  const auto at = all.find(w);
  return at == all.end() ? nullptr : at->second.get();
}

int raise(const window& w, const char* call, int error_class, const char* text) {
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  real.Win_get_errhandler(w.handle, &handler);
  const int code = error_code(call, error_class, text, handler);
  real.Win_call_errhandler(w.handle, code);
  return code;
}
int raise(const window& w, const char* call, tutti_status_t s) {
  const held h;
  const std::string text = tutti_error_text(the_world().ctx);
  return raise(w, call, class_of(s), text.c_str());
}
int told(const window& w, const char* call, tutti_status_t s) { return s == TUTTI_OK ? MPI_SUCCESS : raise(w, call, s); }

tutti_status_t barrier(const window& w) {
  tutti_request_t entered{};
  {
    const held h;
    if (const auto s = tutti_ibarrier(w.team, &entered); s != TUTTI_OK) return s;
  }
  return wait(&entered);
}

tutti_status_t flush(const window& w, std::uint32_t rank) {
  if (!w.data) {  // puts were copies
    std::atomic_thread_fence(std::memory_order_seq_cst);
    return TUTTI_OK;
  }
  return patiently([&](double seconds) { return tutti_flush(w.data, rank, seconds); });
}

// --- begin and end of windows -----------------------------------------------------------------------------------------------------

enum class memory : std::uint8_t { programs, tuttis, shared };

// Collective over the communicator's members; the team is of the window's own. What fails in one fails in all, and the window is MPI's
// alone then. `made`: over memory of tutti's.
void follow(communicator& c, MPI_Win handle, memory whose, void* base, std::size_t bytes, int unit, tutti_team_t team, tutti_window_t made = nullptr) {
  auto w = std::make_unique<window>();
  w->handle = handle, w->team = team, w->data = made;
  w->rank = static_cast<std::uint32_t>(c.rank), w->size = static_cast<std::uint32_t>(c.size);
  const std::size_t n = w->size;
  const auto skew = whose == memory::programs ? static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(base) % 8) : 0;
  tutti_status_t s = TUTTI_OK;
  if (whose == memory::programs) s = tutti_window_over(team, bytes ? static_cast<std::byte*>(base) - skew : nullptr, bytes ? bytes + skew : 0, &w->data);
  if (s == TUTTI_OK) s = tutti_window_create(team, 8 * (2 + 2 * n), nullptr, &w->words);
  const window::part mine{static_cast<std::uint64_t>(unit), skew, bytes, nullptr};
  w->parts.resize(n);
  if (s == TUTTI_OK) s = tutti_allgather(team, &mine, sizeof mine, w->parts.data());
  if (s != TUTTI_OK) {
    std::fprintf(stderr, "tutti: %s; this window is MPI's alone\n", tutti_error_text(the_world().ctx));
    return;
  }
  for (std::size_t m = 0; whose == memory::shared && m < n; ++m) {
    MPI_Aint of_part = 0;
    int displacement = 1;
    real.Win_shared_query(handle, static_cast<int>(m), &of_part, &displacement, &w->parts[m].mapped);
  }
  for (auto* counts : {&w->posted, &w->started, &w->completed, &w->awaited}) counts->resize(n);
  w->locked.resize(n);
  all[handle] = std::move(w);
}

// A team of the window's own: it may outlive the communicator.
tutti_team_t team_for(communicator& c) {
  tutti_team_t team = nullptr;
  return the_world().takes(operation::windows, 1) && tutti_team_split(c.team, 0, c.rank, &team) == TUTTI_OK ? team : nullptr;
}

// After MPI has made it, of memory of the program's or its own.
int follow_mpis(int made, MPI_Comm comm, MPI_Win handle, memory whose, void* base, MPI_Aint bytes, int unit) {
  if (made != MPI_SUCCESS || !serves(comm)) return made;
  const held_by_all h(comm);
  communicator* const c = taken(comm);
  if (tutti_team_t team = team_for(*c)) follow(*c, handle, whose, base, static_cast<std::size_t>(bytes), unit, team);
  return made;
}

}  // namespace

extern "C" int MPI_Win_create(void* base, MPI_Aint bytes, int unit, MPI_Info info, MPI_Comm comm, MPI_Win* out) {
  int s;
  {
    const passing by_mpi;
    s = real.Win_create(base, bytes, unit, info, comm, out);
  }
  return follow_mpis(s, comm, *out, memory::programs, base, bytes, unit);
}
TUTTI_MPI_ALSO(Win_create)

// The memory is tutti's, so that ranks of a node reach it by loads and stores; to MPI it is memory of the program.
extern "C" int MPI_Win_allocate(MPI_Aint bytes, int unit, MPI_Info info, MPI_Comm comm, void* base, MPI_Win* out) {
  tutti_team_t team = nullptr;
  tutti_window_t made = nullptr;
  void* at = nullptr;
  if (bytes >= 0 && serves(comm)) {
    const held_by_all h(comm);
    team = team_for(*taken(comm));
    if (team && tutti_window_create(team, static_cast<std::size_t>(bytes), &at, &made) != TUTTI_OK) team = nullptr;
  }
  {
    const passing by_mpi;
    if (!team) return real.Win_allocate(bytes, unit, info, comm, base, out);
    // An MPI may know how to allocate a window, and not how to make one of the program's memory; then the window is its alone.
    MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
    real.Comm_get_errhandler(comm, &handler);
    real.Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    const int s = real.Win_create(at, bytes, unit, info, comm, out);
    real.Comm_set_errhandler(comm, handler);
    release(handler);
    if (s != MPI_SUCCESS) return real.Win_allocate(bytes, unit, info, comm, base, out);
  }
  const held_by_all h(comm);
  follow(*taken(comm), *out, memory::tuttis, at, static_cast<std::size_t>(bytes), unit, team, made);
  *static_cast<void**>(base) = at;
  return MPI_SUCCESS;
}
TUTTI_MPI_ALSO(Win_allocate)

extern "C" int MPI_Win_allocate_shared(MPI_Aint bytes, int unit, MPI_Info info, MPI_Comm comm, void* base, MPI_Win* out) {
  int s;
  {
    const passing by_mpi;
    s = real.Win_allocate_shared(bytes, unit, info, comm, base, out);
  }
  return follow_mpis(s, comm, *out, memory::shared, s == MPI_SUCCESS ? *static_cast<void**>(base) : nullptr, bytes, unit);
}
TUTTI_MPI_ALSO(Win_allocate_shared)

extern "C" int MPI_Win_free(MPI_Win* handle) {
  window* w;
  tutti_status_t s = TUTTI_OK;
  std::unique_ptr<window> gone;
  {
    const held h;
    w = handle ? find(*handle) : nullptr;
    if (w) gone = std::move(all.at(*handle)), all.erase(*handle);
  }
  if (gone && (s = flush(*gone, TUTTI_ALL)) == TUTTI_OK) s = barrier(*gone);
  int code;
  {
    const passing by_mpi;
    code = real.Win_free(handle);
  }
  if (!gone) return code;
  const held h;
  for (tutti_window_t* each : {&gone->words, &gone->data})
    if (const auto end = tutti_window_free(each); s == TUTTI_OK) s = end;
  if (const auto end = tutti_team_free(&gone->team); s == TUTTI_OK) s = end;
  return s == TUTTI_OK ? code : raise(MPI_COMM_WORLD, "MPI_Win_free", s);
}
TUTTI_MPI_ALSO(Win_free)

namespace {

// --- data -------------------------------------------------------------------------------------------------------------------------

// The end of the other side.
struct target {
  std::uint32_t rank;
  std::uint64_t offset;  // in the part
  std::size_t count;
  const type_ref* type;
};

// Nothing: `code` is the error, or success where there is nothing to do.
std::optional<target> target_of(const window& w, const char* call, int rank, MPI_Aint displacement, int count, MPI_Datatype type, int& code) {
  code = MPI_SUCCESS;
  if (rank == MPI_PROC_NULL) return std::nullopt;
  if (rank < 0 || static_cast<std::uint32_t>(rank) >= w.size) return code = raise(w, call, MPI_ERR_RANK, "no such rank"), std::nullopt;
  const type_ref& t = type_of(type);
  if (count < 0 || !t) return code = raise(w, call, count < 0 ? MPI_ERR_COUNT : MPI_ERR_TYPE, "wrong count or type of the target"), std::nullopt;
  if (!t->known) return code = raise(w, call, MPI_ERR_TYPE, "a darray cannot describe a target; use MPI_Type_create_subarray"), std::nullopt;
  if (count == 0 || t->size == 0) return std::nullopt;
  const window::part& p = w.parts[static_cast<std::size_t>(rank)];
  const std::ptrdiff_t begin = displacement * static_cast<std::ptrdiff_t>(p.unit), last = (count - 1) * t->extent;
  std::ptrdiff_t low = PTRDIFF_MAX, high = PTRDIFF_MIN;
  for (const piece& one : t->pieces) {
    low = std::min(low, one.offset + std::min<std::ptrdiff_t>(0, last));
    high = std::max(high, one.offset + static_cast<std::ptrdiff_t>(one.bytes) + std::max<std::ptrdiff_t>(0, last));
  }
  if (begin + low < 0 || begin + high > static_cast<std::ptrdiff_t>(p.bytes)) {
    char text[160];
    std::snprintf(text, sizeof text, "bytes %td to %td of rank %d's part, which has %llu", begin + low, begin + high, rank,
                  static_cast<unsigned long long>(p.bytes));
    return code = raise(w, call, MPI_ERR_RMA_RANGE, text), std::nullopt;
  }
  return target{static_cast<std::uint32_t>(rank), p.skew + static_cast<std::uint64_t>(begin), static_cast<std::size_t>(count), &t};
}

// Between elements of equal bytes, of which one side's type may not be known piece by piece.
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
int move(window& w, const char* call, Move function, Data* data, int count, MPI_Datatype type, int rank, MPI_Aint displacement, int target_count,
         MPI_Datatype target_type, MPI_Request* out) {
  const held h;
  int code;
  const auto to = target_of(w, call, rank, displacement, target_count, target_type, code);
  const type_ref& t = type_of(type);
  if (to && (count < 0 || !t || !t->known)) return raise(w, call, count < 0 ? MPI_ERR_COUNT : MPI_ERR_TYPE, "wrong count or type of the origin");
  if (to && static_cast<std::size_t>(count) * t->size != to->count * (*to->type)->size)
    return raise(w, call, MPI_ERR_TYPE, "origin and target differ in their bytes");
  if (code != MPI_SUCCESS) return code;
  tutti_request_t request{};
  if (to)
    if (const auto s = function(w, data, static_cast<std::size_t>(count), t, *to, out ? &request : nullptr); s != TUTTI_OK) return raise(w, call, s);
  if (out) *out = request_of(request, call);
  return MPI_SUCCESS;
}

// Changes an 8-byte word of tutti's and waits for what it was.
tutti_status_t swap_if(const window& w, std::uint32_t rank, window::word at, std::uint64_t expected, std::uint64_t value, std::uint64_t& old) {
  tutti_request_t request{};
  {
    const held h;
    if (const auto s = tutti_compare_swap(w.words, rank, window::at(at), expected, value, &old, &request); s != TUTTI_OK) return s;
  }
  return wait(&request);
}
tutti_status_t add_to(const window& w, std::uint32_t rank, window::word at, std::uint64_t value, std::uint64_t& old) {
  tutti_request_t request{};
  {
    const held h;
    if (const auto s = tutti_fetch_add(w.words, rank, window::at(at), value, &old, &request); s != TUTTI_OK) return s;
  }
  return wait(&request);
}
// Operations at this rank's own words are over at once and let nothing advance. Others' tries for a lock here must be served while the
// lock is free, and their releases while this rank tries: or a program that accumulates in a loop here would keep them out for ever.
void serve_others() {
  const held h;
  (void)tutti_progress(the_world().ctx);  // errors stay with what they befell
}
void wait_for_lock(unsigned turn) {
  serve_others();
  back_off(turn);
}
// Behind all that was begun towards that rank.
tutti_status_t take_from(const window& w, std::uint32_t rank, window::word at, std::uint64_t value) {
  const held h;
  return tutti_signal(w.words, rank, window::at(at), 0 - value, TUTTI_ADD | TUTTI_AFTER_ALL);
}

// `count` elements of a type made of `leaf`s, packed, become an array of leafs as MPI_Reduce_local() takes it.
class leaves {
 public:
  leaves(const std::byte* packed, std::size_t bytes, const datatype& leaf) : leaf_(leaf), count_(bytes / leaf.size) {
    memory_.resize(count_ * static_cast<std::size_t>(leaf.extent));
    leaf.unpack(packed, bytes, memory_.data(), count_);
  }
  std::byte* data() noexcept { return memory_.data(); }
  int count() const noexcept { return static_cast<int>(count_); }
  void pack(std::byte* to) const { leaf_.pack(memory_.data(), count_, to); }

 private:
  const datatype& leaf_;
  std::size_t count_;
  std::vector<std::byte> memory_;
};

struct origin {
  const void* data;
  int count;
  MPI_Datatype type;
};
struct result {
  void* data = nullptr;
  int count = 0;
  MPI_Datatype type = MPI_DATATYPE_NULL;
};

// Holds the target's lock of accumulates while it reads, computes and writes. `compared`: what the target must hold for that.
int accumulate(window& w, const char* call, const origin& in, const result& out, int rank, MPI_Aint displacement, int count, MPI_Datatype type,
               MPI_Op op, const void* compared = nullptr) {
  int code;
  std::optional<target> to;
  type_ref target_type, leaf;
  std::vector<std::byte> incoming, present;
  {
    const held h;
    to = target_of(w, call, rank, displacement, count, type, code);
    if (!to) return code;
    target_type = *to->type;
    to->type = &target_type;
    leaf = type_of(target_type->leaf);
    const std::size_t bytes = to->count * target_type->size;
    present.resize(bytes);
    if (op != MPI_NO_OP) {
      const type_ref& t = type_of(in.type);
      if (!t || in.count < 0 || static_cast<std::size_t>(in.count) * t->size != bytes || !leaf)
        return raise(w, call, MPI_ERR_TYPE, "origin and target differ in their bytes");
      incoming.resize(bytes);
      t->pack(in.data, static_cast<std::size_t>(in.count), incoming.data());
    }
  }
  const std::uint64_t me = 1 + std::uint64_t{w.rank};
  tutti_status_t s;
  std::uint64_t holder = 0;
  for (unsigned turn = 0; (s = swap_if(w, to->rank, window::word::accumulating, 0, me, holder)) == TUTTI_OK && holder != 0; ++turn) wait_for_lock(turn);
  if (s != TUTTI_OK) return raise(w, call, s);

  const type_ref bytes_type = type_of(MPI_BYTE);
  tutti_request_t request{};
  {
    const held h;
    s = get(w, present.data(), present.size(), bytes_type, *to, &request);
  }
  if (s == TUTTI_OK) s = wait(&request);
  if (s == TUTTI_OK && out.data) {
    const held h;
    type_of(out.type)->unpack(present.data(), present.size(), out.data, static_cast<std::size_t>(out.count));
  }
  const bool writes = op != MPI_NO_OP && (!compared || std::memcmp(present.data(), compared, present.size()) == 0);
  if (s == TUTTI_OK && writes) {
    if (op == MPI_REPLACE) {
      present.swap(incoming);
    } else {
      leaves ours(incoming.data(), incoming.size(), *leaf), theirs(present.data(), present.size(), *leaf);
      code = real.Reduce_local(ours.data(), theirs.data(), ours.count(), leaf->handle, op);
      theirs.pack(present.data());
    }
    if (code == MPI_SUCCESS) {
      {
        const held h;
        s = put(w, present.data(), present.size(), bytes_type, *to, nullptr);
      }
      if (s == TUTTI_OK) s = flush(w, to->rank);
    }
  }
  const auto end = take_from(w, to->rank, window::word::accumulating, me);
  if (to->rank == w.rank) serve_others();
  if (s == TUTTI_OK) s = end;
  return s == TUTTI_OK ? code : raise(w, call, s);
}

// --- epochs -----------------------------------------------------------------------------------------------------------------------

constexpr std::uint64_t writer = std::uint64_t{1} << 32;

tutti_status_t lock(window& w, int kind, std::uint32_t rank) {
  tutti_status_t s;
  std::uint64_t old = 0;
  for (unsigned turn = 0;; ++turn) {
    if (kind == MPI_LOCK_EXCLUSIVE) {
      if ((s = swap_if(w, rank, window::word::lock, 0, writer, old)) != TUTTI_OK || old == 0) break;
    } else {
      if ((s = add_to(w, rank, window::word::lock, 1, old)) != TUTTI_OK || old < writer) break;
      if ((s = take_from(w, rank, window::word::lock, 1)) != TUTTI_OK) break;
    }
    wait_for_lock(turn);
  }
  if (s == TUTTI_OK) w.locked[rank] = kind;
  return s;
}

tutti_status_t unlock(window& w, std::uint32_t rank) {
  const int kind = std::exchange(w.locked[rank], 0);
  if (const auto s = flush(w, rank); s != TUTTI_OK) return s;
  return take_from(w, rank, window::word::lock, kind == MPI_LOCK_EXCLUSIVE ? writer : 1);
}

// The group's members, as ranks of the window.
std::vector<int> members_of(const window& w, MPI_Group group) {
  MPI_Group of_window;
  real.Win_get_group(w.handle, &of_window);
  std::vector<int> ours = ranks_in(of_window, group);
  real.Group_free(&of_window);
  return ours;
}

tutti_status_t await(const window& w, std::uint64_t offset, std::uint64_t count, std::uint32_t from) {
  return patiently([&](double seconds) { return tutti_wait_signal(w.words, offset, TUTTI_REACHED, count, from, seconds); });
}

}  // namespace

// A function on a window: `ours` where tutti has it, else MPI's own, which may block.
#define TUTTI_MPI_WINDOW(name, parameters, arguments, handle, ours) \
  extern "C" int MPI_##name parameters {                            \
    constexpr const char* call = "MPI_" #name;                      \
    (void)call;                                                     \
    window* of;                                                     \
    {                                                               \
      const held h;                                                 \
      of = find(handle);                                            \
    }                                                               \
    if (!of) {                                                      \
      const passing by_mpi;                                         \
      return real.name arguments;                                   \
    }                                                               \
    window& w = *of;                                                \
    ours                                                            \
  }                                                                 \
  TUTTI_MPI_ALSO(name)

TUTTI_MPI_WINDOW(Put, (const void* d, int n, MPI_Datatype t, int r, MPI_Aint at, int m, MPI_Datatype u, MPI_Win win), (d, n, t, r, at, m, u, win), win,
                 return move(w, call, put, d, n, t, r, at, m, u, nullptr);)
TUTTI_MPI_WINDOW(Get, (void* d, int n, MPI_Datatype t, int r, MPI_Aint at, int m, MPI_Datatype u, MPI_Win win), (d, n, t, r, at, m, u, win), win,
                 return move(w, call, get, d, n, t, r, at, m, u, nullptr);)
TUTTI_MPI_WINDOW(Rput, (const void* d, int n, MPI_Datatype t, int r, MPI_Aint at, int m, MPI_Datatype u, MPI_Win win, MPI_Request* q),
                 (d, n, t, r, at, m, u, win, q), win, return move(w, call, put, d, n, t, r, at, m, u, q);)
TUTTI_MPI_WINDOW(Rget, (void* d, int n, MPI_Datatype t, int r, MPI_Aint at, int m, MPI_Datatype u, MPI_Win win, MPI_Request* q),
                 (d, n, t, r, at, m, u, win, q), win, return move(w, call, get, d, n, t, r, at, m, u, q);)

TUTTI_MPI_WINDOW(Accumulate, (const void* d, int n, MPI_Datatype t, int r, MPI_Aint at, int m, MPI_Datatype u, MPI_Op op, MPI_Win win),
                 (d, n, t, r, at, m, u, op, win), win, return accumulate(w, call, {d, n, t}, {}, r, at, m, u, op);)
TUTTI_MPI_WINDOW(Raccumulate,
                 (const void* d, int n, MPI_Datatype t, int r, MPI_Aint at, int m, MPI_Datatype u, MPI_Op op, MPI_Win win, MPI_Request* q),
                 (d, n, t, r, at, m, u, op, win, q), win, {
                   const int s = accumulate(w, call, {d, n, t}, {}, r, at, m, u, op);
                   if (s == MPI_SUCCESS) *q = request_of({}, call);
                   return s;
                 })
TUTTI_MPI_WINDOW(Get_accumulate,
                 (const void* d, int n, MPI_Datatype t, void* old, int k, MPI_Datatype v, int r, MPI_Aint at, int m, MPI_Datatype u, MPI_Op op, MPI_Win win),
                 (d, n, t, old, k, v, r, at, m, u, op, win), win, return accumulate(w, call, {d, n, t}, {old, k, v}, r, at, m, u, op);)
TUTTI_MPI_WINDOW(Rget_accumulate,
                 (const void* d, int n, MPI_Datatype t, void* old, int k, MPI_Datatype v, int r, MPI_Aint at, int m, MPI_Datatype u, MPI_Op op, MPI_Win win,
                  MPI_Request* q),
                 (d, n, t, old, k, v, r, at, m, u, op, win, q), win, {
                   const int s = accumulate(w, call, {d, n, t}, {old, k, v}, r, at, m, u, op);
                   if (s == MPI_SUCCESS) *q = request_of({}, call);
                   return s;
                 })
TUTTI_MPI_WINDOW(Fetch_and_op, (const void* d, void* old, MPI_Datatype t, int r, MPI_Aint at, MPI_Op op, MPI_Win win), (d, old, t, r, at, op, win), win,
                 return accumulate(w, call, {d, 1, t}, {old, 1, t}, r, at, 1, t, op);)
TUTTI_MPI_WINDOW(Compare_and_swap, (const void* d, const void* compared, void* old, MPI_Datatype t, int r, MPI_Aint at, MPI_Win win),
                 (d, compared, old, t, r, at, win), win, return accumulate(w, call, {d, 1, t}, {old, 1, t}, r, at, 1, t, MPI_REPLACE, compared);)

TUTTI_MPI_WINDOW(Win_fence, (int assertion, MPI_Win win), (assertion, win), win, {
  tutti_status_t s = TUTTI_OK;
  if (!(assertion & MPI_MODE_NOPRECEDE)) s = flush(w, TUTTI_ALL);
  if (s == TUTTI_OK) s = barrier(w);
  return told(w, call, s);
})

TUTTI_MPI_WINDOW(Win_post, (MPI_Group group, int assertion, MPI_Win win), (group, assertion, win), win, {
  w.exposure = members_of(w, group);
  tutti_status_t s = TUTTI_OK;
  const held h;
  for (const int m : w.exposure) {
    const auto to = static_cast<std::uint32_t>(m);
    if (s == TUTTI_OK) s = tutti_signal(w.words, to, w.post_of(w.rank), ++w.posted[to], TUTTI_SET | TUTTI_AFTER_ALL);
  }
  return told(w, call, s);
})
TUTTI_MPI_WINDOW(Win_start, (MPI_Group group, int assertion, MPI_Win win), (group, assertion, win), win, {
  w.access = members_of(w, group);
  tutti_status_t s = TUTTI_OK;
  for (const int m : w.access) {
    const auto from = static_cast<std::uint32_t>(m);
    if (s == TUTTI_OK) s = await(w, w.post_of(from), ++w.started[from], from);
  }
  return told(w, call, s);
})
TUTTI_MPI_WINDOW(Win_complete, (MPI_Win win), (win), win, {
  tutti_status_t s = TUTTI_OK;
  for (const int m : std::exchange(w.access, {})) {
    const auto to = static_cast<std::uint32_t>(m);
    if (s == TUTTI_OK) s = flush(w, to);  // the program's buffers are its own again
    const held h;
    if (s == TUTTI_OK) s = tutti_signal(w.words, to, w.completion_of(w.rank), ++w.completed[to], TUTTI_SET | TUTTI_AFTER_ALL);
  }
  return told(w, call, s);
})
TUTTI_MPI_WINDOW(Win_wait, (MPI_Win win), (win), win, {
  tutti_status_t s = TUTTI_OK;
  for (const int m : std::exchange(w.exposure, {})) {
    const auto from = static_cast<std::uint32_t>(m);
    if (s == TUTTI_OK) s = await(w, w.completion_of(from), ++w.awaited[from], from);
  }
  return told(w, call, s);
})
TUTTI_MPI_WINDOW(Win_test, (MPI_Win win, int* done), (win, done), win, {
  tutti_status_t s = TUTTI_OK;
  *done = 1;
  const held h;
  for (const int m : w.exposure) {
    const auto from = static_cast<std::uint32_t>(m);
    if (s == TUTTI_OK && *done) s = tutti_test_signal(w.words, w.completion_of(from), TUTTI_REACHED, w.awaited[from] + 1, done);
  }
  if (s == TUTTI_OK && *done)
    for (const int m : std::exchange(w.exposure, {})) ++w.awaited[static_cast<std::size_t>(m)];
  return told(w, call, s);
})

TUTTI_MPI_WINDOW(Win_lock, (int kind, int rank, int assertion, MPI_Win win), (kind, rank, assertion, win), win, {
  if (rank == MPI_PROC_NULL) return MPI_SUCCESS;
  if (rank < 0 || static_cast<std::uint32_t>(rank) >= w.size) return raise(w, call, MPI_ERR_RANK, "no such rank");
  if (w.locked[static_cast<std::size_t>(rank)]) return raise(w, call, MPI_ERR_RMA_SYNC, "this rank has locked it already");
  return told(w, call, lock(w, kind, static_cast<std::uint32_t>(rank)));
})
TUTTI_MPI_WINDOW(Win_unlock, (int rank, MPI_Win win), (rank, win), win, {
  if (rank == MPI_PROC_NULL) return MPI_SUCCESS;
  if (rank < 0 || static_cast<std::uint32_t>(rank) >= w.size) return raise(w, call, MPI_ERR_RANK, "no such rank");
  if (!w.locked[static_cast<std::size_t>(rank)]) return raise(w, call, MPI_ERR_RMA_SYNC, "this rank has not locked it");
  return told(w, call, unlock(w, static_cast<std::uint32_t>(rank)));
})
TUTTI_MPI_WINDOW(Win_lock_all, (int assertion, MPI_Win win), (assertion, win), win, {
  tutti_status_t s = TUTTI_OK;
  for (std::uint32_t m = 0; m < w.size && s == TUTTI_OK; ++m) s = lock(w, MPI_LOCK_SHARED, m);
  return told(w, call, s);
})
TUTTI_MPI_WINDOW(Win_unlock_all, (MPI_Win win), (win), win, {
  tutti_status_t s = TUTTI_OK;
  for (std::uint32_t m = 0; m < w.size && s == TUTTI_OK; ++m)
    if (w.locked[m]) s = unlock(w, m);
  return told(w, call, s);
})
TUTTI_MPI_WINDOW(Win_flush, (int rank, MPI_Win win), (rank, win), win,
                 return rank == MPI_PROC_NULL ? MPI_SUCCESS : told(w, call, flush(w, static_cast<std::uint32_t>(rank)));)
TUTTI_MPI_WINDOW(Win_flush_local, (int rank, MPI_Win win), (rank, win), win,
                 return rank == MPI_PROC_NULL ? MPI_SUCCESS : told(w, call, flush(w, static_cast<std::uint32_t>(rank)));)
TUTTI_MPI_WINDOW(Win_flush_all, (MPI_Win win), (win), win, return told(w, call, flush(w, TUTTI_ALL));)
TUTTI_MPI_WINDOW(Win_flush_local_all, (MPI_Win win), (win), win, return told(w, call, flush(w, TUTTI_ALL));)
TUTTI_MPI_WINDOW(Win_sync, (MPI_Win win), (win), win, {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  const held h;
  return told(w, call, tutti_progress(the_world().ctx));
})

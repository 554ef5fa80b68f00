// How MPI's windows are made and freed, and what their functions stand on (window.h).
#include <atomic>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "mpi/communicator.h"
#include "mpi/report.h"
#include "mpi/request.h"
#include "mpi/window.h"
#include "mpi/world.h"

namespace tutti::mpi {

namespace {

std::unordered_map<MPI_Win, std::shared_ptr<window>> windows;

// A window with its place among them, taken before members do anything together: to adopt it needs no memory then. Null: none.
struct new_window {
  decltype(windows)::node_type place;
  explicit operator bool() const noexcept { return !place.empty(); }
  window& operator*() const noexcept { return *place.mapped(); }
  window* operator->() const noexcept { return place.mapped().get(); }
};
new_window place_for_window() {
  constexpr std::size_t by_other_threads = 64;  // meanwhile
  decltype(windows) one;
  one.emplace(MPI_WIN_NULL, std::make_shared<window>());
  windows.reserve(windows.size() + by_other_threads);
  return {one.extract(one.begin())};
}

}  // namespace

window* find(MPI_Win w) noexcept {
  if (windows.empty()) return nullptr;
  const auto at = windows.find(w);
  return at == windows.end() ? nullptr : at->second.get();
}

int raise(const window& w, const char* call, tutti_status_t s) {
  const newest_text text;
  return raise(w, call, class_of(s), text.line);
}

tutti_status_t barrier(const window& w) {
  tutti_request_t entered{};
  {
    const held h;
    if (const auto s = tutti_ibarrier(w.own->team, &entered); s != TUTTI_OK) return s;
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
void serve_others() {
  const held h;
  (void)tutti_progress(the_world().ctx);  // errors stay with what they befell
}
void wait_for_lock(unsigned turn) {
  serve_others();
  back_off(turn);
}
tutti_status_t take_from(const window& w, std::uint32_t rank, window::word at, std::uint64_t value) {
  const held h;
  return tutti_signal(w.words, rank, window::at(at), 0 - value, TUTTI_ADD | TUTTI_AFTER_ALL);
}

tutti_status_t take_turn(const window& w, std::uint32_t rank, window::word queue, std::uint32_t& turn) {
  std::uint64_t old = 0;
  auto s = add_to(w, rank, queue, std::uint64_t{1} << 32, old);
  turn = static_cast<std::uint32_t>(old >> 32);
  auto served = static_cast<std::uint32_t>(old);
  for (unsigned looks = 0; s == TUTTI_OK && served != turn; ++looks) {
    wait_for_lock(looks);
    s = add_to(w, rank, queue, 0, old);
    if (const auto now = static_cast<std::uint32_t>(old); now != served) served = now, looks = 0;  // the queue moves: look often
  }
  return s;
}
// The turn that is served counts in the lower half. The end of turn 2^32 - 1 takes the carry out of the upper half again.
tutti_status_t end_turn(const window& w, std::uint32_t rank, window::word queue, std::uint32_t turn) {
  const std::uint64_t carry = turn == UINT32_MAX ? std::uint64_t{1} << 32 : 0;
  return take_from(w, rank, queue, carry - 1);
}

}  // namespace tutti::mpi

using namespace tutti::mpi;

// --- begin and end -----------------------------------------------------------------------------------------------------------------

namespace {

enum class memory : std::uint8_t { programs, tuttis, shared };

// Collective over the window's members, all of which hold the right. Its team is for the next one.
tutti_status_t unmake(window& w) {
  tutti_status_t s = TUTTI_OK;
  for (tutti_window_t* each : {&w.words, &w.data})
    if (const auto end = tutti_window_free(each); s == TUTTI_OK) s = end;
  if (s != TUTTI_OK) w.own->fate = communicator::fate::lost;
  leave_idle(std::move(w.own));
  return s;
}

// The same, over the communicator's: tutti's side of a window, in all members or (null) in none, for then the window is MPI's alone. Each of
// tutti's windows is made in all members or fails in all. Who is out of memory, or has few files left, brings that into what all agree on.
// `base` becomes the memory's if it is tutti's.
new_window make_window(call& k, const communicator& c, memory whose, void*& base, std::size_t bytes, MPI_Aint unit) {
  k.passed(reason::setting);
  if (!the_world().takes(operation::windows, 1)) return {};
  k.passed(reason::shortage);
  new_window w;
  std::vector<std::uint32_t> members;
  const bool able = has_memory_for([&] {
    w = place_for_window();
    const auto n = static_cast<std::size_t>(c.size);
    w->parts.resize(n), w->locked.resize(n), w->started_to.resize(n);
    for (auto* counts : {&w->posted, &w->started, &w->completed, &w->awaited}) counts->resize(n);
    members = tutti::mpi::members_of(c.handle);
  });
  auto own = make_together(c.handle, std::move(members), able);
  if (!own) return {};
  w->own = std::move(own);
  w->allocated = whose == memory::tuttis;
  w->rank = static_cast<std::uint32_t>(c.rank), w->size = static_cast<std::uint32_t>(c.size);
  const auto skew = whose == memory::programs ? static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(base) % 8) : 0;
  const window::part mine{static_cast<std::uint64_t>(unit), skew, bytes, nullptr};
  tutti_team_t team = w->own->team;
  tutti_status_t s = TUTTI_OK;
  if (whose == memory::programs) s = tutti_window_over(team, bytes ? static_cast<std::byte*>(base) - skew : nullptr, bytes ? bytes + skew : 0, &w->data);
  if (whose == memory::tuttis) s = tutti_window_create(team, bytes, &base, &w->data);
  if (s == TUTTI_OK) s = tutti_window_create(team, window::bytes_for(w->size), nullptr, &w->words);
  const making all = made_in_all(c.handle, s);
  if (all == making::whole && gather_from_all(&mine, sizeof mine, w->parts.data(), c.handle)) return w;
  // Where one has failed, the team has in some and not in others, who would wait in vain to free what they have of it: MPI_Finalize does.
  if (all != making::failed) (void)unmake(*w);
  else w->own->fate = communicator::fate::lost, leave_idle(std::move(w->own));
  return {};
}

void adopt(call& k, new_window w, MPI_Win handle, memory whose) noexcept {
  k.passed(reason::none);
  w->handle = handle;
  for (std::uint32_t m = 0; whose == memory::shared && m < w->size; ++m) {
    MPI_Aint of_part = 0;
    int displacement = 1;
    real.Win_shared_query(handle, static_cast<int>(m), &of_part, &displacement, &w->parts[m].mapped);
  }
  windows.erase(handle);  // of a thread that frees, and has yet to come so far
  w.place.key() = handle;
  windows.insert(std::move(w.place));
}

// After MPI has made it, of memory of the program's or its own.
int follow(call& k, int made, MPI_Comm comm, MPI_Win handle, memory whose, void* base, MPI_Aint bytes, MPI_Aint unit) {
  const communicator* const c = made == MPI_SUCCESS ? served(comm) : nullptr;
  k.passed(made == MPI_SUCCESS ? reason::communicator : reason::arguments);
  if (!c) return made;
  const held_by_all h(*c);
  if (auto w = make_window(k, *c, whose, base, static_cast<std::size_t>(bytes), unit)) adopt(k, std::move(w), handle, whose);
  return made;
}

template <class Unit, class Create>
int create(call&& k, void* base, MPI_Aint bytes, Unit unit, MPI_Info info, MPI_Comm comm, MPI_Win* out, Create* by_mpi_function) {
  int s;
  {
    const passing by_mpi;
    s = by_mpi_function(base, bytes, unit, info, comm, out);
  }
  return follow(k, s, comm, *out, memory::programs, base, bytes, unit);
}

// MPI's window over memory of tutti's. An MPI may know how to allocate a window, and not how to make one of the program's memory; then, as
// where it fails in one member alone, the window is MPI's alone.
template <class Unit, class Create>
bool create_over(void* at, MPI_Aint bytes, Unit unit, MPI_Info info, MPI_Comm comm, MPI_Win* out, Create* by_mpi_function) {
  bool made;
  {
    const passing by_mpi;
    MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
    real.Comm_get_errhandler(comm, &handler);
    real.Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    made = by_mpi_function(at, bytes, unit, info, comm, out) == MPI_SUCCESS;
    real.Comm_set_errhandler(comm, handler);
    release(handler);
  }
  return all_are(made, comm);
}

// The memory is tutti's, so that ranks of a node reach it by loads and stores; to MPI it is memory of the program.
template <class Unit, class Allocate, class Create>
int allocate(call&& k, MPI_Aint bytes, Unit unit, MPI_Info info, MPI_Comm comm, void* base, MPI_Win* out, Allocate* allocate_by_mpi, Create* create_by_mpi) {
  new_window w;
  void* at = nullptr;
  k.passed(bytes >= 0 ? reason::communicator : reason::arguments);
  if (const communicator* const c = bytes >= 0 ? served(comm) : nullptr) {
    const held_by_all h(*c);
    w = make_window(k, *c, memory::tuttis, at, static_cast<std::size_t>(bytes), unit);
  }
  if (w && create_over(at, bytes, unit, info, comm, out, create_by_mpi)) {
    const held h;
    adopt(k, std::move(w), *out, memory::tuttis);
    *static_cast<void**>(base) = at;
    return MPI_SUCCESS;
  }
  if (w) {
    const held_by_all h(*w->own);
    (void)unmake(*w);
  }
  const passing by_mpi;
  return allocate_by_mpi(bytes, unit, info, comm, base, out);
}

template <class Unit, class Allocate>
int allocate_shared(call&& k, MPI_Aint bytes, Unit unit, MPI_Info info, MPI_Comm comm, void* base, MPI_Win* out, Allocate* by_mpi_function) {
  int s;
  {
    const passing by_mpi;
    s = by_mpi_function(bytes, unit, info, comm, base, out);
  }
  return follow(k, s, comm, *out, memory::shared, s == MPI_SUCCESS ? *static_cast<void**>(base) : nullptr, bytes, unit);
}

}  // namespace

#define TUTTI_MPI_WINDOWS(c)                                                                                  \
  TUTTI_MPI_ENTRY(Win_create##c, (void* base, MPI_Aint bytes, distance_t unit, MPI_Info info, MPI_Comm comm, MPI_Win* out), comm, {        \
    return create(call(function::Win_create), base, bytes, unit, info, comm, out, real.Win_create##c);                                                                   \
  })                                                                                                                                   \
  TUTTI_MPI_ENTRY(Win_allocate##c, (MPI_Aint bytes, distance_t unit, MPI_Info info, MPI_Comm comm, void* base, MPI_Win* out), comm, {      \
    return allocate(call(function::Win_allocate), bytes, unit, info, comm, base, out, real.Win_allocate##c, real.Win_create##c);                                                 \
  })                                                                                                                                   \
  TUTTI_MPI_ENTRY(Win_allocate_shared##c, (MPI_Aint bytes, distance_t unit, MPI_Info info, MPI_Comm comm, void* base, MPI_Win* out), comm, {         \
    return allocate_shared(call(function::Win_allocate_shared), bytes, unit, info, comm, base, out, real.Win_allocate_shared##c);                                                           \
  })
TUTTI_MPI_SMALL(TUTTI_MPI_WINDOWS())
TUTTI_MPI_LARGE(TUTTI_MPI_WINDOWS(_c))

TUTTI_MPI_ENTRY(Win_get_attr, (MPI_Win handle, int key, void* value, int* found), handler_of_window{handle}, {
  if (key == MPI_WIN_CREATE_FLAVOR && value && found) {
    static int flavor = MPI_WIN_FLAVOR_ALLOCATE;
    const held h;
    if (const window* const w = find(handle); w && w->allocated) return *static_cast<int**>(value) = &flavor, *found = 1, MPI_SUCCESS;
  }
  return real.Win_get_attr(handle, key, value, found);
})

// MPI's window goes first: callbacks that it calls may still use this one.
TUTTI_MPI_ENTRY(Win_free, (MPI_Win* handle), (handler_of_window{handle ? *handle : MPI_WIN_NULL}), {
  call k(function::Win_free);
  const MPI_Win freed = handle ? *handle : MPI_WIN_NULL;
  std::shared_ptr<window> w;
  {
    const held h;
    if (find(freed)) w = windows.at(freed);
  }
  if (!w) k.passed(reason::window);
  if (const char* const why = w ? w->open_epoch() : nullptr) return raise(*w, k.name(), MPI_ERR_RMA_SYNC, why);
  tutti_status_t s = TUTTI_OK;
  if (w && (s = flush(*w, TUTTI_ALL)) == TUTTI_OK) s = barrier(*w);
  int code;
  {
    const passing by_mpi;
    code = real.Win_free(handle);
  }
  if (!w || code != MPI_SUCCESS) return code;
  const held_by_all h(*w->own);
  if (const auto at = windows.find(freed); at != windows.end() && at->second == w) windows.erase(at);  // or a thread has got the handle again
  if (s != TUTTI_OK) w->own->fate = communicator::fate::lost;
  if (const auto end = unmake(*w); s == TUTTI_OK) s = end;
  return s == TUTTI_OK ? code : raise(MPI_COMM_WORLD, k.name(), s);
})

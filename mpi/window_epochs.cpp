// How the members of MPI's windows synchronise (window.h): fence, post-start-complete-wait, lock and flush.
#include <algorithm>
#include <atomic>
#include <utility>
#include <vector>

#include "mpi/communicator.h"
#include "mpi/request.h"
#include "mpi/window.h"
#include "mpi/world.h"

using namespace tutti::mpi;

namespace {

// The lock's word counts the shared holders in its lower half. Above stand `writer`, while an exclusive lock is held, and `waiting`,
// while an exclusive locker waits for the shared holders to go.
//
// An exclusive locker turns 0 into `writer`. Where that fails, it waits for its turn in the lock's queue, then sets `waiting`, and turns exactly `waiting` into `writer`: so the lock is free of shared holders then, and of a locker that came without
// the queue. A shared locker adds 1, and has the lock if neither bit was set; if one was, it takes its 1 back, and tries again only after
// it has read a word without them. So once `waiting` is set no further shared locker gets in, each adds its 1 at most once, and the count
// falls to 0 when the holders have gone: readers that poll do not keep a writer out. The turn ends when the lock is given back, so only
// one locker at a time sets `waiting`, and readers may get in before the next one learns of its turn.
// Cost of a lock that is free: one atomic, of either kind.
constexpr std::uint64_t writer = std::uint64_t{1} << 32, waiting = writer << 1;

tutti_status_t lock_exclusively(window& w, std::uint32_t rank) {
  std::uint64_t old = 0;
  if (const auto s = swap_if(w, rank, window::word::lock, 0, writer, old); s != TUTTI_OK || old == 0) {
    if (s == TUTTI_OK) w.locked[rank].how = window::hold::exclusive;
    return s;
  }
  std::uint32_t turn = 0;
  auto s = take_turn(w, rank, window::word::queue, turn);
  if (s == TUTTI_OK) s = add_to(w, rank, window::word::lock, waiting, old);
  for (unsigned looks = 0; s == TUTTI_OK; ++looks) {
    s = swap_if(w, rank, window::word::lock, waiting, writer, old);
    if (s == TUTTI_OK && old == waiting) return w.locked[rank] = {window::hold::queued, turn}, TUTTI_OK;
    wait_for_lock(looks);
  }
  return s;
}

tutti_status_t lock_shared(window& w, std::uint32_t rank) {
  for (unsigned turn = 0;;) {
    std::uint64_t old = 0;
    if (const auto s = add_to(w, rank, window::word::lock, 1, old); s != TUTTI_OK) return s;
    if (old < writer) return w.locked[rank].how = window::hold::shared, TUTTI_OK;
    if (const auto s = take_from(w, rank, window::word::lock, 1); s != TUTTI_OK) return s;
    do {
      wait_for_lock(turn++);
      if (const auto s = add_to(w, rank, window::word::lock, 0, old); s != TUTTI_OK) return s;
    } while (old >= writer);
  }
}

tutti_status_t lock(window& w, bool exclusive, int assertion, std::uint32_t rank) {
  w.fenced = window::fence::none;  // what might have begun with the fence has not
  if (assertion & MPI_MODE_NOCHECK) return w.locked[rank].how = window::hold::unchecked, TUTTI_OK;  // nobody holds it otherwise, says the program
  return exclusive ? lock_exclusively(w, rank) : lock_shared(w, rank);
}

tutti_status_t unlock(window& w, std::uint32_t rank) {
  const auto [held_as, turn] = std::exchange(w.locked[rank], {});
  auto s = flush(w, rank);
  if (s == TUTTI_OK && held_as != window::hold::unchecked)
    s = take_from(w, rank, window::word::lock, held_as == window::hold::shared ? 1 : writer);
  if (s == TUTTI_OK && held_as == window::hold::queued) s = end_turn(w, rank, window::word::queue, turn);
  return s;
}

bool is_member(const window& w, int rank) noexcept { return rank >= 0 && static_cast<std::uint32_t>(rank) < w.size; }

int out_of_epoch(const window& w, const call& k, const char* why) { return raise(w, k.name(), MPI_ERR_RMA_SYNC, why); }

// Null, or why this rank may not lock that one while its own part is exposed.
const char* exposed_to_own(const window& w, int locks) noexcept {
  return w.exposed && locks == static_cast<int>(w.rank) ? "its own part is exposed by MPI_Win_post" : nullptr;
}
// Null, or why no epoch of access may be opened; `locks`: the member that it is to lock.
const char* beside_another(const window& w, int locks = -1) noexcept {
  if (const char* const why = w.busy()) return why;
  return w.fenced == window::fence::used ? "an epoch of MPI_Win_fence is open, and has moved data" : exposed_to_own(w, locks);
}

bool all_are_members(const std::vector<int>& ranks) noexcept {
  return std::ranges::find(ranks, MPI_UNDEFINED) == ranks.end();
}

int flush_of(const window& w, const call& k, int rank) {
  if (rank == MPI_PROC_NULL) return MPI_SUCCESS;
  if (!is_member(w, rank)) return raise(w, k.name(), MPI_ERR_RANK, "no such rank");
  if (w.locked[static_cast<std::size_t>(rank)].how == window::hold::none) return out_of_epoch(w, k, "this rank has not locked it");
  return told(w, k, flush(w, static_cast<std::uint32_t>(rank)));
}

int flush_of_all(const window& w, const call& k) {
  if (!w.locked_all && w.locks == 0) return out_of_epoch(w, k, "this rank holds no lock");
  return told(w, k, flush(w, TUTTI_ALL));
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

TUTTI_MPI_WINDOW(Win_fence, (int assertion, MPI_Win win), (assertion, win), win, {
  if (const char* const why = w.open_epoch()) return out_of_epoch(w, k, why);
  w.fenced = assertion & MPI_MODE_NOSUCCEED ? window::fence::none : window::fence::open;
  tutti_status_t s = TUTTI_OK;
  if (!(assertion & MPI_MODE_NOPRECEDE)) s = flush(w, TUTTI_ALL);
  if (s == TUTTI_OK) s = barrier(w);
  return told(w, k, s);
})

TUTTI_MPI_WINDOW(Win_post, (MPI_Group group, int assertion, MPI_Win win), (group, assertion, win), win, {
  if (w.exposed) return out_of_epoch(w, k, window::posted_already);
  std::vector<int> to_these = members_of(w, group);
  if (!all_are_members(to_these)) return raise(w, k.name(), MPI_ERR_GROUP, "a rank of the group is none of the window's");
  w.exposure = std::move(to_these);
  w.exposed = true;
  tutti_status_t s = TUTTI_OK;
  const held h;
  for (const int m : w.exposure) {
    const auto to = static_cast<std::uint32_t>(m);
    if (s == TUTTI_OK) s = tutti_signal(w.words, to, w.post_of(w.rank), ++w.posted[to], TUTTI_SET | TUTTI_AFTER_ALL);
  }
  return told(w, k, s);
})
TUTTI_MPI_WINDOW(Win_start, (MPI_Group group, int assertion, MPI_Win win), (group, assertion, win), win, {
  if (const char* const why = beside_another(w)) return out_of_epoch(w, k, why);
  std::vector<int> to_these = members_of(w, group);
  if (!all_are_members(to_these)) return raise(w, k.name(), MPI_ERR_GROUP, "a rank of the group is none of the window's");
  w.access = std::move(to_these);
  w.accessing = true;
  w.fenced = window::fence::none;
  for (const int m : w.access) w.started_to[static_cast<std::size_t>(m)] = true;
  tutti_status_t s = TUTTI_OK;
  for (const int m : w.access) {
    const auto from = static_cast<std::uint32_t>(m);
    if (s == TUTTI_OK) s = await(w, w.post_of(from), ++w.started[from], from);
  }
  return told(w, k, s);
})
TUTTI_MPI_WINDOW(Win_complete, (MPI_Win win), (win), win, {
  if (!std::exchange(w.accessing, false)) return out_of_epoch(w, k, "no epoch of MPI_Win_start is open");
  tutti_status_t s = TUTTI_OK;
  for (const int m : std::exchange(w.access, {})) {
    const auto to = static_cast<std::uint32_t>(m);
    w.started_to[to] = false;
    if (s == TUTTI_OK) s = flush(w, to);  // the program's buffers are its own again
    const held h;
    if (s == TUTTI_OK) s = tutti_signal(w.words, to, w.completion_of(w.rank), ++w.completed[to], TUTTI_SET | TUTTI_AFTER_ALL);
  }
  return told(w, k, s);
})
TUTTI_MPI_WINDOW(Win_wait, (MPI_Win win), (win), win, {
  if (!std::exchange(w.exposed, false)) return out_of_epoch(w, k, "no epoch of MPI_Win_post is open");
  tutti_status_t s = TUTTI_OK;
  for (const int m : std::exchange(w.exposure, {})) {
    const auto from = static_cast<std::uint32_t>(m);
    if (s == TUTTI_OK) s = await(w, w.completion_of(from), ++w.awaited[from], from);
  }
  return told(w, k, s);
})
TUTTI_MPI_WINDOW(Win_test, (MPI_Win win, int* done), (win, done), win, {
  if (!w.exposed) return out_of_epoch(w, k, "no epoch of MPI_Win_post is open");
  tutti_status_t s = TUTTI_OK;
  *done = 1;
  const held h;
  for (const int m : w.exposure) {
    const auto from = static_cast<std::uint32_t>(m);
    if (s == TUTTI_OK && *done) s = tutti_test_signal(w.words, w.completion_of(from), TUTTI_REACHED, w.awaited[from] + 1, done);
  }
  if (s == TUTTI_OK && *done) {
    for (const int m : std::exchange(w.exposure, {})) ++w.awaited[static_cast<std::size_t>(m)];
    w.exposed = false;
  }
  return told(w, k, s);
})

TUTTI_MPI_WINDOW(Win_lock, (int kind, int rank, int assertion, MPI_Win win), (kind, rank, assertion, win), win, {
  if (kind != MPI_LOCK_EXCLUSIVE && kind != MPI_LOCK_SHARED) return raise(w, k.name(), MPI_ERR_LOCKTYPE, "neither MPI_LOCK_EXCLUSIVE nor _SHARED");
  if (rank == MPI_PROC_NULL) return MPI_SUCCESS;
  if (!is_member(w, rank)) return raise(w, k.name(), MPI_ERR_RANK, "no such rank");
  if (w.locked[static_cast<std::size_t>(rank)].how != window::hold::none) return out_of_epoch(w, k, "this rank has locked it already");
  if (const char* const why = w.locks > 0 ? exposed_to_own(w, rank) : beside_another(w, rank)) return out_of_epoch(w, k, why);
  const auto s = lock(w, kind == MPI_LOCK_EXCLUSIVE, assertion, static_cast<std::uint32_t>(rank));
  if (s == TUTTI_OK) ++w.locks;
  return told(w, k, s);
})
TUTTI_MPI_WINDOW(Win_unlock, (int rank, MPI_Win win), (rank, win), win, {
  if (rank == MPI_PROC_NULL) return MPI_SUCCESS;
  if (!is_member(w, rank)) return raise(w, k.name(), MPI_ERR_RANK, "no such rank");
  if (w.locked_all) return out_of_epoch(w, k, "this rank has locked all; MPI_Win_unlock_all unlocks them");
  if (w.locked[static_cast<std::size_t>(rank)].how == window::hold::none) return out_of_epoch(w, k, "this rank has not locked it");
  --w.locks;
  return told(w, k, unlock(w, static_cast<std::uint32_t>(rank)));
})
TUTTI_MPI_WINDOW(Win_lock_all, (int assertion, MPI_Win win), (assertion, win), win, {
  if (const char* const why = beside_another(w, static_cast<int>(w.rank))) return out_of_epoch(w, k, why);
  tutti_status_t s = TUTTI_OK;
  for (std::uint32_t m = 0; m < w.size && s == TUTTI_OK; ++m) s = lock(w, false, assertion, m);
  w.locked_all = true;
  return told(w, k, s);
})
TUTTI_MPI_WINDOW(Win_unlock_all, (MPI_Win win), (win), win, {
  if (!std::exchange(w.locked_all, false)) return out_of_epoch(w, k, "this rank has not locked all");
  tutti_status_t s = TUTTI_OK;
  for (std::uint32_t m = 0; m < w.size && s == TUTTI_OK; ++m)
    if (w.locked[m].how != window::hold::none) s = unlock(w, m);
  return told(w, k, s);
})
TUTTI_MPI_WINDOW(Win_flush, (int rank, MPI_Win win), (rank, win), win, return flush_of(w, k, rank);)
TUTTI_MPI_WINDOW(Win_flush_local, (int rank, MPI_Win win), (rank, win), win, return flush_of(w, k, rank);)
TUTTI_MPI_WINDOW(Win_flush_all, (MPI_Win win), (win), win, return flush_of_all(w, k);)
TUTTI_MPI_WINDOW(Win_flush_local_all, (MPI_Win win), (win), win, return flush_of_all(w, k);)
TUTTI_MPI_WINDOW(Win_sync, (MPI_Win win), (win), win, {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  const held h;
  return told(w, k, tutti_progress(the_world().ctx));
})

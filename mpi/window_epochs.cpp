// How the members of MPI's windows synchronise (window.h): fence, post-start-complete-wait, lock and flush.
#include <atomic>
#include <utility>
#include <vector>

#include "mpi/communicator.h"
#include "mpi/request.h"
#include "mpi/window.h"
#include "mpi/world.h"

using namespace tutti::mpi;

namespace {

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

// Memory that the ranks of one test and the process that watches them share: an anonymous mapping made before the fork,
// so that it works for processes, threads and fibers alike and leaves neither file nor descriptor behind. It carries
// what a bootstrap carries (an allgather, here without blocking), how each rank ended, and what each one waits for.
//
// Why two buffers a rank suffice for the allgather: who contributes to round k has finished round k-1, so everyone had
// entered k-1, so everyone had read all of k-2, whose buffer is overwritten now.
#pragma once
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/base/blob_table.h"
#include "core/base/status.h"

namespace tutti::test {

// died: of a simulated rank, by its world's hand; a process that dies is seen by who watches.
enum class rank_state : std::uint32_t { running, passed, failed, skipped, died };

class meeting {
 public:
  static constexpr std::size_t max_blob = std::size_t{1} << 16;

  explicit meeting(std::uint32_t ranks);
  ~meeting();
  meeting(const meeting&) = delete;
  meeting& operator=(const meeting&) = delete;
  std::uint32_t size() const noexcept { return ranks_; }
  const std::string& name() const noexcept { return name_; }  // unlike any other meeting's on this host

  // --- allgather: contribute once, ask until complete, collect once --------------------------------------------
  bool contribute(rank_t, std::span<const std::byte>) noexcept;  // false: longer than max_blob
  // A rank that was excused and is gone counts as there. `absent`: a rank that is gone without excuse, else no_rank.
  bool complete(rank_t mine, rank_t& absent) const noexcept;
  shared_blobs collect(rank_t mine);                             // an excused rank that is gone: an empty blob
  std::uint32_t bell() const noexcept;                           // changes when anything here does
  void nap(std::uint32_t seen, std::chrono::nanoseconds at_most) const noexcept;  // until the bell differs from seen

  // --- how a rank fares ----------------------------------------------------------------------------------------
  void excuse(rank_t) noexcept;  // the others may go on without this rank once it is gone
  void gone(rank_t) noexcept;    // said by who watches: its process has ended
  bool is_gone(rank_t) const noexcept;
  void finish(rank_t, rank_state, std::string_view text) noexcept;
  rank_state state(rank_t) const noexcept;
  const char* text(rank_t) const noexcept;
  char* waiting(rank_t) noexcept;  // what it waits for, waiting_bytes long; empty: nothing
  static constexpr std::size_t waiting_bytes = 512;

 private:
  struct slot;
  slot& at(rank_t) const noexcept;
  void ring() const noexcept;

  std::string name_;
  std::uint32_t ranks_;
  std::size_t bytes_;
  std::byte* base_;
};

// While it lives, the watchdog says that this rank waits for `what`.
class waiting_for {
 public:
  waiting_for(meeting&, rank_t, std::string_view what) noexcept;
  ~waiting_for();
  waiting_for(const waiting_for&) = delete;
  waiting_for& operator=(const waiting_for&) = delete;

 private:
  char* at_;
  char before_[meeting::waiting_bytes];
};

}  // namespace tutti::test

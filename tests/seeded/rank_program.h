// One rank of a trial: its life (workload.cpp), and its operations (operations.cpp).
#pragma once
#include <array>
#include <atomic>
#include <string>
#include <vector>

#include "tests/seeded/workload.h"

namespace tutti::test {

inline constexpr std::size_t window_bytes = 4096, block_bytes = block_words * 8;
inline constexpr std::uint64_t signals_at = 3072, counter_at = 3200, added_at = 3264, swap_at = 3328;
constexpr std::uint64_t signal_of(rank_t origin) { return signals_at + 8 * origin; }
constexpr std::uint64_t block_of(rank_t origin) { return block_bytes * origin; }
constexpr std::uint64_t stamp(rank_t origin, std::uint32_t version) { return std::uint64_t{origin + 1} << 48 | version; }
inline constexpr auto slack = std::chrono::milliseconds{500};
// Clause 10. A connection that is only being made when its peer's host falls silent is given up after three attempts.
inline nanoseconds within() { return world->silent_hosts.empty() ? std::chrono::seconds{1} : std::chrono::seconds{8}; }
inline constexpr unsigned slots = 8;

// Where all is in one address space: any rank's word, as it is now.
inline std::uint64_t word_at(const std::byte* base, std::uint64_t offset) {
  return std::atomic_ref{*reinterpret_cast<std::uint64_t*>(const_cast<std::byte*>(base) + offset)}.load(std::memory_order_acquire);
}

inline std::string name_of(rank_t r) { return "rank " + std::to_string(r); }

class rank_program {
 public:
  rank_program(trial& t, rank_t me) : t_(t), me_(me), draw_(world->random.draw()) {}
  void run();

 private:
  struct slot {
    completion done;
    bool busy = false;
    op_kind kind{};
    rank_t to = 0;
    std::uint32_t first = 0, count = 0;
    std::array<std::uint32_t, block_words> lower{};
    slice pieces[4];
  };
  using pair = trial::pair;
  pair& towards(rank_t to) { return t_.of[me_][to]; }
  std::byte* buffer(unsigned s) { return local_.data() + s * block_bytes; }

  bool together(const std::array<std::vector<std::byte>, most_ranks>& board, shared_blobs& out);
  bool meet();
  void operate();
  void put(rank_t to);
  void get(rank_t to);
  void atomic(rank_t to);
  void flush(rank_t to);
  void drop_local(rank_t to);
  void use_spare(rank_t to);
  void change_spare();
  void look_at_signals();
  void send_messages(rank_t to);
  void take_messages();
  bool submit(const rma_op&);
  bool wait(completion&, rank_t towards, const char* what);
  void pause_within_wait(unsigned turn, bool idle_is_end, const completion&);
  void finish_slot(slot&);
  void finish_all(rank_t towards);
  slot* free_slot();
  void ask(rank_t);
  void see_the_ends();
  void say(const std::string& s) {
    if (world->tracing) world->note(name_of(me_) + " " + s);
  }
  void doing(const char* what, rank_t towards) noexcept { t_.doing[me_] = {what, towards}; }
  void wrong(const std::string& s) {
    world->complain(name_of(me_) + ": " + s);
    world->idle(std::chrono::hours{1});
  }

  trial& t_;
  const rank_t me_;
  dice draw_;
  std::unique_ptr<transport> net_;
  std::vector<std::byte> local_ = std::vector<std::byte>(slots * block_bytes);
  region_id window_{}, mine_{};
  std::span<std::byte> memory_;
  segment_id segment_{};
  std::array<slot, slots> slots_;
  region_id spare_{};                               // a window that comes and goes
  bool has_spare_ = false;
  std::span<std::byte> spare_memory_;
  std::vector<std::byte> own_window_;
  std::vector<std::byte> own_spare_;                // or of memory that stays mine when it goes
  std::array<bool, most_ranks> ended_{};            // what health() has told
  std::array<bool, most_ranks> lost_{};             // what an operation has told
  std::array<std::array<bool, block_words>, most_ranks> dirty_{};
  std::array<std::uint64_t, most_ranks> seen_{};    // signals
  std::array<std::uint64_t, most_ranks> taken_{};   // two-sided messages
  std::array<std::uint32_t, most_ranks> version_{};
};

}  // namespace tutti::test

// A number at a root that only grows, and those who wait for it to. The root stores it in its own memory before it
// multicasts what it stands for. A member that has waited too long reads it there by a get, and with it whatever else the
// root has published: nothing is asked of the root, which may be anywhere in its program. What is published, what it means
// and why a late answer is harmless is its user's to say (core/engine/reliable_multicast.h, collectives/bcast/reliable_broadcast.h).
//
// Gets land in memory that nothing else writes, and what they brought is looked at once all of them have ended. Until then
// no other begins: a root that serves gets late is asked once by each member. The memory must outlive them, so whoever
// destroys this waits.
#pragma once
#include <cstdint>
#include <optional>

#include "core/engine/arrival_timer.h"
#include "core/job/team.h"

namespace tutti {

// Where the number stands: a segment of which every member has exposed memory of the same layout.
struct published_lines : control_lines {
  static constexpr std::uint32_t number = 0, landing = 1;  // landing: used by members that read
  static constexpr std::uint64_t bytes = 2 * control::line_bytes;
};

class published_number {
 public:
  published_number(team&, const published_lines&, std::uint64_t first);
  ~published_number();

  // Root. What was written before is there for whoever reads the number.
  void publish(std::uint64_t number) noexcept { lines_.word(published_lines::number).store(number, std::memory_order_release); }

  // The others. Nothing came at this look: true if patience is lost, and nothing being read. `wait` tells one wait from
  // another.
  bool impatient(std::uint64_t wait) noexcept;
  // What `wait` was for came by itself. For so long it was others' losses that were waited for.
  void came(std::uint64_t wait, std::chrono::nanoseconds others = {}) noexcept;
  // What was taken for lost came after all.
  void was_premature() noexcept { timer_.was_premature(team_.parent_job().net().now()); }
  bool doubted() const noexcept { return doubted_; }  // patience was lost in this wait

  // False: the fabric is full.
  bool ask(std::uint32_t root) noexcept;  // reads the number
  bool read(std::uint32_t root, std::uint64_t from, std::uint64_t to, std::uint32_t bytes) noexcept;  // offsets there and here
  bool reading() const noexcept { return reading_; }
  // Once for all that was asked, when it has ended: how.
  std::optional<status> answer() noexcept;
  std::uint64_t known() const noexcept { return known_; }  // the newest that was read

 private:
  team& team_;
  published_lines lines_;
  std::uint64_t known_;
  std::optional<std::uint64_t> wait_;
  arrival_timer timer_;
  bool reading_ = false, asked_ = false, doubted_ = false;
  completion gets_;
};

}  // namespace tutti

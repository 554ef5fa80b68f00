// How the processes make sure that they agree on registrations and on the tag size, which all of them change alike.
//
// Registrations. Every process tells every other one its calls of bsp_push_reg and bsp_pop_reg in the superstep, in their
// order, as a record among its puts: at a push the bytes that it has of the area, at a pop the number of the area. Each
// compares them call by call with its own. So all know how much everyone has of the new areas; a process that pops NULL
// learns from the others which area is meant (registrar.h); and who did not keep the rule is told with the first call that
// differs. Puts that come before the record are of areas on which all agreed in an earlier superstep, so they are right in
// any case.
//
// The tag size. The first chunk of what a process puts and sends carries the size that it has set. Who changes it has such a
// chunk for the next process at least, and who has none for that one has changed nothing. So each compares with the one before
// it, and where no two neighbours differ, no two processes do.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "bsp/outbox.h"
#include "bsp/registrar.h"

namespace tutti::bsp {

class agreement {
 public:
  agreement(const context& c, registrar& areas) : c_(c), areas_(areas), calls_(c.size) {}

  std::uint64_t set_tag(std::uint64_t bytes) noexcept { return std::exchange(next_tag_, bytes); }  // the one before
  std::uint64_t sent_tag() const noexcept { return sent_tag_; }          // bytes: of what is sent in this superstep
  std::uint64_t received_tag() const noexcept { return received_tag_; }  // of what came in the last sync
  std::uint64_t next_tag() const noexcept { return next_tag_; }

  // Whether the first chunk of what `from` has for `to` tells something, though there is nothing else in it.
  bool announces(std::uint32_t from, std::uint32_t to) const noexcept {
    return areas_.changed() || (next_tag_ != sent_tag_ && to == (from + 1) % c_.size);
  }
  // My calls, to all.
  status tell(std::vector<outbox>&);

  // What others tell. Errors: invalid, they did otherwise; the text says who did what.
  status check_first(std::uint32_t pid, const chunk_head&);  // of a process's data
  status check_silent(std::uint32_t pid);                    // a process has no data
  status on_changes(std::uint32_t from, const changes_head&, const std::byte* calls);
  // When everybody's calls are known: they take effect.
  status settle();
  // Before the last superstep, behind which nothing takes effect: what differs there is no error.
  void drop() noexcept { areas_.drop_pending(), next_tag_ = sent_tag_; }
  void end_superstep() noexcept { received_tag_ = sent_tag_, sent_tag_ = next_tag_; }

 private:
  status tags_differ(std::uint32_t pid, std::uint64_t theirs);
  status differ(std::uint32_t pid, std::uint32_t call, std::optional<std::uint64_t> told);

  const context& c_;
  registrar& areas_;
  std::vector<std::uint32_t> calls_;  // of bsp_push_reg and bsp_pop_reg, by process, in this superstep
  std::uint64_t sent_tag_ = 0, received_tag_ = 0, next_tag_ = 0;
};

}  // namespace tutti::bsp

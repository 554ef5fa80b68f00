// A window: memory of each member of a team that the others may read and write by (index, offset). Made and closed
// collectively; its bounds are known for every member, so that a range is checked without asking anyone.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/job/team.h"

namespace tutti {

class window {
 public:
  // What this member exposes: new memory (base null), its own, or nothing (bytes 0).
  struct part {
    std::byte* base = nullptr;
    std::size_t bytes = 0;
  };

  // Collective over the team; each member brings its own part. All members get the window or none does: a member that fails
  // tells the others, whose errors name it (`peer()`). Where the members of a node together ask for more new memory than the
  // node has, the call fails before any is taken (no_resource, alike in all). Blocks.
  static result<std::unique_ptr<window>> open(team&, part mine);

  // Collective over the team: returns when no operation upon the window is in flight anywhere, so that the window may be
  // destroyed. After an error, too, the window may be destroyed without another call.
  status close(time_point deadline = time_point::max()) { return team_.settle(deadline); }
  window(const window&) = delete;
  window& operator=(const window&) = delete;

  team& group() const noexcept { return team_; }
  segment_id segment() const noexcept { return memory_.segment(); }
  region_id region() const noexcept { return memory_.region(); }  // mine, if I expose any
  std::byte* base() const noexcept { return memory_.base(); }
  std::uint64_t size_of(std::uint32_t index) const noexcept { return sizes_.empty() ? common_size_ : sizes_[index]; }
  bool holds(std::uint32_t index, std::uint64_t offset, std::uint64_t bytes) const noexcept {
    if (index >= team_.size()) return false;
    const std::uint64_t size = size_of(index);
    return offset <= size && bytes <= size - offset;
  }

 private:
  explicit window(team& t) noexcept : team_(t), memory_(t.parent_job().net()) {}
  status take(const blob_table& blobs);

  team& team_;
  exposed_memory memory_;
  std::uint64_t common_size_ = 0;     // if all members expose the same
  std::vector<std::uint64_t> sizes_;  // else, by index
};

}  // namespace tutti

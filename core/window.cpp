#include "core/window.h"

#include <algorithm>
#include <cstring>
#include <string>

namespace tutti {
namespace {

// What a member tells the others, followed by its key.
struct part_head {
  std::uint64_t bytes = 0;
  std::uint64_t failed = 0;
};

status failed_there(const team& t, std::uint32_t index) {
  const std::string rank = std::to_string(t.rank_of(index));
  return {errc::no_resource, "making a window: rank " + rank + " could not expose or reach the memory; its own error "
          "says why", t.rank_of(index)};
}

}  // namespace

result<std::unique_ptr<window>> window::open(team& t, part mine) {
  // A member that failed takes part in both exchanges all the same: the others would wait for it.
  std::unique_ptr<window> w(new window(t));
  std::vector<std::byte> key;
  status trouble = w->expose(mine, key);
  const part_head head{trouble.ok() ? mine.bytes : 0, !trouble.ok()};
  std::vector<std::byte> blob(sizeof head + key.size());
  std::memcpy(blob.data(), &head, sizeof head);
  std::copy(key.begin(), key.end(), blob.begin() + sizeof head);
  auto blobs = t.exchange(blob);
  if (!blobs) return blobs.error().during("making a window");
  status elsewhere;
  if (trouble.ok()) {
    elsewhere = w->take(**blobs);
    if (!w->attached_ && elsewhere.peer() == no_rank) trouble = elsewhere;
  }
  const std::byte verdict{!trouble.ok()};
  auto verdicts = t.exchange({&verdict, 1});
  if (!trouble.ok()) return trouble.during("making a window");
  if (!elsewhere.ok()) return elsewhere;
  if (!verdicts) return verdicts.error().during("making a window");
  for (std::uint32_t i = 0; i < t.size(); ++i)
    if ((**verdicts)[i][0] != std::byte{0}) return failed_there(t, i);
  return w;
}

status window::expose(part mine, std::vector<std::byte>& key) {
  if (mine.bytes == 0) return {};
  transport& net = team_.parent_job().net();
  std::span<std::byte> memory(mine.base, mine.bytes);
  auto region = mine.base ? net.add(memory) : net.allocate(mine.bytes, memory);
  if (!region) return region.error();
  region_ = *region, base_ = memory.data(), exposed_ = true;
  auto k = net.key(region_);
  if (!k) return k.error();
  key = std::move(*k);
  return {};
}

// An error that names a rank is that rank's failure; one that names none is ours, to attach.
status window::take(const blob_table& blobs) {
  auto keys = std::make_shared<blob_table>();
  bool alike = true;
  for (std::uint32_t i = 0; i < team_.size(); ++i) {
    part_head head;
    std::memcpy(&head, blobs[i].data(), sizeof head);
    if (head.failed) return failed_there(team_, i);
    if (i == 0) common_size_ = head.bytes;
    alike = alike && head.bytes == common_size_;
    sizes_.push_back(head.bytes);
    keys->push_back(blobs[i].subspan(sizeof head));
  }
  if (alike) std::vector<std::uint64_t>{}.swap(sizes_);
  auto segment = team_.parent_job().net().attach(team_.members(), std::move(keys));
  if (!segment) return status(segment.error().code(), segment.error().text(), no_rank, segment.error().native());
  segment_ = *segment, attached_ = true;
  return {};
}

window::~window() {
  transport& net = team_.parent_job().net();
  if (attached_) net.drop(segment_);
  if (exposed_) net.drop(region_);
}

}  // namespace tutti

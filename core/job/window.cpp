#include "core/job/window.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "core/base/memory_room.h"

namespace tutti {
namespace {

// What a member tells the others, followed by its key.
struct part_head {
  std::uint64_t bytes = 0;
  std::uint64_t failed = 0;
  std::uint64_t asked = 0;  // of them new memory
  std::uint64_t room = 0;   // that this rank found
  std::uint64_t later = 0;  // 1: the memory is not there yet
};

part_head head_of(std::span<const std::byte> blob) noexcept {
  part_head head;
  std::memcpy(&head, blob.data(), sizeof head);
  return head;
}

std::vector<std::byte> pack(const part_head& head, std::span<const std::byte> key) {
  std::vector<std::byte> blob(sizeof head + key.size());
  std::memcpy(blob.data(), &head, sizeof head);
  std::copy(key.begin(), key.end(), blob.begin() + sizeof head);
  return blob;
}

// What head_of() may be asked of.
result<shared_blobs> exchange_parts(team& t, const part_head& head, std::span<const std::byte> key) {
  auto blobs = t.exchange(pack(head, key));
  for (std::uint32_t i = 0; blobs && i < t.size(); ++i)
    if ((**blobs)[i].size() < sizeof head) return t.called_another(i);
  return blobs;
}

bool anyone_is_later(const blob_table& blobs) noexcept {
  for (std::size_t i = 0; i < blobs.size(); ++i)
    if (head_of(blobs[i]).later) return true;
  return false;
}

// The same answer in all members.
status fits(const team& t, const layout& where, const blob_table& blobs) {
  std::vector<memory_request> requests;
  std::vector<rank_t> ranks;
  for (std::uint32_t i = 0; i < t.size(); ++i) {
    const part_head head = head_of(blobs[i]);
    ranks.push_back(t.rank_of(i));
    requests.push_back({where.node_of[ranks.back()], head.asked, head.room});
  }
  return fits_together(requests, ranks);
}

status failed_there(const team& t, std::uint32_t index) {
  const std::string rank = std::to_string(t.rank_of(index));
  return {errc::no_resource, worded("rank ", rank, " could not expose or reach the window's memory; its own error says why"), t.rank_of(index)};
}

}  // namespace

// Each rank of a node alone may find room for its part, and all together bring the kernel to kill one of them, or a
// bystander: also later, when the memory is first touched. So a part that is not small for its node is only announced in the first
// exchange, with what room its rank found. Every member sees the same announcements, and so decides alike, before any such
// part is taken, whether all fit, and whether there is a further exchange, for the keys of the late parts. Small parts, of
// which a whole node's take a quarter of the room at most, cost no exchange.
result<std::unique_ptr<window>> window::open(team& t, part mine) {
  // A member that failed takes part in all exchanges all the same: the others would wait for it.
  std::unique_ptr<window> w(new window(t));
  job& j = t.parent_job();
  std::vector<std::byte> key;
  status trouble;
  part_head head{.bytes = mine.bytes, .asked = mine.base || j.net().caps().virtual_clock ? 0 : mine.bytes};
  if (head.asked) head.room = memory_room_for(head.asked);
  head.later = head.asked > head.room / 4 / j.where().population[j.where().node_of[j.rank()]];
  const auto make = [&] {
    if (mine.bytes > 0) {
      auto exposed = w->memory_.expose(mine.base, mine.bytes);
      if (exposed) key = std::move(*exposed);
      else trouble = exposed.error();
    }
    head.failed = trouble.failed(), head.later = 0;
    if (head.failed) head.bytes = 0;
  };
  if (!head.later) make();
  auto blobs = exchange_parts(t, head, key);
  if (!blobs) return blobs.error();
  if (anyone_is_later(**blobs)) {
    if (status s = fits(t, j.where(), **blobs); s.failed()) return s;
    if (head.later) make();
    blobs = exchange_parts(t, head, key);
    if (!blobs) return blobs.error();
  }
  status elsewhere;
  if (trouble.ok()) {
    elsewhere = w->take(**blobs);
    if (!w->memory_.attached() && elsewhere.peer() == no_rank) trouble = elsewhere;
  }
  auto verdicts = t.exchange_values(std::byte{trouble.failed()});
  if (trouble.failed()) return trouble;
  if (elsewhere.failed()) return elsewhere;
  if (!verdicts) return verdicts.error();
  for (std::uint32_t i = 0; i < t.size(); ++i)
    if ((*verdicts)[i] != std::byte{0}) return failed_there(t, i);
  return w;
}

// An error that names a rank is that rank's failure; one that names none is ours, to attach.
status window::take(const blob_table& blobs) {
  auto keys = std::make_shared<blob_table>();
  bool alike = true;
  for (std::uint32_t i = 0; i < team_.size(); ++i) {
    const part_head head = head_of(blobs[i]);
    if (head.failed) return failed_there(team_, i);
    if (i == 0) common_size_ = head.bytes;
    alike = alike && head.bytes == common_size_;
    sizes_.push_back(head.bytes);
    keys->push_back(blobs[i].subspan(sizeof head));
  }
  if (alike) std::vector<std::uint64_t>{}.swap(sizes_);
  const status s = memory_.attach(team_.members(), std::move(keys));
  return s.ok() ? s : status(s.code(), s.text(), no_rank, s.native());
}

}  // namespace tutti

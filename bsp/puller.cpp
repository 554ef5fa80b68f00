#include "bsp/puller.h"

#include <algorithm>

#include "core/transport/ops.h"
#include "core/transport/wait_out.h"

namespace tutti::bsp {

puller::~puller() { wait_out(job_.net(), {&done_}); }

void puller::plan() {
  planned_ = true;
  offered_ = 0;
  // Whether any two meet. Most programs put in order, so this is mostly one pass.
  ranges_.clear();
  for (const pull& p : pulls_) ranges_.emplace_back(p.into, p.into + p.bytes);
  if (!std::is_sorted(ranges_.begin(), ranges_.end())) std::sort(ranges_.begin(), ranges_.end());
  one_by_one_ = false;
  for (std::size_t i = 1; i < ranges_.size(); ++i) one_by_one_ = one_by_one_ || ranges_[i].first < ranges_[i - 1].second;
  // Of one process together, in its order: the parts of a put follow each other.
  std::stable_sort(pulls_.begin(), pulls_.end(), [](const pull& a, const pull& b) { return a.turn < b.turn; });
  merge();
}

// One read for each stretch of a sender's memory, with a slice for each put in it.
void puller::merge() {
  const capabilities& caps = job_.net().caps();
  const std::uint64_t most = caps.max_bytes ? std::min(caps.max_bytes, most_bytes) : most_bytes;
  const std::size_t most_slices = scatters_ ? std::min<std::size_t>(caps.max_slices, 255) : 1;
  ops_.clear(), slices_.clear();
  slices_.reserve(pulls_.size());  // operations point into it
  for (std::size_t i = 0; i < pulls_.size();) {
    const pull& first = pulls_[i];
    std::uint64_t sum = first.bytes;
    std::size_t n = 1;
    for (; i + n < pulls_.size() && n < most_slices && first.bytes <= most; ++n) {
      const pull& p = pulls_[i + n];
      const bool follows = p.rank == first.rank && p.segment == first.segment && p.at == first.at + sum;
      if (!follows || sum + p.bytes > most) break;
      sum += p.bytes;
    }
    if (n > 1) {
      rma_op op = move_op(op_kind::get_scatter, unregistered_memory, 0, first.rank, first.segment, first.at,
                          static_cast<std::uint32_t>(sum), &done_);
      op.slices = static_cast<std::uint8_t>(n);
      op.scatter = slices_.data() + slices_.size();
      for (std::size_t k = i; k < i + n; ++k)
        slices_.push_back({pulls_[k].local, static_cast<std::uint32_t>(pulls_[k].bytes), pulls_[k].local_offset});
      ops_.push_back(op);
    } else {
      for (std::uint64_t done = 0; done < first.bytes; done += most)
        ops_.push_back(move_op(op_kind::get, first.local, first.local_offset + done, first.rank, first.segment,
                               first.at + done, static_cast<std::uint32_t>(std::min(most, first.bytes - done)), &done_));
    }
    i += n;
  }
  operations_ += ops_.size();
}

bool puller::advance(bool& moved) {
  if (pulls_.empty()) return true;
  if (!planned_) plan();
  while (offered_ < ops_.size() && !(one_by_one_ && !done_.idle())) {
    const std::span rest = std::span(ops_).subspan(offered_, one_by_one_ ? 1 : ops_.size() - offered_);
    const std::size_t taken = job_.net().submit(rest);
    offered_ += taken;
    moved = moved || taken > 0;
    if (taken < rest.size()) return false;
  }
  if (offered_ < ops_.size() || !done_.idle()) return false;
  pulls_.clear();
  planned_ = false;
  moved = true;
  return true;
}

}  // namespace tutti::bsp

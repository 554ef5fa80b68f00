#include "messaging/layout_transfer.h"

#include <algorithm>
#include <cstring>

#include "core/base/copy.h"
#include "core/transport/ops.h"

namespace tutti::messaging {
namespace {

using run = joint_walk::run;

constexpr double copied_bytes_per_ns = 8;  // by a core, of data that are in no cache
constexpr double block_ns = 5;             // to take up a block and copy its first bytes

// Runs in the order of the target's addresses, as far as a window of them shows it, and joined. Blocks that are in order already
// cost a comparison each.
class ordered_runs {
 public:
  ordered_runs(const block_layout& here, const block_layout& there) noexcept : walk_(here, there) {}
  bool next(run& out) noexcept {
    if (next_ == count_ && !fill()) return false;
    out = runs_[next_++];
    return true;
  }

 private:
  static bool adjoin(const run& a, const run& b) noexcept {
    const auto n = static_cast<std::ptrdiff_t>(a.bytes);
    return a.here + n == b.here && a.there + n == b.there;
  }
  bool fill() noexcept {
    next_ = count_ = 0;
    bool ordered = true;
    for (run r; count_ < most && walk_.next(r); runs_[count_++] = r) ordered = ordered && (count_ == 0 || runs_[count_ - 1].there <= r.there);
    if (ordered) return count_ > 0;
    std::sort(runs_, runs_ + count_, [](const run& a, const run& b) { return a.there < b.there; });
    std::size_t kept = 0;
    for (std::size_t i = 1; i < count_; ++i) {
      if (adjoin(runs_[kept], runs_[i])) runs_[kept].bytes += runs_[i].bytes;
      else runs_[++kept] = runs_[i];
    }
    count_ = kept + 1;
    return true;
  }

  static constexpr std::size_t most = 64;
  joint_walk walk_;
  run runs_[most];
  std::size_t next_ = 0, count_ = 0;
};

// Gathers runs that follow each other at the target, into one operation where that pays, and submits what is gathered.
class sender {
 public:
  sender(job& j, packing_memory& s, const layout_transfer& t) noexcept
      : job_(j), net_(j.net()), packing_(s), t_(t), put_(t.kind == op_kind::put) {
    const layout& where = j.where();
    const bool near = where.node_of[t.rank] == where.node_of[j.rank()];
    if (put_) short_ = short_block(near ? j.facts().node : j.facts().network);
    else slices_ = std::min(net_.caps().max_slices, 255u);
  }

  void add(const run& r) noexcept {
    if (group_ > 0 && joins(r) && room_for(r)) {
      if (group_ == 1) stage(first_);
      stage(r);
      ++group_, bytes_ += r.bytes;
      return;
    }
    close();
    first_ = r, group_ = 1, bytes_ = r.bytes;
  }
  // The last. Where there were none, an operation of no bytes, at a place that is inside the region.
  status finish() noexcept {
    if (group_ == 0 && !posted_) group_ = 1, first_ = {t_.here->low(), t_.there->low(), 0};
    close();
    post();
    return failed_;
  }

 private:
  bool joins(const run& r) const noexcept {
    if (r.there != first_.there + static_cast<std::ptrdiff_t>(bytes_) || bytes_ + r.bytes > t_.most_bytes) return false;
    return put_ ? first_.bytes <= short_ && r.bytes <= short_ : group_ < slices_;
  }
  // What of a run is kept in a slot: its bytes, or the slice that says where they go.
  std::size_t size_of(const run& r) const noexcept { return put_ ? r.bytes : sizeof(slice); }
  void stage(const run& r) noexcept {
    const std::byte* const at = at_distance(t_.base, r.here);
    if (put_) {
      copy_bytes(slot_.data() + used_, at, r.bytes);
    } else {
      const slice s{unregistered_memory, static_cast<std::uint32_t>(r.bytes), reinterpret_cast<std::uintptr_t>(at)};
      std::memcpy(slot_.data() + used_, &s, sizeof s);
    }
    used_ += size_of(r);
  }
  // A group begins where there is room for two; if more do not fit, it ends.
  bool room_for(const run& r) noexcept {
    if (group_ > 1) return used_ + size_of(r) <= slot_.size();
    const std::size_t two = size_of(first_) + size_of(r);
    if (used_ + two > slot_.size() && !take_slot()) return false;
    begin_ = used_;
    return two <= slot_.size();
  }
  bool take_slot() noexcept {
    slot_ = {}, used_ = 0;
    if (!packing_.ready(net_)) return false;
    post();
    const wait_note note{"room to pack data", t_.rank, 0, 0};
    const status s = job_.wait([&] { return !slot_.empty() || !(slot_ = packing_.begin(t_.owner)).empty(); }, [] { return status{}; }, note);
    if (s.failed() && failed_.ok()) failed_ = s;
    return s.ok();
  }

  void close() noexcept {
    if (group_ == 0) return;
    if (group_ == 1) {
      whole(first_);
    } else {
      rma_op op = describe(first_, bytes_);
      if (!put_) {
        op.kind = op_kind::get_scatter;
        op.slices = static_cast<std::uint8_t>(group_);
        op.scatter = reinterpret_cast<const slice*>(slot_.data() + begin_);
      } else if (bytes_ <= net_.caps().max_inline) {
        op.local_offset = reinterpret_cast<std::uintptr_t>(slot_.data() + begin_);
      } else {
        op.local = packing_.region(), op.local_offset = packing_.offset_of(slot_.data() + begin_);
      }
      offer(op);
    }
    group_ = 0;
  }
  // A run as it is, in pieces that one operation may have.
  void whole(run r) noexcept {
    for (; r.bytes > t_.most_bytes; r.bytes -= t_.most_bytes) {
      offer(describe(r, t_.most_bytes));
      r.here += static_cast<std::ptrdiff_t>(t_.most_bytes), r.there += static_cast<std::ptrdiff_t>(t_.most_bytes);
    }
    offer(describe(r, r.bytes));
  }
  rma_op describe(const run& r, std::uint64_t bytes) const noexcept {
    return move_op(t_.kind, unregistered_memory, reinterpret_cast<std::uintptr_t>(at_distance(t_.base, r.here)), t_.rank, t_.segment,
                   t_.offset + static_cast<std::uint64_t>(r.there), static_cast<std::uint32_t>(bytes), t_.owner.done);
  }
  void offer(const rma_op& op) noexcept {
    ops_[count_++] = op;
    posted_ = true;
    if (count_ == std::size(ops_)) post();
  }
  // Towards a dead peer a full queue drains with errors.
  void post() noexcept {
    std::size_t taken = 0;
    const auto all = [&] {
      while (taken < count_) {
        const std::size_t n = net_.submit({ops_ + taken, count_ - taken});
        if (n == 0) return false;
        taken += n;
      }
      return true;
    };
    if (count_ == std::size(ops_) && t_.give_progress) job_.progress();
    if (!all()) {
      const wait_note note{"room in a queue", t_.rank, 0, 0};
      if (status s = job_.wait(all, [] { return status{}; }, note); s.failed() && failed_.ok()) failed_ = std::move(s);
    }
    count_ = 0;
  }

  job& job_;
  transport& net_;
  packing_memory& packing_;
  const layout_transfer& t_;
  const bool put_;
  std::size_t short_ = 0;       // put
  std::uint32_t slices_ = 0;    // get

  run first_{};                 // of the group
  std::uint64_t bytes_ = 0;
  std::uint32_t group_ = 0;     // its runs; of one, nothing is in the slot
  std::span<std::byte> slot_;
  std::size_t used_ = 0, begin_ = 0;  // of the slot; where the group begins in it

  rma_op ops_[32];
  std::size_t count_ = 0;
  bool posted_ = false;
  status failed_;
};

void copy(const layout_transfer& t) noexcept {
  joint_walk walk(*t.here, *t.there);
  for (run r; walk.next(r);) {
    std::byte* const here = at_distance(t.base, r.here);
    std::byte* const there = at_distance(t.mapped + t.offset, r.there);
    if (t.kind == op_kind::put) copy_block(there, here, r.bytes);
    else copy_block(here, there, r.bytes);
  }
}

}  // namespace

std::size_t short_block(const loggp& c) noexcept {
  const double operation_ns = 1000 * std::max(c.overhead_us, c.gap_us);
  const double bytes = (operation_ns - block_ns) * copied_bytes_per_ns;
  return bytes <= 0 ? 0 : static_cast<std::size_t>(std::min(bytes, static_cast<double>(packing_memory::slot_bytes / 2)));
}

status transfer(job& j, packing_memory& s, const layout_transfer& t) noexcept {
  sender out(j, s, t);
  if (t.mapped) {
    copy(t);
  } else {
    ordered_runs runs(*t.here, *t.there);
    for (run r; runs.next(r);) out.add(r);
  }
  status failed = out.finish();
  if (failed.failed()) s.keep_for(t.owner.done);
  return failed;
}

}  // namespace tutti::messaging

// Everyone but the root of a broadcast: takes fragments in whatever order they come, and complains of those that it knows
// were sent. The safety argument stands in reliable_broadcast.h.
#include <algorithm>
#include <bit>
#include <cstring>
#include <string>

#include "core/ops.h"
#include "core/reliable_broadcast.h"

namespace tutti {

using namespace broadcast_wire;

namespace {

// The root's word may overtake the datagrams it speaks of: by the least of these, or as much as it was seen to.
constexpr std::chrono::nanoseconds least_overtaking = std::chrono::microseconds(10), most_overtaking = std::chrono::milliseconds(20);
constexpr std::uint32_t repairs_to_forget = 16;  // after so many, one fragment less may overtake
constexpr std::uint32_t most_doublings = 10;     // of the patience with a repair

}  // namespace

void reliable_broadcast::begin_member() noexcept {
  next_ = high_ = known_ = asked_ = base_;
  seen_ = 0;
  due_ = {};
  naks_owed_ = {};
  for (std::uint32_t i = 0; i < at_.window && base_ + i != end_ && broken_.ok(); ++i) {
    early_fragment& e = early_[slot_of(base_ + i)];
    if (e.from != team_.rank_of(root_) || e.seq != base_ + i) continue;
    e.from = no_rank;
    take(e.seq, {early_bytes_.get() + std::size_t{slot_of(e.seq)} * at_.fragment, e.bytes},
         same_broadcast(e.tag, last(e.seq), call_));
  }
}

bool reliable_broadcast::member_step() noexcept {
  if (next_ != end_) {
    take_datagrams();
    take_repairs();
    if (broken_.ok() && next_ != end_) complain();
  }
  const bool told = tell();
  return next_ == end_ && told;
}

// Until none is left: what has come does not wake this rank again.
void reliable_broadcast::take_datagrams() noexcept {
  multicast::datagram d;
  while (next_ != end_ && broken_.ok() && group_.receive(d)) {
    const std::uint32_t ahead = ahead_of(d.tag, next_);
    if (ahead >= at_.window) continue;
    const std::uint64_t seq = next_ + ahead;
    if (reached(seq, end_)) {
      keep_aside(seq, d);
      continue;
    }
    if (d.from != team_.rank_of(root_) || has(seq)) continue;
    if (!reached(seq, asked_)) {
      if (d.tag & again_bit) learn(seq);
      else be_patient();
    }
    const std::uint64_t before = next_ - base_;
    take(seq, d.payload, same_broadcast(d.tag, last(seq), call_));
    if ((next_ - base_) / at_.grain() != before / at_.grain()) tell();
  }
}

// Of a root that is further than this member.
void reliable_broadcast::keep_aside(std::uint64_t seq, const multicast::datagram& d) noexcept {
  early_fragment& e = early_[slot_of(seq)];
  if (d.payload.size() > at_.fragment) return;
  e.seq = seq, e.from = d.from, e.bytes = static_cast<std::uint32_t>(d.payload.size()), e.tag = d.tag;
  std::memcpy(early_bytes_.get() + std::size_t{slot_of(seq)} * at_.fragment, d.payload.data(), d.payload.size());
  ++counts_.early;
}

// `meant`: it says that it belongs to the broadcast in which this member is.
void reliable_broadcast::take(std::uint64_t seq, std::span<const std::byte> payload, bool meant) noexcept {
  const auto to = bytes_of(seq);
  if (!meant || payload.size() != to.size()) {
    const rank_t root = team_.rank_of(root_);
    broken_ = {errc::protocol, "broadcast: rank " + std::to_string(root) + " does not send " + std::to_string(data_.size()) +
               " bytes" + broadcast_roll::rule, root};
    return;
  }
  std::memcpy(to.data(), payload.data(), to.size());
  if (reached(seq, high_)) high_ = seq + 1;
  seen_ |= std::uint64_t{1} << (seq - next_);
  const int whole = std::countr_one(seen_);
  next_ += static_cast<std::uint64_t>(whole);
  seen_ = whole < 64 ? seen_ >> whole : 0;
}

void reliable_broadcast::take_repairs() noexcept {
  if (!asking()) return;
  for (std::uint64_t seq = next_; !reached(seq, asked_) && broken_.ok(); ++seq) {
    if (has(seq)) continue;
    const std::uint64_t word = load(wire::repaired + slot_of(seq) * sizeof(std::uint64_t));
    if (!repairs(word, seq)) continue;
    take(seq, {memory_->base() + at_.slot(seq), bytes_of(seq).size()}, word == repaired_word(seq, digest_));
    if (!broken_.ok()) return;
    if (++patient_ % repairs_to_forget == 0) {
      if (tolerance_ > 0) --tolerance_;
      overtaking_ = std::max(least_overtaking, overtaking_ / 2);
    }
    learn(seq);
  }
}

// What was complained of came by itself: next time, more may overtake it before that.
void reliable_broadcast::be_patient() noexcept {
  tolerance_ = std::min(2 * tolerance_ + 1, at_.window / 2);
  overtaking_ = std::min(most_overtaking, 2 * overtaking_);
}

// How long a repair takes.
void reliable_broadcast::learn(std::uint64_t seq) noexcept {
  const complaint& c = complaints_[slot_of(seq)];
  if (c.times != 1) return;  // which of several was answered is not known
  repairs_.begin(c.at);
  repairs_.learn(team_.parent_job().net().now(), {});
}

std::uint64_t reliable_broadcast::missing_before(std::uint64_t limit) const noexcept {
  if (!reached(limit, next_ + 1)) return 0;
  const std::uint64_t n = limit - next_;
  return ~seen_ & (n < 64 ? (std::uint64_t{1} << n) - 1 : ~std::uint64_t{0});
}

void reliable_broadcast::complain() noexcept {
  job& j = team_.parent_job();
  send_naks();
  std::uint64_t said = load(wire::position);
  if (reached(said, end_)) said = end_;
  const bool news = !reached(known_, said);
  // Of what is before `limit` may be complained.
  std::uint64_t limit = high_ - tolerance_;
  if (!reached(limit, next_)) limit = next_;
  if (limit == next_ && !news && reached(next_, known_) && !asking()) {
    due_ = {};
    return;
  }
  const time_point now = j.net().now();
  if (news) known_ = said, known_since_ = now;
  if (!reached(limit, known_)) {
    if (now - known_since_ >= overtaking_) limit = known_;
    else j.wake_at(known_since_ + overtaking_);
  }
  if (!reached(limit, asked_)) limit = asked_;

  const std::uint64_t old = missing_before(asked_), fresh = missing_before(limit) & ~old;
  std::uint64_t now_due = 0;
  if (fresh == 0) {
    due_ = {};
  } else {
    if (due_ == time_point{}) due_ = now + turn_;
    if (now >= due_) {
      due_ = {};
      asked_ = limit;
      now_due = fresh;
      for (std::uint64_t left = fresh; left; left &= left - 1)
        complaints_[slot_of(next_ + static_cast<unsigned>(std::countr_zero(left)))].times = 0;
    } else {
      j.wake_at(due_);
    }
  }
  for (std::uint64_t left = old; left; left &= left - 1) {
    const complaint& c = complaints_[slot_of(next_ + static_cast<unsigned>(std::countr_zero(left)))];
    const time_point again = c.at + (repairs_.patience() + turn_) * (1 << std::min(c.times - 1, most_doublings));
    if (now >= again) now_due |= left & -left;
    else j.wake_at(again);
  }
  if (now_due) ask(now_due, now);
}

void reliable_broadcast::ask(std::uint64_t missing, time_point now) noexcept {
  naks_owed_ = {};
  for (std::uint64_t& owed : naks_owed_) {
    if (missing == 0) break;
    const int first = std::countr_zero(missing);
    const auto map = static_cast<std::uint32_t>(missing >> first);
    owed = to_word({team_.index(), static_cast<std::uint16_t>(next_ + static_cast<unsigned>(first)), map});
    missing &= ~(std::uint64_t{map} << first);
    for (std::uint32_t left = map; left; left &= left - 1) {
      complaint& c = complaints_[slot_of(next_ + static_cast<unsigned>(first + std::countr_zero(left)))];
      c.at = now;
      ++c.times;
    }
  }
  send_naks();
  team_.parent_job().wake_at(now + repairs_.patience() + turn_);  // or sooner, as the next look says
}

void reliable_broadcast::send_naks() noexcept {
  for (std::uint64_t& owed : naks_owed_) {
    if (owed == 0) continue;
    if (!signal(root_, wire::naks + nak_word_of(team_.index(), way_) * sizeof(std::uint64_t), owed)) return;
    owed = 0;
    way_ = (way_ + 1) % nak_ways;
    ++counts_.naks;
  }
}

}  // namespace tutti

// Everyone but the root of a broadcast: takes fragments in whatever order they come, and reads at the root those that it
// knows were published. The safety argument stands in reliable_broadcast.h.
#include <algorithm>
#include <bit>
#include <cstring>
#include <string>

#include "collectives/bcast/reliable_broadcast.h"
#include "core/transport/multicast.h"

namespace tutti {

using namespace broadcast_wire;

constexpr std::uint32_t repairs_to_forget = 16;  // after so many, one fragment less may overtake

void reliable_broadcast::begin_member() noexcept {
  next_ = high_ = known_ = asked_ = base_;
  seen_ = 0;
  for (std::uint32_t i = 0; i < at_.window && base_ + i != end_ && broken_.ok(); ++i) {
    early_fragment& e = early_[slot_of(base_ + i)];
    if (e.from != team_.rank_of(root_) || e.seq != base_ + i) continue;
    e.from = no_rank;
    take(e.seq, {early_bytes_.get() + std::size_t{slot_of(e.seq)} * at_.fragment, e.bytes},
         same_broadcast(e.tag, last(e.seq), call_));
  }
}

bool reliable_broadcast::member_step() noexcept {
  if (next_ != end_) take_datagrams();
  if (next_ != end_ && broken_.ok()) repair();
  const bool told = tell();
  return next_ == end_ && told && told_all_.idle();
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
    if (reached(seq, asked_)) {
      // Where patience was lost in vain, others' losses may have been what was waited for.
      position_->came(arrivals_, std::chrono::nanoseconds(position_->doubted() ? 1 : 0));
    } else if (reached(high_, seq + 1)) {
      tolerance_ = std::min(2 * tolerance_ + 1, at_.window / 2);
    } else {
      position_->was_premature();
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
    broken_ = {errc::protocol, worded("rank ", root, " does not send ", data_.size(),
                                      " bytes; root and number of bytes must be alike in all members"), root};
    return;
  }
  std::memcpy(to.data(), payload.data(), to.size());
  ++arrivals_;
  if (reached(seq, high_)) high_ = seq + 1;
  seen_ |= std::uint64_t{1} << (seq - next_);
  const int whole = std::countr_one(seen_);
  next_ += static_cast<std::uint64_t>(whole);
  seen_ = whole < 64 ? seen_ >> whole : 0;
}

std::uint64_t reliable_broadcast::missing_before(std::uint64_t limit) const noexcept {
  if (!reached(limit, next_ + 1)) return 0;
  const std::uint64_t n = limit - next_;
  return ~seen_ & (n < 64 ? (std::uint64_t{1} << n) - 1 : ~std::uint64_t{0});
}

void reliable_broadcast::repair() noexcept {
  if (const auto how = position_->answer()) {
    take_repairs(*how);
    take_datagrams();  // what came while the answer was on its way need not be read
  }
  if (next_ == end_ || broken_.failed() || position_->reading()) return;
  std::uint64_t limit = reached(high_, next_ + tolerance_) ? high_ - tolerance_ : next_;
  if (!reached(limit, known_)) limit = known_;
  if (position_->impatient(arrivals_)) {
    counts_.queries += position_->ask(root_);
    limit = reached(high_, known_) ? high_ : known_;
    asked_ = next_;
  }
  if (!reached(asked_, limit)) read(limit, missing_before(limit) & ~missing_before(asked_));
}

void reliable_broadcast::read(std::uint64_t limit, std::uint64_t missing) noexcept {
  round_ = 0, round_from_ = next_;
  asked_ = limit;
  for (; missing; missing &= missing - 1) {
    const std::uint64_t seq = next_ + static_cast<unsigned>(std::countr_zero(missing));
    const auto bytes = static_cast<std::uint32_t>(slot_word_bytes + bytes_of(seq).size());
    if (!position_->read(root_, at_.slot(seq), at_.landing(seq), bytes)) {
      asked_ = seq;  // the rest with the next round
      return;
    }
    round_ |= missing & -missing;
    ++counts_.reads;
  }
}

void reliable_broadcast::take_repairs(const status& how) noexcept {
  failed(how, "reading what was lost of a broadcast");
  known_ = reached(position_->known(), end_) ? end_ : reached(position_->known(), known_) ? position_->known() : known_;
  for (; round_ && how.ok() && broken_.ok(); round_ &= round_ - 1) {
    const std::uint64_t seq = round_from_ + static_cast<unsigned>(std::countr_zero(round_));
    const std::uint64_t word = load(at_.landing(seq));
    if (has(seq) || !holds(word, seq)) continue;
    take(seq, {memory_.base() + at_.landing(seq) + slot_word_bytes, bytes_of(seq).size()}, word == slot_word(seq, digest_));
    if (++counts_.repairs % repairs_to_forget == 0 && tolerance_ > 0) --tolerance_;
  }
  round_ = 0;
}

}  // namespace tutti

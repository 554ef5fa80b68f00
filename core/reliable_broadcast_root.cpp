// The root of a broadcast: sends as far as the window allows, answers NAKs, and breaks the silence when it lasts. The
// safety argument stands in reliable_broadcast.h.
#include <algorithm>
#include <bit>
#include <cstring>

#include "core/ops.h"
#include "core/reliable_broadcast.h"

namespace tutti {

using namespace broadcast_wire;

namespace {

// Members that miss one fragment and are served each by itself; with one more, all are served together.
constexpr std::uint32_t few(std::uint32_t members) noexcept { return std::max(2u, members / 16); }

}  // namespace

// Goes on until it can do no more with what has come: what came may not wake this rank again.
bool reliable_broadcast::root_step() noexcept {
  const bool told = tell();
  if (root_ != 0) granted_ = load(wire::granted);
  send_more();
  for (;;) {
    if (!repairing()) read_naks();
    if (!repairing() || !send_again() || !send_repairs() || !puts_.idle()) break;
    if (!puts_.outcome().ok()) broken_ = puts_.outcome().during("repairing a broadcast");
    wanted_.clear();
    put_ = 0;
  }
  if (granted_ == end_ && told && !repairing()) return true;
  mind_silence();
  return false;
}

void reliable_broadcast::send_more() noexcept {
  while (!reached(sent_, end_) && !reached(sent_, granted_ + at_.window)) {
    if (!group_.send(tag_of(sent_, false, last(sent_), call_), bytes_of(sent_))) return;
    asked_for_[slot_of(sent_)] = 0;
    ++sent_;
    ++counts_.datagrams;
  }
}

// A word is set to 0 once read; a NAK that falls between is lost like one that another overwrites, and repeated.
void reliable_broadcast::read_naks() noexcept {
  const std::uint64_t first = oldest();
  for (std::uint32_t i = 0; i < nak_words; ++i) {
    const std::uint64_t at = wire::naks + i * sizeof(std::uint64_t), word = load(at);
    if (word == 0) continue;
    store(at, 0);
    const nak n = from_word(word);
    if (n.index >= team_.size() || n.index == root_) continue;
    const std::uint64_t from = first + static_cast<std::uint64_t>(
                                           std::int64_t{static_cast<std::int16_t>(n.first - static_cast<std::uint16_t>(first))});
    for (std::uint32_t bit = 0; bit < nak_bits; ++bit) {
      const std::uint64_t seq = from + bit;
      if ((n.missing >> bit & 1) == 0 || !reached(seq, first) || reached(seq, sent_)) continue;
      wanted_.push_back({n.index, seq});
      const std::uint32_t slot = slot_of(seq);
      if (++asked_for_[slot] > few(team_.size())) again_ |= std::uint64_t{1} << slot;
    }
  }
  if (repairing() && said_ != time_point{}) heard(team_.parent_job().net().now());
  if (again_) std::erase_if(wanted_, [&](const repair& r) { return (again_ >> slot_of(r.seq) & 1) != 0; });
}

// False: the fabric is full.
bool reliable_broadcast::send_again() noexcept {
  for (; again_; again_ &= again_ - 1) {
    const auto slot = static_cast<std::uint32_t>(std::countr_zero(again_));
    const std::uint64_t seq = oldest() + ((slot - oldest()) & (at_.window - 1));
    if (!reached(seq, sent_)) {  // else all have it by now
      if (!group_.send(tag_of(seq, true, last(seq), call_), bytes_of(seq))) return false;
      ++counts_.datagrams, ++counts_.second_multicasts;
    }
    asked_for_[slot] = 0;
  }
  return true;
}

// Repairs of one member stand together; a flush behind them tells when they have landed. All were in one window when they
// were asked for, so no two share a place in staging but those of the same fragment. False: the fabric is full.
bool reliable_broadcast::send_repairs() noexcept {
  transport& net = team_.parent_job().net();
  while (put_ < wanted_.size() || flush_owed_) {
    if (flush_owed_) {
      if (!net.flush(team_.rank_of(wanted_[put_ - 1].index), &puts_)) return false;
      flush_owed_ = false;
      continue;
    }
    const repair& r = wanted_[put_];
    if (reached(r.seq, oldest())) {
      const auto bytes = bytes_of(r.seq);
      const std::uint32_t slot = slot_of(r.seq);
      if (staged_[slot] != r.seq + 1) {
        std::memcpy(memory_->base() + at_.staging(r.seq), bytes.data(), bytes.size());
        staged_[slot] = r.seq + 1;
      }
      const rma_op op = with_signal(
          move_op(op_kind::put, memory_->region(), at_.staging(r.seq), team_.rank_of(r.index), memory_->segment(),
                  at_.slot(r.seq), static_cast<std::uint32_t>(bytes.size()), &puts_),
          memory_->segment(), wire::repaired + slot * sizeof(std::uint64_t), repaired_word(r.seq, digest_));
      if (net.submit({&op, 1}) == 0) return false;
      ++counts_.repairs;
    }
    ++put_;
    flush_owed_ = put_ == wanted_.size() || wanted_[put_].index != r.index;
  }
  return true;
}

// What came first after the word about its position tells how long that takes.
void reliable_broadcast::heard(time_point now) noexcept {
  silence_.begin(said_);
  silence_.learn(now, {});
  silence_.begin(now);
  said_ = {};
}

// When all is sent that may be, and nobody has taken any more for longer than usual, all are told how far this is.
void reliable_broadcast::mind_silence() noexcept {
  job& j = team_.parent_job();
  if (granted_ != heard_) {
    if (waiting_ && said_ == time_point{}) silence_.learn(j.net().now(), {});
    if (said_ != time_point{}) heard(j.net().now());
    heard_ = granted_;
    waiting_ = false;
    position_left_ = 0;
  }
  const bool may_send = !reached(sent_, end_) && !reached(sent_, granted_ + at_.window);
  if (may_send || sent_ == oldest()) {
    waiting_ = false;
    return;
  }
  const time_point now = j.net().now();
  if (!waiting_) {
    waiting_ = true;
    silence_.begin(now);
  } else if (position_left_ == 0 && silence_.expired(now)) {
    said_ = now;
    position_left_ = team_.size();
    ++counts_.positions;
  }
  for (; position_left_ > 0; --position_left_)
    if (position_left_ - 1 != root_ && !signal(position_left_ - 1, wire::position, sent_)) break;
  j.wake_at(silence_.next());
}

}  // namespace tutti

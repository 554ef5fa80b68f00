#include "core/reliable_multicast.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/wait_out.h"

namespace tutti {
namespace {

using namespace std::chrono_literals;

// Between the queries of one wait: a query costs little, and for so long a rank that lost the release may leave later.
constexpr std::chrono::nanoseconds most_between = 10ms;

// By which members that miss the same datagram lose patience one after the other: what a fabric takes for a get.
constexpr std::chrono::nanoseconds turn = 500ns;

struct head {
  std::uint64_t epoch = 0;
  std::uint64_t late_ns = 0;  // so long after the epoch before its last repair was told; 0: none was
  std::uint64_t again = 0;    // 1: a second multicast
};
static_assert(sizeof(head) == reliable_multicast::head_bytes);

// Lines. At the root: the newest epoch; repairs that members told of. Elsewhere: where the root's epoch lands.
constexpr std::uint32_t number = 0, told = 1;

}  // namespace

release_lines release_lines::of(team& t) noexcept {
  const auto* base = reinterpret_cast<const std::byte*>(t.word(0));
  return {t.segment(), t.region(), const_cast<std::byte*>(base), control::offset(control::release)};
}

reliable_multicast::reliable_multicast(team& t, std::uint32_t root, std::uint64_t first_epoch,
                                       std::vector<std::byte>& token, const release_lines& lines, std::uint32_t room)
    : team_(t), lines_(lines), group_(t, root, token), released_(first_epoch - 1), letter_(head_bytes + room),
      timer_(t.index() * turn, most_between), awaited_(first_epoch - 1) {
  word(number).store(first_epoch - 1, std::memory_order_release);
}

status reliable_multicast::accept(std::span<const std::byte> token) {
  if (status s = group_.accept(token); !s.ok()) return s;
  if (team_.index() == group_.root()) team_.parent_job().enlist(*this);
  return {};
}

status reliable_multicast::form(std::span<const std::byte> token) {
  if (status s = group_.form(token); !s.ok()) return s;
  if (team_.index() == group_.root()) team_.parent_job().enlist(*this);
  return {};
}

reliable_multicast::~reliable_multicast() {
  team_.parent_job().dismiss(*this);
  wait_out(team_.parent_job().net(), {&got_});
}

std::atomic_ref<std::uint64_t> reliable_multicast::word(std::uint32_t line) const noexcept {
  return std::atomic_ref(*reinterpret_cast<std::uint64_t*>(lines_.base + lines_.offset + control::offset(line)));
}

far_word reliable_multicast::at_root(std::uint32_t line) const noexcept {
  return {team_.rank_of(group_.root()), lines_.segment, lines_.offset + control::offset(line)};
}

// --- the root --------------------------------------------------------------------------------------------------------

// Repairs after which the others that may have lost the same are served together.
std::uint32_t reliable_multicast::few() const noexcept { return std::max(3u, team_.size() / 16); }

bool reliable_multicast::cast(bool again) noexcept {
  reinterpret_cast<head*>(letter_.data())->again = again;
  if (!group_.send(static_cast<std::uint32_t>(released_), std::span(letter_).first(head_bytes + sent_bytes_))) return false;
  ++counts_.datagrams;
  return true;
}

bool reliable_multicast::send(std::uint64_t epoch, std::uint32_t bytes) noexcept {
  if (released_ != epoch) {
    const time_point now = team_.parent_job().net().now();
    see_told(now);
    const head h{epoch, static_cast<std::uint64_t>(late_.count()), 0};
    std::memcpy(letter_.data(), &h, sizeof h);
    released_ = epoch, sent_bytes_ = bytes;
    released_at_ = now;
    late_ = {};
    told_before_ = told_;
    again_at_ = few();
    word(number).store(epoch, std::memory_order_release);
  }
  return cast(false);
}

void reliable_multicast::see_told(time_point now) noexcept {
  const std::uint64_t count = word(told).load(std::memory_order_acquire);
  if (count == told_) return;
  told_ = count;
  late_ = now - released_at_;
}

void reliable_multicast::advance() noexcept {
  if (word(told).load(std::memory_order_acquire) == told_) return;
  see_told(team_.parent_job().net().now());
  if (told_ - told_before_ < again_at_ || !cast(true)) return;
  ++counts_.second_multicasts;
  again_at_ *= 4;
}

// --- the others ------------------------------------------------------------------------------------------------------

bool reliable_multicast::arrived(std::uint64_t epoch) noexcept {
  received_ = {};
  if (!reached(released_, epoch)) listen(epoch);
  if (asked_ && got_.idle()) see_answer(epoch);
  if (reached(released_, epoch)) return true;
  job& j = team_.parent_job();
  const time_point now = j.net().now();
  if (awaited_ != epoch) {
    awaited_ = epoch;
    timer_.begin(now);
  } else if (!asked_ && timer_.expired(now)) {
    query();
  }
  if (!asked_) j.wake_at(timer_.next());
  return false;
}

void reliable_multicast::listen(std::uint64_t epoch) noexcept {
  multicast::datagram d;
  while (!reached(released_, epoch) && group_.receive(d)) {
    head h;
    if (d.from != team_.rank_of(group_.root()) || d.payload.size() < sizeof h) continue;
    std::memcpy(&h, d.payload.data(), sizeof h);
    if (reached(released_, h.epoch)) {
      if (released_ == h.epoch && repaired_ && h.again == 0) timer_.was_premature();
      continue;
    }
    released_ = h.epoch;
    received_ = d.payload.subspan(sizeof h);
    // A rank whose epoch before was repaired has entered this one late itself.
    const bool before = std::exchange(repaired_, h.again != 0);
    if (awaited_ == epoch && !before && !repaired_)
      timer_.learn(team_.parent_job().net().now(), std::chrono::nanoseconds(h.late_ns));
  }
}

void reliable_multicast::query() noexcept {
  const far_word from = at_root(number);
  const rma_op op = move_op(op_kind::get, lines_.region, lines_.offset + control::offset(number), from.rank, from.segment,
                            from.offset, sizeof(std::uint64_t), &got_);
  asked_ = team_.parent_job().net().submit({&op, 1}) == 1;
  counts_.queries += asked_;
}

// If the get failed the root is dead, which whoever waits finds out by itself.
void reliable_multicast::see_answer(std::uint64_t epoch) noexcept {
  const bool came = got_.outcome().ok();
  asked_ = false;
  got_.clear();
  if (!came || reached(released_, epoch) || !reached(word(number).load(std::memory_order_acquire), epoch)) return;
  released_ = epoch;
  repaired_ = true;
  ++counts_.repairs;
  const rma_op op = signal_op(at_root(told), 1, signal_how::add);  // a full fabric need not take it
  (void)team_.parent_job().net().submit({&op, 1});
}

}  // namespace tutti

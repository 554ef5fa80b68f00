#include "core/engine/reliable_multicast.h"
#include "core/transport/multicast.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace tutti {
namespace {

struct head {
  std::uint64_t epoch = 0;
  std::uint64_t late_ns = 0;  // so long after the epoch before its last repair was told; 0: none was
  std::uint64_t again = 0;    // 1: a second multicast
};
static_assert(sizeof(head) == reliable_multicast::head_bytes);

// At the root, where elsewhere its number lands: repairs that members told of.
constexpr std::uint32_t told = published_lines::landing;

}  // namespace

reliable_multicast::reliable_multicast(team& t, std::uint32_t root, std::uint64_t first_epoch,
                                       std::vector<std::byte>& token, const published_lines& lines, std::uint32_t room)
    : team_(t), lines_(lines), group_(t, root, token), released_(first_epoch - 1), letter_(head_bytes + room),
      number_(t, lines, first_epoch - 1) {}

status reliable_multicast::accept(std::span<const std::byte> token) {
  if (status s = group_.accept(token); s.failed()) return s;
  if (team_.index() == group_.root()) team_.parent_job().enlist(*this);
  return {};
}

status reliable_multicast::form(std::span<const std::byte> token) {
  if (status s = group_.form(token); s.failed()) return s;
  if (team_.index() == group_.root()) team_.parent_job().enlist(*this);
  return {};
}

reliable_multicast::~reliable_multicast() { team_.parent_job().dismiss(*this); }

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
    number_.publish(epoch);
  }
  return cast(false);
}

void reliable_multicast::see_told(time_point now) noexcept {
  const std::uint64_t count = lines_.word(told).load(std::memory_order_acquire);
  if (count == told_) return;
  told_ = count;
  late_ = now - released_at_;
}

void reliable_multicast::advance() noexcept {
  if (lines_.word(told).load(std::memory_order_acquire) == told_) return;
  see_told(team_.parent_job().net().now());
  if (told_ - told_before_ < again_at_ || !cast(true)) return;
  ++counts_.second_multicasts;
  again_at_ *= 4;
}

// --- the others ------------------------------------------------------------------------------------------------------

bool reliable_multicast::arrived(std::uint64_t epoch) noexcept {
  received_ = {};
  if (!reached(released_, epoch)) listen(epoch);
  see_answer(epoch);
  if (reached(released_, epoch)) return true;
  if (number_.impatient(epoch)) counts_.queries += number_.ask(group_.root());
  return false;
}

void reliable_multicast::listen(std::uint64_t epoch) noexcept {
  multicast::datagram d;
  while (!reached(released_, epoch) && group_.receive(d)) {
    head h;
    if (d.from != team_.rank_of(group_.root()) || d.payload.size() < sizeof h) continue;
    std::memcpy(&h, d.payload.data(), sizeof h);
    if (reached(released_, h.epoch)) {
      if (released_ == h.epoch && repaired_ && h.again == 0) number_.was_premature();
      continue;
    }
    released_ = h.epoch;
    received_ = d.payload.subspan(sizeof h);
    // A rank whose epoch before was repaired has entered this one late itself.
    const bool before = std::exchange(repaired_, h.again != 0);
    if (!before && !repaired_) number_.came(epoch, std::chrono::nanoseconds(h.late_ns));
  }
}

// If the get failed the root is dead, which whoever waits finds out by itself.
void reliable_multicast::see_answer(std::uint64_t epoch) noexcept {
  const auto how = number_.answer();
  if (!how || how->failed() || reached(released_, epoch) || !reached(number_.known(), epoch)) return;
  released_ = epoch;
  repaired_ = true;
  ++counts_.repairs;
  const far_word counter{team_.rank_of(group_.root()), lines_.segment, lines_.at(told)};
  const rma_op op = signal_op(counter, 1, signal_how::add);  // a full fabric need not take it
  (void)team_.parent_job().net().submit({&op, 1});
}

}  // namespace tutti

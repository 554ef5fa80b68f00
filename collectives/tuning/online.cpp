#include "collectives/tuning/online.h"

#include <algorithm>

namespace tutti::tuning {
namespace {

// What takes longer counts as this: a second, with which so many calls can be reckoned.
constexpr picoseconds longest = 1'000'000'000'000;
constexpr std::int64_t most_calls = 100'000'000;

}  // namespace

contest::contest(std::span<const picoseconds> expected, const online_settings& s) : settings_(s) {
  for (const picoseconds time : expected) all_.push_back({.time = std::clamp<picoseconds>(time, 1, longest)});
  all_[0].prepared = true;
  if (all_.size() < 2) round_ = rounds;
}

std::uint32_t contest::next() noexcept {
  due_ = timed_ = false;
  if (over()) return incumbent_;
  if (left_ == 0 && !begin_trial()) {
    incumbents_ = std::min(incumbents_ + 1, most_calls);
    saved_ += all_[incumbent_].time / settings_.one_in;
    return incumbent_;
  }
  timed_ = true;
  --left_;
  return who_;
}

bool contest::begin_trial() noexcept {
  const auto size = static_cast<std::uint32_t>(all_.size());
  while (turn_ < trials * size && !all_[turn_ % size].in) ++turn_;
  if (turn_ == trials * size) {
    if (saved_ < settings_.exchange) return false;
    saved_ -= settings_.exchange;
    due_ = true;
    return false;
  }
  contestant& c = all_[turn_ % size];
  const picoseconds beyond = turn_ % size == incumbent_ ? 0 : calls[round_] * c.time + (c.prepared ? 0 : settings_.setup);
  if (saved_ < settings_.exchange + beyond) return false;
  saved_ -= settings_.exchange + beyond;
  c.prepared = true, ++c.tried;
  who_ = turn_++ % size, left_ = calls[round_];
  return true;
}

void contest::took(picoseconds time) noexcept {
  contestant& c = all_[who_];
  if (timed_) c.means[c.tried - 1] += std::clamp<picoseconds>(time, 1, longest) / calls[round_];
}

std::vector<picoseconds> contest::medians() const {
  std::vector<picoseconds> out;
  for (contestant c : all_) {
    std::ranges::sort(c.means);
    out.push_back(c.tried ? c.means[trials / 2] : 0);
  }
  return out;
}

// What was saved and spent by earlier estimates.
void contest::put_right(std::span<const picoseconds> measured) noexcept {
  for (std::uint32_t i = 0; i < all_.size(); ++i) {
    contestant& c = all_[i];
    if (!c.in) continue;
    const picoseconds more = measured[i] - c.time;
    if (i == incumbent_) saved_ += incumbents_ * (more / settings_.one_in);
    else saved_ -= c.tried * calls[round_] * more;
    c.time = measured[i];
    c.tried = 0;
    std::ranges::fill(c.means, 0);
  }
  incumbents_ = 0;
}

void contest::settle(std::span<const std::span<const picoseconds>> by_member) {
  std::vector<picoseconds> worst(all_.size(), 1);
  for (const auto& medians : by_member)
    for (std::uint32_t i = 0; i < all_.size(); ++i) worst[i] = std::clamp(medians[i], worst[i], longest);
  put_right(worst);
  std::uint32_t best = incumbent_;
  for (std::uint32_t i = 0; i < all_.size(); ++i)
    if (all_[i].in && all_[i].time < all_[best].time) best = i;
  const picoseconds least = all_[best].time, ours = all_[incumbent_].time;
  const bool last = round_ + 1 == rounds;
  if (last ? least + least / 10 <= ours && best != incumbent_ : ours > 2 * least) incumbent_ = best;
  std::uint32_t left = 0;
  for (contestant& c : all_) left += c.in = c.in && c.time <= 2 * least;
  ++round_, turn_ = 0;
  if (left < 2) round_ = rounds;
}

}  // namespace tutti::tuning

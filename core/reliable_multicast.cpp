#include "core/reliable_multicast.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/ops.h"

namespace tutti {
namespace {

using namespace std::chrono_literals;

// A NAK names its sender in the low 24 bits, plus one, and the epoch's low 40 bits above.
constexpr unsigned who_bits = 24;
constexpr std::uint64_t who_mask = (std::uint64_t{1} << who_bits) - 1;

// Patience is mean + 4 deviations of past arrivals, as TCP's retransmission timer (Jacobson 1988), within bounds: below
// the least, a NAK would race the datagram through the scheduler; above the most, a lost datagram would be felt.
constexpr std::chrono::nanoseconds least_patience = 200us, most_patience = 100ms;

}  // namespace

reliable_multicast::reliable_multicast(team& t, std::uint32_t root, std::uint64_t first_epoch,
                                       std::vector<std::byte>& token)
    : team_(t), root_(root), mc_(t.parent_job().net().mcast()), released_(first_epoch - 1), awaited_(first_epoch - 1),
      mean_ns_(500e3), deviation_ns_(125e3) {
  token.clear();
  t.set_own(control::repair, first_epoch - 1);
  if (!mc_) {
    trouble_ = status(errc::unsupported, "this transport has no multicast; choose another algorithm");
  } else if (t.index() == root) {
    job& j = t.parent_job();
    auto group = mc_->create(t.members(), token, j.net().now() + j.options().setup_timeout);
    if (group) group_ = *group, joined_ = true;
    else trouble_ = group.error(), token.clear();
  }
}

status reliable_multicast::accept(std::span<const std::byte> token) {
  job& j = team_.parent_job();
  if (!trouble_.ok()) return trouble_;
  if (team_.index() == root_) {
    j.enlist(*this);
    return {};
  }
  if (token.empty()) {
    const rank_t root = team_.rank_of(root_);
    return {errc::unavailable, "the multicast root, rank " + std::to_string(root) + ", could not form the group", root};
  }
  auto group = mc_->join(team_.members(), token, j.net().now() + j.options().setup_timeout);
  if (!group) return group.error();
  group_ = *group, joined_ = true;
  return {};
}

reliable_multicast::~reliable_multicast() {
  team_.parent_job().dismiss(*this);
  if (joined_) mc_->leave(group_);
}

bool reliable_multicast::send(std::uint64_t epoch) noexcept {
  std::byte payload[sizeof epoch];
  std::memcpy(payload, &epoch, sizeof epoch);
  if (!mc_->send(group_, static_cast<std::uint32_t>(epoch), payload)) return false;
  ++counts_.datagrams;
  released_ = epoch;
  return true;
}

bool reliable_multicast::arrived(std::uint64_t epoch) noexcept {
  if (reached(released_, epoch)) return true;
  multicast::datagram d;
  while (mc_->receive(group_, d)) {
    std::uint64_t seen;
    if (d.from != team_.rank_of(root_) || d.payload.size() != sizeof seen) continue;
    std::memcpy(&seen, d.payload.data(), sizeof seen);
    if (!reached(released_, seen)) released_ = seen;
  }
  if (const std::uint64_t repaired = team_.load(control::repair); !reached(released_, repaired)) released_ = repaired;

  job& j = team_.parent_job();
  if (reached(released_, epoch)) {
    // Karn's rule: the time of a wait that a NAK may have ended says nothing about the fabric.
    if (awaited_ == epoch && patience_ == 0ns) learn(j.net().now() - since_);
    return true;
  }
  const time_point now = j.net().now();
  if (awaited_ != epoch) {
    awaited_ = epoch;
    since_ = now;
    patience_ = 0ns;
    nak_owed_ = 0;
    const auto patience = std::chrono::nanoseconds(static_cast<std::int64_t>(mean_ns_ + 4 * deviation_ns_));
    nak_at_ = now + std::clamp(patience, least_patience, most_patience);
  } else if (nak_owed_ != 0) {
    send_nak(epoch);
  } else if (now >= nak_at_) {
    patience_ = std::min(patience_ == 0ns ? now - since_ : 2 * patience_, most_patience);
    nak_at_ = now + patience_;
    ++counts_.naks;
    nak_owed_ = 2;
    send_nak(epoch);
  }
  j.wake_at(nak_at_);
  return false;
}

void reliable_multicast::learn(std::chrono::nanoseconds wait) noexcept {
  const double sample = static_cast<double>(wait.count());
  deviation_ns_ += (std::abs(sample - mean_ns_) - deviation_ns_) / 4;
  mean_ns_ += (sample - mean_ns_) / 8;
}

void reliable_multicast::send_nak(std::uint64_t epoch) noexcept {
  const rank_t root = team_.rank_of(root_);
  // The counter behind the name: a root that sees the count sees this name or a later one.
  const rma_op ops[] = {
      signal_op({root, team_.segment(), control::offset(control::nak_who)}, (epoch << who_bits) | (team_.index() + 1)),
      signal_op({root, team_.segment(), control::offset(control::nak_count)}, 1, signal_how::add, not_before::everything)};
  const auto rest = std::span(ops).last(nak_owed_);  // a full fabric takes one at a time
  nak_owed_ -= static_cast<unsigned>(team_.parent_job().net().submit(rest));
}

void reliable_multicast::advance() noexcept {
  const std::uint64_t count = team_.load(control::nak_count);
  if (count == naks_seen_) return;
  const std::uint64_t fresh = count - naks_seen_;
  const std::uint64_t name = team_.load(control::nak_who);
  // Is the epoch asked for released? Compared as serial numbers of 40 bits.
  const std::uint64_t behind = (released_ - (name >> who_bits)) << who_bits;
  if (static_cast<std::int64_t>(behind) < 0) {
    naks_seen_ = count;
    return;
  }
  if (fresh == 1) {
    const auto index = static_cast<std::uint32_t>((name & who_mask) - 1);
    if (index < team_.size()) {
      const rma_op op = signal_op({team_.rank_of(index), team_.segment(), control::offset(control::repair)}, released_);
      if (team_.parent_job().net().submit({&op, 1}) == 0) return;  // full: next time
      ++counts_.repairs;
    }
  } else {
    const std::uint64_t epoch = released_;
    if (!send(epoch)) return;
    ++counts_.second_multicasts;
  }
  naks_seen_ = count;
}

}  // namespace tutti

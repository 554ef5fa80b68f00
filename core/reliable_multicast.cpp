#include "core/reliable_multicast.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/ops.h"

namespace tutti {
namespace {

using namespace std::chrono_literals;

// A NAK's name: the member's index plus one, how often it has sent NAKs, and the epoch's low bits.
constexpr unsigned who_bits = 20, turn_bits = 8, epoch_bits = 64 - who_bits - turn_bits;

constexpr std::uint64_t name_of(std::uint32_t index, std::uint64_t turn, std::uint64_t epoch) noexcept {
  return epoch << (64 - epoch_bits) | (turn & ((1u << turn_bits) - 1)) << who_bits | (index + 1);
}
constexpr std::uint32_t index_of(std::uint64_t name) noexcept {
  return static_cast<std::uint32_t>((name & ((1u << who_bits) - 1)) - 1);
}
// How many NAKs stand behind a name that follows another in the same word: all since, where it is the same member's.
constexpr std::int64_t naks_behind(std::uint64_t name, std::uint64_t before) noexcept {
  if (before != 0 && index_of(name) != index_of(before)) return 1;
  return static_cast<std::int64_t>(((name - before) >> who_bits) & ((1u << turn_bits) - 1));
}
// Whether `released` has come to the epoch of the name, as serial numbers of that many bits.
constexpr bool has_come_to(std::uint64_t released, std::uint64_t name) noexcept {
  const std::uint64_t behind = (released << (64 - epoch_bits)) - (name & ~std::uint64_t{0} << (64 - epoch_bits));
  return static_cast<std::int64_t>(behind) >= 0;
}

// In which NAKs are spread, for each member: what a root takes for one.
constexpr std::chrono::nanoseconds spread_per_member = 500ns;

struct release {
  std::uint64_t epoch = 0;
  std::uint64_t late_ns = 0;  // so long after the epoch before its last repair was sent; 0: none was
  std::uint64_t again = 0;    // 1: a second multicast
};

}  // namespace

reliable_multicast::reliable_multicast(team& t, std::uint32_t root, std::uint64_t first_epoch,
                                       std::vector<std::byte>& token)
    : team_(t), root_(root), mc_(t.parent_job().net().mcast()), released_(first_epoch - 1),
      timer_(t.size() * spread_per_member, static_cast<double>(t.index()) / t.size()), awaited_(first_epoch - 1) {
  again_at_ = few();
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

bool reliable_multicast::cast(std::uint64_t epoch, bool again) noexcept {
  const release r{epoch, static_cast<std::uint64_t>(repaired_after_.count()), again};
  if (!mc_->send(group_, static_cast<std::uint32_t>(epoch), std::as_bytes(std::span{&r, 1}))) return false;
  ++counts_.datagrams;
  return true;
}

bool reliable_multicast::send(std::uint64_t epoch) noexcept {
  if (!cast(epoch, false)) return false;
  for (std::uint32_t i = 0; i < nak_words; ++i) names_early_[i] = name(i);
  released_ = epoch;
  released_at_ = team_.parent_job().net().now();
  repaired_after_ = {};
  repairs_ = 0, again_at_ = few();
  return true;
}

bool reliable_multicast::arrived(std::uint64_t epoch) noexcept {
  if (reached(released_, epoch)) return true;
  multicast::datagram d;
  while (mc_->receive(group_, d)) {
    release r;
    if (d.from != team_.rank_of(root_) || d.payload.size() != sizeof r) continue;
    std::memcpy(&r, d.payload.data(), sizeof r);
    if (!reached(released_, r.epoch)) {
      // A rank that was helped to the epoch before has entered this one late itself.
      typical_ = !std::exchange(helped_, r.again != 0) && !r.again;
      released_ = r.epoch, late_ = std::chrono::nanoseconds(r.late_ns);
    }
  }
  if (const std::uint64_t repaired = team_.load(control::repair); !reached(released_, repaired)) {
    released_ = repaired;
    typical_ = false, helped_ = true;
  }

  job& j = team_.parent_job();
  if (reached(released_, epoch)) {
    if (awaited_ == epoch && typical_) timer_.learn(j.net().now(), late_);
    return true;
  }
  const time_point now = j.net().now();
  if (awaited_ != epoch) {
    awaited_ = epoch;
    nak_owed_ = 0;
    timer_.begin(now);
  } else if (nak_owed_ != 0) {
    send_nak(epoch);
  } else if (timer_.expired(now)) {
    ++counts_.naks;
    nak_owed_ = 2;
    send_nak(epoch);
  }
  j.wake_at(timer_.next());
  return false;
}

void reliable_multicast::send_nak(std::uint64_t epoch) noexcept {
  const rank_t root = team_.rank_of(root_);
  const std::uint64_t word = control::offset(control::nak_who) + team_.index() % nak_words * sizeof(std::uint64_t);
  // The counter behind the name: a root that sees the count sees this name or a later one.
  const rma_op ops[] = {
      signal_op({root, team_.segment(), word}, name_of(team_.index(), counts_.naks, epoch)),
      signal_op({root, team_.segment(), control::offset(control::nak_count)}, 1, signal_how::add, not_before::everything)};
  const auto rest = std::span(ops).last(nak_owed_);  // a full fabric takes one at a time
  nak_owed_ -= static_cast<unsigned>(team_.parent_job().net().submit(rest));
}

bool reliable_multicast::repair(std::uint32_t index) noexcept {
  if (index >= team_.size()) return true;
  const rma_op op = signal_op({team_.rank_of(index), team_.segment(), control::offset(control::repair)}, released_);
  if (team_.parent_job().net().submit({&op, 1}) == 0) return false;
  ++counts_.repairs, ++repairs_;
  return true;
}

// Repairs to single members, after which the others that may have lost it are served together.
std::uint32_t reliable_multicast::few() const noexcept { return std::max(3u, team_.size() / 16); }

void reliable_multicast::note_loss() noexcept { repaired_after_ = team_.parent_job().net().now() - released_at_; }

std::uint64_t reliable_multicast::name(std::uint32_t i) const noexcept {
  const auto* words = team_.word(control::nak_who);
  return std::atomic_ref<std::uint64_t>(const_cast<std::uint64_t&>(words[i])).load(std::memory_order_acquire);
}

// Each count is looked at once, but for what could not be answered then. A name is there before it is counted, so more
// may be answered than were counted, and may even stay uncounted, when its sender was served meanwhile: then a name that
// is overwritten later is not missed at first, and its sender repeats itself. Counts beyond the names are such names.
void reliable_multicast::advance() noexcept {
  const std::uint64_t count = team_.load(control::nak_count);
  if (count == naks_seen_ && !pending_) return;
  pending_ = true;
  unnamed_ += static_cast<std::int64_t>(count - naks_seen_);
  naks_seen_ = count;
  std::uint64_t early = 0;
  for (std::uint32_t i = 0; i < nak_words; ++i) {
    const std::uint64_t who = name(i);
    if (who == names_answered_[i]) continue;
    if (!has_come_to(released_, who)) {
      ++early;  // kept
      continue;
    }
    if (!repair(index_of(who))) return;  // full: next time
    if (who != names_early_[i]) note_loss();
    unnamed_ -= naks_behind(who, std::exchange(names_answered_[i], who));
  }
  if ((unnamed_ > 0 && early == 0) || repairs_ >= again_at_) {
    if (!cast(released_, true)) return;
    ++counts_.second_multicasts;
    note_loss();
    again_at_ = std::max(again_at_, repairs_) * 4;
  }
  pending_ = early != 0;
  if (!pending_) unnamed_ = std::clamp<std::int64_t>(unnamed_, -std::int64_t{nak_words}, 0);
}

}  // namespace tutti

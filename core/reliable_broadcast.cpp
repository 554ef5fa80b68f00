// What root and others have in common: making the engine, the tree by which progress is told, and the wait.
#include "core/reliable_broadcast.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "core/ops.h"
#include "core/wait_out.h"

namespace tutti {
namespace {

using namespace broadcast_wire;

constexpr std::chrono::nanoseconds nak_interval{500};  // what a root takes for one

}  // namespace

reliable_broadcast::reliable_broadcast(team& t, std::vector<std::byte>& token)
    : team_(t), group_(t, 0, token), turn_(t.index() * nak_interval) {
  const std::uint64_t first_child = std::uint64_t{t.index()} * fan_in + 1;
  if (first_child < t.size()) {
    first_child_ = static_cast<std::uint32_t>(first_child);
    children_ = std::min(fan_in, t.size() - first_child_);
  }
}

reliable_broadcast::~reliable_broadcast() {
  wait_out(team_.parent_job().net(), {&puts_});  // of repairs that are still leaving
}

result<std::unique_ptr<reliable_broadcast>> reliable_broadcast::open(team& t, std::uint64_t first) {
  // Alike in all members: no exchange is needed to agree on these.
  if (!t.parent_job().net().mcast())
    return status(errc::unsupported, "this transport has no multicast; broadcast by a tree of puts");
  if (t.size() > most_members)
    return status(errc::unsupported, "a team of " + std::to_string(t.size()) + " is too large to broadcast by multicast, "
                                     "which takes " + std::to_string(most_members) + "; broadcast by a tree of puts");
  std::vector<std::byte> token;
  std::unique_ptr<reliable_broadcast> b(new reliable_broadcast(t, token));
  if (status s = b->prepare(first, token); !s.ok()) return s.during("making a multicast broadcast");
  return b;
}

status reliable_broadcast::prepare(std::uint64_t first, std::span<const std::byte> token) {
  // The limits may differ from rank to rank (interfaces, socket buffers): the least count for all.
  const auto mine = group_.limits();
  const std::uint32_t own[2] = {mine.max_payload, mine.receive_depth};
  auto all = team_.exchange(std::as_bytes(std::span(own)));
  if (!all) return all.error();
  std::uint32_t payload = own[0], depth = own[1];
  for (std::uint32_t i = 0; i < team_.size(); ++i) {
    std::uint32_t theirs[2];
    std::memcpy(theirs, (**all)[i].data(), sizeof theirs);
    payload = std::min(payload, theirs[0]), depth = std::min(depth, theirs[1]);
  }
  at_ = layout_for(payload, depth);
  auto memory = window::open(team_, {nullptr, at_.bytes()});
  if (!memory) return memory.error();
  memory_ = std::move(*memory);
  for (const std::uint64_t word : {wire::granted, wire::position}) store(word, first);
  for (std::uint32_t c = 0; c < fan_in; ++c) store(wire::children + c * wire::line, first);
  // Means `first - 1`, which nobody will ever miss.
  for (std::uint32_t i = 0; i < most_window; ++i) store(wire::repaired + i * sizeof(std::uint64_t), first);
  base_ = end_ = sent_ = granted_ = told_ = next_ = high_ = known_ = asked_ = first;
  staged_.fill(first);
  wanted_.reserve(std::size_t{nak_words} * nak_bits);
  early_bytes_ = std::make_unique_for_overwrite<std::byte[]>(std::size_t{at_.window} * at_.fragment);
  return group_.form(token);  // the words above are written before any peer leaves this, so before any can signal
}

std::uint64_t reliable_broadcast::load(std::uint64_t offset) const noexcept {
  auto* word = reinterpret_cast<std::uint64_t*>(memory_->base() + offset);
  return std::atomic_ref(*word).load(std::memory_order_acquire);
}

void reliable_broadcast::store(std::uint64_t offset, std::uint64_t value) noexcept {
  auto* word = reinterpret_cast<std::uint64_t*>(memory_->base() + offset);
  std::atomic_ref(*word).store(value, std::memory_order_release);
}

bool reliable_broadcast::signal(std::uint32_t index, std::uint64_t offset, std::uint64_t value) noexcept {
  const rma_op op = signal_op({team_.rank_of(index), memory_->segment(), offset}, value);
  return team_.parent_job().net().submit({&op, 1}) == 1;
}

std::span<std::byte> reliable_broadcast::bytes_of(std::uint64_t seq) const noexcept {
  const std::uint64_t at = (seq - base_) * at_.fragment;
  return data_.subspan(at, std::min<std::uint64_t>(at_.fragment, data_.size() - at));
}

// What this subtree has taken, rounded down to the grid, so that no member rounds what another has rounded already: the
// root, whose window is full, is told of a whole grain at least. Nothing is told twice, except by member 0 to a new root.
bool reliable_broadcast::tell() noexcept {
  std::uint64_t taken = team_.index() == root_ ? end_ : next_;
  for (std::uint32_t c = 0; c < children_; ++c)
    if (const std::uint64_t theirs = load(wire::children + c * wire::line); !reached(theirs, taken)) taken = theirs;
  if (taken != end_) taken = base_ + (taken - base_) / at_.grain() * at_.grain();
  if (team_.index() == 0) {
    if (root_ == 0) {
      granted_ = told_ = taken, told_to_ = 0;
    } else if (told_ != taken || told_to_ != root_) {
      if (!signal(root_, wire::granted, taken)) return false;
      told_ = taken, told_to_ = root_;
    }
  } else if (told_ != taken) {
    const std::uint32_t parent = (team_.index() - 1) / fan_in, line = (team_.index() - 1) % fan_in;
    if (!signal(parent, wire::children + line * wire::line, taken)) return false;
    told_ = taken;
  }
  return told_ == end_;
}

bool reliable_broadcast::step() noexcept {
  return (team_.index() == root_ ? root_step() : member_step()) || !broken_.ok() || !team_.health().ok();
}

status reliable_broadcast::look() noexcept {
  const bool roots = team_.index() == root_;
  // A root waits for everybody: one that has left in good order will not take anything any more.
  for (std::uint32_t i = 0; roots && i < team_.size(); ++i)
    if (const status s = team_.parent_job().net().health(team_.rank_of(i)); !s.ok()) return s;
  const rank_t from = roots ? no_rank : team_.rank_of(root_);
  if (const status s = team_.look(from); !s.ok() || !roll_) return s;
  // The root waits for what member 0 tells; everyone, for those below in the tree; the others, for what the root sends.
  std::array<rank_t, fan_in + 2> awaited;
  awaited.fill(no_rank);
  awaited[0] = roots ? team_.rank_of(0) : from;
  for (std::uint32_t c = 0; c < children_; ++c) awaited[1 + c] = team_.rank_of(first_child_ + c);
  return roll_->doubt(awaited);
}

status reliable_broadcast::run(std::uint32_t root, std::span<std::byte> data, time_point deadline) {
  if (!broken_.ok()) return broken_;
  if (const status s = team_.has(root, "broadcast"); !s) return s;
  call_ = roll_ ? roll_->calls() : call_ + 1;
  if (data.empty() || team_.size() == 1) return {};
  root_ = root, data_ = data;
  digest_ = digest_of(call_, root, data.size());
  base_ = end_;
  end_ = base_ + (data.size() + at_.fragment - 1) / at_.fragment;
  const bool roots = team_.index() == root;
  if (roots) {
    sent_ = base_;
    granted_ = heard_ = root == 0 ? base_ : load(wire::granted);
    waiting_ = false, said_ = {}, position_left_ = 0;
  } else {
    begin_member();
  }
  job& j = team_.parent_job();
  const rank_t from = roots ? no_rank : team_.rank_of(root);
  const wait_note note{"broadcast by multicast", from, base_, end_};
  status s = j.wait([&] { return step(); }, [&] { return look(); }, note, deadline);
  if (roll_ && s.code() == errc::timed_out) s = roll_->late(s);
  if (roll_ && !roots && broken_.code() == errc::protocol) broken_ = roll_->differs(from).during(note.what);
  if (s.ok()) s = broken_;
  if (s.ok()) s = team_.health();
  if (!s.ok()) {
    broken_ = s;
    team_.fail_if_lost(s);
  }
  if (roots) next_ = end_, seen_ = 0;
  data_ = {};
  return s;
}

}  // namespace tutti

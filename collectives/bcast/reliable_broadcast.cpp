// What root and others have in common: making the engine, the tree by which progress is told, and the wait; and the root,
// which publishes and sends as far as the window allows.
#include "collectives/bcast/reliable_broadcast.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>

#include "core/transport/ops.h"
#include "core/transport/wait_out.h"

namespace tutti {

using namespace broadcast_wire;

reliable_broadcast::reliable_broadcast(team& t, std::vector<std::byte>& token)
    : team_(t), group_(t, 0, token) {
  const std::uint64_t first_child = std::uint64_t{t.index()} * fan_in + 1;
  if (first_child < t.size()) {
    first_child_ = static_cast<std::uint32_t>(first_child);
    children_ = std::min(fan_in, t.size() - first_child_);
  }
}

reliable_broadcast::~reliable_broadcast() { wait_out(team_.parent_job().net(), {&told_all_}); }

result<std::unique_ptr<reliable_broadcast>> reliable_broadcast::open(team& t, std::uint64_t first) {
  multicast* const mc = t.parent_job().net().mcast();
  const auto mine = mc ? mc->query() : multicast::limits{};
  // The limits may differ from rank to rank (interfaces, socket buffers): the least count for all.
  std::array least{mine.max_payload, mine.receive_depth};
  if (mc) {
    auto all = t.exchange_values(least);
    if (!all) return all.error();
    for (const auto& theirs : *all) least = {std::min(least[0], theirs[0]), std::min(least[1], theirs[1])};
  }
  return wait_for(t.parent_job(), opening(t, least[0], least[1], {}, first));
}

resumable<result<std::unique_ptr<reliable_broadcast>>> reliable_broadcast::opening(team& t, std::uint32_t fragment,
                                                                                   std::uint32_t depth,
                                                                                   std::vector<std::byte> agreement,
                                                                                   std::uint64_t first) {
  // Alike in all members: no exchange is needed to agree on it.
  if (!t.parent_job().net().mcast())
    co_return status(errc::unsupported, "this transport has no multicast; broadcast by a tree of puts");
  constexpr const char* during = "making a multicast broadcast";
  std::vector<std::byte> token;
  std::unique_ptr<reliable_broadcast> b(new reliable_broadcast(t, token));
  b->at_ = layout_for(fragment, depth);
  b->early_bytes_ = std::make_unique_for_overwrite<std::byte[]>(std::size_t{b->at_.window} * b->at_.fragment);
  auto made = co_await expose_together(t, b->at_.bytes(), std::move(agreement), token);
  if (!made) co_return made.error().during(during);
  b->memory_ = std::move(made->memory);
  b->store(wire::granted, first);
  for (std::uint32_t c = 0; c < fan_in; ++c) b->store(wire::children + c * wire::line, first);
  b->position_.emplace(t, published_lines{b->memory_.segment(), b->memory_.region(), b->memory_.base(), wire::position}, first);
  b->base_ = b->end_ = b->staged_ = b->sent_ = b->granted_ = b->told_ = b->next_ = first;
  // The words above are written before any peer leaves this, so before any can signal.
  status joined = b->group_.accept((*made->extras)[0]);
  const status s = co_await t.agreeing(std::move(joined), t.members(), t.parent_job().setup_deadline());
  if (s.failed()) co_return s.during(during);
  co_return std::move(b);
}

std::uint64_t reliable_broadcast::load(std::uint64_t offset) const noexcept {
  auto* word = reinterpret_cast<std::uint64_t*>(memory_.base() + offset);
  return std::atomic_ref(*word).load(std::memory_order_acquire);
}

void reliable_broadcast::store(std::uint64_t offset, std::uint64_t value) noexcept {
  auto* word = reinterpret_cast<std::uint64_t*>(memory_.base() + offset);
  std::atomic_ref(*word).store(value, std::memory_order_release);
}

bool reliable_broadcast::signal(std::uint32_t index, std::uint64_t offset, std::uint64_t value) noexcept {
  rma_op op = signal_op({team_.rank_of(index), memory_.segment(), offset}, value);
  op.done = &told_all_;
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

// Goes on until it can do no more with what has come: what came may not wake this rank again.
bool reliable_broadcast::root_step() noexcept {
  const bool told = tell();
  if (root_ != 0) granted_ = load(wire::granted);
  while (!reached(sent_, end_) && !reached(sent_, granted_ + at_.window)) {
    if (staged_ == sent_) stage(sent_);
    if (!group_.send(tag_of(sent_, last(sent_), call_), bytes_of(sent_))) break;
    position_->publish(++sent_);  // not before: members would read what is about to come
    ++counts_.datagrams;
  }
  return granted_ == end_ && told && told_all_.idle();
}

void reliable_broadcast::stage(std::uint64_t seq) noexcept {
  std::byte* const slot = memory_.base() + at_.slot(seq);
  const std::uint64_t word = slot_word(seq, digest_);
  const auto bytes = bytes_of(seq);
  std::memcpy(slot, &word, slot_word_bytes);
  std::memcpy(slot + slot_word_bytes, bytes.data(), bytes.size());
  staged_ = seq + 1;
}

// Who has left in good order needs no more of this rank, or the looks find out for whose death it left.
void reliable_broadcast::failed(const status& how, const char* what) noexcept {
  if (how.failed() && how.native() != peer_left && broken_.ok()) broken_ = how.during(what);
}

bool reliable_broadcast::step() noexcept {
  const bool over = team_.index() == root_ ? root_step() : member_step();
  failed(told_all_.outcome(), "telling what has come of a broadcast");
  return over || broken_.failed() || team_.health().failed();
}

status reliable_broadcast::look() noexcept {
  const bool roots = team_.index() == root_;
  // A root waits for everybody: one that has left in good order will not take anything any more.
  for (std::uint32_t i = 0; roots && i < team_.size(); ++i)
    if (const status s = team_.parent_job().net().health(team_.rank_of(i)); s.failed()) return s;
  const rank_t from = roots ? no_rank : team_.rank_of(root_);
  if (const status s = team_.look(from); s.failed() || !record_) return s;
  // The root waits for what member 0 tells; everyone, for those below in the tree; the others, for what the root sends.
  std::array<rank_t, fan_in + 2> awaited;
  awaited.fill(no_rank);
  awaited[0] = roots ? team_.rank_of(0) : from;
  for (std::uint32_t c = 0; c < children_; ++c) awaited[1 + c] = team_.rank_of(first_child_ + c);
  return record_->mismatch(awaited);
}

void reliable_broadcast::begin(std::uint32_t root, std::span<std::byte> data, std::uint64_t call) noexcept {
  call_ = call;
  root_ = root, data_ = data;
  digest_ = digest_of(call_, root, data.size());
  base_ = end_;
  end_ = base_ + (data.size() + at_.fragment - 1) / at_.fragment;
  if (team_.index() == root) {
    sent_ = staged_ = base_;
    granted_ = root == 0 ? base_ : load(wire::granted);
  } else {
    begin_member();
  }
}

wait_note reliable_broadcast::waiting_for() const noexcept {
  return {"broadcast by multicast", team_.index() == root_ ? no_rank : team_.rank_of(root_), base_, end_};
}

bool reliable_broadcast::advance(status& error) noexcept {
  if (!step()) return false;
  if (broken_.ok()) broken_ = team_.health();
  if (team_.index() == root_) next_ = end_, seen_ = 0;
  data_ = {};
  if (broken_.failed()) team_.fail_if_lost(broken_);
  error = broken_;
  return true;
}

void reliable_broadcast::cancel(const status& why) noexcept {
  broken_ = why;
  data_ = {};
  team_.fail_if_lost(why);
}

status reliable_broadcast::explained(const status& error) {
  if (!record_) return error;
  if (error.code() == errc::timed_out) return record_->late(error);
  const bool differs = error.code() == errc::protocol && team_.index() != root_;
  return differs ? record_->differs(team_.rank_of(root_)).during(waiting_for().what) : error;
}

status reliable_broadcast::run(std::uint32_t root, std::span<std::byte> data, time_point deadline) {
  if (broken_.failed()) return broken_;
  if (const status s = team_.has(root, "broadcast"); s.failed()) return s;
  if (data.empty() || team_.size() == 1) {
    ++call_;
    return {};
  }
  begin(root, data, call_ + 1);
  status end;
  const status s = team_.parent_job().wait([&] { return advance(end); }, [&] { return look(); }, waiting_for(), deadline);
  if (s.failed()) cancel(s);
  return broken_ = explained(s.ok() ? end : s);
}

}  // namespace tutti

#include "collectives/bcast/team_bcast.h"

#include <algorithm>
#include <array>
#include <vector>

namespace tutti {
namespace {

constexpr unsigned digest_bits = 16;
constexpr std::uint64_t digest_mask = (std::uint64_t{1} << digest_bits) - 1;

}  // namespace

// What may differ from rank to rank is agreed: of limits (interfaces, queues) the least holds for all, of priors member 0's.
result<std::unique_ptr<team_bcast>> team_bcast::open(team& t, std::string wanted, bool multicast) {
  if (wanted == "auto") wanted.clear();
  std::unique_ptr<team_bcast> b(new team_bcast(t, std::move(wanted)));
  job& j = t.parent_job();
  bcast_facts own = bcast_facts_of(j.net(), multicast);
  auto all = t.exchange_values(own);
  if (!all) return all.error().during("preparing to broadcast");
  for (std::uint32_t i = 0; i < t.size(); ++i) {
    const bcast_facts& theirs = (*all)[i];
    own.piece = std::min(own.piece, theirs.piece);
    own.fragment = std::min(own.fragment, theirs.fragment), own.depth = std::min(own.depth, theirs.depth);
    if (i > 0) continue;
    own.link = theirs.link;
    own.multicast_us = theirs.multicast_us, own.multicast_bytes_per_ns = theirs.multicast_bytes_per_ns;
  }
  b->facts_ = bcast_inputs_of(own, t.size(), j.where().most_ranks_per_core());
  auto roll = broadcast_roll::open(t);
  if (!roll) return roll.error().during("preparing to broadcast");
  b->roll_ = std::move(*roll);
  if (auto choice = choose_bcast(b->inputs(1)); !choice) return choice.error();
  return b;
}

bcast_inputs team_bcast::inputs(std::uint64_t bytes) const {
  bcast_inputs in = facts_;
  in.bytes = bytes, in.wanted = wanted_;
  return in;
}

const bcast_algorithm& team_bcast::algorithm_for(std::uint64_t bytes) const {
  return *choose_bcast(inputs(bytes))->front().algorithm;
}

// To make what an algorithm needs is collective: members that give other numbers of bytes may have chosen another, or have
// all they need, and must not be met half way.
status team_bcast::agree(std::uint32_t root, std::uint64_t bytes, time_point deadline) {
  const std::array<std::uint64_t, 2> mine{root, bytes};
  const auto look = [&] { return roll_->doubt({&team_.parent_job().waiting_for()->from, 1}); };
  const function_ref<status> doubt = look;
  auto all = team_.exchange_values(mine, deadline, &doubt);
  if (!all) return all.error().code() == errc::timed_out ? roll_->late(all.error()) : all.error();
  for (std::uint32_t i = 0; i < team_.size(); ++i)
    if ((*all)[i] != mine) return roll_->differs(team_.rank_of(i));
  return {};
}

// The choice, with all that it needs. Whether a group can be formed shows when it is, alike in all.
result<const bcast_algorithm*> team_bcast::prepare(std::uint32_t root, std::uint64_t bytes, time_point deadline) {
  for (;;) {
    auto choice = choose_bcast(inputs(bytes));
    if (!choice) return choice.error();
    const bcast_algorithm* const a = choice->front().algorithm;
    if (a->needs_multicast ? multicast_ != nullptr : words_ != nullptr) return a;
    if (status s = agree(root, bytes, deadline); !s.ok()) return s.during("broadcast");
    if (!a->needs_multicast) {
      if (status s = prepare_trees(); !s.ok()) return s;
      return a;
    }
    auto made = reliable_broadcast::open(team_);
    if (made) {
      multicast_ = std::move(*made);
      multicast_->consult(roll_.get());
      return a;
    }
    if (made.error().code() != errc::unavailable || !wanted_.empty()) return made.error();
    facts_.multicast = false;
  }
}

status team_bcast::prepare_trees() {
  const auto lines = [](void*, const rank_map& members) {
    return team_request{program::lines(bcasts::tree_words(members.size())), "broadcast"};
  };
  auto words = team_.split(0, 0, lines, nullptr);
  if (!words) return words.error().during("preparing to broadcast");
  auto staging = window::open(**words, {nullptr, std::size_t{bcast_pieces_a_run} * facts_.piece});
  if (!staging) return staging.error().during("staging memory of a broadcast");
  words_ = std::move(*words);
  staging_ = std::move(*staging);
  return {};
}

result<team_bcast::bound*> team_bcast::bind(const bcast_algorithm& a, std::uint32_t root, std::span<std::byte> data) {
  bound* oldest = &bound_[0];
  for (bound& b : bound_) {
    if (b.algorithm == &a && b.root == root && b.bytes == data.size()) return &b;
    if (b.used < oldest->used) oldest = &b;
  }
  const schedule s = a.make({.rank = team_.index(), .size = team_.size(), .root = root, .bytes = data.size(), .piece = facts_.piece});
  const buffer buffers[] = {{data.data(), plain_memory, {}}, {staging_->base(), staging_->region(), staging_->segment()}};
  auto code = program::bind(s, *words_, control::engine, nullptr, buffers);
  if (!code) return code.error();
  oldest->position.reset();
  oldest->algorithm = &a, oldest->root = root, oldest->bytes = data.size();
  oldest->code = std::move(*code);
  oldest->position = std::make_unique<tutti::run>(oldest->code);
  return oldest;
}

// Words are runs << 16 | digest. A parent that reads its child's word, and a child that reads the word of the first piece,
// find the other's digest there, or a later run's: then the other has left this one, having found the digests the same.
status team_bcast::by_puts(const bcast_algorithm& a, std::uint32_t root, std::span<std::byte> data, time_point deadline) {
  job& j = team_.parent_job();
  const std::size_t longest = std::size_t{bcast_pieces_a_run} * facts_.piece;
  const std::uint64_t digest = broadcast_wire::digest_of(roll_->calls(), root, data.size());
  for (std::size_t at = 0; at < data.size(); at += longest) {
    const auto part = data.subspan(at, std::min(longest, data.size() - at));
    auto found = bind(a, root, part);
    if (!found) return found.error();
    bound& b = **found;
    b.code.move_copies(bcast_data, part.data());
    b.used = ++runs_;
    b.position->begin(runs_ << digest_bits | digest, digest_mask);
    const std::uint32_t looks = j.crowded() ? 1 : 64;
    const wait_note note{a.name.data(), team_.index() == root ? no_rank : team_.rank_of(root), runs_ - 1, runs_};
    const auto look = [&] {
      const rank_t from = b.position->waiting_for("").from;
      const status s = words_->look(from);
      return s.ok() ? roll_->doubt({&from, 1}) : s;
    };
    status s = j.wait([&] { return b.position->advance(looks); }, look, note, deadline);
    if (s.code() == errc::timed_out) s = roll_->late(s);
    if (s.ok()) s = b.position->outcome();
    if (s.code() == errc::protocol && s.peer() != no_rank) s = roll_->differs(s.peer());
    if (!s.ok()) return s.during("broadcast");
  }
  return {};
}

status team_bcast::run(std::uint32_t root, std::span<std::byte> data, time_point deadline) {
  if (!broken_.ok()) return broken_;
  if (const status s = team_.has(root, "broadcast"); s.failed()) return s;
  if (team_.size() == 1) return {};
  roll_->enter(root, data.size());
  if (data.empty()) return {};
  auto a = prepare(root, data.size(), deadline);
  status s = a ? status{} : a.error();
  if (s.ok()) s = (*a)->needs_multicast ? multicast_->run(root, data, deadline) : by_puts(**a, root, data, deadline);
  if (!s.ok()) {
    broken_ = s;
    team_.fail_if_lost(s);
    if (words_) words_->fail_if_lost(s);
  }
  return s;
}

}  // namespace tutti

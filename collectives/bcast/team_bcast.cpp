#include "collectives/bcast/team_bcast.h"

#include <algorithm>
#include <array>
#include <new>
#include <vector>

#include "collectives/bcast/bcast.h"

namespace tutti {
namespace {

constexpr unsigned digest_bits = 16;
constexpr std::uint64_t digest_mask = (std::uint64_t{1} << digest_bits) - 1;

}  // namespace

// What may differ from rank to rank is agreed: of limits (interfaces, queues) the least holds for all, of priors member 0's.
result<std::unique_ptr<team_bcast>> team_bcast::open(team& t, call_record& record, std::string wanted, bool multicast) {
  auto named = parse_wanted(collective::broadcast, wanted);
  if (!named) return named.error();
  std::unique_ptr<team_bcast> b(new team_bcast(t, record));
  job& j = t.parent_job();
  payload_facts own = payload_facts_of(j.net(), multicast);
  auto all = t.exchange_values(own);
  if (!all) return all.error().during("preparing to broadcast");
  for (std::uint32_t i = 0; i < t.size(); ++i)
    if (!plausible_us((*all)[i].multicast_us) || !plausible_rate((*all)[i].multicast_bytes_per_ns)) return t.called_another(i);
  for (const payload_facts& theirs : *all) own.fragment = std::min(own.fragment, theirs.fragment), own.depth = std::min(own.depth, theirs.depth);
  own.multicast_us = all->front().multicast_us, own.multicast_bytes_per_ns = all->front().multicast_bytes_per_ns;
  b->facts_ = inputs_from(j.facts(), false, b->nodes_);
  add_payload(b->facts_, own);
  b->facts_.wanted = std::move(*named);
  b->facts_.ranks_per_core = j.where().most_ranks_per_core();
  if (auto choice = choose(collective::broadcast, b->inputs(1)); !choice) return choice.error();
  return b;
}

choice_inputs team_bcast::inputs(std::uint64_t bytes) const {
  choice_inputs in = facts_;
  in.bytes = bytes;
  return in;
}

const algorithm& team_bcast::algorithm_for(std::uint64_t bytes) const {
  return *choose(collective::broadcast, inputs(bytes))->front().row;
}

// To make what an algorithm needs is collective: members that give other numbers of bytes may have chosen another, or have
// all they need, and must not be met half way.
status team_bcast::agree(std::uint32_t root, std::uint64_t bytes, time_point deadline) {
  const std::array<std::uint64_t, 2> mine{root, bytes};
  auto all = team_.exchange_values(mine, deadline);
  if (!all) return all.error().code() == errc::timed_out ? record_->late(all.error()) : all.error();
  for (std::uint32_t i = 0; i < team_.size(); ++i)
    if ((*all)[i] != mine) return record_->differs(team_.rank_of(i));
  return {};
}

// The choice, with all that it needs. Whether a group can be formed shows when it is, alike in all.
result<const algorithm*> team_bcast::prepare(std::uint32_t root, std::uint64_t bytes, time_point deadline) {
  for (;;) {
    const algorithm*& a = chosen_[size_class(bytes)];
    if (!a) {
      auto choice = choose(collective::broadcast, inputs(bytes));
      if (!choice) return choice.error();
      a = choice->front().row;
    }
    if (a->make ? trees_ != nullptr : multicast_ != nullptr) return a;
    if (status s = agree(root, bytes, deadline); s.failed()) return s.during("broadcast");
    if (a->make) {
      if (status s = prepare_trees(); s.failed()) return s;
      return a;
    }
    auto made = reliable_broadcast::open(team_);
    if (made) {
      multicast_ = std::move(*made);
      multicast_->consult(record_);
      return a;
    }
    if (made.error().code() != errc::unavailable || !facts_.wanted.name.empty()) return made.error();
    facts_.multicast = false;
    chosen_ = {};
  }
}

std::uint64_t team_bcast::words_bytes() const noexcept {
  std::uint32_t most = 0;
  for (const algorithm& a : algorithms(collective::broadcast))
    if (a.words) most = std::max(most, a.words({.size = team_.size()}));
  return control::offset(program::lines(most));
}

status team_bcast::prepare_trees() {
  auto made = window::open(team_, {nullptr, words_bytes() + bcast_pieces * facts_.piece});
  if (!made) return made.error().during("staging memory of a broadcast");
  trees_ = std::move(*made);
  return {};
}

result<team_bcast::bound*> team_bcast::bind(const algorithm& a, std::uint32_t root) {
  bound* oldest = &bound_[0];
  for (bound& b : bound_) {
    if (b.row == &a && b.root == root) return &b;
    if (b.used < oldest->used) oldest = &b;
  }
  const schedule s = a.make({.rank = team_.index(), .size = team_.size(), .node_of = nodes_, .root = root});
  const std::uint64_t staging = words_bytes();
  const buffer buffers[] = {{}, {trees_->base() + staging, trees_->region(), trees_->segment(), staging}};
  auto code = program::bind(s, team_, {trees_->segment(), trees_->region(), trees_->base(), 0}, nullptr, buffers);
  if (!code) return code.error();
  oldest->position.reset();
  oldest->row = &a, oldest->root = root;
  oldest->code = std::move(*code);
  oldest->position = std::make_unique<tutti::run>(oldest->code);
  return oldest;
}

result<std::uint64_t> team_bcast::start(std::uint32_t root, std::span<std::byte> data, time_point deadline) {
  if (error_.failed()) return error_;
  if (const status s = team_.has(root, "broadcast"); s.failed()) return s;
  call c{root, data, nullptr, record_->calls()};
  if (team_.size() > 1 && !data.empty()) {
    c.row = chosen_[size_class(data.size())];
    if (!c.row || !(c.row->make ? trees_ != nullptr : multicast_ != nullptr)) {
      if (const status s = wait(started_, deadline); s.failed()) return s;
      auto row = prepare(root, data.size(), deadline);
      if (!row) return fail(row.error()), error_;
      c.row = *row;
    }
  }
  calls_.push_back(c);
  return operation_sequence::start();
}

status team_bcast::run(std::uint32_t root, std::span<std::byte> data, time_point deadline) {
  auto number = start(root, data, deadline);
  if (!number) return number.error().during("broadcast");
  const status s = wait(*number, deadline);
  if (s.code() == errc::timed_out && error_.ok()) {  // the caller's memory is the caller's again
    if (multicast_ && !by_) multicast_->cancel(s);
    fail(s);
  }
  return s.failed() ? s.during("broadcast") : s;
}

void team_bcast::begin(std::uint64_t) noexcept {
  now_ = calls_.front();
  calls_.erase(calls_.begin());
  by_ = nullptr, at_ = 0, trouble_ = {};
  if (!now_.row) return;
  if (!now_.row->make) return multicast_->begin(now_.root, now_.data, now_.number);
  try {
    auto found = bind(*now_.row, now_.root);
    if (found) by_ = *found, begin_part();
    else trouble_ = found.error();
  } catch (const std::bad_alloc&) {
    trouble_ = {errc::no_resource, "no memory for the schedule of a broadcast"};
  }
}

// Words are runs << 16 | digest. A parent that reads its child's word, and a child that reads the word of the first piece,
// find the other's digest there, or a later run's: then the other has left this one, having found the digests the same.
void team_bcast::begin_part() noexcept {
  const auto part = now_.data.subspan(at_, std::min<std::size_t>(now_.row->blocks * facts_.piece, now_.data.size() - at_));
  const std::uint64_t digest = broadcast_wire::digest_of(now_.number, now_.root, now_.data.size());
  by_->used = ++runs_;
  by_->position->begin(runs_ << digest_bits | digest, digest_mask, {part.size(), facts_.piece}, part.data());
  at_ += part.size();
}

bool team_bcast::go_on(std::uint32_t looks, status& error) noexcept {
  if (trouble_.failed()) return error = trouble_, true;
  if (!by_) return !now_.row || multicast_->advance(error);
  while (by_->position->advance(looks)) {
    error = by_->position->outcome();
    if (error.failed() || at_ == now_.data.size()) return true;
    begin_part();
  }
  return false;
}

status team_bcast::look() noexcept {
  if (!by_) return multicast_->look();
  const rank_t from = by_->position->waiting_for("").from;
  const status s = team_.look(from);
  return s.ok() ? record_->doubt({&from, 1}) : s;
}

wait_note team_bcast::waiting_for() const noexcept {
  if (!by_) return multicast_ ? multicast_->waiting_for() : wait_note{"broadcast", no_rank, 0, 0};
  return {now_.row->name.data(), team_.index() == now_.root ? no_rank : team_.rank_of(now_.root), runs_ - 1, runs_};
}

status team_bcast::explained(const status& error) {
  if (!by_) return multicast_ ? multicast_->explained(error) : error;
  if (error.code() == errc::timed_out) return record_->late(error);
  return error.code() == errc::protocol && error.peer() != no_rank ? record_->differs(error.peer()) : error;
}

}  // namespace tutti

#include "collectives/data_collectives.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "core/job/team_memory.h"

namespace tutti {
namespace {

constexpr unsigned digest_bits = 16;
constexpr std::uint64_t digest_mask = (std::uint64_t{1} << digest_bits) - 1;

status no_memory() { return {errc::no_resource, "no memory for what an algorithm needs"}; }

// A user's function takes its right operand as the place of the result: where that is not to be, it has some scratch memory.
void reduce_into(const void* context, const std::byte* from, std::byte* to, std::size_t bytes, bool from_is_left) {
  const auto& [op, scratch] = *static_cast<const arithmetic*>(context);
  const std::size_t count = bytes / op.element_size;
  if (from_is_left) return op.combine(from, to, to, count);
  if (op.built_in) return op.combine(to, from, to, count);
  const std::size_t at_once = scratch.size() / op.element_size;
  for (std::size_t i = 0; i < count; i += at_once) {
    const std::size_t n = std::min(at_once, count - i), at = i * op.element_size;
    op.combine(to + at, from + at, scratch.data(), n);
    std::memcpy(to + at, scratch.data(), n * op.element_size);
  }
}

std::size_t element_of(const collective_call& c) noexcept { return c.of == collective::broadcast ? 1 : c.op.element_size; }

// Beside what broadcast_wire::digest_of() tells apart.
std::uint64_t kind_digest(const collective_call& c) noexcept {
  const call_record::what w = c.recorded();
  return (static_cast<std::uint64_t>(c.of) * 0x2b1d ^ w.type * 0x0d3bu ^ w.op * 0x51c7u) & digest_mask;
}

const algorithm& owner_of(const algorithm& row) noexcept { return row.resources ? *row.resources : row; }

}  // namespace

call_record::what collective_call::recorded() const noexcept {
  return {bytes, root, kind_of(of), static_cast<std::uint8_t>(op.built_in ? op.type : datatype::bytes),
          static_cast<std::uint8_t>(op.built_in ? op.op : operation::user)};
}

data_collectives::data_collectives(team& t, call_record& r, wanted w, bool multicast, const std::optional<payload_facts>& known)
    : operation_sequence(t, 1, &r), nodes_(t.nodes()), wanted_(std::move(w)), multicast_allowed_(multicast) {
  if (known) take_facts(*known);
}

// --- the choice ------------------------------------------------------------------------------------------------------

void data_collectives::take_facts(const payload_facts& agreed) {
  const job& j = team_.parent_job();
  payload_ = agreed;
  facts_ = inputs_from(j.facts(), false, nodes_);
  if (multicast_allowed_) add_payload(facts_, agreed);
  facts_.ranks_per_core = j.where().most_ranks_per_core();
}

// What may differ from rank to rank is agreed: of limits (interfaces, queues) the least holds for all, of priors member 0's.
resumable<status> data_collectives::agreeing_on_facts() {
  job& j = team_.parent_job();
  payload_facts agreed = payload_facts_of(j.net(), multicast_allowed_);
  if (multicast_allowed_ && j.net().mcast() && team_.size() > 1) {
    const auto own = std::as_bytes(std::span{&agreed, 1});
    auto all = co_await team_.exchanging({own.begin(), own.end()}, j.net().now() + j.options().setup_timeout);
    if (!all) co_return all.error().during("preparing to move data");
    for (std::uint32_t i = 0; i < team_.size(); ++i) {
      payload_facts theirs;
      if ((**all)[i].size() != sizeof theirs) co_return team_.called_another(i);
      std::memcpy(&theirs, (**all)[i].data(), sizeof theirs);
      if (!plausible_us(theirs.multicast_us) || !plausible_rate(theirs.multicast_bytes_per_ns)) co_return team_.called_another(i);
      if (i == 0) agreed.multicast_us = theirs.multicast_us, agreed.multicast_bytes_per_ns = theirs.multicast_bytes_per_ns;
      agreed.fragment = std::min(agreed.fragment, theirs.fragment), agreed.depth = std::min(agreed.depth, theirs.depth);
    }
  }
  take_facts(agreed);
  co_return status{};
}

choice_inputs data_collectives::inputs(collective of, std::uint64_t bytes, bool commutative) const {
  choice_inputs in = facts_;
  in.bytes = bytes, in.commutative = commutative;
  in.wanted = wanted_[static_cast<unsigned>(of)];
  return in;
}

const algorithm& data_collectives::algorithm_for(collective of, std::uint64_t bytes) const {
  return *choose(of, inputs(of, bytes, true))->front().row;
}

result<data_collectives::choice> data_collectives::choose_for(const call& c) {
  choice& kept = chosen_[static_cast<unsigned>(c.of)][c.op.commutative][size_class(c.bytes)];
  if (!kept.row) {
    const auto made = choose(c.of, inputs(c.of, c.bytes, c.op.commutative));
    if (!made) return made.error();
    kept = {made->front().row, made->front().radix};
  }
  return kept;
}

// --- what an algorithm needs -------------------------------------------------------------------------------------------

data_collectives::resource* data_collectives::resource_of(const choice& c) noexcept {
  for (const auto& r : resources_)
    if (r->of == &owner_of(*c.row) && r->radix == c.radix) return r.get();
  return nullptr;
}

bool data_collectives::equipped(const choice& c) noexcept { return c.row->make ? resource_of(c) != nullptr : multicast_ != nullptr; }

// Members that call something else may have chosen another algorithm, or have all they need, and must not be met half way: so
// what each calls travels with its key. Whoever has all it needs waits in its run, and call_record.h ends that.
resumable<status> data_collectives::preparing() {
  if (!payload_) {
    status s = co_await agreeing_on_facts();
    if (s.failed()) co_return s;
  }
  const struct {
    std::uint64_t number;
    call_record::what what;
  } terms{now_.number, now_.recorded()};
  const auto agreement = std::as_bytes(std::span{&terms, 1});
  for (;;) {
    const auto found = choose_for(now_);
    if (!found) co_return found.error();
    if (equipped(*found)) co_return status{};
    if (found->row->make) co_return co_await equipping(*found, {agreement.begin(), agreement.end()});
    auto made = co_await reliable_broadcast::opening(team_, payload_->fragment, payload_->depth, {agreement.begin(), agreement.end()});
    if (made) {
      multicast_ = std::move(*made);
      multicast_->consult(record_);
      co_return status{};
    }
    // Whether a group can be formed shows when it is, alike in all.
    if (made.error().code() != errc::unavailable || !wanted_[static_cast<unsigned>(now_.of)].name.empty()) co_return made.error();
    facts_.multicast = false;
    chosen_ = {};
  }
}

resumable<status> data_collectives::equipping(choice c, std::vector<std::byte> agreement) {
  const algorithm& row = owner_of(*c.row);
  const shape s = shape_of(c);
  auto r = std::make_unique<resource>();
  r->of = &row, r->radix = c.radix;
  r->slots_at = control::offset(program::lines(row.words(s)));
  r->slot_bytes = std::min<std::uint64_t>(row.data.most_bytes, facts_.piece);
  r->set_bytes = row.data.slots(s) * r->slot_bytes;
  auto made = co_await expose_together(team_, r->slots_at + r->set_bytes * (row.data.needs_everyone ? 2 : 1), std::move(agreement));
  if (!made) co_return made.error().during("memory for " + std::string(name_of(row.of)) + " " + std::string(row.name));
  r->memory = std::move(made->memory);
  resources_.push_back(std::move(r));
  co_return status{};
}

result<data_collectives::bound*> data_collectives::bind(const choice& c, std::uint32_t root) {
  bound* oldest = &bound_[0];
  for (bound& b : bound_) {
    if (b.row == c.row && b.radix == c.radix && b.root == root) return &b;
    if (b.used < oldest->used) oldest = &b;
  }
  resource* const by = resource_of(c);
  const schedule s = c.row->make(shape_of(c, root));
  buffer buffers[data_buffers];
  const exposed_memory& m = by->memory;
  buffers[staging] = {m.base() + by->slots_at, m.region(), m.segment(), by->slots_at, by->slot_bytes};
  auto code = program::bind(s, team_, {m.segment(), m.region(), m.base(), 0}, nullptr, buffers);
  if (!code) return code.error();
  oldest->position.reset();
  oldest->row = c.row, oldest->radix = c.radix, oldest->root = root, oldest->by = by;
  oldest->code = std::move(*code);
  oldest->code.touch();
  oldest->position = std::make_unique<tutti::run>(oldest->code);
  return oldest;
}

// --- an operation ------------------------------------------------------------------------------------------------------

// Those begun go once they are the more: nothing is allocated while as many are under way as were before.
void data_collectives::enqueue(const collective_call& c) {
  if (begun_ > calls_.size() / 2) calls_.erase(calls_.begin(), calls_.begin() + static_cast<std::ptrdiff_t>(std::exchange(begun_, 0)));
  calls_.push_back({c, record_->calls()});
}

std::uint64_t data_collectives::start(const collective_call& c) {
  if (error_.failed()) return completed_;
  enqueue(c);
  return operation_sequence::start();
}

status data_collectives::run(const collective_call& c, time_point deadline) {
  if (error_.failed()) return error_;
  enqueue(c);
  const status s = operation_sequence::run(*this, deadline);
  if (s.code() == errc::timed_out && error_.ok()) {  // the caller's memory is the caller's again
    if (setup_) team_.give_up(s);  // in the middle of an exchange
    else if (multicasts()) multicast_->cancel(s);
    fail(s);
  }
  return s;
}

void data_collectives::begin(std::uint64_t) noexcept {
  now_ = calls_[begun_++];
  row_ = nullptr, by_ = nullptr, at_ = 0;
  setup_ = {};
  if (now_.bytes == 0) return;
  if (team_.size() == 1) {
    if (now_.of != collective::broadcast && now_.in != now_.out) std::memcpy(now_.out, now_.in, now_.bytes);
    return;
  }
  try {
    const choice& c = chosen_[static_cast<unsigned>(now_.of)][now_.op.commutative][size_class(now_.bytes)];
    if (c.row && equipped(c)) trouble_ = begin_chosen();
    else setup_ = preparing();
  } catch (const std::bad_alloc&) {
    trouble_ = no_memory();
  }
}

// What is chosen has all it needs.
status data_collectives::begin_chosen() {
  const choice& c = chosen_[static_cast<unsigned>(now_.of)][now_.op.commutative][size_class(now_.bytes)];
  row_ = c.row;
  if (!row_->make) return multicast_->begin(now_.root, {now_.out, now_.bytes}, now_.number), status{};
  auto found = bind(c, now_.root);
  if (!found) return found.error();
  by_ = *found;
  if (next_run(*row_, shape_of(c), now_.bytes, facts_.piece, element_of(now_)).bytes == 0)
    return {errc::unsupported, "elements of " + std::to_string(now_.op.element_size) + " bytes are too long; at most " +
                               std::to_string(by_->by->slot_bytes)};
  if (now_.of != collective::broadcast && !now_.op.built_in) scratch_.resize(std::max<std::size_t>(4096, now_.op.element_size));
  arithmetic_ = {now_.op, scratch_};
  begin_part();
  return {};
}

// Words are runs << 16 | digest. Who reads a word finds the other's digest there, or a later run's: then the other has left this
// one, having found the digests the same.
void data_collectives::begin_part() noexcept {
  resource& r = *by_->by;
  const partition part = next_run(*row_, shape_of({row_, by_->radix}), now_.bytes - at_, facts_.piece, element_of(now_));
  const std::uint64_t set = row_->data.needs_everyone ? (r.uses++ & 1) * r.set_bytes : 0;
  by_->code.move(data_in, const_cast<std::byte*>(now_.in) + at_);
  by_->code.move(data_out, now_.out + at_);
  by_->code.move(staging, r.memory.base() + r.slots_at + set, r.slots_at + set);
  by_->used = ++runs_;
  const std::uint64_t digest = broadcast_wire::digest_of(now_.number, now_.root, now_.bytes) ^ kind_digest(now_);
  by_->position->begin(runs_ << digest_bits | digest, digest_mask, part, {reduce_into, &arithmetic_});
  at_ += part.bytes;
}

bool data_collectives::set_up(status& error) {
  if (!setup_.advance()) return false;
  error = setup_.result();
  if (error.ok()) setup_ = {}, error = begin_chosen();
  return true;
}

bool data_collectives::go_on(std::uint32_t looks, status& error) noexcept {
  if (trouble_.failed()) return error = std::exchange(trouble_, {}), true;
  if (setup_) {
    try {
      if (!set_up(error)) return false;
    } catch (const std::bad_alloc&) {
      error = no_memory();
    }
    if (error.failed()) return true;
  }
  if (multicasts()) return multicast_->advance(error);
  if (!by_) return true;
  while (by_->position->advance(looks)) {
    error = by_->position->outcome();
    if (error.failed() || at_ == now_.bytes) return true;
    begin_part();
  }
  return false;
}

status data_collectives::look() noexcept {
  if (setup_) {
    pending_wait* const w = setup_.waits_for();
    if (!w) return {};
    status s = w->look();
    if (s.ok() && team_.parent_job().net().now() > w->deadline())
      s = {errc::timed_out, std::string(w->note().what) + ": the deadline passed", w->note().from};
    if (s.failed()) setup_.fail(std::move(s));
    return {};
  }
  if (multicasts()) return multicast_->look();
  if (!by_) return {};
  const rank_t from = by_->position->waiting_for("").from;
  const status s = team_.look(from);
  return s.ok() ? record_->mismatch({&from, 1}) : s;
}

wait_note data_collectives::waiting_for() const noexcept {
  if (setup_) return setup_.waits_for() ? setup_.waits_for()->note() : wait_note{"preparing a collective"};
  if (multicasts()) return multicast_->waiting_for();
  if (!by_) return {"a collective that moves nothing"};
  return by_->position->waiting_for(row_->name.data());
}

status data_collectives::explained(const status& error) {
  if (multicasts()) return multicast_->explained(error);
  if (error.code() == errc::timed_out) return record_->late(error);
  if (error.code() != errc::protocol || error.peer() == no_rank) return error;
  const status told = record_->differs(error.peer());
  return told.peer() == no_rank && !by_ ? error : told;  // what came was no such call's
}

}  // namespace tutti

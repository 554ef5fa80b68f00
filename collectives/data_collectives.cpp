#include "collectives/data_collectives.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <new>

#include "collectives/hierarchy.h"
#include "collectives/tuning/table.h"
#include "core/base/copy.h"
#include "core/base/round_up.h"
#include "core/engine/move_watch.h"
#include "core/job/team_memory.h"

namespace tutti {
namespace {

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
    copy_bytes(to + at, scratch.data(), n * op.element_size);
  }
}

// Of an alltoallv members make unlike numbers of runs.
bool takes_slots_by_turns(const algorithm& row, const costs& of) noexcept {
  return of.mapped && of.ranks_per_core <= 1 && row.of != collective::alltoallv && !row.data.exposes;
}

// Of a slot for what is short; 0: the row has none such. A team that moves little has little: of an alltoallv members do not know
// alike what is short.
std::uint64_t short_slot(const algorithm& row, const shape& s) noexcept {
  if (row.data.exposes || row.of == collective::alltoallv) return 0;
  const std::uint64_t slots = std::uint64_t{row.data.slots(s)} * row.data.sets();
  return slots == 0 ? 0 : std::clamp<std::uint64_t>(first_slots / slots / 64 * 64, 64, 1024);
}

// Of what all members must give alike; `alike` bytes of it.
std::uint64_t digest_of(const call_record::what& w, std::uint64_t number, std::uint32_t root, std::uint64_t alike, bool lists) noexcept {
  return broadcast_wire::digest_of(number, root, alike) ^ static_cast<std::uint64_t>(w.kind) * 0x2b1d ^ w.type * 0x0d3bu ^
         w.op * 0x51c7u ^ (lists ? w.bytes : 0);
}

}  // namespace

data_collectives::data_collectives(team& t, call_record& r, choice_settings with) : operation_sequence(t, 1, &r), choices_(t, std::move(with)) {}
data_collectives::~data_collectives() {
  bound_.clear();  // runs that stopped wait for what is under way
  conceal(error_.failed());
}

void data_collectives::take(collective of, const candidate& c) {
  if (hierarchy_ && c.row->phases) hierarchy_->want_among_leaders(*c.row->phases, {std::string(c.inner), c.radix, {}});
  choices_.take(of, c);
}

// --- what an algorithm needs -------------------------------------------------------------------------------------------

data_collectives::resource* data_collectives::resource_of(const choice& c) noexcept {
  resource* of_short = nullptr;
  for (const auto& r : resources_) {
    if (r->of != &owner_of(*c.row) || r->radix != c.radix || r->slot_bytes < now_.element() || r->longest < now_.alike_bytes()) continue;
    if (r->longest == any_length) return r.get();
    const bool outgrown = r->uses >= short_runs && now_.alike_bytes() > as_fast_in_few && takes_slots_by_turns(*r->of, choices_.machine());
    if (!outgrown) of_short = r.get();
  }
  return of_short;
}

bool data_collectives::equipped(const choice& c) noexcept {
  if (c.row->phases) return hierarchy_ != nullptr;
  return (!c.row->make || resource_of(c)) && (!c.of_long || resource_of(of_long(c))) && (!(c.row->down_by_multicast || !c.row->make) || multicast_);
}

// True: all it needs is there, and the present operation has begun to use it. Slots that were given back meanwhile are dropped here, in all
// members before the same operation. Another resource may then do, if the call is short.
bool data_collectives::ready(const choice& c) noexcept {
  while (equipped(c)) {
    const resource* const r = holdings_ > 0 && c.row->make ? resource_of(c) : nullptr;
    in_use_ = r ? r->holding.get() : nullptr;
    if (!in_use_ || in_use_->begin()) return true;
    give_back(*r);
  }
  return false;
}

// The pool asks that nothing is under way upon memory that is not in use. Ranks of one node write by their own stores, which are complete
// when a run is over. A signal that its target applies later is dropped if the region is gone by then. Over networks, and in virtual time,
// a run's last signals may still be under way. A choice's `of_long` needs no look: its row takes no slots.
bool data_collectives::can_be_given_back(const resource& r) const noexcept {
  job& j = team_.parent_job();
  return r.longest == any_length && !r.of->data.exposes && r.slots_room > never_given_back && team_.size() <= slot_pool::most_members &&
         j.facts().maps_node && j.facts().kernel_copies && !j.net().caps().virtual_clock;
}

// Possibly in the midst of an operation, which then uses other resources.
void data_collectives::give_back(const resource& r) noexcept {
  const algorithm* const of = r.of;
  if (in_use_ == r.holding.get()) in_use_ = nullptr;
  if (by_ && by_->by == &r) by_ = nullptr;
  found_ = 0;
  std::erase_if(bound_, [&](const auto& b) { return b->by == &r; });
  std::erase_if(resources_, [&](const auto& one) { return one.get() == &r; });
  --holdings_;
  given_back_.push_back(of);
}

// Members that call something else may have chosen another algorithm, or have all they need, and must not be met half way: so
// what each calls travels with its key. Whoever has all it needs waits in its run, and call_record.h ends that.
resumable<status> data_collectives::preparing() {
  if (!choices_.facts()) {
    status s = co_await choices_.agreeing_on_facts();
    if (s.failed()) co_return s;
  }
  const struct {
    std::uint64_t number;
    call_record::what what;
  } terms{now_.number, now_.what};
  const auto agreement = std::as_bytes(std::span{&terms, 1});
  if (choice& kept = choices_.kept_for(now_); kept.online && kept.online->of.exchange_due()) {
    status s = co_await choices_.settling(kept, {agreement.begin(), agreement.end()});
    if (s.failed()) co_return s;
  }
  status s = co_await equipping_chosen({agreement.begin(), agreement.end()});
  if (const choice& kept = choices_.kept_for(now_); s.ok() && kept.online && kept.online->of.begins_trial())
    if (s = co_await team_.meeting({agreement.begin(), agreement.end()}, team_.parent_job().setup_deadline()); s.failed())
      co_return s.during("learning which algorithm is the fastest");
  co_return s;
}

resumable<status> data_collectives::equipping_chosen(std::vector<std::byte> agreement) {
  for (;;) {
    const auto found = choices_.choose_for(now_);
    if (!found) co_return found.error();
    if (ready(*found)) co_return status{};
    if (found->row->phases) {
      auto made = co_await hierarchy::opening(*this, {agreement.begin(), agreement.end()});
      if (made) hierarchy_ = std::move(*made);
      co_return made.error();
    }
    const std::array parts{*found, of_long(*found)};
    for (const choice& part : parts) {
      if (!part.row || !part.row->make || resource_of(part)) continue;
      status s = co_await equipping(part, {agreement.begin(), agreement.end()});
      if (s.failed() || ready(*found)) co_return s;
    }
    auto made = co_await reliable_broadcast::opening(team_, choices_.facts()->fragment, choices_.facts()->depth, {agreement.begin(), agreement.end()});
    if (made) {
      multicast_ = std::move(*made);
      multicast_->consult(record_);
      continue;
    }
    // Whether a group can be formed shows when it is, alike in all.
    if (made.error().code() != errc::unavailable || choices_.is_wanted(now_.of)) co_return made.error();
    choices_.without_multicast();
  }
}

resumable<status> data_collectives::equipping(choice c, std::vector<std::byte> agreement) {
  const algorithm& row = owner_of(*c.row);
  const shape s = shape_of(c);
  if (const std::uint64_t most = team_.parent_job().facts().max_bytes; now_.element() > most)
    co_return status{errc::unsupported, worded("elements of ", now_.element(), " bytes are too long; at most ", most, ", in one operation of the fabric")};
  auto r = std::make_unique<resource>();
  r->of = &row, r->radix = c.radix;
  r->words_bytes = control::offset(row.words(s));
  r->slots_at = r->words_bytes * row.data.sets();
  r->slot_bytes = row.data.exposes ? sizeof(exposure_record) : round_up(choices_.room_of(row, s).slot_bytes, 64);
  const std::uint64_t first = short_slot(row, s);
  if (first > 0 && now_.alike_bytes() <= first && first < r->slot_bytes) r->slot_bytes = r->longest = first;
  if (r->slot_bytes < now_.element()) r->slot_bytes = std::bit_ceil(now_.element());
  r->set_bytes = row.data.slots(s) * r->slot_bytes;
  r->slots_room = r->set_bytes * row.data.sets();
  if (r->longest == any_length && r->set_bytes > 0 && takes_slots_by_turns(row, choices_.machine()))
    r->slots_room = std::max(r->slots_room, slots_by_turns / r->set_bytes * r->set_bytes);
  if (row.of == collective::alltoallv) r->sent.resize(s.size), r->taken.resize(s.size);
  // Members leave idle memory before they meet in this exchange, and so find behind it that the others have left it.
  job& j = team_.parent_job();
  const bool ends = can_be_given_back(*r);
  const std::uint64_t gate_at = r->slots_at + r->slots_room, bytes = gate_at + (ends ? slot_pool::gate_bytes(team_.size()) : 0);
  if (ends) j.slots().leave_idle(this, bytes);
  auto made = co_await expose_together(team_, bytes, std::move(agreement));
  if (ends) j.slots().give_back();
  if (!made) co_return made.error().during(worded("memory for ", name_of(row.of), " ", row.name));
  r->memory = std::move(made->memory);
  resources_.push_back(std::move(r));
  std::byte* const of_first = ends ? j.net().map(resources_.back()->memory.segment(), team_.rank_of(0)) : nullptr;
  if (!of_first) co_return status{};
  given_back_.reserve(given_back_.size() + ++holdings_);
  resource* const held = resources_.back().get();
  held->holding = std::make_unique<slot_pool::holding>(j.slots(), slot_pool::holding::what{
      .gate = of_first + gate_at, .members = team_.size(), .index = team_.index(), .engine = this, .bytes = bytes,
      .times_before = static_cast<unsigned>(std::ranges::count(given_back_, &row)), .give_back = [this, held] { give_back(*held); }});
  co_return status{};
}

result<data_collectives::bound*> data_collectives::bind(const choice& c, std::uint32_t root) {
  resource* const by = resource_of(c);
  const bool first_set = c.row->data.synchronizes && by->uses % data_layout::sets_in_turn == 0;
  // From the last one on: roots that take turns come in the order in which they came first.
  for (std::size_t i = 0; i < bound_.size(); ++i) {
    const std::size_t at = found_ + i < bound_.size() ? found_ + i : found_ + i - bound_.size();
    bound& b = *bound_[at];
    if (b.row == c.row && b.radix == c.radix && b.root == root && b.first_set == first_set && b.by == by) return found_ = at, &b;
  }
  const schedule s = c.row->make(shape_of(c, root, first_set));
  buffer buffers[data_buffers];
  const exposed_memory& m = by->memory;
  buffers[staging] = {m.base() + by->slots_at, m.region(), m.segment(), by->slots_at, by->slot_bytes};
  auto code = program::bind(s, team_, {m.segment(), m.region(), m.base(), 0}, nullptr, buffers);
  if (!code) return code.error();
  if (bound_.size() < most_bound) bound_.push_back(std::make_unique<bound>()), found_ = bound_.size() - 1;
  else found_ = static_cast<std::size_t>(std::ranges::min_element(bound_, {}, [](const auto& b) { return b->used; }) - bound_.begin());
  bound& b = *bound_[found_];
  b.position.reset();
  b.row = c.row, b.radix = c.radix, b.root = root, b.first_set = first_set, b.by = by;
  b.room = choices_.room_of(*c.row, shape_of(c));
  b.room.slot_bytes = std::min(b.room.slot_bytes, by->longest);
  b.code = std::move(*code);
  b.code.touch();
  b.position = std::make_unique<tutti::run>(b.code);
  return &b;
}

// --- an operation ------------------------------------------------------------------------------------------------------

// Those begun go once they are the more: nothing is allocated while as many are under way as were before.
bool data_collectives::enqueue(const collective_call& c) {
  try {
    if (begun_ > calls_.size() / 2) calls_.erase(calls_.begin(), calls_.begin() + static_cast<std::ptrdiff_t>(std::exchange(begun_, 0)));
    calls_.push_back({c, record_->calls(), record_->newest()});
  } catch (const std::bad_alloc&) {
    if (team_.size() == 1) throw;
    drop(no_memory());
    fail(no_memory());
  }
  return error_.ok();
}

// The others wait for a rank that has no memory for its part.
void data_collectives::tell(const status& error) noexcept {
  if (error.code() == errc::no_resource && (error.peer() == no_rank || error.peer() == team_.parent_job().rank())) record_->has_no_memory();
  team_.fail_if_lost(error);
}

std::uint64_t data_collectives::start(const collective_call& c) {
  if (error_.failed() || !enqueue(c)) return completed_;
  return operation_sequence::start();
}

status data_collectives::run(const collective_call& c, time_point deadline) {
  if (error_.failed() || !enqueue(c)) return error_;
  const status s = operation_sequence::run(*this, deadline);
  if (s.code() == errc::timed_out && error_.ok()) {  // the caller's memory is the caller's again
    drop(s);
    fail(s);
  }
  return s;
}

void data_collectives::drop(const status& why) noexcept {
  if (setup_) team_.give_up(why);  // in the middle of an exchange
  else if (other_) other_->cancel(why);
  conceal(true);
}

void data_collectives::begin(std::uint64_t) noexcept { begin(calls_[begun_++]); }

void data_collectives::begin(const call& c) noexcept {
  now_ = c;
  choice_ = {}, by_ = nullptr, other_ = nullptr, ahead_from_ = no_rank;
  setup_ = {};
  if (now_.alike_bytes() == 0 && now_.of != collective::alltoallv) return;
  if (team_.size() == 1) return finish_alone();
  try {
    choice& kept = choices_.kept_for(now_);
    const bool meets = kept.online && choices_.next_turn(kept);
    if (kept.row && !meets && ready(kept)) choice_ = kept, trouble_ = begin_chosen();
    else setup_ = preparing();
  } catch (const std::bad_alloc&) {
    trouble_ = no_memory();
  }
}

void data_collectives::finish_alone() const noexcept {
  if (now_.of == collective::broadcast || now_.of == collective::exscan) return;
  const block_lists* const l = now_.lists.get();
  const auto begin = [](const std::vector<std::uint64_t>& begins) { return begins.empty() ? 0 : begins[0]; };
  const std::byte* const from = now_.in + (l ? begin(l->in_begins) : 0);
  std::byte* const to = now_.out + (l ? begin(l->out_begins) : 0);
  if (from == to || now_.bytes == 0) return;
  copy_bytes(to, from, now_.bytes);
  tell_moved(now_.bytes, false);
}

// What is chosen has all it needs.
status data_collectives::begin_chosen() {
  digest_ = (digest_of(now_.what, now_.number, now_.root, now_.alike_bytes(), now_.lists != nullptr) + now_.around) & digest_mask;
  if (choice_.row->phases) return hierarchy_->begin(*choice_.row->phases, now_, digest_), other_ = hierarchy_.get(), status{};
  if (!choice_.row->make) return begin_multicast(), status{};
  if (reduces(now_.of) && !now_.op.built_in) scratch_.resize(std::max<std::size_t>(4096, now_.op.element_size));
  arithmetic_ = {now_.op, scratch_};
  data_ = {.arithmetic = {reduce_into, &arithmetic_}};
  if (has_block_each(now_.of)) lay_out_blocks();
  if (now_.of == collective::alltoallv) sends_.resize(team_.size()), takes_.resize(team_.size());
  if (now_.bytes == 0) return {};  // an alltoallv in which this rank has no part
  by_row_ = choice_, at_ = 0, end_ = now_.bytes;
  if (now_.bytes > choice_.long_beyond) by_row_ = of_long(choice_), data_.in.over = data_.out.over = choice_.long_beyond;
  return begin_part();
}

// Of an alltoallv whose long blocks are here. All members begin with those, each as far as it has any: nobody waits for who waits for it.
bool data_collectives::begin_short_blocks() noexcept {
  if (by_row_.row == choice_.row) return false;
  by_row_ = choice_, at_ = end_ = 0;
  for (partition* const p : {&data_.in, &data_.out}) {
    p->over = 0, p->up_to = choice_.long_beyond;
    for (const std::uint64_t length : std::span(p->lengths, team_.size()))
      if (length <= p->up_to) end_ = std::max(end_, length);
  }
  return end_ > 0;
}

// Of all data, which the root of the multicast has.
void data_collectives::begin_multicast() noexcept {
  const std::uint64_t bytes = now_.of == collective::allgather ? now_.bytes * team_.size() : now_.bytes;
  multicast_->begin(has_root(now_.of) ? now_.root : 0, {now_.out, bytes}, now_.number ^ now_.around << 1);
  other_ = multicast_.get();
}

bool data_collectives::set_up(status& error) {
  if (!setup_.advance()) return false;
  error = setup_.result();
  if (error.ok()) {
    setup_ = {}, choice_ = choices_.kept_for(now_);
    if (choice_.online) choice_.online->began = team_.parent_job().net().now();
    error = begin_chosen();
  }
  return true;
}

bool data_collectives::go_on(std::uint32_t looks, status& error) noexcept {
  const bool over = step(looks, error);
  if (over) conceal(error.failed());
  if (over && in_use_ && error.ok()) std::exchange(in_use_, nullptr)->end();
  if (choice_.online && over && choice_.online->of.timed())
    choice_.online->of.took(std::chrono::duration_cast<std::chrono::nanoseconds>(team_.parent_job().net().now() - choice_.online->began).count() * 1000);
  return over;
}

bool data_collectives::step(std::uint32_t looks, status& error) noexcept {
  if (trouble_.failed()) return error = std::exchange(trouble_, {}), true;
  if (other_) return other_->advance(error);
  if (by_) [[likely]] return run_parts(looks, error);
  if (!setup_) return true;
  try {
    if (!set_up(error)) return false;
  } catch (const std::bad_alloc&) {
    error = no_memory();
  }
  return error.failed() || step(looks, error);
}

bool data_collectives::run_parts(std::uint32_t looks, status& error) noexcept {
  while (by_->position->advance(looks)) {
    error = by_->position->outcome();
    if (error.failed()) return true;
    if (at_ >= end_ && !begin_short_blocks()) {
      if (!choice_.row->down_by_multicast) return true;
      begin_multicast();
      return other_->advance(error);
    }
    try {
      error = begin_part();
    } catch (const std::bad_alloc&) {
      error = no_memory();
    }
    if (error.failed()) return true;
  }
  return false;
}

status data_collectives::look() noexcept {
  if (setup_) {
    pending_wait* const w = setup_.waits_for();
    if (!w) return {};
    status s = w->look();
    if (s.ok() && team_.parent_job().net().now() > w->deadline())
      s = {errc::timed_out, worded(w->note().what, ": the deadline passed"), w->note().from};
    if (s.failed()) setup_.fail(std::move(s));
    return {};
  }
  if (other_) return other_->look();
  if (!by_) return {};
  const rank_t from = by_->position->waiting_for("").from;
  status s = team_.look(from);
  if (s.ok()) s = record_->mismatch({&from, 1});
  return s.ok() && choice_.of_long ? long_to_one_alone(from) : s;
}

// Of an alltoallv: a pair whose members do not agree whether its block is long meet in different rows, and wait there. So who waits looks
// at the words that the other writes in the row where it does not wait. A word there that is ahead of what this rank has counted can be
// of the next call, or of this call's other part, only as long as what was sent before it is still under way, which is not long.
status data_collectives::long_to_one_alone(rank_t from) noexcept {
  constexpr auto under_way = std::chrono::seconds(5);
  const resource& other = *resource_of(by_row_.row == choice_.row ? of_long(choice_) : choice_);
  const std::uint32_t peer = team_.members().index_of(from);
  if (peer == team_.size()) return ahead_from_ = no_rank, status{};
  bool ahead = false;
  for (std::uint64_t set = 0; set < other.of->data.sets(); ++set) {
    const control_lines lines{other.memory.segment(), other.memory.region(), other.memory.base(), set * other.words_bytes};
    const auto runs = [&](std::uint32_t line) { return lines.word(line).load(std::memory_order_acquire) >> digest_bits; };
    ahead |= runs(peer) > other.taken[peer] || runs(team_.size() + peer) > other.sent[peer];
  }
  const time_point now = team_.parent_job().net().now();
  if (!ahead || ahead_from_ != from) ahead_from_ = ahead ? from : no_rank, ahead_since_ = now;
  if (!ahead || now - ahead_since_ < under_way) return {};
  return {errc::protocol, worded("rank ", from, " exchanges blocks of other lengths than this rank"), from};
}

wait_note data_collectives::waiting_for() const noexcept {
  if (setup_) return setup_.waits_for() ? setup_.waits_for()->note() : wait_note{"preparing a collective"};
  if (other_) return other_->waiting_for();
  if (!by_) return {"a collective that moves nothing"};
  return by_->position->waiting_for(by_row_.row->name.data());
}

status data_collectives::explained(const status& error) {
  if (other_) return other_->explained(error);
  if (error.code() == errc::timed_out) return record_->late(error);
  if (error.code() != errc::protocol || error.peer() == no_rank) return error;
  const status told = record_->differs(error.peer());
  return told.peer() == no_rank && !by_ ? error : told;  // what came was no such call's
}

}  // namespace tutti

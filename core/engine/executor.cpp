#include "core/engine/executor.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <new>
#include <string>

#include "core/base/copy.h"
#include "core/engine/move_watch.h"
#include "core/transport/ops.h"
#include "core/transport/wait_out.h"

namespace tutti {

result<program> program::bind(const schedule& s, team& t, const control_lines& words, reliable_multicast* mc,
                              std::span<const buffer> buffers) {
  program p;
  p.team_ = &t;
  p.mc_ = mc;
  p.buffers_.assign(buffers.begin(), buffers.end());
  // Skips are counted in steps by the schedule and in instructions here: several steps may share one `send`. A batch
  // never crosses the end of a skipped stretch.
  std::vector<std::pair<std::size_t, std::size_t>> open_skips;  // instruction that skips, step index where it ends
  bool batch = false;
  const bool moves = !buffers.empty();

  p.words_ = words.base;
  if (words.at(s.words) > UINT32_MAX) return status(errc::no_resource, worded("a schedule has ", s.words, " control words"));
  auto word_here = [&](std::uint32_t line) { return static_cast<std::uint32_t>(words.at(line)); };
  auto push_op = [&](rma_op op, const step& st, place mine = {}, place theirs = {}) {
    const bool outgoing = st.from.buffer == 0;
    if (!batch || p.code_.back().block != st.block || p.code_.back().blocks != st.count || p.code_.back().outgoing != outgoing ||
        p.code_.back().one_way != st.one_way)
      p.code_.push_back({.what = kind::send, .outgoing = outgoing, .one_way = st.one_way, .first = static_cast<std::uint32_t>(p.ops_.size()),
                         .block = st.block, .blocks = st.count});
    batch = true;
    ++p.code_.back().count;
    p.ops_.push_back(op);
    p.multiples_.push_back(st.multiple);
    if (!moves) return;
    p.moves_.push_back({mine, theirs, st.peer});
    p.signals_at_.push_back(op.signal_offset);
  };
  auto gate = [&](instruction i) {
    batch = false;
    p.code_.push_back(i);
  };
  const auto has_buffers = [&](const step& st) {
    const auto has = [&](const place& at) {
      return at.buffer < buffers.size() && (at.slot == no_slot || buffers[at.buffer].slot_bytes > 0);
    };
    return has(st.from) && has(st.to);
  };
  const status no_buffer(errc::invalid, "a schedule names a buffer or a slot that the run was not given");

  for (std::size_t i = 0; i <= s.steps.size(); ++i) {
    while (!open_skips.empty() && open_skips.back().second == i) {
      auto& skipper = p.code_[open_skips.back().first];
      skipper.count = static_cast<std::uint32_t>(p.code_.size() - open_skips.back().first - 1);
      open_skips.pop_back();
      batch = false;
    }
    if (i == s.steps.size()) break;
    const step& st = s.steps[i];
    if (st.peer != any_peer && st.peer >= t.size())
      return status(errc::invalid, worded("a schedule names member ", st.peer, " of a team of ", t.size()));
    if (st.word >= s.words && (st.kind == step_kind::wait || st.kind == step_kind::signal))
      return status(errc::invalid, worded("a schedule uses control word ", st.word, " of ", s.words));
    const rank_t rank = st.peer == any_peer ? no_rank : t.rank_of(st.peer);
    rma_op op = signal_op({rank, words.segment, words.at(st.word)}, 0);
    switch (st.kind) {
      case step_kind::signal:
        push_op(op, st);
        break;
      case step_kind::wait:
        gate({.what = kind::wait, .outgoing = st.from.buffer == 0, .one_way = st.one_way, .peer = st.peer, .block = st.block,
              .blocks = st.count, .word = word_here(st.word), .multiple = static_cast<std::uint32_t>(st.multiple)});
        break;
      case step_kind::arrive: {
        p.ops_.push_back(atomic_op(op_kind::fetch_add, words.region, words.at(s.words), {rank, words.segment, words.at(st.word)},
                                   1, nullptr));
        p.multiples_.push_back(0);
        gate({.what = kind::arrive, .first = static_cast<std::uint32_t>(p.ops_.size() - 1), .peer = st.peer,
              .word = word_here(s.words), .multiple = static_cast<std::uint32_t>(st.multiple)});
        open_skips.emplace_back(p.code_.size() - 1, i + 1 + st.count);
        break;
      }
      case step_kind::multicast:
      case step_kind::await_multicast:
        if (!mc) return status(errc::unsupported, "a schedule multicasts, but this transport has no multicast");
        gate({.what = st.kind == step_kind::multicast ? kind::multicast : kind::await_multicast, .peer = st.peer});
        break;
      case step_kind::put:
      case step_kind::put_signal:
      case step_kind::get: {
        if (!has_buffers(st)) return no_buffer;
        const bool put = st.kind != step_kind::get;
        const place &mine = put ? st.from : st.to, &theirs = put ? st.to : st.from;
        op.kind = put ? (st.kind == step_kind::put ? op_kind::put : op_kind::put_signal) : op_kind::get;
        op.local = buffers[mine.buffer].local;
        op.remote = buffers[theirs.buffer].segment;
        push_op(op, st, mine, theirs);
        break;
      }
      case step_kind::expose:
        if (!has_buffers(st) || (p.exposed_ != no_block && p.exposed_ != st.from.buffer)) return no_buffer;
        p.exposed_ = st.from.buffer;
        p.records_.emplace_back();
        op.kind = op_kind::put_signal;
        op.remote = buffers[st.to.buffer].segment;
        push_op(op, st, st.from, st.to);
        p.moves_.back().record = static_cast<std::uint32_t>(p.records_.size());
        break;
      case step_kind::fetch:
        if (!has_buffers(st)) return no_buffer;
        gate({.what = kind::fetch, .first = static_cast<std::uint32_t>(p.fetches_.size()), .peer = st.peer, .block = st.block, .blocks = st.count});
        p.fetches_.push_back({st.from, st.to, {}});
        break;
      case step_kind::copy:
      case step_kind::reduce_left:
      case step_kind::reduce_right:
        if (!has_buffers(st)) return no_buffer;
        gate({.what = st.kind == step_kind::copy          ? kind::copy
                      : st.kind == step_kind::reduce_left ? kind::reduce_left
                                                          : kind::reduce_right,
              .outgoing = st.from.buffer == 0, .first = static_cast<std::uint32_t>(p.local_moves_.size()), .block = st.block, .blocks = st.count});
        p.local_moves_.push_back({st.from, st.to});
        if (st.peer != any_peer) {
          p.local_moves_.back().mapped = t.parent_job().net().map(buffers[st.from.buffer].segment, rank);
          if (!p.local_moves_.back().mapped)
            return status(errc::unsupported, worded("a schedule reads the memory of rank ", rank, ", which is not mapped here"), rank);
        }
        break;
      case step_kind::complete:
        gate({.what = kind::complete});
        break;
    }
  }
  if (moves || std::ranges::all_of(p.multiples_, [](std::uint64_t m) { return m == 1; })) p.multiples_ = {};
  // A rank's share of a large job is mostly this.
  p.code_.shrink_to_fit(), p.ops_.shrink_to_fit(), p.multiples_.shrink_to_fit(), p.signals_at_.shrink_to_fit(), p.moves_.shrink_to_fit(),
      p.local_moves_.shrink_to_fit(), p.records_.shrink_to_fit(), p.fetches_.shrink_to_fit();
  return p;
}

std::size_t program::bytes() const noexcept {
  return sizeof *this + buffers_.capacity() * sizeof(buffer) + (local_moves_.capacity() + moves_.capacity()) * sizeof(move_places) +
         records_.capacity() * sizeof(exposure_record) + fetches_.capacity() * sizeof(fetch_places) +
         code_.capacity() * sizeof(instruction) + ops_.capacity() * sizeof(rma_op) +
         (multiples_.capacity() + signals_at_.capacity()) * sizeof(std::uint64_t);
}

void program::touch() noexcept {
  transport& net = team_->parent_job().net();
  if (!net.caps().native_signal) return;
  for (const rma_op& op : ops_) net.map(op.kind == op_kind::signal ? op.signal : op.remote, op.rank);
}

run::~run() {
  if (!program_->team_) return;
  wait_out(program_->team_->parent_job().net(), {&done_});
  release_fetched();
}

void run::begin(std::uint64_t epoch) noexcept {
  epoch_ = epoch;
  at_ = 0;
  sent_ = 0;
  counted_ = false;
  if (error_.failed()) error_ = {};
}

void run::begin(std::uint64_t epoch, std::uint64_t loose, const run_data& data) noexcept {
  loose_ = loose;
  data_ = &data;
  begin(epoch);
}

void run::stop(const status& s) noexcept {
  error_ = s;
  at_ = program_->code_.size();
}

// Of the k-th block from `block` on.
std::uint64_t run::offset_in(const place& p, std::uint32_t block, std::uint32_t k) const noexcept {
  if (p.slot == no_slot) return blocks_of(p.buffer).begin(block + k);
  return p.slot * program_->buffers_[p.buffer].slot_bytes + (std::uint64_t{p.behind} + k) * data_->out.piece;
}

// As an operation names the place in this rank's memory.
std::uint64_t run::local_offset(const buffer& mine, const place& p, std::uint32_t block) const noexcept {
  return offset_in(p, block) + (mine.local == unregistered_memory ? reinterpret_cast<std::uint64_t>(mine.base) : mine.at);
}

void run::move_here(const program::instruction& i) noexcept {
  const program::move_places& m = program_->local_moves_[i.first];
  const buffer &source = program_->buffers_[m.from.buffer], &target = program_->buffers_[m.to.buffer];
  const std::byte* base = m.mapped ? m.mapped + source.at : source.base;
  if (m.from.slot != no_slot) base += set_of(i, i.block) * data_->sets.slots_bytes;
  const partition& blocks = blocks_of(m.from.buffer);
  const auto packed = [&](const place& p) { return p.slot != no_slot || blocks_of(p.buffer).packed(); };
  const std::uint32_t at_once = packed(m.from) && packed(m.to) ? i.blocks : 1;
  const bool shows = m.from.slot == no_slot && m.to.slot != no_slot;
  std::uint64_t moved = 0;
  for (std::uint32_t k = 0; k < i.blocks; k += at_once) {
    const std::byte* const from = base + offset_in(m.from, i.block, k);
    std::byte* const to = target.base + offset_in(m.to, i.block, k);
    const std::uint64_t bytes = blocks.length(i.block + k, at_once);
    const reducer& r = data_->arithmetic;
    if (i.what != program::kind::copy) r.apply(r.context, from, to, bytes, i.what == program::kind::reduce_left);
    else if (shows) program_->into_slots_.copy(to, from, bytes);
    else if (from != to) copy_bytes(to, from, bytes);
    if (from != to) moved += bytes;
  }
  tell_moved(moved, i.what != program::kind::copy);
}

// Operations get what this run has of its own.
void run::prepare(const program::instruction& i) noexcept {
  for (std::uint32_t k = i.first; k < i.first + i.count; ++k) {
    rma_op& op = program_->ops_[k];
    if (program_->moves_.empty()) {
      const std::uint64_t multiple = program_->multiples_.empty() ? 1 : program_->multiples_[k];
      if (multiple != 0) op.operand = epoch_ * multiple;
      continue;
    }
    const program::move_places& m = program_->moves_[k];
    op.operand = value_of(i, m.peer);
    const std::uint64_t set = set_of(i, m.peer);
    op.signal_offset = program_->signals_at_[k] + data_->words_at + set * data_->sets.words_bytes;
    if (op.kind == op_kind::signal) continue;
    op.done = &done_;
    if (m.record != 0) {
      exposure_record& r = program_->records_[m.record - 1];
      r.offset = data_->mine.offset + offset_in(m.from, i.block);
      r.key_bytes = static_cast<std::uint32_t>(data_->mine.key.size());
      std::ranges::copy(data_->mine.key, r.key);
      op.local_offset = reinterpret_cast<std::uintptr_t>(&r);
      op.remote_offset = offset_in(m.to, i.block) + program_->buffers_[m.to.buffer].at;
      op.bytes = static_cast<std::uint32_t>(offsetof(exposure_record, key) + r.key_bytes);
      continue;
    }
    const buffer &mine = program_->buffers_[m.from.buffer], &theirs = program_->buffers_[m.to.buffer];
    op.local_offset = local_offset(mine, m.from, i.block);
    op.remote_offset = offset_in(m.to, i.block) + theirs.at + set * data_->sets.slots_bytes;
    op.bytes = static_cast<std::uint32_t>(blocks_of(i).length(i.block, i.blocks));
  }
}

bool run::send(const program::instruction& i) noexcept {
  if (sent_ == 0) prepare(i);
  const auto ops = std::span(program_->ops_).subspan(i.first, i.count);
  sent_ += static_cast<std::uint32_t>(program_->team_->parent_job().net().submit(ops.subspan(sent_)));
  if (sent_ < i.count) return false;
  sent_ = 0;
  return true;
}

// What the peer has told stays in the slot until it is told that the block is here.
bool run::fetch(const program::instruction& i) noexcept {
  program::fetch_places& f = program_->fetches_[i.first];
  job& j = program_->team_->parent_job();
  const rank_t rank = program_->team_->rank_of(i.peer);
  const buffer &slots = program_->buffers_[f.from.buffer], &mine = program_->buffers_[f.to.buffer];
  exposure_record r;
  std::memcpy(&r, slots.base + offset_in(f.from, i.block), sizeof r);
  if (!f.use) {
    if (r.key_bytes == 0 || r.key_bytes > sizeof r.key)
      return stop({errc::protocol, worded("rank ", rank, " tells of memory without a key"), rank}), false;
    try {
      auto use = j.attachments().acquire(rank, {r.key, r.key_bytes});
      if (!use) return stop(use.error()), false;
      f.use = *use;
    } catch (const std::bad_alloc&) {
      return stop({errc::no_resource, "", rank}), false;
    }
  }
  const auto bytes = static_cast<std::uint32_t>(blocks_of(i).length(i.block, i.blocks));
  const rma_op op = move_op(op_kind::get, mine.local, local_offset(mine, f.to, i.block), rank, f.use.segment(), r.offset, bytes, &done_);
  return j.net().submit({&op, 1}) == 1;
}

void run::release_fetched() noexcept {
  for (program::fetch_places& f : program_->fetches_) program_->team_->parent_job().attachments().release(f.use);
}

// What was fetched has failed. Its owner may have gone because another member died, which is what this rank's caller is to be told: the death
// shows here too, soon. If it does not, the owner has left by itself.
bool run::awaits_cause() noexcept {
  constexpr auto soon = std::chrono::seconds(5);
  if (program_->fetches_.empty() || done_.outcome().code() == errc::peer_dead) return false;
  const time_point now = program_->team_->parent_job().net().now();
  if (failed_at_ == time_point{}) failed_at_ = now;
  return now < failed_at_ + soon;
}

// A word of a later run says nothing of this one.
bool run::agrees(const program::instruction& i) noexcept {
  const std::uint64_t differs = word_of(i).load(std::memory_order_acquire) ^ value_of(i, i.peer);
  if (differs == 0 || (differs & ~loose_) != 0) return true;
  const rank_t from = i.peer == any_peer ? no_rank : program_->team_->rank_of(i.peer);
  stop({errc::protocol, worded("what rank ", from, " sent belongs to another collective call than the one that this rank "
                              "waits in; if all members make the same calls in the same order, this is a fault of tutti's, to be reported"), from});
  return false;
}

// By all members that it concerns alike, for each knows what goes between them.
bool run::left_out(const program::instruction& i) const noexcept {
  if (i.block == no_block) return false;
  const bool exchanges = i.what == program::kind::send || i.what == program::kind::wait;
  if (blocks_of(i).length(i.block, i.blocks) == 0 && !(data_->signals_all && exchanges)) return true;
  return i.one_way && (i.outgoing ? data_->out : data_->in).length(i.block) > 0;
}

bool run::advance(std::uint32_t looks) noexcept {
  const std::size_t end = program_->code_.size();
  while (at_ < end) {
    const program::instruction& i = program_->code_[at_];
    bool passed = true;
    if (left_out(i)) {
      ++at_;
      continue;
    }
    switch (i.what) {
      case program::kind::send:
        passed = send(i);
        break;
      case program::kind::wait: {
        const std::atomic_ref<std::uint64_t> word = word_of(i);
        const std::uint64_t target = (value_of(i, i.peer) & ~loose_) * i.multiple;
        for (std::uint32_t n = 0; !(passed = reached(word.load(std::memory_order_acquire), target)) && ++n < looks;) {}
        if (loose_ != 0 && passed && !agrees(i)) return true;
        break;
      }
      case program::kind::arrive:
        if (!counted_) {
          rma_op& op = program_->ops_[i.first];
          op.done = &done_;
          counted_ = program_->team_->parent_job().net().submit({&op, 1}) == 1;
        }
        passed = counted_ && done_.idle();
        if (passed) {
          counted_ = false;
          if (done_.outcome().failed()) return stop(done_.outcome()), true;
          if (word_of(i).load(std::memory_order_relaxed) + 1 != epoch_ * i.multiple) at_ += i.count;
        }
        break;
      case program::kind::multicast:
        passed = program_->mc_->send(epoch_);
        break;
      case program::kind::await_multicast:
        passed = program_->mc_->arrived(epoch_);
        break;
      case program::kind::fetch:
        passed = fetch(i);
        if (error_.failed()) return true;
        break;
      case program::kind::copy:
      case program::kind::reduce_left:
      case program::kind::reduce_right:
        move_here(i);
        break;
      case program::kind::complete:
        passed = done_.idle();
        if (passed && done_.outcome().failed()) {
          if (!awaits_cause()) return stop(done_.outcome()), true;
          passed = false;
        }
        break;
    }
    if (!passed) {
      // Only now, off the fast path: has somebody reported a death?
      if (const status& s = program_->team_->health(); s.failed()) return stop(s), true;
      return false;
    }
    ++at_;
  }
  if (!program_->fetches_.empty()) release_fetched();
  return true;
}

wait_note run::waiting_for(const char* what) const noexcept {
  wait_note note{.what = what};
  if (at_ < program_->code_.size()) {
    const auto& i = program_->code_[at_];
    if (i.peer != any_peer) note.from = program_->team_->rank_of(i.peer);
    if (i.what == program::kind::wait || i.what == program::kind::arrive) note.have = word_of(i).load(std::memory_order_relaxed);
    note.want = (i.peer == any_peer ? epoch_ : value_of(i, i.peer)) * i.multiple;
  }
  return note;
}

}  // namespace tutti

// What a rank of a trial does to the others' memory, and what must be in its own.
#include <cstring>
#include <optional>

#include "core/transport/ops.h"
#include "core/transport/two_sided.h"
#include "tests/seeded/rank_program.h"

namespace tutti::test {
namespace {

std::size_t length_of(std::uint64_t message, std::uint32_t most) noexcept {
  const std::size_t lengths[] = {8, 0, 100, 1, 300, most, 24, most / 2};
  return lengths[message % std::size(lengths)];
}

}  // namespace

using namespace std::chrono_literals;

void rank_program::put(rank_t to) {
  slot* s = free_slot();
  if (!s) return;
  auto& dirty = dirty_[to];
  const auto first = static_cast<std::uint32_t>(draw_.below(block_words));
  std::uint32_t count = 0, most = 1 + static_cast<std::uint32_t>(draw_.below(draw_.one_in(3) ? block_words : 8));
  while (first + count < block_words && count < most && !dirty[first + count]) ++count;
  if (!count) return flush(to);
  const auto index = static_cast<unsigned>(s - slots_.data());
  const std::uint32_t version = ++version_[to];
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint64_t value = stamp(me_, version);
    std::memcpy(buffer(index) + 8 * i, &value, 8);
    dirty[first + i] = true;
    towards(to).submitted[first + i] = version;
  }
  const bool inline_ = 8 * count <= net_->caps().max_inline && draw_.one_in(2);
  const bool quiet = inline_ && draw_.one_in(2);
  rma_op op = move_op(op_kind::put, inline_ ? unregistered_memory : mine_,
                      inline_ ? reinterpret_cast<std::uintptr_t>(buffer(index)) : index * block_bytes, to, segment_,
                      block_of(me_) + 8 * first, 8 * count, quiet ? nullptr : &s->done);
  if (draw_.one_in(2)) {  // with a signal
    const bool everything = draw_.one_in(2);
    {
      const in_kernel k;
      pair& p = towards(to);
      signalled now = p.signals.empty() ? signalled{} : p.signals.back();
      for (std::uint32_t i = 0; i < block_words; ++i)
        if (everything ? true : i >= first && i < first + count) now.words[i] = p.submitted[i];
        else now.words[i] = p.flushed[i];
      p.signals.push_back(now);
    }
    op = with_signal(op, segment_, signal_of(me_), towards(to).signals.size());
    op.order = everything ? not_before::everything : not_before::payload;
  }
  say("puts " + std::to_string(version) + " to " + name_of(to) + (op.kind == op_kind::put ? "" : ", signals"));
  if (!submit(op)) return;
  if (!quiet) s->busy = true, s->kind = op_kind::put, s->to = to;
}

void rank_program::get(rank_t to) {
  slot* s = free_slot();
  if (!s) return;
  const auto index = static_cast<unsigned>(s - slots_.data());
  s->first = static_cast<std::uint32_t>(draw_.below(block_words));
  s->count = 1 + static_cast<std::uint32_t>(draw_.below(block_words - s->first));
  for (std::uint32_t i = 0; i < s->count; ++i) s->lower[i] = towards(to).flushed[s->first + i];
  s->kind = op_kind::get, s->to = to;
  rma_op op = move_op(op_kind::get, mine_, index * block_bytes, to, segment_, block_of(me_) + 8 * s->first, 8 * s->count, &s->done);
  if (s->count >= 4 && net_->caps().max_slices >= 4 && draw_.one_in(2)) {
    const std::uint32_t each = s->count / 4;
    for (unsigned i = 0; i < 4; ++i)
      s->pieces[i] = {mine_, 8 * (i < 3 ? each : s->count - 3 * each), index * block_bytes + 8 * std::uint64_t{each} * i};
    op.kind = op_kind::get_scatter, op.slices = 4, op.scatter = s->pieces;
  }
  say("gets from " + name_of(to));
  if (submit(op)) s->busy = true;
}

void rank_program::atomic(rank_t to) {
  if (draw_.one_in(3)) {
    ++t_.at[to].added;
    const rma_op op = signal_op({to, segment_, added_at}, 1, signal_how::add);
    submit(op);
    return;
  }
  slot* s = free_slot();
  if (!s) return;
  const auto index = static_cast<unsigned>(s - slots_.data());
  const bool swap = draw_.one_in(3);
  s->kind = swap ? op_kind::swap : op_kind::fetch_add, s->to = to;
  if (!swap) ++t_.at[to].asked;
  const std::uint64_t operand = swap ? stamp(me_, static_cast<std::uint32_t>(++t_.at[to].swapped)) : 1;
  say(std::string{swap ? "swaps" : "adds"} + " at " + name_of(to));
  if (submit(atomic_op(s->kind, mine_, index * block_bytes, {to, segment_, swap ? swap_at : counter_at}, operand, &s->done)))
    s->busy = true;
}

void rank_program::flush(rank_t to) {
  completion done;
  doing("room for a flush", to);
  const nanoseconds began = world->now(), kept_off = world->kept_off;
  say("flushes " + (to == no_rank ? "all" : name_of(to)));
  while (!net_->flush(to, &done)) {
    net_->progress();
    world->idle(draw_.time(100us));
    if (world->now() - began > within() + slack + (world->kept_off - kept_off) + t_.longest_stop)
      return wrong("no room for a flush within a second");
  }
  if (!wait(done, to, "a flush")) return;
  for (slot& s : slots_)  // whose error is its completion's is not the flush's
    if (s.busy && s.done.idle()) finish_slot(s);
  const bool ok = done.outcome().ok();
  if (!ok && done.outcome().code() != errc::peer_dead && done.outcome().code() != errc::invalid)
    return wrong(std::string{"a flush failed: "} + done.outcome().text());
  if (!ok && (to == no_rank || done.outcome().code() == errc::invalid)) {  // whose error it is, the next ones show
    for (rank_t r = 0; r < t_.ranks; ++r)
      if (to == no_rank || r == to) flush(r);
    return;
  }
  if (!ok) lost_[to] = true;
  for (rank_t r = 0; r < t_.ranks; ++r) {
    if (to != no_rank && r != to) continue;
    const std::byte* there = t_.windows[r];
    for (std::uint32_t k = 0; k < block_words; ++k) {
      dirty_[r][k] = false;
      pair& p = towards(r);
      if (!ok) continue;
      p.flushed[k] = p.submitted[k];
      if (there && t_.fates[r] == fate::runs && !lost_[r] && word_at(there, block_of(me_) + 8 * k) != (p.submitted[k] ? stamp(me_, p.submitted[k]) : 0))
        return wrong("word " + std::to_string(k) + " of " + name_of(r) + " is not what was put there and flushed: " +
                     std::to_string(word_at(there, block_of(me_) + 8 * k) & 0xffffffff) + " instead of " +
                     std::to_string(p.submitted[k]));
    }
  }
}

// Memory of this rank's goes while a put reads it and a get fills it: both end, and it is not touched any more.
void rank_program::drop_local(rank_t to) {
  constexpr std::uint64_t junk_at = 3456;
  constexpr std::byte pattern{0x5a};
  std::array<std::byte, 512> memory{};
  const auto region = net_->add(memory);
  if (!region) return wrong(std::string{"no region: "} + region.error().text());
  completion read, filled;
  say("puts and gets, and drops the memory, at " + name_of(to));
  if (!submit(move_op(op_kind::put, *region, 0, to, segment_, junk_at, 512, &read))) return;
  if (!submit(move_op(op_kind::get, *region, 0, to, segment_, junk_at, 512, &filled))) return;
  if (draw_.one_in(2)) net_->progress();
  net_->drop(*region);
  memory.fill(pattern);
  if (!wait(read, to, "a put from memory that was dropped") || !wait(filled, to, "a get into memory that was dropped")) return;
  for (const std::byte b : memory)
    if (b != pattern) return wrong("memory that was dropped was written to");
}

// Towards a window that its owner may drop meanwhile, by a segment that is dropped before the operations have ended.
void rank_program::use_spare(rank_t to) {
  if (t_.spares[to].empty()) return;
  auto table = std::make_shared<blob_table>();
  table->push_back(t_.spares[to]);
  const auto segment = net_->attach(rank_map::strided(to, 1), std::move(table));
  if (!segment) return wrong(std::string{"cannot attach: "} + segment.error().text());
  completion done;
  std::array<std::byte, 256> memory{};
  std::uint64_t old = 0;
  say("uses the spare window of " + name_of(to));
  const auto at = [](auto& m) { return reinterpret_cast<std::uintptr_t>(&m); };
  if (!submit(move_op(op_kind::put, unregistered_memory, at(memory), to, *segment, 256, 256, &done))) return;
  if (!submit(atomic_op(op_kind::fetch_add, unregistered_memory, at(old), {to, *segment, 8}, 1, &done))) return;
  if (!submit(move_op(op_kind::get, unregistered_memory, at(memory), to, *segment, 0, 256, &done))) return;
  if (!submit(signal_op({to, *segment, 16}, 1))) return;
  const bool before = draw_.one_in(2);
  if (before) net_->drop(*segment);
  if (!wait(done, to, "operations upon a spare window")) return;
  if (!before) net_->drop(*segment);
}

// A signal names no completion: its error is the next flush's, which the model takes for one of its own.
void rank_program::change_spare() {
  constexpr std::byte pattern{0xa5};
  if (has_spare_) {
    say("drops its spare window");
    {
      const in_kernel k;
      t_.spares[me_].clear();
    }
    net_->drop(spare_);
    if (!own_spare_.empty()) std::fill(own_spare_.begin(), own_spare_.end(), pattern);
    has_spare_ = false;
    return;
  }
  for (const std::byte b : own_spare_)
    if (b != pattern) return wrong("a window that was dropped was written to");
  own_spare_.clear();
  if (t_.own_spares && draw_.one_in(2)) own_spare_.resize(512);
  const auto made = own_spare_.empty() ? net_->allocate(512, spare_memory_) : net_->add(own_spare_);
  if (!made) return wrong(std::string{"no spare window: "} + made.error().text());
  spare_ = *made, has_spare_ = true;
  const auto key = net_->key(spare_);
  if (!key) return wrong("no key of a spare window");
  const in_kernel k;
  t_.spares[me_].assign((*key).begin(), (*key).end());
}

// The n-th from one rank to another: its number, and so many times the last byte of it.
void rank_program::send_messages(rank_t to) {
  two_sided* const calls = net_->sendrecv();
  if (!calls) return;
  std::array<std::byte, 4096> bytes;
  say("sends messages to " + name_of(to));
  doing("a message to be taken", to);
  for (auto burst = 1 + draw_.below(draw_.one_in(4) ? 100 : 8); burst; --burst) {
    const std::uint64_t n = towards(to).messages;
    bytes.fill(static_cast<std::byte>(n));
    if (!calls->send(to, std::as_bytes(std::span{&n, 1}), std::span{bytes}.first(length_of(n, calls->query().max_payload)))) break;
    ++towards(to).messages;
  }
}

void rank_program::take_messages() {
  two_sided* const calls = net_->sendrecv();
  for (two_sided::message m; calls && calls->receive(m);) {
    if (m.from >= t_.ranks) return wrong("a message of no rank");
    std::uint64_t n = 0;
    if (m.header.size() != sizeof n) return wrong("a message of " + name_of(m.from) + " with another header");
    std::memcpy(&n, m.header.data(), sizeof n);
    const std::uint64_t due = taken_[m.from]++;
    if (n != due || n >= t_.of[m.from][me_].messages + 1)
      return wrong("message " + std::to_string(n) + " of " + name_of(m.from) + " came where " + std::to_string(due) + " was due");
    if (m.payload.size() != length_of(n, calls->query().max_payload)) return wrong("a message of " + name_of(m.from) + " has another length");
    for (const std::byte b : m.payload)
      if (b != static_cast<std::byte>(n)) return wrong("a message of " + name_of(m.from) + " has other bytes");
  }
}

bool rank_program::submit(const rma_op& op) {
  const nanoseconds began = world->now(), kept_off = world->kept_off;
  doing("room for an operation", op.rank);
  for (unsigned turn = 0; net_->submit({&op, 1}) == 0; ++turn) {
    net_->progress();
    if (turn > 10) world->idle(draw_.time(1ms)), ask(op.rank);
    if (world->now() - began > within() + slack + (world->kept_off - kept_off) + t_.longest_stop)
      return wrong("no room for an operation towards " + name_of(op.rank) + " within a second"), false;
  }
  return true;
}

rank_program::slot* rank_program::free_slot() {
  for (slot& s : slots_) {
    if (s.busy && s.done.idle()) finish_slot(s);
    if (!s.busy) return &s;
  }
  slot& s = slots_[draw_.below(slots)];
  if (!wait(s.done, s.to, "an operation")) return nullptr;
  finish_slot(s);
  return &s;
}

void rank_program::finish_slot(slot& s) {
  s.busy = false;
  const bool ok = s.done.outcome().ok();
  if (!ok) {
    lost_[s.to] = true;
    if (s.done.outcome().code() != errc::peer_dead || t_.fates[s.to] == fate::runs)
      if (!t_.broken[me_ * most_ranks + s.to])
        wrong("an operation towards " + name_of(s.to) + " failed: " + s.done.outcome().text());
    s.done.clear();
    return;
  }
  const std::byte* from = buffer(static_cast<unsigned>(&s - slots_.data()));
  if (s.kind == op_kind::get || s.kind == op_kind::get_scatter) {
    for (std::uint32_t i = 0; i < s.count; ++i) {
      const std::uint64_t got = word_at(from, 8 * i);
      const std::uint32_t k = s.first + i;
      if (got < (s.lower[i] ? stamp(me_, s.lower[i]) : 0) || got > stamp(me_, towards(s.to).submitted[k]))
        wrong("a get from " + name_of(s.to) + " has " + std::to_string(got & 0xffffffff) + " in word " + std::to_string(k) +
              ", from " + std::to_string(s.lower[i]) + " to " + std::to_string(towards(s.to).submitted[k]) + " expected");
    }
  } else if (s.kind == op_kind::fetch_add) {
    ++t_.at[s.to].done;
    const in_kernel k;
    if (!t_.at[s.to].seen.insert(word_at(from, 0)).second)
      world->complain(name_of(me_) + ": a fetch_add's old value " + std::to_string(word_at(from, 0)) + " was given twice");
  } else if (s.kind == op_kind::swap) {
    const in_kernel k;
    if (!t_.at[s.to].swap_seen.insert(word_at(from, 0)).second)
      world->complain(name_of(me_) + ": a swap's old value was given twice");
  }
}

void rank_program::finish_all(rank_t to) {
  for (slot& s : slots_)
    if (s.busy && (to == no_rank || s.to == to) && wait(s.done, s.to, "an operation")) finish_slot(s);
}

void rank_program::look_at_signals() {
  for (rank_t o = 0; o < t_.ranks; ++o) {
    const std::uint64_t epoch = word_at(memory_.data(), signal_of(o));
    if (epoch == seen_[o]) continue;
    const pair& p = t_.of[o][me_];
    if (epoch < seen_[o]) return wrong("the signal of " + name_of(o) + " went back");
    if (epoch > p.signals.size()) return wrong("the signal of " + name_of(o) + " was never sent");
    seen_[o] = epoch;
    for (std::uint32_t k = 0; k < block_words; ++k) {
      const std::uint32_t least = p.signals[epoch - 1].words[k];
      if (word_at(memory_.data(), block_of(o) + 8 * k) < (least ? stamp(o, least) : 0))
        return wrong("signal " + std::to_string(epoch) + " of " + name_of(o) + " came before word " + std::to_string(k));
    }
  }
  const std::uint64_t count = word_at(memory_.data(), counter_at), added = word_at(memory_.data(), added_at);
  if (count < t_.at[me_].done || count > t_.at[me_].asked)
    wrong("the counter is " + std::to_string(count) + ", " + std::to_string(t_.at[me_].done) + " to " +
          std::to_string(t_.at[me_].asked) + " expected");
  if (added > t_.at[me_].added) wrong("the sum of added signals is too large");
}

}  // namespace tutti::test

// The protocol of bsp_sync.
//
// A process that enters the sync of superstep s sets its metadata word at every other one, and waits until everybody's has
// come. That is a barrier already, and where nobody has anything for anybody the sync is over: an empty superstep costs
// one barrier. Else everyone is in the sync now and no program runs, so memory that programs share may be read and
// written in this order, for each process by itself:
//   1. all gets upon its memory are served: what they ask for is copied aside;
//   2. the answers to its own gets are written;
//   3. the puts upon its memory are written, and messages queued;
//   4. registrations change.
// No process leaves before its own part is done; nobody waits for the parts of others. What it needs of them, chunks
// and answers, is there before its part is done, or it would not be.
//
// Why two metadata words for each pair suffice, used in turn, and two halves of everything that is packed. Process p sets
// the word of s + 2 at q, in the place of that of s, when it enters the sync of s + 2. It has then left the sync of
// s + 1, for which it had q's word of s + 1, which q set after it had left the sync of s: q has read the word of s and
// will not look for it again. So a word never overtakes one that is awaited, and q looks for exactly its own superstep.
// The same argument covers the chunks of s, which p packs over when superstep s + 2 begins: by then q has left the sync
// of s, in which it read them. Even a message that q reads in place during superstep s + 1, out of the chunk that p
// packed in s, stays whole: q forgets its messages as it enters the sync of s + 1, before it sets the word that p waits
// for. A chunk that comes with the metadata word overwrites that of s - 2 and is covered likewise.
//
// How the metadata of a superstep goes. By words alone, as above; or by a metadata_exchange, which is chosen at open where it is
// the cheaper barrier, and besides by words to those for whom something comes with it. A superstep in which most have
// something for most is then dearer than by words alone. Traffic is known only when it is there, and all must go the same
// way: so the supersteps before decide. With its metadata each process says whether words alone would have been dearer for
// what it had, and everyone learns in the same sync whether anybody said so. If from that it is likely that nobody will
// object to the next superstep, all go by words then (way_forecast.h). A wrong guess costs a barrier that is not the
// cheapest.
//
// Every way is a barrier: who leaves knows that all have entered. The arguments above need no more of the superstep
// between s and s + 2, so each may go its own way. Words of s may stay where none is set in s + 2, and the halves of an
// metadata_exchange where s + 2 goes by words: what is found later names its superstep, which is not the one awaited. And
// nothing of a metadata_exchange is under way when a superstep goes by words, since a sync by it ends with its own operations.
#include <algorithm>
#include <string>

#include "bsp/engine.h"
#include "core/transport/ops.h"

namespace tutti::bsp {

void engine::begin_superstep() noexcept {
  arena_->reclaim(half());
  for (std::uint32_t i = 0; i < size_; ++i) {
    outbox& l = outboxes_[i];
    l.data.start(*arena_, make_location(0, layout_.chunk(half(), i)),
                 peers_[i].reads_me ? layout_.chunk_bytes() : layout_.eager_bytes());
    l.run_address = l.word_address = &l;  // which nobody registers
    l.run_end = l.data.at;
    if (!l.requests.empty()) l.requests.clear(), l.gets = l.direct_gets = 0;
    if (!l.answers.empty()) l.answers.clear();
    if (!l.direct.empty()) l.direct.clear();
    if (!l.bulk.empty()) l.bulk.clear(), l.load = {};
    l.put_ahead = false;
    l.hp_put = l.hp_got = 0;
  }
}

bool engine::sync(const void* site) { return finish(false, site); }

bool engine::leave() {
  if (!finish(true, nullptr)) return false;
  if (status s = team_.settle(); !s.ok()) return fail(s.during("bsp_end"));
  return true;
}

bool engine::finish(bool leaving, const void* site) {
  queue_.clear();
  if (ledger_) ledger_->enter(site, by_words_ ? metadata_way::direct : way_);
  const char* const call = leaving ? "bsp_end" : "bsp_sync";
  if (checker_)
    if (status s = checker_->judge(epoch_); !s.ok()) return fail(s.during(call));
  if (any_ahead_)
    if (status s = finish_ahead(); !s.ok()) return fail(s.during(call));
  if (areas_.changed() && !(tell_changes(call) && tell_areas(call))) return false;
  std::uint8_t flags = leaving ? is_leaving : 0;
  bool asks = false;
  for (std::uint32_t i = 0; i < size_; ++i) {
    flags |= seal(i, leaving);
    asks = asks || !outboxes_[i].requests.empty();
  }
  status s = announce();
  if (s.ok()) s = agree(leaving);
  if (s.ok()) {
    bool simple = all_in_place_ && !asks && !(flags & has_direct);
    for (std::uint32_t i = 0; simple && i < size_; ++i)
      simple = !(flags_of(peers_[i].metadata) & (has_requests | has_direct));
    if (!simple) {
      s = exchange();
    } else {
      for (std::uint32_t k = 0, i = me_; s.ok() && k < size_; ++k, i = i + 1 < size_ ? i + 1 : 0)
        if (flags_of(peers_[i].metadata) & has_data) s = place_in_place(i);
    }
  }
  if (s.ok() && any_ahead_) s = finish_puts_ahead();
  if (!s.ok()) return fail(s.during(call));
  const bool changed = areas_.changed();
  if (changed) {
    if (s = settle_changes(); !s.ok()) return fail(s.during(call));
    areas_.apply();
  }
  if (temporary_ || (changed && !registrations_.empty())) drop_registrations();
  if (any_ahead_) {
    if (changed) forget_areas();
    if (!leaving) tell_end();
  }
  received_tag_ = sent_tag_;
  sent_tag_ = next_tag_;
  ++epoch_;
  begin_superstep();
  if (ledger_) ledger_->leave();
  return true;
}

// Completes the chains for one process and decides what goes with the metadata word.
std::uint8_t engine::seal(std::uint32_t pid, bool leaving) noexcept {
  outbox& l = outboxes_[pid];
  peer& p = peers_[pid];
  close_run(l);
  chunk_head& head = l.data.head(*arena_);
  head.calls = static_cast<std::uint32_t>(areas_.pending().size());
  head.tag = static_cast<std::uint32_t>(next_tag_);
  std::uint8_t flags = leaving ? is_leaving : 0;
  if (!l.requests.empty()) {
    l.requests.seal(*arena_, stage::requests);
    head.requests = l.requests.first();
    flags |= has_requests;
  }
  l.data.seal(*arena_, stage::data);
  if (head.next || head.used.bytes > sizeof head || announces(me_, pid)) flags |= has_data;
  if (pid == me_) p.metadata = make_metadata(epoch_, flags);
  p.sending = stage::requests;
  p.next = flags & has_requests ? l.requests.first() : 0;
  p.next_data = flags & has_data ? l.data.first() : 0;
  p.eager = 0;
  if (!l.direct.empty()) flags |= has_direct;
  if (l.put_ahead) flags |= went_ahead;
  p.end_is_told = any_ahead_ && p.takes_ahead && pid != me_ && !leaving && (p.hp_lately || areas_.changed());
  if (p.hp_lately) --p.hp_lately;
  if (p.end_is_told) flags |= asks_end;
  if (p.reads_me) {
    p.next = p.next_data = 0;
  } else if (flags & (has_requests | has_data)) {
    if (!l.bulk.empty()) choose_bulk(pid);
    if (scheme_.eager) {
      location& first = p.next ? p.next : p.next_data;
      const auto& h = *reinterpret_cast<const chunk_head*>(arena_->at(first));
      if (h.used.bytes <= layout_.eager_bytes()) {
        p.eager = first;
        first = h.next;
        flags |= is_eager;
      }
    }
    if (p.next || p.next_data || p.bulk) flags |= has_more;
  }
  p.outgoing = flags;
  return flags;
}

// Whether a word goes to it whichever way the flags go.
bool engine::wants_word(std::uint32_t pid) const noexcept {
  return peers_[pid].eager || (peers_[pid].outgoing & went_ahead);
}

// The word for one process, with the chunk that goes with it.
void engine::add_word(std::uint32_t pid) {
  const peer& p = peers_[pid];
  const far_word word{p.rank, window_->segment(), layout_.metadata(half(), me_)};
  const std::uint64_t metadata = make_metadata(epoch_, p.outgoing, objected_);
  const not_before order = p.outgoing & went_ahead ? not_before::everything : not_before::payload;
  if (!p.eager) {
    rma_op& op = words_.emplace_back();  // made in place: to copy what was just written field by field stalls the processor
    op.kind = op_kind::signal, op.order = order;
    op.rank = word.rank, op.signal = word.segment, op.signal_offset = word.offset;
    op.operand = metadata;
    return;
  }
  const auto& h = *reinterpret_cast<const chunk_head*>(arena_->at(p.eager));
  words_.push_back(with_signal(move_op(op_kind::put, arena_->id(p.eager), offset_of(p.eager), p.rank, eager_window_->segment(),
                                       layout_.eager(half(), me_), h.used.bytes, &sending_[half()]),
                               word.segment, word.offset, metadata));
  words_.back().order = order;
}

// The metadata of all, and which way that of the next superstep goes: not by words where a scheme names another way, to which
// all object always.
status engine::announce() {
  words_.clear();
  offered_ = 0;
  std::uint32_t besides = 0;
  for (std::uint32_t i = 0; metadata_by_ && i < size_; ++i) besides += i != me_ && wants_word(i);
  objected_ = besides < words_pay_from_;
  by_words_instead_ += by_words_ && metadata_by_;
  const status s = by_words_ ? announce_by_words() : announce_by_bytes();
  forecast_.saw(objected_);
  by_words_ = !metadata_by_ || !forecast_.objection();
  return s;
}

// In Latin order: first to the next process, so that no two address the same one at once.
status engine::announce_by_words() {
  for (std::uint32_t k = 1, i = me_ + 1; k < size_; ++k, ++i) {
    if (i == size_) i = 0;
    add_word(i);
  }
  arrived_ = 1;  // mine
  std::uint32_t next = me_ + 1 < size_ ? me_ + 1 : 0;
  const std::byte* const words = base_ + layout_.metadata(half(), 0);
  offer_words();
  auto here = [&] {
    if (offered_ < words_.size() && !offer_words()) return false;
    for (; arrived_ < size_; ++arrived_, next = next + 1 < size_ ? next + 1 : 0) {
      const std::uint64_t metadata = load_acquire(words + 8ull * next);
      if (epoch_of(metadata) != epoch_) return false;
      peer& p = peers_[next];
      p.metadata = metadata;
      if (p.mapped && (flags_of(metadata) & has_data)) {  // its head and a small put, while this process goes on
        const std::byte* const chunk = p.mapped + layout_.chunk(half(), me_);
        __builtin_prefetch(chunk), __builtin_prefetch(chunk + 64);
      }
      objected_ = objected_ || objects_in(metadata);
    }
    return true;
  };
  if (here()) return {};
  const wait_note note{"the others", peers_[next].rank, 0, epoch_};
  return job_.wait(here, [&] { return team_.look(peers_[next].rank); }, note);
}

// The flags by another way; words go only to those to whom a chunk goes with it or hp puts went ahead of it, and are
// awaited only from those whose flags say so.
status engine::announce_by_bytes() {
  for (std::uint32_t k = 1, i = me_ + 1; k < size_; ++k, ++i) {
    if (i == size_) i = 0;
    if (wants_word(i)) add_word(i);
  }
  for (std::uint32_t i = 0; i < size_; ++i) flags_out_[i] = peers_[i].outgoing;
  metadata_by_->begin(epoch_, flags_out_, objected_);
  bool told = false;
  arrived_ = 0;
  auto here = [&] {
    if (offered_ < words_.size()) offer_words();
    if (!told) {
      if (!metadata_by_->advance(flags_in_)) return false;
      told = true;
      objected_ = metadata_by_->objected();
      for (std::uint32_t i = 0; i < size_; ++i)
        if (i != me_) peers_[i].metadata = make_metadata(epoch_, flags_in_[i]);
    }
    for (; arrived_ < size_; ++arrived_)
      if (arrived_ != me_ && (flags_of(peers_[arrived_].metadata) & (is_eager | went_ahead)) &&
          epoch_of(load_acquire(base_ + layout_.metadata(half(), arrived_))) != epoch_)
        return false;
    return offered_ == words_.size();
  };
  const wait_note note{"the others", no_rank, 0, epoch_};
  const status s = job_.wait(here, [&] { return team_.look(metadata_by_->awaited()); }, note);
  return s.ok() ? metadata_by_->outcome() : s;
}

bool engine::offer_words() noexcept {
  offered_ += job_.net().submit(std::span(words_).subspan(offered_));
  return offered_ == words_.size();
}

// Whether all ended the superstep in the same way.
status engine::agree(bool leaving) {
  ends_asked_ = false;
  for (std::uint32_t i = 0; i < size_; ++i) {
    const std::uint8_t flags = flags_of(peers_[i].metadata);
    ends_asked_ = ends_asked_ || (flags & asks_end);
    if (((flags & is_leaving) != 0) != leaving)
      return {errc::invalid, "process " + std::to_string(i) + " called " + (leaving ? "bsp_sync" : "bsp_end") +
                                 " while process " + std::to_string(me_) + " called " +
                                 (leaving ? "bsp_end" : "bsp_sync") + "; all processes must call the same", peers_[i].rank};
    if (!(flags & has_data) && announces(i, me_)) return silent(i);
  }
  return {};
}

// Puts and messages of a process whose chunks are read where it packed them.
status engine::place_in_place(std::uint32_t from) {
  status s;
  peer& p = peers_[from];
  const auto* chunk = reinterpret_cast<const chunk_head*>(p.mapped + layout_.chunk(half(), me_));
  if (s = check_first(from, *chunk); !s.ok()) return s;
  for (;;) {
    const auto* const at = reinterpret_cast<const std::byte*>(chunk);
    s = placer_.place({at + sizeof *chunk, chunk->used.bytes - sizeof *chunk}, from, p.open, true);
    if (!s.ok() || chunk->next == 0) return s;
    chunk = chunk_at(from, chunk->next, s);
    if (!chunk) return s;
  }
}

// Regions of a peer's arena are met as chunks name them. Their keys stand in its directory by then (arena.h).
const chunk_head* engine::chunk_at(std::uint32_t pid, location l, status& why) {
  peer& p = peers_[pid];
  const std::uint32_t region = region_of(l);
  if (region == 0) return reinterpret_cast<const chunk_head*>(p.mapped + offset_of(l));
  if (pid == me_) return reinterpret_cast<const chunk_head*>(arena_->at(l));
  if (p.regions.size() <= region) p.regions.resize(region + 1);
  if (!p.regions[region]) {
    const std::byte* const entry = p.mapped + layout_.directory(region);
    std::uint32_t length;
    std::memcpy(&length, entry, sizeof length);
    auto keys = std::make_shared<blob_table>();
    keys->push_back({entry + sizeof length, length});
    auto segment = job_.net().attach(rank_map::strided(p.rank, 1), std::move(keys));
    if (!segment) {
      why = segment.error();
      return nullptr;
    }
    p.segments.push_back(*segment);
    p.regions[region] = job_.net().map(*segment, p.rank);
    if (!p.regions[region]) {
      why = {errc::fabric, "memory of rank " + std::to_string(p.rank) + " cannot be mapped any more", p.rank};
      return nullptr;
    }
  }
  return reinterpret_cast<const chunk_head*>(p.regions[region] + offset_of(l));
}

}  // namespace tutti::bsp

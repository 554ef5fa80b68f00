#include "bsp/announcement.h"

#include "core/transport/multicast.h"
#include "core/transport/ops.h"

namespace tutti::bsp {

announcement::announcement(const context& c) : c_(c), out_(c.size), in_(c.size) { words_.reserve(c.size); }

// What cannot be had after all is left out by all alike, unless it was asked for by name. From how much traffic on words alone
// are cheaper each says for itself; schemes that name a way keep it.
status announcement::open() {
  const multicast* const mc = c_.net.mcast();
  metadata_costs costs{in_picoseconds(c_.job.facts().network), {}, !c_.eager_window};
  // A process that loses the release would wait for process 0's next call, which may compute for long.
  if (mc && !c_.job.facts().target_must_progress)
    if (const auto us = mc->query().latency_us) costs.multicast = in_picoseconds(*us);
  auto all = c_.team.exchange_values(c_.how.metadata ? *c_.how.metadata : choose_metadata_way(c_.size, costs));
  if (!all) return all.error();
  way_ = (*all)[0];
  if (c_.size == 1 || way_ == metadata_way::direct) return {};
  if (way_ == metadata_way::multicast) {
    auto made = make_multicast(c_.team);
    if (made) exchange_ = std::move(*made);
    else if (c_.how.metadata) return made.error().during("TUTTI_BSP=M");
    else way_ = metadata_way::dissemination;
  }
  if (way_ == metadata_way::dissemination) {
    auto made = make_dissemination(c_.team);
    if (!made) return made.error();
    exchange_ = std::move(*made);
  }
  by_words_ = false;
  words_pay_from_ = c_.how.metadata ? c_.size : words_pay_from(way_, c_.size, costs);
  return {};
}

// Besides, which way the next superstep goes: not by words where a scheme names another way, to which all object always. In
// Latin order, first to the next process, so that no two address the same one at once.
status announcement::run(const arena& memory, std::span<const outbox> boxes, const peer_memory& peers, completion& sending) {
  words_.clear();
  offered_ = 0;
  std::uint32_t besides = 0;
  for (std::uint32_t i = 0; exchange_ && i < c_.size; ++i) besides += i != c_.me && wants_word(boxes[i]);
  objected_ = besides < words_pay_from_;
  by_words_instead_ += by_words_ && exchange_;
  for (std::uint32_t k = 1, i = c_.me + 1; k < c_.size; ++k, ++i) {
    if (i == c_.size) i = 0;
    if (by_words_ || wants_word(boxes[i])) add_word(memory, boxes[i], sending);
  }
  in_[c_.me] = out_[c_.me];
  const status s = by_words_ ? by_words(peers) : by_bytes();
  forecast_.saw(objected_);
  by_words_ = !exchange_ || !forecast_.objection();
  return s;
}

// The word for one process, with the chunk that goes with it.
void announcement::add_word(const arena& memory, const outbox& box, completion& sending) {
  const std::uint8_t flags = out_[box.to()];
  const far_word word{c_.rank_of(box.to()), c_.window->segment(), c_.layout.metadata(c_.half(), c_.me)};
  const std::uint64_t metadata = make_metadata(c_.epoch, flags, objected_);
  const not_before order = flags & went_ahead ? not_before::everything : not_before::payload;
  if (!box.eager()) {
    rma_op& op = words_.emplace_back();  // made in place: to copy what was just written field by field stalls the processor
    op.kind = op_kind::signal, op.order = order;
    op.rank = word.rank, op.signal = word.segment, op.signal_offset = word.offset;
    op.operand = metadata;
    return;
  }
  const auto& h = *reinterpret_cast<const chunk_head*>(memory.at(box.eager()));
  words_.push_back(with_signal(move_op(op_kind::put, memory.id(box.eager()), offset_of(box.eager()), word.rank,
                                       c_.eager_window->segment(), c_.layout.eager(c_.half(), c_.me), h.used.bytes, &sending),
                               word.segment, word.offset, metadata));
  words_.back().order = order;
}

bool announcement::offer_words() noexcept {
  offered_ += c_.net.submit(std::span(words_).subspan(offered_));
  return offered_ == words_.size();
}

status announcement::by_words(const peer_memory& peers) {
  std::uint32_t arrived = 1;  // mine
  std::uint32_t next = c_.me + 1 < c_.size ? c_.me + 1 : 0;
  const std::byte* const words = c_.base + c_.layout.metadata(c_.half(), 0);
  offer_words();
  auto here = [&] {
    if (offered_ < words_.size() && !offer_words()) return false;
    for (; arrived < c_.size; ++arrived, next = next + 1 < c_.size ? next + 1 : 0) {
      const std::uint64_t metadata = load_acquire(words + 8ull * next);
      if (epoch_of(metadata) != c_.epoch) return false;
      in_[next] = flags_of(metadata);
      if (peers.window(next) && (in_[next] & (has_data | has_requests))) {  // its head and a small put, while this one goes on
        const auto* const chunk = reinterpret_cast<const std::byte*>(&peers.first(next));
        __builtin_prefetch(chunk), __builtin_prefetch(chunk + 64);
      }
      objected_ = objected_ || objects_in(metadata);
    }
    return true;
  };
  if (here()) return {};
  const auto tell = [&] { return c_.sync_in_words(); };
  const function_ref<std::string> in_words(tell);
  const wait_note note{"the others", c_.rank_of(next), 0, c_.epoch, &in_words, false, false};
  return c_.job.wait(here, [&] { return c_.team.look(c_.rank_of(next)); }, note);
}

// The flags by another way. Words are awaited only from those whose flags say that something comes with one.
status announcement::by_bytes() {
  exchange_->begin(c_.epoch, out_, objected_);
  bool told = false;
  std::uint32_t arrived = 0;
  auto here = [&] {
    if (offered_ < words_.size()) offer_words();
    if (!told) {
      if (!exchange_->advance(in_)) return false;
      told = true;
      objected_ = exchange_->objected();
    }
    for (; arrived < c_.size; ++arrived)
      if (arrived != c_.me && (in_[arrived] & (is_eager | went_ahead)) &&
          epoch_of(load_acquire(c_.base + c_.layout.metadata(c_.half(), arrived))) != c_.epoch)
        return false;
    return offered_ == words_.size();
  };
  const auto tell = [&] { return c_.sync_in_words(); };
  const function_ref<std::string> in_words(tell);
  const wait_note note{"the others", no_rank, 0, c_.epoch, &in_words, false, false};
  const status s = c_.job.wait(here, [&] { return c_.team.look(exchange_->awaited()); }, note);
  return s.ok() ? exchange_->outcome() : s;
}

}  // namespace tutti::bsp

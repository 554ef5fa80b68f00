// What follows the metadata words when there is more than chunks to be read in place: gets, and chunks that travel.
//
// Each process sends another, in this order: its get requests, the answers to the other's, its puts and messages, the
// data of large puts that it pushes (bulk.cpp), its large hp puts. It takes them in the same order, but holds answers back
// until it has served all gets upon its memory, and puts until it has written all answers to its own gets (superstep.cpp).
//
// No deadlock: a process holds things back only until the requests of all have come and been served, and then until
// the answers to its own have come. Requests come first from everybody and are served whenever they come, into memory
// of this process, so they never wait for room that others must make. Once a process has served all, it takes answers
// whenever they come; and they are before the puts in every channel, so nothing that is held back stands in their way.
//
// Large hp puts come last. They wait for nothing, since nobody else may use their targets in this superstep.
//
// A put that came in part is waited for before any other process's puts are written, so that of two puts to one place
// one is there whole. That delays nobody for good: the rest comes whatever this process does with its other channels.
//
// Sending and placing alternate (Birk 2006, 3.1): a chunk for each process in Latin order, then what has arrived.
#include <algorithm>
#include <string>

#include "bsp/engine.h"
#include "core/transport/ops.h"

namespace tutti::bsp {
namespace {

constexpr std::uint64_t answer_piece = std::uint64_t{1} << 15;

}  // namespace

status engine::exchange() {
  unserved_ = unanswered_ = unplaced_ = 0;
  for (std::uint32_t i = 0; i < size_; ++i) {
    peer& p = peers_[i];
    const std::uint8_t flags = flags_of(p.metadata);
    p.sending = p.receiving = stage::requests;
    p.served = (flags & has_requests) == 0;
    p.eager_waits = (flags & is_eager) != 0;
    p.checked = false;
    p.answer_chunks = p.answers_taken = 0;
    p.answers_next = 0;
    unserved_ += !p.served;
    p.asked = outboxes_[i].gets ? outboxes_[i].requests.first() : 0;
    p.asked_at = sizeof(chunk_head), p.answered = 0;
    unanswered_ += p.asked != 0;
    unplaced_ += (flags & has_data) != 0;
    p.direct = 0, p.direct_at = 0;
    const bool answers_travel = (!p.served && !p.reads_me) || (p.asked && !p.mapped);
    p.needs_line = i != me_ && (answers_travel || ((flags | p.outgoing) & (has_more | has_direct)) || outboxes_[i].direct_gets);
  }
  status s;
  bool done = false;
  const wait_note note{"the others' part", no_rank, 0, epoch_};
  const status waited = job_.wait([&] { return !(s = pump(done)).ok() || done; },
                                  [&] { return team_.look(no_rank); }, note);
  if (!s.ok()) return s;
  if (!waited.ok()) return waited;
  if (!puller_.outcome().ok()) return puller_.outcome();
  return sending_[half()].outcome();
}

// Goes as far as it can without waiting: whoever calls may sleep until something arrives.
status engine::pump(bool& done) {
  do {
    bool all = true;
    moved_ = false;
    for (std::uint32_t k = 0, i = me_; k < size_; ++k, i = i + 1 < size_ ? i + 1 : 0) {
      peer& p = peers_[i];
      if (p.needs_line && !(p.line && p.line->open()))
        if (status s = introduce(i); !s.ok()) return s;
      if (p.sending != stage::done) send_to(i);
      if (p.receiving != stage::done)
        if (status s = receive_from(i); !s.ok()) return s;
      if (p.line) p.line->settle();
      all = all && p.sending == stage::done && p.receiving == stage::done;
    }
    // What is to be read is written when everything else is (puller.h).
    const bool pulled = unplaced_ > 0 || puller_.advance(moved_);
    done = all && pulled && sending_[half()].idle();
  } while (moved_ && !done);
  return {};
}

void engine::send_to(std::uint32_t pid) {
  peer& p = peers_[pid];
  if (p.sending == stage::answers) {
    if (!p.served) return;  // until its requests have come
    const location first = outboxes_[pid].answers.first();
    if (first && p.reads_me && !tell_answers(pid, true)) return;
    if (first && !p.reads_me && p.next == 0) p.next = first;
  }
  if (p.next) {  // one chunk, then another process has its turn
    if (!p.line || !p.line->open()) return;
    const auto& head = *reinterpret_cast<const chunk_head*>(arena_->at(p.next));
    if (!p.line->send(arena_->id(p.next), offset_of(p.next), head.used, &sending_[half()])) return;
    p.next = head.next;
    moved_ = true;
    if (p.next) return;
  }
  switch (p.sending) {
    case stage::requests: p.sending = stage::answers; break;
    case stage::answers: p.sending = stage::data, p.next = p.next_data; break;
    case stage::data:
      if (!send_bulk(pid)) return;
      p.sending = stage::direct;
      break;
    default:
      if (!send_direct(pid)) return;
      p.sending = stage::done;
  }
  moved_ = true;
}

// True: all hp puts are on their way.
bool engine::send_direct(std::uint32_t pid) noexcept {
  peer& p = peers_[pid];
  const auto& all = outboxes_[pid].direct;
  while (p.direct < all.size()) {
    if (!p.line || !p.line->open()) return false;
    const direct_put& d = all[p.direct];
    const auto piece = static_cast<std::uint32_t>(std::min<std::uint64_t>(d.bytes - p.direct_at, slot_bytes - direct_front));
    const bool last = p.direct + 1 == all.size() && p.direct_at + piece == d.bytes;
    struct {
      chunk_head head;
      put16 header;
    } front;
    static_assert(sizeof front == direct_front && sizeof(hp_answer_head) == sizeof(put16));
    front.head.used = {direct_front + piece, make_note(stage::direct, last)};
    front.header = {d.area == hp_answer ? hp_answer_mark : long_head(record::put16, d.area, false), piece, d.offset + p.direct_at};
    if (!p.line->send(std::as_bytes(std::span(&front, 1)), plain_memory,
                      reinterpret_cast<std::uintptr_t>(d.source) + p.direct_at, piece, &sending_[half()]))
      return false;
    moved_ = true;
    p.direct_at += piece;
    if (p.direct_at == d.bytes) ++p.direct, p.direct_at = 0;
  }
  return true;
}

status engine::receive_from(std::uint32_t pid) {
  peer& p = peers_[pid];
  const std::uint8_t flags = flags_of(p.metadata);
  for (;;) {
    const bool due = p.receiving == stage::requests  ? !p.served
                     : p.receiving == stage::answers ? p.asked != 0
                     : p.receiving == stage::data    ? (flags & has_data) != 0
                     : p.receiving == stage::bulk    ? p.pushed > 0
                                                     : (flags & has_direct) != 0 || outboxes_[pid].direct_gets > 0;
    if (due && (p.receiving == stage::answers || p.receiving == stage::data) && unserved_ > 0) return {};
    if (due && p.receiving == stage::data && unanswered_ > 0) return {};
    const bool puts = p.receiving == stage::data || p.receiving == stage::bulk;
    if (due && puts && mid_put_ != no_process && mid_put_ != pid) return {};
    if (due) {
      bool complete = false;
      const bool in_place = p.mapped && p.receiving <= stage::data;
      if (status s = in_place ? read_from(pid, complete) : take_from(pid, complete); !s.ok()) return s;
      if (!complete) return {};
      if (p.receiving == stage::requests) {
        if (chain& c = outboxes_[pid].answers; !c.empty()) {
          c.seal(*arena_, stage::answers);
          ++p.answer_chunks;
        }
        p.served = true;
        --unserved_;
      } else if (p.receiving == stage::answers) {
        p.asked = 0;
        --unanswered_;
      } else if ((p.receiving == stage::data && p.pushed == 0) || p.receiving == stage::bulk) {
        --unplaced_;
      }
    }
    p.receiving = static_cast<stage>(static_cast<int>(p.receiving) + 1);
    moved_ = true;
    if (p.receiving == stage::done) return {};
  }
}

// From a process whose chunks are read in place: all requests and all puts are there, answers as far as it says.
status engine::read_from(std::uint32_t pid, bool& complete) {
  if (peers_[pid].receiving == stage::answers) return read_answers(pid, complete);
  complete = true;
  if (peers_[pid].receiving == stage::data) return place_in_place(pid);
  const auto& first = *reinterpret_cast<const chunk_head*>(peers_[pid].mapped + layout_.chunk(half(), me_));
  status s;
  for (location l = first.requests; l && s.ok();) {
    const chunk_head* const chunk = chunk_at(pid, l, s);
    if (!chunk) break;
    s = serve(pid, {reinterpret_cast<const std::byte*>(chunk + 1), chunk->used.bytes - sizeof *chunk});
    l = chunk->next;
  }
  return s;
}

status engine::read_answers(std::uint32_t pid, bool& complete) {
  peer& p = peers_[pid];
  const std::uint64_t word =
      pid == me_ ? make_answer(p.answer_chunks, p.served) : load_acquire(base_ + layout_.answer(pid));
  status s;
  for (; s.ok() && p.answers_taken < answer_chunks(word); ++p.answers_taken) {
    const auto& first = *reinterpret_cast<const chunk_head*>(p.mapped + layout_.chunk(half(), me_));
    const chunk_head* const chunk = chunk_at(pid, p.answers_taken ? p.answers_next : first.answers, s);
    if (!chunk) break;
    s = deliver(pid, {reinterpret_cast<const std::byte*>(chunk + 1), chunk->used.bytes - sizeof *chunk});
    p.answers_next = chunk->next;
    moved_ = true;
  }
  complete = s.ok() && all_answered(word);
  if (complete && pid != me_) clear_word(base_ + layout_.answer(pid));
  return s;
}

// The chunks of this stage that have come from a process whose chunks travel.
status engine::take_from(std::uint32_t pid, bool& complete) {
  peer& p = peers_[pid];
  status s;
  while (s.ok() && !complete) {
    std::span<const std::byte> chunk;
    // What came with the metadata word was packed before there were answers, and may be of the stage after them.
    const bool eager = p.eager_waits && p.receiving != stage::answers;
    if (eager) {
      const std::byte* const at = eager_window_->base() + layout_.eager(half(), pid);
      chunk = {at, reinterpret_cast<const chunk_head*>(at)->used.bytes};
    } else if (p.line && p.line->open()) {
      chunk = p.line->front();
    }
    if (chunk.empty()) break;
    const auto& head = *reinterpret_cast<const chunk_head*>(chunk.data());
    const std::span body = chunk.subspan(sizeof head);
    if (stage_of(head.used.note) != p.receiving)
      return {errc::protocol, "process " + std::to_string(pid) + " sent something else than was announced", p.rank};
    switch (p.receiving) {
      case stage::requests: s = serve(pid, body); break;
      case stage::answers: s = deliver(pid, body); break;
      case stage::bulk: s = place_bulk(pid, body, is_last(head.used.note)); break;
      case stage::direct: s = placer_.place(body, pid, p.open, false); break;
      default:
        if (!std::exchange(p.checked, true)) {  // the first of them
          if (s = check_first(pid, head); !s.ok()) return s;
          p.pushed = head.pushed;
        }
        s = placer_.place(body, pid, p.open, eager);
        mid_put_ = p.open.put ? pid : no_process;
    }
    complete = is_last(head.used.note);
    if (eager) p.eager_waits = false;
    else p.line->release();
    moved_ = true;
  }
  return s;
}

// --- gets --------------------------------------------------------------------------------------------------------

status engine::serve(std::uint32_t pid, std::span<const std::byte> requests) {
  outbox& l = outboxes_[pid];
  const bool in_place = peers_[pid].reads_me;
  for (; requests.size() >= sizeof(get_request); requests = requests.subspan(sizeof(get_request))) {
    get_request r;
    std::memcpy(&r, requests.data(), sizeof r);
    const area* from;
    if (status s = placer_.check("a get", pid, r.area, r.offset, r.bytes, from); !s.ok())
      return s;
    if (r.direct) {
      l.direct.push_back({from->base + r.offset, r.into, r.bytes, hp_answer});
      peers_[pid].needs_line = true;
      continue;
    }
    for (const std::byte* at = from->base + r.offset; r.bytes > 0;) {
      if (l.answers.room() == 0) {
        const bool first = l.answers.empty();
        if (!extend("bsp_sync", l.answers, stage::answers, in_place, std::min(r.bytes, answer_piece))) return error_;
        if (first) {
          l.data.head(*arena_).answers = l.answers.first();
        } else {  // the asker copies one while the next is made
          ++peers_[pid].answer_chunks;
          if (in_place) tell_answers(pid, false);
        }
      }
      const auto piece = std::min<std::uint64_t>(r.bytes, l.answers.room());
      copy_small(l.answers.at, at, piece);
      l.answers.at += piece, at += piece, r.bytes -= piece;
    }
  }
  return {};
}

bool engine::tell_answers(std::uint32_t pid, bool all) noexcept {
  if (pid == me_) return true;
  const rma_op op = signal_op({peers_[pid].rank, window_->segment(), layout_.answer(me_)},
                              make_answer(peers_[pid].answer_chunks, all));
  return job_.net().submit({&op, 1}) == 1;
}

status engine::deliver(std::uint32_t pid, std::span<const std::byte> answers) {
  peer& p = peers_[pid];
  while (!answers.empty()) {
    const auto* chunk = reinterpret_cast<const chunk_head*>(arena_->at(p.asked));
    if (p.asked_at == chunk->used.bytes) {
      if (chunk->next == 0)
        return {errc::protocol, "process " + std::to_string(pid) + " answered more than it was asked", p.rank};
      p.asked = chunk->next, p.asked_at = sizeof *chunk;
      continue;
    }
    get_request r;
    std::memcpy(&r, reinterpret_cast<const std::byte*>(chunk) + p.asked_at, sizeof r);
    if (r.direct) {
      p.asked_at += sizeof r;
      continue;
    }
    const auto piece = std::min<std::uint64_t>(r.bytes - p.answered, answers.size());
    copy_small(reinterpret_cast<std::byte*>(r.into) + p.answered, answers.data(), piece);
    p.answered += piece;
    answers = answers.subspan(piece);
    if (p.answered == r.bytes) p.answered = 0, p.asked_at += sizeof r;
  }
  return {};
}

// --- channels ----------------------------------------------------------------------------------------------------
// Made when a pair of processes first needs one. Both see that in the same sync, from what each has told the other, so
// each makes its half and sends it to the other's window, where a place waits for just this.
status engine::introduce(std::uint32_t pid) {
  peer& p = peers_[pid];
  if (!p.line) {
    std::vector<std::byte> blob;
    auto line = messaging::channel::offer(job_, p.rank, {8, slot_bytes}, blob);
    if (!line) return line.error();
    const std::uint64_t length = blob.size();
    if (length > window_layout::offer_room - sizeof length)
      return {errc::unsupported, "a memory key of " + std::to_string(length) + " bytes does not fit"};
    std::byte* const offer = base_ + layout_.offer_out(pid);
    std::memcpy(offer, &length, sizeof length);
    std::memcpy(offer + sizeof length, blob.data(), blob.size());
    p.line = std::move(*line);
  }
  if (!p.offered) {
    const rma_op op =
        with_signal(move_op(op_kind::put, window_->region(), layout_.offer_out(pid), p.rank, window_->segment(),
                            layout_.offer_in(me_), window_layout::offer_room, &sending_[half()]),
                    window_->segment(), layout_.offer_word(me_), 1);
    p.offered = job_.net().submit({&op, 1}) == 1;
  }
  if (!p.offered || load_acquire(base_ + layout_.offer_word(pid)) == 0) return {};
  const std::byte* const offer = base_ + layout_.offer_in(pid);
  std::uint64_t length;
  std::memcpy(&length, offer, sizeof length);
  return p.line->accept({offer + sizeof length, length});
}

}  // namespace tutti::bsp

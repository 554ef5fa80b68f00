// What follows the info words when there is more than chunks to be read in place: gets, and chunks that travel.
//
// Each process sends another, in this order: its get requests, the answers to the other's, its puts and messages. It
// takes them in the same order, but holds answers back until it has served all gets upon its memory, and puts until it
// has written all answers to its own gets (superstep.cpp).
//
// No deadlock: a process holds things back only until the requests of all have come and been served, and then until
// the answers to its own have come. Requests come first from everybody and are served whenever they come, into memory
// of this process, so they never wait for room that others must make. Once a process has served all, it takes answers
// whenever they come; and they are before the puts in every channel, so nothing that is held back stands in their way.
//
// A put that came in part is waited for before any other process's puts are written, so that of two puts to one place
// one is there whole. That delays nobody for good: the rest comes whatever this process does with its other channels.
//
// Sending and placing alternate (Birk 2006, 3.1): a chunk for each process in Latin order, then what has arrived.
#include <algorithm>
#include <string>

#include "bsp/engine.h"
#include "core/ops.h"

namespace tutti::bsp {

status engine::exchange() {
  unserved_ = unanswered_ = 0;
  for (std::uint32_t i = 0; i < size_; ++i) {
    peer& p = peers_[i];
    const std::uint8_t flags = flags_of(p.info);
    p.sending = p.receiving = stage::requests;
    p.served = (flags & has_requests) == 0;
    p.eager_waits = (flags & is_eager) != 0;
    p.checked = false;
    unserved_ += !p.served;
    p.asked = lanes_[i].requests.first();
    p.asked_at = sizeof(chunk_head), p.answered = 0;
    unanswered_ += p.asked != 0;
    const bool answers_travel = (!p.served && !p.reads_me) || (p.asked && !p.board);
    p.needs_line = i != me_ && (answers_travel || ((flags | p.outgoing) & has_more));
  }
  status s;
  bool done = false;
  const wait_note note{"the others' part", no_rank, 0, epoch_};
  const status waited = job_.wait([&] { return !(s = pump(done)).ok() || done; },
                                  [&] { return team_.look(no_rank); }, note);
  if (!s.ok()) return s;
  if (!waited.ok()) return waited;
  return sending_[half()].outcome();
}

// Goes as far as it can without waiting.
status engine::pump(bool& done) {
  bool all = true;
  for (std::uint32_t k = 0, i = me_; k < size_; ++k, i = i + 1 < size_ ? i + 1 : 0) {
    peer& p = peers_[i];
    if (p.needs_line && !(p.line && p.line->open()))
      if (status s = introduce(i); !s.ok()) return s;
    if (p.sending != stage::done)
      if (status s = send_to(i); !s.ok()) return s;
    if (p.receiving != stage::done)
      if (status s = receive_from(i); !s.ok()) return s;
    if (p.line) p.line->settle();
    all = all && p.sending == stage::done && p.receiving == stage::done;
  }
  done = all && sending_[half()].idle();
  return {};
}

status engine::send_to(std::uint32_t pid) {
  peer& p = peers_[pid];
  if (p.sending == stage::answers) {
    if (!p.served) return {};  // until its requests have come
    const location first = lanes_[pid].answers.first();
    if (first && !p.reads_me && p.next == 0) p.next = first;
    if (first && p.reads_me && pid != me_) {
      const rma_op op = signal_op({p.rank, board_->segment(), layout_.answer(me_)}, epoch_);
      if (job_.net().submit({&op, 1}) == 0) return {};
    }
  }
  if (p.next) {  // one chunk, then another process has its turn
    if (!p.line || !p.line->open()) return {};
    const auto& head = *reinterpret_cast<const chunk_head*>(arena_->at(p.next));
    if (!p.line->send(arena_->id(p.next), offset_of(p.next), head.used, &sending_[half()])) return {};
    p.next = head.next;
    if (p.next) return {};
  }
  switch (p.sending) {
    case stage::requests: p.sending = stage::answers; break;
    case stage::answers: p.sending = p.next_data ? stage::data : stage::done, p.next = p.next_data; break;
    default: p.sending = stage::done; break;
  }
  return {};
}

status engine::receive_from(std::uint32_t pid) {
  peer& p = peers_[pid];
  const std::uint8_t flags = flags_of(p.info);
  for (;;) {
    const bool due = p.receiving == stage::requests  ? !p.served
                     : p.receiving == stage::answers ? p.asked != 0
                                                     : (flags & has_data) != 0;
    if (due && p.receiving != stage::requests && unserved_ > 0) return {};
    if (due && p.receiving == stage::data && unanswered_ > 0) return {};
    if (due && p.receiving == stage::data && mid_put_ != no_process && mid_put_ != pid) return {};
    if (due) {
      bool complete = false;
      if (status s = p.board ? read_from(pid, complete) : take_from(pid, complete); !s.ok()) return s;
      if (!complete) return {};
      if (p.receiving == stage::requests) {
        lane& l = lanes_[pid];
        l.answers.seal(*arena_, stage::answers);
        l.data.head(*arena_).answers = l.answers.first();
        p.served = true;
        --unserved_;
      } else if (p.receiving == stage::answers) {
        p.asked = 0;
        --unanswered_;
      }
    }
    p.receiving = static_cast<stage>(static_cast<int>(p.receiving) + 1);
    if (p.receiving == stage::done) return {};
  }
}

// A whole stage of a process whose chunks are read in place.
status engine::read_from(std::uint32_t pid, bool& complete) {
  peer& p = peers_[pid];
  if (p.receiving == stage::answers &&
      !(pid == me_ ? p.served : load_acquire(base_ + layout_.answer(pid)) == epoch_))
    return {};
  complete = true;
  if (p.receiving == stage::data) return place_in_place(pid);
  const auto& first = *reinterpret_cast<const chunk_head*>(p.board + layout_.chunk(half(), me_));
  status s;
  for (location l = p.receiving == stage::requests ? first.requests : first.answers; l && s.ok();) {
    const chunk_head* const chunk = chunk_at(pid, l, s);
    if (!chunk) break;
    const std::span body{reinterpret_cast<const std::byte*>(chunk + 1), chunk->used.bytes - sizeof *chunk};
    s = p.receiving == stage::requests ? serve(pid, body) : deliver(pid, body);
    l = chunk->next;
  }
  return s;
}

// The chunks of this stage that have come from a process whose chunks travel.
status engine::take_from(std::uint32_t pid, bool& complete) {
  peer& p = peers_[pid];
  status s;
  while (s.ok() && !complete) {
    std::span<const std::byte> chunk;
    // What came with the info word was packed before there were answers, and may be of the stage after them.
    const bool eager = p.eager_waits && p.receiving != stage::answers;
    if (eager) {
      const std::byte* const at = second_->base() + layout_.eager(half(), pid);
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
      default:
        if (!std::exchange(p.checked, true) && head.changes != areas_.changes()) return differ(pid);
        s = placer_.place(body, pid, p.open, eager);
        mid_put_ = p.open.put ? pid : no_process;
    }
    complete = is_last(head.used.note);
    if (eager) p.eager_waits = false;
    else p.line->release();
  }
  return s;
}

// --- gets --------------------------------------------------------------------------------------------------------

status engine::serve(std::uint32_t pid, std::span<const std::byte> requests) {
  lane& l = lanes_[pid];
  const bool in_place = peers_[pid].reads_me;
  for (; requests.size() >= sizeof(get_request); requests = requests.subspan(sizeof(get_request))) {
    get_request r;
    std::memcpy(&r, requests.data(), sizeof r);
    const area* from;
    if (status s = placer_.check("bsp_get", pid, r.area, r.offset, r.bytes, from); !s.ok()) return s;
    for (const std::byte* at = from->base + r.offset; r.bytes > 0;) {
      if (l.answers.room() == 0 && !extend("bsp_sync", l.answers, stage::answers, in_place, r.bytes)) return error_;
      const auto piece = std::min<std::uint64_t>(r.bytes, l.answers.room());
      copy_small(l.answers.at, at, piece);
      l.answers.at += piece, at += piece, r.bytes -= piece;
    }
  }
  return {};
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
// each makes its half and mails it to the other's second board, where a place waits for just this.
status engine::introduce(std::uint32_t pid) {
  peer& p = peers_[pid];
  std::byte* const mine = second_->base();
  if (!p.line) {
    std::vector<std::byte> blob;
    auto line = messaging::channel::offer(job_, p.rank, {8, slot_bytes}, blob);
    if (!line) return line.error();
    const std::uint64_t length = blob.size();
    if (length > board_layout::mail_room - sizeof length)
      return {errc::unsupported, "a memory key of " + std::to_string(length) + " bytes does not fit"};
    std::byte* const letter = mine + layout_.mail_out(pid);
    std::memcpy(letter, &length, sizeof length);
    std::memcpy(letter + sizeof length, blob.data(), blob.size());
    p.line = std::move(*line);
  }
  if (!p.mailed) {
    const rma_op op =
        with_signal(move_op(op_kind::put, second_->region(), layout_.mail_out(pid), p.rank, second_->segment(),
                            layout_.mail_in(me_), board_layout::mail_room, &sending_[half()]),
                    second_->segment(), layout_.mail_word(me_), 1);
    p.mailed = job_.net().submit({&op, 1}) == 1;
  }
  if (!p.mailed || load_acquire(mine + layout_.mail_word(pid)) == 0) return {};
  const std::byte* const letter = mine + layout_.mail_in(pid);
  std::uint64_t length;
  std::memcpy(&length, letter, sizeof length);
  return p.line->accept({letter + sizeof length, length});
}

}  // namespace tutti::bsp

#include "bsp/exchange.h"

#include <algorithm>
#include <string>

#include "core/base/copy.h"
#include "core/transport/ops.h"
#include "core/transport/wait_out.h"

namespace tutti::bsp {
namespace {

std::span<const std::byte> records_of(const chunk_head& chunk) noexcept {
  return {reinterpret_cast<const std::byte*>(&chunk + 1), chunk.used.bytes - sizeof chunk};
}

}  // namespace

exchange::exchange(const context& c, arena& memory, std::span<outbox> boxes, peer_memory& read, placer& p, agreement& a,
                   registered_memory& registered)
    : c_(c), memory_(memory), boxes_(boxes), read_(read), placer_(p), agreement_(a), registered_(registered), peers_(c.size),
      puller_(c.job, c.how.scatters) {
  for (const outbox& box : boxes) all_in_place_ = all_in_place_ && box.in_place() && read.window(box.to());
}

exchange::~exchange() { wait_out(c_.net, {&sending_[0], &sending_[1]}); }

status exchange::place_in_place(std::span<const std::uint8_t> in) {
  for (std::uint32_t k = 0, i = c_.me; k < c_.size; ++k, i = i + 1 < c_.size ? i + 1 : 0)
    if (in[i] & has_data)
      if (status s = place_from(i); s.failed()) return s;
  return {};
}

status exchange::run(std::span<const std::uint8_t> out, std::span<const std::uint8_t> in) {
  unserved_ = unanswered_ = unplaced_ = 0;
  for (std::uint32_t i = 0; i < c_.size; ++i) {
    peer& p = peers_[i];
    outbox& box = boxes_[i];
    p.flags = in[i];
    p.needs_line = false;
    const bool idle = ((in[i] | out[i]) & (has_requests | has_data | has_direct)) == 0;
    p.sending = p.receiving = idle ? stage::done : stage::requests;
    if (idle) continue;
    p.served = (p.flags & has_requests) == 0;
    p.asked = box.gets() > 0;
    p.eager_waits = (p.flags & is_eager) != 0;
    p.checked = false;
    p.answers_taken = p.answers_next = 0;
    box.await_answers();
    unserved_ += !p.served;
    unanswered_ += p.asked;
    unplaced_ += (p.flags & has_data) != 0;
    const bool answers_travel = (!p.served && !box.in_place()) || (p.asked && !read_.window(i));
    p.needs_line = i != c_.me && (answers_travel || ((p.flags | out[i]) & (has_more | has_direct)) || box.direct_gets());
  }
  status s;
  bool done = false;
  const auto tell = [&] { return c_.sync_in_words(); };
  const function_ref<std::string> words(tell);
  const wait_note note{.what = "the others' part", .want = c_.epoch, .words = &words, .exact = false, .told = false};
  const status waited = c_.job.wait([&] { return (s = pump(done)).failed() || done; },
                                    [&] { return c_.team.look(no_rank); }, note);
  if (s.failed()) return s;
  if (waited.failed()) return waited;
  if (puller_.outcome().failed()) return puller_.outcome();
  return sending().outcome();
}

// Goes as far as it can without waiting: whoever calls may sleep until something arrives.
status exchange::pump(bool& done) {
  do {
    bool all = true;
    moved_ = false;
    for (std::uint32_t k = 0, i = c_.me; k < c_.size; ++k, i = i + 1 < c_.size ? i + 1 : 0) {
      peer& p = peers_[i];
      if (p.needs_line && !(p.line && p.line->open()))
        if (status s = introduce(i); s.failed()) return s;
      if (p.sending != stage::done) send_to(i);
      if (p.receiving != stage::done)
        if (status s = receive_from(i); s.failed()) return s;
      if (p.line) p.line->settle();
      all = all && p.sending == stage::done && p.receiving == stage::done;
    }
    // What is to be read is written when everything else is (puller.h).
    const bool pulled = unplaced_ > 0 || puller_.advance(moved_);
    done = all && pulled && sending().idle();
  } while (moved_ && !done);
  return {};
}

// One chunk at most, then another process has its turn.
void exchange::send_to(std::uint32_t pid) {
  peer& p = peers_[pid];
  outbox& box = boxes_[pid];
  for (bool sent = false; !sent && p.sending != stage::done;) {
    if (p.sending == stage::answers) {
      if (!p.served) return;  // until its requests have come
      const location first = box.answers();
      if (first && box.in_place() && !tell_answers(pid, true)) return;
      if (first && !box.in_place() && box.next == 0) box.next = first;
    }
    if (box.next) {
      if (!p.line || !p.line->open()) return;
      const auto& head = *reinterpret_cast<const chunk_head*>(memory_.at(box.next));
      if (!p.line->send(memory_.id(box.next), offset_of(box.next), head.used, &sending())) return;
      box.next = head.next;
      sent = moved_ = true;
      if (box.next) return;
    }
    switch (p.sending) {
      case stage::requests: p.sending = stage::answers; break;
      case stage::answers: p.sending = stage::data, box.next = box.next_data; break;
      case stage::data:
        if (!send_bulk(pid)) return;
        p.sending = stage::direct;
        break;
      default:
        if (!send_direct(pid)) return;
        p.sending = stage::done;
    }
  }
}

// A slot of what is pushed, then another process has its turn. True: all is on its way.
bool exchange::send_bulk(std::uint32_t pid) noexcept {
  peer& p = peers_[pid];
  outbox& box = boxes_[pid];
  if (box.bulk_next == 0) return true;
  if (!p.line || !p.line->open()) return false;
  const auto& chunk = *reinterpret_cast<const chunk_head*>(memory_.at(box.bulk_next));
  const auto piece = static_cast<std::uint32_t>(std::min<std::uint64_t>(chunk.used.bytes - box.bulk_at, slot_data));
  const bool ends = box.bulk_at + piece == chunk.used.bytes;
  chunk_head front{};
  front.used = {static_cast<std::uint32_t>(sizeof front) + piece, make_note(stage::bulk, ends && chunk.next == 0)};
  if (!p.line->send(std::as_bytes(std::span(&front, 1)), memory_.id(box.bulk_next), offset_of(box.bulk_next) + box.bulk_at,
                    piece, &sending()))
    return false;
  moved_ = true;
  box.bulk_at += piece;
  if (ends) box.bulk_next = chunk.next, box.bulk_at = sizeof(chunk_head);
  return box.bulk_next == 0;
}

// True: all hp calls that are moved in the sync are on their way.
bool exchange::send_direct(std::uint32_t pid) noexcept {
  peer& p = peers_[pid];
  outbox& box = boxes_[pid];
  const auto all = box.direct();
  while (box.direct_next < all.size()) {
    if (!p.line || !p.line->open()) return false;
    const outbox::direct_move& d = all[box.direct_next];
    const auto piece = static_cast<std::uint32_t>(std::min<std::uint64_t>(d.bytes - box.direct_at, slot_bytes - direct_front));
    const bool last = box.direct_next + 1 == all.size() && box.direct_at + piece == d.bytes;
    struct {
      chunk_head head;
      put16 header;
    } front;
    static_assert(sizeof front == direct_front && sizeof(hp_answer_head) == sizeof(put16));
    front.head.used = {direct_front + piece, make_note(stage::direct, last)};
    front.header = {d.area == outbox::answers_get ? hp_answer_mark : long_head(record::put16, d.area, false), piece,
                    d.offset + box.direct_at};
    if (!p.line->send(std::as_bytes(std::span(&front, 1)), unregistered_memory,
                      reinterpret_cast<std::uintptr_t>(d.source) + box.direct_at, piece, &sending()))
      return false;
    moved_ = true;
    box.direct_at += piece;
    if (box.direct_at == d.bytes) ++box.direct_next, box.direct_at = 0;
  }
  return true;
}

status exchange::receive_from(std::uint32_t pid) {
  peer& p = peers_[pid];
  for (;;) {
    const bool due = p.receiving == stage::requests  ? !p.served
                     : p.receiving == stage::answers ? p.asked
                     : p.receiving == stage::data    ? (p.flags & has_data) != 0
                     : p.receiving == stage::bulk    ? p.pushed > 0
                                                     : (p.flags & has_direct) != 0 || boxes_[pid].direct_gets() > 0;
    if (due && (p.receiving == stage::answers || p.receiving == stage::data) && unserved_ > 0) return {};
    if (due && p.receiving == stage::data && unanswered_ > 0) return {};
    const bool puts = p.receiving == stage::data || p.receiving == stage::bulk;
    if (due && puts && mid_put_ != no_process && mid_put_ != pid) return {};
    if (due) {
      bool complete = false;
      const bool in_place = read_.window(pid) && p.receiving <= stage::data;
      if (status s = in_place ? read_from(pid, complete) : take_from(pid, complete); s.failed()) return s;
      if (!complete) return {};
      moved_ = true;
      if (p.receiving == stage::requests) {
        boxes_[pid].seal_answers();
        p.served = true;
        --unserved_;
        send_to(pid);  // it may wait for nothing else
      } else if (p.receiving == stage::answers) {
        p.asked = false;
        --unanswered_;
      } else if ((p.receiving == stage::data && p.pushed == 0) || p.receiving == stage::bulk) {
        --unplaced_;
      }
    }
    p.receiving = static_cast<stage>(static_cast<int>(p.receiving) + 1);
    if (p.receiving == stage::done) return {};
  }
}

// From a process whose chunks are read in place: all requests and all puts are there, answers as far as it says.
status exchange::read_from(std::uint32_t pid, bool& complete) {
  if (peers_[pid].receiving == stage::answers) return read_answers(pid, complete);
  complete = true;
  if (peers_[pid].receiving == stage::data) return place_from(pid);
  status s;
  for (location l = read_.first(pid).requests; l && s.ok();) {
    const chunk_head* const chunk = read_.at(pid, l, s);
    if (!chunk) break;
    s = serve(pid, records_of(*chunk));
    l = chunk->next;
  }
  return s;
}

status exchange::read_answers(std::uint32_t pid, bool& complete) {
  peer& p = peers_[pid];
  const std::uint64_t word =
      pid == c_.me ? boxes_[pid].answer_word(p.served) : load_acquire(c_.base + c_.layout.answer(pid));
  const bool all = all_answered(word);
  if (p.answers_taken == 0) p.answers_next = answers_begin(word);
  status s;
  for (; s.ok() && (all ? p.answers_next != 0 : p.answers_taken < answer_chunks(word)); ++p.answers_taken) {
    const chunk_head* const chunk = read_.at(pid, p.answers_next, s);
    if (!chunk) break;
    s = boxes_[pid].deliver(records_of(*chunk));
    p.answers_next = chunk->next;
    moved_ = true;
  }
  complete = s.ok() && all;
  if (complete && pid != c_.me) clear_word(c_.base + c_.layout.answer(pid));
  return s;
}

// Puts and messages of a process whose chunks are read where it packed them.
status exchange::place_from(std::uint32_t from) {
  const chunk_head* chunk = &read_.first(from);
  if (status s = agreement_.check_first(from, *chunk); s.failed()) return s;
  for (;;) {
    status s = placer_.place(records_of(*chunk), from, peers_[from].open, true);
    if (s.failed() || chunk->next == 0) return s;
    chunk = read_.at(from, chunk->next, s);
    if (!chunk) return s;
  }
}

// The chunks of this stage that have come from a process whose chunks travel.
status exchange::take_from(std::uint32_t pid, bool& complete) {
  peer& p = peers_[pid];
  status s;
  while (s.ok() && !complete) {
    std::span<const std::byte> chunk;
    // What came with the metadata word was packed before there were answers, and may be of the stage after them.
    const bool eager = p.eager_waits && p.receiving != stage::answers;
    if (eager) {
      const std::byte* const at = c_.eager_window->base() + c_.layout.eager(c_.half(), pid);
      chunk = {at, reinterpret_cast<const chunk_head*>(at)->used.bytes};
    } else if (p.line && p.line->open()) {
      chunk = p.line->front();
    }
    if (chunk.empty()) break;
    const auto& head = *reinterpret_cast<const chunk_head*>(chunk.data());
    const std::span body = chunk.subspan(sizeof head);
    if (stage_of(head.used.note) != p.receiving)
      return {errc::protocol, worded("process ", pid, " sent something else than was announced"), c_.rank_of(pid)};
    switch (p.receiving) {
      case stage::requests: s = serve(pid, body); break;
      case stage::answers: s = boxes_[pid].deliver(body); break;
      case stage::bulk: s = place_bulk(pid, body, is_last(head.used.note)); break;
      case stage::direct: s = placer_.place(body, pid, p.open, false); break;
      default:
        if (!std::exchange(p.checked, true)) {  // the first of them
          if (s = agreement_.check_first(pid, head); s.failed()) return s;
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

status exchange::serve(std::uint32_t pid, std::span<const std::byte> requests) {
  outbox& box = boxes_[pid];
  for (; requests.size() >= sizeof(get_request); requests = requests.subspan(sizeof(get_request))) {
    get_request r;
    std::memcpy(&r, requests.data(), sizeof r);
    const area* from;
    if (status s = placer_.check("a get", pid, r.area, r.offset, r.bytes, from); s.failed()) return s;
    if (r.direct) {
      box.move_directly({from->base + r.offset, r.into, r.bytes, outbox::answers_get});
      peers_[pid].needs_line = true;
      continue;
    }
    for (const std::byte* at = from->base + r.offset; r.bytes > 0;) {
      const std::uint64_t complete = box.answer_chunks();
      std::uint64_t copied;
      if (status s = box.answer(at, r.bytes, copied); s.failed()) return s;
      if (box.answer_chunks() > complete && box.in_place()) tell_answers(pid, false);  // it copies one while the next is made
      at += copied, r.bytes -= copied;
    }
  }
  return {};
}

bool exchange::tell_answers(std::uint32_t pid, bool all) noexcept {
  if (pid == c_.me) return true;
  const rma_op op = signal_op({c_.rank_of(pid), c_.window->segment(), c_.layout.answer(c_.me)},
                              boxes_[pid].answer_word(all));
  return c_.net.submit({&op, 1}) == 1;
}

// --- large puts --------------------------------------------------------------------------------------------------

// Where the sender's memory is not mapped here an adapter brings the data, or a library, and it is from registered memory to
// registered memory that they do so best: the whole area is registered, once, until it is popped.
status exchange::on_bulk(std::uint32_t from, const bulk_head& h, const area& to) {
  peer& p = peers_[from];
  if (p.pushed) {
    p.coming.push_back({to.base + h.offset, h.bytes, (h.kind & bulk_goes_on) != 0});
    return {};
  }
  puller::pull pull{(from + c_.size - c_.me) % c_.size, c_.rank_of(from), read_.readable(from, region_of(h.from)),
                    offset_of(h.from), unregistered_memory, reinterpret_cast<std::uintptr_t>(to.base) + h.offset, to.base + h.offset,
                    h.bytes};
  if (!c_.net.map(pull.segment, pull.rank)) {
    const auto id = registered_.of(to);
    if (!id) return id.error().during(worded("registering an area of ", to.bytes, " bytes"));
    pull.local = *id;
    pull.local_offset = h.offset;
  }
  puller_.add(pull);
  return {};
}

// One slot of what is pushed: to where the records said.
status exchange::place_bulk(std::uint32_t pid, std::span<const std::byte> bytes, bool last) {
  peer& p = peers_[pid];
  while (!bytes.empty() && p.placed < p.coming.size()) {
    arrival& a = p.coming[p.placed];
    const auto piece = std::min<std::uint64_t>(a.bytes, bytes.size());
    copy_bytes(a.to, bytes.data(), piece);
    a.to += piece, a.bytes -= piece;
    bytes = bytes.subspan(piece);
    const bool whole = a.bytes == 0 && !a.goes_on;
    if (a.bytes == 0) ++p.placed;
    mid_put_ = whole ? no_process : pid;
  }
  if (!bytes.empty() || last != (p.placed == p.coming.size()))
    return {errc::protocol, worded("process ", pid, " pushed other bytes than it announced"), c_.rank_of(pid)};
  if (last) p.coming.clear(), p.placed = 0, p.pushed = 0;
  return {};
}

// --- channels ----------------------------------------------------------------------------------------------------
// Made when a pair of processes first needs one. Both see that in the same sync, from what each has told the other, so
// each makes its half and sends it to the other's window, where a place waits for just this.
status exchange::introduce(std::uint32_t pid) {
  peer& p = peers_[pid];
  if (!p.line) {
    std::vector<std::byte> blob;
    auto line = messaging::channel::offer(c_.job, c_.rank_of(pid), {8, slot_bytes}, blob);
    if (!line) return line.error();
    const std::uint64_t length = blob.size();
    if (length > window_layout::offer_room - sizeof length)
      return {errc::unsupported, worded("a memory key of ", length, " bytes does not fit")};
    std::byte* const offer = c_.base + c_.layout.offer_out(pid);
    std::memcpy(offer, &length, sizeof length);
    std::memcpy(offer + sizeof length, blob.data(), blob.size());
    p.line = std::move(*line);
  }
  if (!p.offered) {
    const rma_op op =
        with_signal(move_op(op_kind::put, c_.window->region(), c_.layout.offer_out(pid), c_.rank_of(pid), c_.window->segment(),
                            c_.layout.offer_in(c_.me), window_layout::offer_room, &sending()),
                    c_.window->segment(), c_.layout.offer_word(c_.me), 1);
    p.offered = c_.net.submit({&op, 1}) == 1;
  }
  if (!p.offered || load_acquire(c_.base + c_.layout.offer_word(pid)) == 0) return {};
  const std::byte* const offer = c_.base + c_.layout.offer_in(pid);
  std::uint64_t length;
  std::memcpy(&length, offer, sizeof length);
  return p.line->accept({offer + sizeof length, length});
}

}  // namespace tutti::bsp

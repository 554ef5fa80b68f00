// Word operations that their target applies: a ring of mails in the target's control page, many writers, one reader.
//
// A place goes through three states, kept in one word with the position (which place on which lap) it is for:
//   free(pos)          a writer may take it by compare-and-swap
//   claimed(pos, rank) that writer fills it
//   published(pos)     the reader, who reads in the order of positions, may apply it; then it becomes free(pos + slots)
// `mail_head` only says where to look for a free place; anybody who finds the place at the head taken moves it on. So
// a writer that is stopped between two instructions holds up nobody's claim. The reader waits for it, though, as order
// is what the ring is for; if it is dead, which its name in the word lets the reader find out, the reader frees the
// place: a dead process cannot write to it later.
//
// A rank's mails are in the order of its submissions, since each claim is after the one before. `mail_tail` is stored
// after the effect of the mails before it, so who reads it past his last mail knows that this one has taken effect
// (flush, and `direct` again).
#include <cstring>

#include "providers/shm/transport.h"

namespace tutti::shm {

namespace {

constexpr std::uint64_t position_bits = 40;  // compared as serial numbers: no lap is ever 2^39 behind
constexpr std::uint64_t rank_bits = 24;
constexpr std::uint64_t rank_mask = (std::uint64_t{1} << rank_bits) - 1;
constexpr std::uint64_t is_free = 0, is_published = rank_mask;

constexpr std::uint64_t state_of(std::uint64_t position, std::uint64_t who) noexcept {
  return position << rank_bits | who;
}
// How far the place is ahead of `position`: 0: it is for it, negative: a lap behind, positive: moved on.
constexpr std::int64_t ahead(std::uint64_t state, std::uint64_t position) noexcept {
  return static_cast<std::int64_t>(((state >> rank_bits) - position) << (64 - position_bits));
}

mail& place(control_page& page, std::uint64_t position) noexcept { return page.mails[position % mail_slots]; }

}  // namespace

void shm_transport::init_mail_slot(std::uint64_t position) noexcept {
  page().mails[position].state.store(state_of(position, is_free), std::memory_order_relaxed);
}

shm_transport::claim shm_transport::claim_mail(peer& p) noexcept {
  std::uint64_t position = p.page->mail_head.load(std::memory_order_relaxed);
  for (;;) {
    mail& m = place(*p.page, position);
    std::uint64_t state = m.state.load(std::memory_order_acquire);
    if (state == state_of(position, is_free) &&
        m.state.compare_exchange_strong(state, state_of(position, self_index() + 1), std::memory_order_acq_rel)) {
      std::uint64_t head = position;
      p.page->mail_head.compare_exchange_strong(head, position + 1, std::memory_order_relaxed);
      return {&m, position};
    }
    if (ahead(state, position) < 0) return {};
    // Taken: help its owner, who may never come to it, and try the next.
    std::uint64_t head = position;
    if (p.page->mail_head.compare_exchange_strong(head, position + 1, std::memory_order_relaxed)) ++position;
    else position = head;
  }
}

void shm_transport::publish_mail(peer& p, const claim& c) noexcept {
  c.slot->from = rank_;
  c.slot->state.store(state_of(c.position, is_published), std::memory_order_release);
  if (!p.life.alive()) return;  // found so since the place was claimed: nobody reads it, and a flush must not wait for that
  p.mail_ticket = c.position + 1;
  if (!p.mail_pending) p.mail_pending = true, ++mailing_;
  p.direct = false;
  wake(p);
}

void shm_transport::settle(peer& p) noexcept {
  if (!p.mail_pending || !reached(p.page->mail_tail.load(std::memory_order_acquire), p.mail_ticket)) return;
  p.mail_pending = false;
  p.direct = true;
  --mailing_;
}

bool shm_transport::mail_waits() noexcept {
  const std::uint64_t state = place(page(), mail_tail_).state.load(std::memory_order_acquire);
  if (state == state_of(mail_tail_, is_published)) return true;
  // A place that a dead rank has claimed is work as well: mails may wait behind it, and nobody rings for it any more.
  const std::uint64_t who = state & rank_mask;
  return ahead(state, mail_tail_) == 0 && who != is_free && !peers_[who - 1].life.alive();
}

unsigned shm_transport::read_mails() noexcept {
  unsigned n = 0;
  for (; n < mail_slots; ++n) {
    mail& m = place(page(), mail_tail_);
    const std::uint64_t state = m.state.load(std::memory_order_acquire);
    if (state != state_of(mail_tail_, is_published)) {
      if (ahead(state, mail_tail_) != 0 || (state & rank_mask) == is_free) break;
      // Claimed and not published. Asking the kernel is dear, and the writer most likely alive.
      peer& writer = peers_[(state & rank_mask) - 1];
      if (writer.life.alive() && (++stalled_polls_ % 256 != 0 || !check(writer))) break;
      m.kind = mail_kind::nothing;
      m.from = no_rank;
    }
    peer* from = find(m.from);
    apply(m, from);
    page().mail_tail.store(++mail_tail_, std::memory_order_release);
    m.state.store(state_of(mail_tail_ - 1 + mail_slots, is_free), std::memory_order_release);
    if (from && from->life.alive()) wake(*from);  // it may sleep until its flush or its answer comes
  }
  return n;
}

void shm_transport::apply(const mail& m, peer* from) noexcept {
  if (m.kind == mail_kind::nothing) return;
  std::uint64_t old = 0;
  // The region may have been dropped meanwhile, and another have come in its place.
  const region* r = region_of(m.region, m.serial);
  if (r && m.offset % 8 == 0 && m.offset < r->bytes && r->bytes - m.offset >= 8) {
    std::atomic_ref<std::uint64_t> word{*reinterpret_cast<std::uint64_t*>(r->base + m.offset)};
    switch (m.kind) {
      case mail_kind::nothing: break;
      case mail_kind::set: word.store(m.operand, std::memory_order_release); break;
      case mail_kind::add:
      case mail_kind::fetch_add: old = word.fetch_add(m.operand); break;
      case mail_kind::swap: old = word.exchange(m.operand); break;
      case mail_kind::compare_swap:
        old = m.expected;
        word.compare_exchange_strong(old, m.operand);
        break;
    }
  }
  if (m.kind == mail_kind::set || m.kind == mail_kind::add || !from || !from->life.alive()) return;
  reply& answer = from->page->replies[m.reply % reply_slots];
  answer.value.store(old, std::memory_order_relaxed);
  answer.stamp.store(m.reply_stamp, std::memory_order_release);
}

int shm_transport::free_question() noexcept {
  return asked_ == ~std::uint64_t{0} ? -1 : __builtin_ctzll(~asked_);
}

void shm_transport::ask(int slot, peer& p, const rma_op& op, mail& m) noexcept {
  asked_ |= std::uint64_t{1} << slot;
  if (++next_stamp_ == 0) ++next_stamp_;  // 0 is what a fresh page holds
  questions_[static_cast<std::size_t>(slot)] = {&p, op.done, local_address(op.local, op.local_offset), op.local,
                                                next_stamp_};
  m.reply = static_cast<std::uint16_t>(slot);
  m.reply_stamp = next_stamp_;
  if (op.done) op.done->begin();
}

bool shm_transport::reply_waits() noexcept {
  for (std::uint64_t rest = asked_; rest; rest &= rest - 1) {
    const int i = __builtin_ctzll(rest);
    if (page().replies[i].stamp.load(std::memory_order_acquire) == questions_[static_cast<std::size_t>(i)].stamp)
      return true;
  }
  return false;
}

unsigned shm_transport::read_replies() noexcept {
  unsigned n = 0;
  for (std::uint64_t rest = asked_; rest; rest &= rest - 1) {
    const int i = __builtin_ctzll(rest);
    const question& q = questions_[static_cast<std::size_t>(i)];
    reply& r = page().replies[i];
    if (r.stamp.load(std::memory_order_acquire) != q.stamp) continue;
    const std::uint64_t value = r.value.load(std::memory_order_relaxed);
    if (q.result) std::memcpy(q.result, &value, 8);
    asked_ &= ~(std::uint64_t{1} << i);
    ++n;
    if (q.done) q.done->finish();
  }
  return n;
}

}  // namespace tutti::shm

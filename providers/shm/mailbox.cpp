// Word operations that their target applies: a ring of mails in the target's control page, many writers, one reader
// (ring_places.h), where a published mail waits to be applied.
//
// A rank's mails are in the order of its submissions. The ring's tail is stored after the effect of the mails before it, so who reads
// it past his last mail knows that this one has taken effect (flush, and `direct` again).
#include <cstring>

#include "providers/shm/transport.h"

namespace tutti::shm {

namespace {

mail& place(control_page& page, std::uint64_t position) noexcept { return page.mails[position % mail_slots]; }

}  // namespace

shm_transport::claim shm_transport::claim_mail(peer& p) noexcept {
  std::uint64_t seen_tail = 0;  // settle() has just looked at it, so it is near
  const auto position = p.page->posted.claim(self_index(), seen_tail);
  return position ? claim{&place(*p.page, *position), *position} : claim{};
}

void shm_transport::publish_mail(peer& p, const claim& c) noexcept {
  c.slot->from = rank_;
  c.slot->stamp.store(stamp_of(c.position), std::memory_order_release);
  if (!p.life.alive()) return;  // found so since the place was claimed: nobody reads it, and a flush must not wait for that
  p.mail_ticket = c.position + 1;
  if (!p.mail_pending) p.mail_pending = true, ++mailing_;
  p.direct = false;
  wake(p);
}

void shm_transport::settle(peer& p) noexcept {
  if (!p.mail_pending || !reached(p.page->posted.tail.load(std::memory_order_acquire), p.mail_ticket)) return;
  p.mail_pending = false;
  p.direct = true;
  --mailing_;
}

// A place that a dead rank has claimed is work as well: mails may wait behind it, and nobody rings for it any more.
bool shm_transport::mail_waits() noexcept {
  const std::atomic<std::uint64_t>& stamp = place(page(), mail_tail_).stamp;
  return stamp.load(std::memory_order_acquire) == stamp_of(mail_tail_) || claimed_in_vain(page().posted.claim_of(mail_tail_), stamp, mail_tail_, true);
}

// To ask the kernel is dear, and the writer most likely alive. Dead, or gone in order, it may have published before.
bool shm_transport::claimed_by_dead(const std::atomic<std::uint64_t>& word, const std::atomic<std::uint64_t>& stamp, std::uint64_t position,
                                    bool asks) noexcept {
  const auto writer = place_claim{word.load(std::memory_order_acquire)}.writer(position);
  if (!writer || (peers_[*writer].life.alive() && (!asks || !check(peers_[*writer])))) return false;
  return stamp.load(std::memory_order_acquire) != stamp_of(position);
}

unsigned shm_transport::read_mails() noexcept {
  unsigned n = 0;
  for (; n < mail_slots; ++n) {
    mail& m = place(page(), mail_tail_);
    if (m.stamp.load(std::memory_order_acquire) != stamp_of(mail_tail_)) {
      if (!claimed_in_vain(page().posted.claim_of(mail_tail_), m.stamp, mail_tail_)) break;
      m.kind = mail_kind::nothing;
      m.from = no_rank;
    }
    peer* from = find(m.from);
    apply(m, from);
    page().posted.tail.store(++mail_tail_, std::memory_order_release);
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

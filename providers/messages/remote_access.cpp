#include "providers/messages/remote_access.h"

#include <algorithm>

#include "providers/messages/doze.h"

namespace tutti::messages {
namespace {

bool cannot_begin(const peer& p) noexcept { return !p.line || p.life.suspected(); }

}  // namespace

void remote_access::begun(frame& f, reaching r, const status& why) noexcept {
  switch (r) {
    case reaching::done: return frames_.finish(f, {});
    case reaching::refused: return frames_.finish(f, why);
    case reaching::lost: return;
    case reaching::under_way: f.parts = 1, ++f.to->under_way;
  }
}

reaching remote_access::begin_put(frame& f, void* key, std::uint64_t offset, const std::byte* from, std::uint32_t bytes,
                                  status& why) noexcept {
  peer& p = *f.to;
  // One that is lost counts as well: a flush must not succeed before it is known what became of it. Where messages follow what
  // is put, a mark does for both.
  if (alone_) f.number = ++p.writes;
  else ++p.traffic;
  if (cannot_begin(p)) return reaching::lost;
  const reaching r = reach_->put(f, key, offset, from, bytes, why);
  if (r != reaching::under_way || !alone_ || reach_->in_order(bytes)) return r;
  f.before = p.newest, f.next = nullptr;
  (p.newest ? p.newest->next : p.oldest) = &f;
  p.newest = &f;
  return r;
}

void remote_access::unlink(frame& f) noexcept {
  peer& p = *f.to;
  (f.before ? f.before->next : p.oldest) = f.next;
  (f.next ? f.next->before : p.newest) = f.before;
  f.next = f.before = nullptr;
}

reaching remote_access::put(frame& f, void* key, std::uint64_t offset, const std::byte* from, std::uint32_t bytes) noexcept {
  status why;
  const reaching r = begin_put(f, key, offset, from, bytes, why);
  begun(f, r, why);
  return r;
}

bool remote_access::may_set_word(const frame& f) const noexcept {
  const peer& p = *f.to;
  return !p.oldest || p.oldest->number > std::max(f.needs, p.last_word);
}

bool remote_access::set_word(frame& f) noexcept {
  peer& p = *f.to;
  if (p.line) reach_->fence(p);
  status why;
  const reaching r = begin_put(f, f.key, f.op.signal_offset, reinterpret_cast<const std::byte*>(&f.value), sizeof f.value, why);
  p.last_word = f.number;
  begun(f, r, why);
  return (r == reaching::done || r == reaching::under_way) && glance(p);
}

void remote_access::get(frame& f, const member& from, region_table& into) noexcept {
  peer& p = *f.to;
  const slice whole{f.op.local, f.op.bytes, f.op.local_offset};
  const bool scattered = f.op.kind == op_kind::get_scatter;
  if (cannot_begin(p)) return;
  std::uint64_t offset = f.op.remote_offset;
  status why;
  reaching r = reaching::done;
  for (const slice& s : scattered ? std::span{f.op.scatter, f.op.slices} : std::span{&whole, 1}) {
    if (r == reaching::refused || r == reaching::lost) break;
    if (s.bytes == 0) continue;
    std::byte* to = into.local(s.local, s.local_offset);
    if (to) {
      r = reach_->get(f, from.key, offset, to, s.bytes, why);
    } else {
      why = {errc::invalid, "memory that a get is to fill was dropped", p.rank};
      r = reaching::refused;
    }
    if (r == reaching::under_way) ++f.parts, ++p.under_way;
    offset += s.bytes;
  }
  if (f.parts) f.outcome = r == reaching::lost ? p.life.suspicion() : why;  // reached() ends it, or the peer's end
  else if (r != reaching::lost) frames_.finish(f, why);
}

void remote_access::flush(frame& f) noexcept {
  peer& p = *f.to;
  f.what = frame_kind::flush;
  f.number = p.writes;
  const reaching r = cannot_begin(p) ? reaching::lost : reach_->flush(f, p.doze_key);
  if (r == reaching::done) p.placed = std::max(p.placed, f.number);
  begun(f, r, {});
}

bool remote_access::placed(frame& f) noexcept {
  peer& p = *f.to;
  if (!f.needs) f.needs = p.writes;  // signals by key went before it in the queue
  if (p.placed < f.needs && !p.placing.to) {
    p.placing.to = &p;
    flush(p.placing);
  }
  return p.placed >= f.needs;
}

bool remote_access::glance(peer& p) noexcept {
  if (p.glance.parts) {
    p.look_again = true;
    return false;
  }
  p.look_again = false;
  p.glance.to = &p;
  status why;
  const reaching r = reach_->get(p.glance, p.doze_key, 0, reinterpret_cast<std::byte*>(&p.glance.value),
                                 sizeof p.glance.value, why);
  if (r == reaching::under_way) p.glance.parts = 1, ++p.under_way;
  return r == reaching::done && is_to_be_rung(p, p.glance.value);
}

bool remote_access::reached(frame& f, const status& outcome) noexcept {
  peer& p = *f.to;
  --p.under_way;
  if (outcome.failed()) {
    f.outcome = outcome;
    if (p.alive()) due_.suspect(p, outcome, told_by::connection);
  }
  if (--f.parts) return false;
  if (&f == p.oldest || f.before) unlink(f);
  const status whole = std::exchange(f.outcome, {});
  if (&f == &p.glance) {
    bool sleeps = p.alive() && whole.ok() && is_to_be_rung(p, p.glance.value);
    if (p.alive() && whole.ok() && p.look_again) sleeps |= glance(p);
    return sleeps;
  }
  if (!p.alive()) {
    frames_.finish(f, p.life.end());
  } else if (whole.ok() || !p.life.suspected()) {  // else the peer's end does
    if (f.what == frame_kind::flush && whole.ok()) p.placed = std::max(p.placed, f.number);
    frames_.finish(f, whole);
  }
  return false;
}

}  // namespace tutti::messages

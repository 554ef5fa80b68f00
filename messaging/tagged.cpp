// What sends and receives share: operations, their end, their steps, and the peers that are lost.
#include "messaging/tagged.h"

#include <string>

#include "core/transport/wait_out.h"
#include "messaging/ways.h"

namespace tutti::messaging {

tagged::tagged(endpoint& e) noexcept
    : end_(e), job_(e.parent_job()), room_(job_.options().unexpected_bytes), room_to_send_(room_), design_(design_of(job_.options().messaging)),
      near_(pair_routes::facts_of(job_, e.limits(), true)), far_(pair_routes::facts_of(job_, e.limits(), false)) {
  e.serve(engine_number::tagged, this);
}

// What is under way ends with nobody told; the transport is waited for where it may still touch memory.
tagged::~tagged() {
  end_.serve(engine_number::tagged, nullptr);
  transport& net = job_.net();
  operations_.each([&](operation& o) {
    if (!o.moving.idle()) wait_out(net, {&o.moving});
    let_go_of_memory(o);
    if (o.buffer) end_.buffers().give(o.data, o.buffer);
    let_go_of_copy(o);
  });
  while (all_kept_) let_go(*all_kept_);
  end_.each_peer([&](peer& p) {
    if (p.tagged.staging) net.drop(p.tagged.staging_segment);
  });
  staging_.drop(net);
}

operation* tagged::new_operation(completion* done) noexcept {
  operation* const o = operations_.take();
  if (!o) return nullptr;
  o->with = nullptr, o->group = nullptr, o->member = operation::any;
  o->by = way::none;
  o->pieces = o->parted = o->copied = o->sends = o->sync = o->counted = o->active = o->note = false;
  o->data = nullptr, o->buffer = o->total = 0;
  o->found = nullptr, o->done = done;
  return o;
}

bool tagged::set_data(operation& o, const void* data, std::uint64_t bytes, const block_layout* l) noexcept {
  if (l && !l->in_one_piece() && l->bytes() > 0) {
    try {
      if (!o.where) o.where = std::make_unique<scattered>();
      o.where->set(data, *l);
    } catch (const std::bad_alloc&) {
      return false;
    }
    o.pieces = true, o.room = l->bytes();
    return true;
  }
  o.room = l ? l->bytes() : bytes;
  o.data = l ? at_distance(data, l->low()) : static_cast<std::byte*>(const_cast<void*>(data));
  return true;
}

bool tagged::need_buffer(operation& o, std::uint64_t bytes, bool fill) noexcept {
  if (fill && o.buffer && o.parted && o.by_parts->packed < bytes)  // part after part was to be packed, which nobody waits for now
    o.where->read(o.by_parts->packed, {o.data + o.by_parts->packed, bytes - o.by_parts->packed}), o.by_parts->packed = bytes;
  if (!o.pieces || o.data || bytes == 0) return true;
  o.data = end_.buffers().take(bytes);
  if (!o.data) return false;
  o.buffer = bytes;
  if (fill) o.where->read(0, {o.data, bytes});
  return true;
}

void tagged::count(operation& o, peer& p) noexcept {
  o.with = &p, o.counted = true;
  ++p.interest;
}

void tagged::activate(operation& o) noexcept {
  if (o.active) return;
  o.active = true;
  o.before_active = nullptr, o.after_active = active_;
  if (active_) active_->before_active = &o;
  active_ = &o;
}

void tagged::end(operation& o, const status& s) noexcept {
  if (o.at == stage::ending) return;
  o.at = stage::ending;
  o.outcome = s;
  if (o.moving.idle() && !o.note) retire(o);
  else activate(o);
}

// Both ends', as this rank has it.
void tagged::let_go_of_memory(operation& o) noexcept {
  if (o.reached) job_.attachments().release(o.reached);
  if (o.attached) job_.net().drop(o.segment);
  if (o.registered) job_.registrations().release(o.registered);
  if (!o.parted) return;
  parts& p = *o.by_parts;
  for (auto& u : p.registered) job_.registrations().release(u);
  for (auto& u : p.reached) job_.attachments().release(u);
  for (const segment_id s : p.attached) job_.net().drop(s);
  p.clear();
  o.parted = false;
}

void tagged::retire(operation& o) noexcept {
  if (o.active) {
    (o.before_active ? o.before_active->after_active : active_) = o.after_active;
    if (o.after_active) o.after_active->before_active = o.before_active;
  }
  if (o.counted) --o.with->interest;
  if (o.slot_count) staging_.give(o.slot_count, o.slots);
  if (o.buffer) end_.buffers().give(o.data, o.buffer);
  let_go_of_memory(o);
  let_go_of_copy(o);
  if (o.with && o.with->tagged.open_receive == &o) o.with->tagged.open_receive = nullptr;
  completion* const done = o.done;
  const status outcome = std::exchange(o.outcome, {});
  static_cast<transfer_part&>(o) = {};
  o.moving.clear();
  operations_.give(o);
  if (done) done->finish(outcome);
}

// A step may end its operation, and others only by losing a peer: so the list is walked again from its head then.
void tagged::step_all() noexcept {
  for (operation* o = active_; o;) {
    operation* const next = o->after_active;
    const std::uint64_t following = next ? next->name() : 0;
    step(*o);
    if (next && operations_.find(following) != next) return;  // gone: the rest has its turn in the next progress
    o = next;
  }
}

void tagged::step(operation& o) noexcept {
  switch (o.at) {
    case stage::getting: return way_get::step_receiver(*this, o);
    case stage::offering: return way_get::step_sender(*this, o);
    case stage::putting:
    case stage::flushing: return way_put::step_sender(*this, o);
    case stage::announced:
    case stage::staging: return way_staged::step_sender(*this, o);
    case stage::ending:
      if (o.moving.idle() && !o.note) retire(o);
      return;
    default: return;
  }
}

void tagged::tell(operation& o, bool (*offer)(outgoing&, endpoint&, peer&) noexcept) noexcept {
  if (o.with->broken || o.note || offer(o, end_, *o.with)) return;  // one that waits tells the newest when its turn comes
  o.note = true;
  o.offer = offer;
  o.over = [](outgoing& item, endpoint&, peer&, const status&) noexcept { static_cast<operation&>(item).note = false; };
  end_.enqueue(*o.with, o);
}

void tagged::say(peer& p, bytes_view header, bytes_view payload) noexcept {
  if (p.broken || end_.send_in_turn(p, header, payload) || end_.send(p, header, payload)) return;
  p.tagged.doomed = doomed_ = true;  // not here: the caller is amid an operation of this peer's
}

void tagged::advance() noexcept {
  if (active_) step_all();
  if (!doomed_) [[likely]] return;
  doomed_ = false;
  end_.each_peer([&](peer& p) {
    if (!p.tagged.doomed || p.broken) return;
    end_.lose(p, status(errc::no_resource, worded("out of memory for an answer to rank ", p.rank), p.rank));
  });
}

void tagged::wait_over(completion& done, const char* what, rank_t from, const operation* o) {
  const auto ready = [&] {
    end_.poll_one();
    if (active_) step_all();
    return done.idle();
  };
  const auto look = [&] {
    end_.look();
    return status{};
  };
  const auto tell = [&] { return o && !done.idle() ? in_words(*o) : std::string(what); };
  const function_ref<std::string> words(tell);
  (void)job_.wait(ready, look, wait_note{what, from, 0, 1, &words});
}

bool tagged::take(peer& p, const wire_prefix& prefix, bytes_view header, bytes_view payload) noexcept {
  bool done = true;
  switch (static_cast<wire_kind>(prefix.kind)) {
    case wire_kind::eager: done = take_eager(p, prefix, header, payload); break;
    case wire_kind::fragment: done = take_fragment(p, prefix, header, payload); break;
    case wire_kind::announce: done = take_announcement(p, prefix, header, payload); break;
    case wire_kind::credit: break;
    default: done = take_control(p, prefix, header, payload); break;
  }
  if (done && prefix.credits && !p.broken) credits_came(p, prefix.credits);
  return done;
}

// Every operation that depends on the peer ends. What it announced cannot be had any more; what had arrived whole stays.
void tagged::lost(peer& p) noexcept {
  tagged_pair& pair = p.tagged;
  pair.waiting_first = pair.waiting_last = nullptr;
  if (kept* const k = std::exchange(pair.open_kept, nullptr)) let_go(*k);
  for (kept *k = all_kept_, *next; k; k = next) {
    next = k->after;
    if (k->from == &p && (k->by != way::none || k->so_far < k->bytes)) let_go(*k);
  }
  operations_.each([&](operation& o) {
    const bool depends = o.with == &p || (o.at == stage::posted && !o.with && o.group->members().index_of(p.rank) < o.group->size());
    if (!depends) return;
    if (o.at == stage::posted) unpost(o);
    end(o, p.lost);
  });
  if (pair.allowance == 0) --exhausted_, pair.allowance = 1;
}

// A receive from any source depends on all members. A team looks after them for all that its rank does there (team::look).
void tagged::look() noexcept {
  if (from_any_ == 0) return;
  team* asked = nullptr;
  operations_.each([&](operation& o) {
    if (o.at != stage::posted || o.with) return;
    if (o.group != asked) asked = o.group, asked->look(no_rank);
    const status& s = asked->health();
    if (s.code() != errc::peer_dead) return;
    if (peer* const dead = end_.find(s.peer())) end_.lose(*dead, s);
  });
}

void tagged::forget(team& t) noexcept {
  operations_.each([&](operation& o) {
    if (o.group != &t) return;
    if (o.at == stage::posted) {
      unpost(o);
      end(o, status(errc::cancelled, "the team of this receive was freed"));
    } else {
      o.group = nullptr;  // what is under way ends as it would, but for the source's number, which is known by then
    }
  });
  for (kept *k = all_kept_, *next; k; k = next) {
    next = k->after;
    if (k->ticket && k->group == &t) drop(*k);
  }
  while (arrival* const a = matching_.first_of_team(t.id())) drop(static_cast<kept&>(*a));
}

}  // namespace tutti::messaging

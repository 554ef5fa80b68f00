// Sending: eagerly, or the announcement of what is to follow.
#include "messaging/tagged.h"
#include "messaging/ways.h"

namespace tutti::messaging {
namespace {

constexpr std::uint64_t longest_cached = 256;      // bytes of a message whose envelope is left out (Huang 2005, 3.3)
constexpr std::uint32_t sends_between_progress = 32;

status no_memory() { return {errc::no_resource, "out of memory for a message"}; }

message_load load_of(tagged& t, const operation& o) noexcept {
  if (o.pieces) return {o.room, false, true, o.where->layout().blocks()};
  return {o.room, o.room > o.with->tagged.routes->short_limit() && in_lasting(t, o, o.room)};
}

struct eager_head {
  wire_prefix prefix;
  wire_envelope envelope;
  std::uint64_t more[2];
};

}  // namespace

void tagged::meet(peer& p) noexcept {
  const auto& node_of = job_.where().node_of;
  p.tagged.routes = node_of[p.rank] == node_of[job_.rank()] ? &near_ : &far_;
  p.tagged.mapped = p.tagged.routes->about().mapped;
}

// The common case, in one message of the fabric and nothing else.
bool tagged::send_eagerly_now(peer& p, const send_arguments& a) noexcept {
  tagged_pair& pair = p.tagged;
  if (!pair.routes) [[unlikely]] meet(p);
  if (a.layout) [[unlikely]] return false;
  if (a.sync || p.broken || pair.waiting_first || a.bytes > end_.limits().max_payload || !pair.pays_for_data(a.bytes)) return false;
  struct {
    wire_prefix prefix;
    wire_envelope envelope;
  } head{prefix_for(pair, wire_kind::eager), {a.group->id(), a.tag}};
  const bool same = design_.header_caching && a.bytes < longest_cached && pair.sent_any && pair.sent_team == head.envelope.team && pair.sent_tag == a.tag;
  if (same) head.prefix.flags = eager_flag::same_envelope;
  if (!end_.send_now(p, bytes_of(head).first(same ? sizeof head.prefix : sizeof head), {static_cast<const std::byte*>(a.data), a.bytes}))
    return false;
  if (!same) pair.sent_any = true, pair.sent_team = head.envelope.team, pair.sent_tag = a.tag;
  pair.credit -= credits::cost(a.bytes);
  credits_went(p, head.prefix);
  return true;
}

// Who only sends must hear of credits, and of a death, all the same.
bool tagged::sent_at_once(peer& p, const send_arguments& a) noexcept {
  if (!send_eagerly_now(p, a)) [[unlikely]] return false;
  if (++sends_ % sends_between_progress == 0) job_.progress(), end_.polled();
  return true;
}

bool tagged::try_send(const send_arguments& a) noexcept {
  peer* const p = end_.find(a.group->rank_of(a.to));
  return p && sent_at_once(*p, a);
}

status tagged::send(const send_arguments& a) noexcept {
  peer* const p = end_.find(a.group->rank_of(a.to));
  if (!p) return no_memory();
  if (sent_at_once(*p, a)) return {};
  completion done;
  operation* o = nullptr;
  if (status s = start_send(a, done, &o); s.failed()) return s;
  if (!done.idle()) wait_over(done, "a message's send", p->rank, o);
  return done.outcome();
}

status tagged::start_send(const send_arguments& a, completion& done, operation** out) noexcept {
  if (out) *out = nullptr;
  peer* const p = end_.find(a.group->rank_of(a.to));
  if (!p) return no_memory();
  if (p->broken) return p->lost;
  if (sent_at_once(*p, a)) return {};
  operation* const o = new_operation(&done);
  if (!o) return no_memory();
  o->sends = true, o->sync = a.sync;
  o->team = a.group->id(), o->tag = a.tag;
  o->group = a.group, o->member = a.to;
  if (!set_data(*o, a.data, a.bytes, a.layout)) return operations_.give(*o), no_memory();
  o->total = o->room;
  o->at = stage::queued;
  count(*o, *p);
  tagged_pair& pair = p->tagged;
  const bool is_short = !a.sync && o->room <= pair.routes->short_limit();
  if (is_short && (pair.waiting_first || !pair.pays_for_data(o->room)) && copy_to_send(*o)) o->done = nullptr;
  else done.begin();
  if (pair.waiting_first || !dispatch(*p, *o)) {
    o->next = nullptr;
    if (pair.waiting_first) pair.waiting_last->next = o;
    else pair.waiting_first = o;
    pair.waiting_last = o;
  }
  if (out && !done.idle()) *out = o;
  return {};
}

bool tagged::dispatch(peer& p, operation& o) noexcept {
  tagged_pair& pair = p.tagged;
  const message_load load = load_of(*this, o);
  const bool pays = pair.pays_for_data(o.room), as_envelope = o.room <= credits::unit && pair.credit >= credits::cost(o.room);
  if (pair.routes->of(load) == route::eager && (pays || as_envelope) && need_buffer(o, o.room, true)) {
    pair.credit -= credits::cost(o.room);
    o.sync |= !pays;  // under way until a receive takes it, as what is announced
    o.by = way::none;
    o.offer = offer_eager, o.over = eager_over;
  } else if (pair.credit > 0) {
    --pair.credit;
    choose_way(p, o, load);
    o.offer = offer_announcement, o.over = announcement_over;
  } else {
    return false;
  }
  if (!p.first && o.offer(o, end_, p)) o.over(o, end_, p, {});
  else end_.enqueue(p, o);
  return true;
}

void tagged::dispatch_waiting(peer& p) noexcept {
  tagged_pair& pair = p.tagged;
  while (operation* const o = pair.waiting_first) {
    operation* const next = static_cast<operation*>(o->next);
    if (!dispatch(p, *o)) return;
    if (p.broken) return;
    pair.waiting_first = next;
  }
  pair.waiting_last = nullptr;
}

bool tagged::offer_eager(outgoing& item, endpoint& e, peer& p) noexcept {
  auto& o = static_cast<operation&>(item);
  tagged& t = of(e);
  tagged_pair& pair = p.tagged;
  const std::uint64_t most = e.limits().max_payload;
  do {
    const bytes_view part(o.data + o.moved, std::min(most, o.room - o.moved));
    wire_prefix prefix = t.prefix_for(pair, wire_kind::fragment);
    if (o.told == 0) {
      prefix.kind = static_cast<std::uint8_t>(wire_kind::eager);
      eager_head head{prefix, {o.team, o.tag}, {}};
      std::size_t more = 0;
      if (o.room > most) head.prefix.flags |= eager_flag::partial, head.more[more++] = o.room;
      if (o.sync) head.prefix.flags |= eager_flag::sync, head.more[more++] = o.name();
      if (!e.send_in_turn(p, bytes_of(head).first(sizeof prefix + sizeof head.envelope + 8 * more), part)) return false;
      pair.sent_any = true, pair.sent_team = o.team, pair.sent_tag = o.tag;
    } else if (!e.send_in_turn(p, bytes_of(prefix), part)) {
      return false;
    }
    t.credits_went(p, prefix);
    ++o.told;
    o.moved += part.size();
  } while (o.moved < o.room);
  return true;
}

void tagged::eager_over(outgoing& item, endpoint& e, peer&, const status& s) noexcept {
  auto& o = static_cast<operation&>(item);
  if (o.sync && s.ok()) o.at = stage::announced;
  else of(e).end(o, s);
}

void tagged::choose_way(peer& p, operation& o, const message_load& m) noexcept {
  o.by = way::put;  // whatever the receiver's memory is, it can ask for this
  if (o.room == 0) return;
  const pair_routes& routes = *p.tagged.routes;
  for (route r = routes.rendezvous(m); !set_out(p, o, r);) r = routes.next(r, m);
}

// False: what the route needs is not to be had.
bool tagged::set_out(peer& p, operation& o, route r) noexcept {
  switch (r) {
    case route::in_place:
      if (!share_lasting(*this, o, o.room)) return false;
      break;
    case route::kernel:
    case route::get:
    case route::packed:
      if (!need_buffer(o, o.room, false) || !share_in_parts(*this, o, o.room)) return false;
      break;
    case route::lists: return prepare_lists(*this, o, op_kind::put);  // the receiver asks for them
    case route::staged:
      if (!design_.packs_in_chunks && !need_buffer(o, o.room, true)) return false;
      if (!way_staged::prepare(*this, p, o)) return false;
      o.by = way::staged;
      return true;
    default:
      if (!design_.apart) o.by = way::stream;
      return true;
  }
  o.by = way::get;
  return true;
}

bool tagged::offer_announcement(outgoing& item, endpoint& e, peer& p) noexcept {
  auto& o = static_cast<operation&>(item);
  tagged& t = of(e);
  struct {
    wire_prefix prefix;
    wire_envelope envelope;
    wire_announcement body;
  } const head{t.prefix_for(p.tagged, wire_kind::announce), {o.team, o.tag}, {o.room, o.name(), o.offset, static_cast<std::uint32_t>(o.by), o.lasting,
                                                                                       o.parted && o.by_parts->piece ? o.by_parts->offered : o.room}};
  static_assert(sizeof head <= 64);  // of what every fabric has for a header
  if (!e.send_in_turn(p, bytes_of(head), o.by == way::get ? o.key : bytes_view{})) return false;
  p.tagged.sent_any = true, p.tagged.sent_team = o.team, p.tagged.sent_tag = o.tag;
  t.credits_went(p, head.prefix);
  return true;
}

void tagged::announcement_over(outgoing& item, endpoint& e, peer&, const status& s) noexcept {
  auto& o = static_cast<operation&>(item);
  tagged& t = of(e);
  if (s.failed()) return t.end(o, s);
  o.at = stage::announced;
  if (o.slot_count > 0) t.activate(o);
}

}  // namespace tutti::messaging

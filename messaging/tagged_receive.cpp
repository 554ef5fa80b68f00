// Receiving: what comes is matched, copied or kept; receives take what was kept, or are posted.
#include <cstring>
#include <new>
#include <string>

#include "core/base/copy.h"
#include "messaging/tagged.h"
#include "messaging/ways.h"

namespace tutti::messaging {
namespace {

status truncated(const operation& o) {
  return {errc::truncated, worded("a message of ", o.total, " bytes from rank ", o.with->rank, " came to a receive of ", o.room,
                                  "; give it room for ", o.total, ", or ask by tutti_mprobe before"),
                                  o.with->rank};
}

}  // namespace

// --- receives ----------------------------------------------------------------------------------------------------

operation* tagged::new_receive(const receive_arguments& a, completion& done) noexcept {
  operation* const o = new_operation(&done);
  if (!o) return nullptr;
  o->team = a.group->id(), o->tag = a.tag, o->mask = a.mask;
  o->source = a.from == operation::any ? no_rank : a.group->rank_of(a.from);
  if (a.mask != ~std::uint64_t{0}) o->tag &= a.mask;
  o->group = a.group, o->member = a.from;
  if (!set_data(*o, a.data, a.room, a.layout)) return operations_.give(*o), nullptr;
  o->found = a.found;
  o->at = stage::posted;
  return o;
}

status tagged::receive(const receive_arguments& a) noexcept {
  completion done;
  operation* o = nullptr;
  if (status s = start_receive(a, done, &o); s.failed()) return s;
  if (!done.idle()) wait_over(done, "a message", a.from == operation::any ? no_rank : a.group->rank_of(a.from), o);
  return done.outcome();
}

status tagged::exchange(const send_arguments& out, const receive_arguments& in) noexcept {
  completion received, sent;
  operation *receiving = nullptr, *sending = nullptr;
  if (status s = start_receive(in, received, &receiving); s.failed()) return s;
  status s = start_send(out, sent, &sending);
  if (!sent.idle()) wait_over(sent, "a message's send", out.group->rank_of(out.to), sending);
  if (s.ok()) s = sent.outcome();
  if (s.failed() && !received.idle()) (void)cancel(*receiving);  // it may wait in vain
  if (!received.idle()) wait_over(received, "a message", in.from == operation::any ? no_rank : in.group->rank_of(in.from), receiving);
  return s.failed() ? s : received.outcome();
}

status tagged::start_receive(const receive_arguments& a, completion& done, operation** out) noexcept {
  if (out) *out = nullptr;
  operation* const o = new_receive(a, done);
  if (!o) return no_memory_for_receive();
  done.begin();
  if (arrival* const found = matching_.find_arrival(o->team, o->source, o->tag, o->mask)) {
    match(*o, static_cast<kept&>(*found));
  } else if (status s = post(*o); s.failed()) {
    operations_.give(*o);
    done.finish();
    return s;
  }
  if (out && !done.idle()) *out = o;
  return {};
}

status tagged::post(operation& o) noexcept {
  if (o.source != no_rank) {
    peer* const p = end_.find(o.source);
    if (!p) return no_memory_for_receive();
    if (p->broken) return p->lost;
    count(o, *p);
    ++p->tagged.awaited;
  } else {
    status dead;
    end_.each_peer([&](peer& p) {
      if (p.broken && dead.ok() && o.group->members().index_of(p.rank) < o.group->size()) dead = p.lost;
    });
    if (dead.failed()) return dead;
    ++from_any_;
  }
  if (!fast_ && matching_.posted() == 0) {
    fast_ = &o;
  } else if (matching_.make_room()) {
    matching_.post(o);
  } else {
    if (o.with) --o.with->tagged.awaited, --o.with->interest;
    else --from_any_;
    return no_memory_for_receive();
  }
  if (exhausted_ > 0) [[unlikely]] relieve_all(o);
  return {};
}

void tagged::unpost(operation& o) noexcept {
  if (fast_ == &o) fast_ = nullptr;
  else matching_.withdraw(o);
  if (o.with) --o.with->tagged.awaited;
  else --from_any_;
}

bool tagged::cancel(operation& o) noexcept {
  if (o.sends || o.at != stage::posted) return false;
  unpost(o);
  end(o, {});
  return true;
}

// The one posted receive out of the matching is older than those in it.
operation* tagged::matching_receive(std::uint64_t team, rank_t source, std::uint64_t tag) noexcept {
  operation* o = nullptr;
  if (fast_ && fast_->team == team && ((tag ^ fast_->tag) & fast_->mask) == 0 &&
      (fast_->source == source || fast_->source == no_rank)) {
    o = std::exchange(fast_, nullptr);
  } else if (posted_receive* const r = matching_.take_posted(team, source, tag)) {
    o = static_cast<operation*>(r);
  } else {
    return nullptr;
  }
  if (o->with) --o->with->tagged.awaited;
  else --from_any_;
  return o;
}

bool tagged::pair_up(operation& o, peer& p) noexcept {
  if (!o.with) {
    o.member = o.group->members().index_of(p.rank);
    if (o.member >= o.group->size()) {
      end(o, status(errc::protocol, worded("rank ", p.rank, " sent a message over a team that it is not in"), p.rank));
      return false;
    }
    count(o, p);
  }
  return true;
}

void tagged::finish_receive(operation& o) noexcept {
  if (o.buffer) o.where->write(0, {o.data, o.wanted});  // what the fabric has moved
  if (o.found) *o.found = {o.member, 0, o.tag, static_cast<std::size_t>(o.total)};
  if (o.total > o.room) [[unlikely]] return end(o, truncated(o));
  end(o, {});
}

// It has nothing yet but its place in the pool.
void tagged::finish_posted(operation& o, peer& p, bytes_view whole) noexcept {
  if (!whole.empty()) copy_bytes(o.data, whole.data(), whole.size());
  if (o.found) *o.found = {o.member, 0, o.tag, whole.size()};
  --p.interest;
  completion* const done = o.done;
  operations_.give(o);
  done->finish();
}

void tagged::give_payload(operation& o, std::uint64_t at, bytes_view part) noexcept {
  if (at >= o.room || part.empty()) return;
  part = part.first(std::min<std::uint64_t>(part.size(), o.room - at));
  if (o.pieces && !o.buffer) [[unlikely]] o.where->write(at, part);
  else copy_bytes(o.data + at, part.data(), part.size());
}

// --- what comes --------------------------------------------------------------------------------------------------

bool tagged::take_eager(peer& p, const wire_prefix& prefix, bytes_view header, bytes_view payload) noexcept {
  tagged_pair& pair = p.tagged;
  std::size_t at = sizeof prefix;
  wire_envelope envelope{pair.team, pair.tag};
  if (!(prefix.flags & eager_flag::same_envelope)) {
    if (!read_from(header, at, envelope)) return end_.malformed(p, "a message without an envelope"), true;
    at += sizeof envelope;
  } else if (!pair.came_any) {
    return end_.malformed(p, "a message with the envelope of none before it"), true;
  }
  std::uint64_t total = payload.size(), sender = 0;
  if (prefix.flags & ~eager_flag::same_envelope) [[unlikely]] {
    if (prefix.flags & eager_flag::partial) {
      if (!read_from(header, at, total) || total <= payload.size() || total > longest_eager || payload.empty())
        return end_.malformed(p, "a part of a message that has no such length"), true;
      at += sizeof total;
    }
    if (prefix.flags & eager_flag::sync && !read_from(header, at, sender)) return end_.malformed(p, "a synchronous message without a name"), true;
    if (prefix.flags & ~eager_flag::all) return end_.malformed(p, "a message with unknown flags"), true;
  }
  if (pair.open_total != 0) return end_.malformed(p, "a message before the end of another"), true;

  const std::uint32_t cost = credits::cost(total);
  if (cost > pair.allowance) return end_.malformed(p, "more than its credit allows"), true;
  operation* const o = matching_receive(envelope.team, p.rank, envelope.tag);
  kept* k = nullptr;
  if (!o && wanted_here(envelope.team)) {
    k = keep(p, envelope.team, envelope.tag, total);
    if (!k) return false;
  }
  charge(p, cost);
  pair.came_any = true, pair.team = envelope.team, pair.tag = envelope.tag;
  const bool partial = payload.size() < total;
  if (partial) pair.open_total = total, pair.open_so_far = payload.size();
  if (k) {
    k->cost = cost, k->sync = prefix.flags & eager_flag::sync, k->other = sender;
    k->so_far = payload.size();
    if (!payload.empty()) copy_bytes(k->data, payload.data(), payload.size());
    if (partial) pair.open_kept = k;
    hold(*k);
    return true;
  }
  release(p, cost);
  if (!o) return true;  // for a team that was freed
  o->tag = envelope.tag, o->total = total;
  if (!pair_up(*o, p)) return true;
  if (!(prefix.flags & ~eager_flag::same_envelope) && total <= o->room && !o->pieces) [[likely]] return finish_posted(*o, p, payload), true;
  if (prefix.flags & eager_flag::sync) acknowledge(p, sender);
  give_payload(*o, 0, payload);
  if (partial) {
    o->at = stage::coming;
    pair.open_receive = o;
  } else {
    finish_receive(*o);
  }
  return true;
}

bool tagged::take_fragment(peer& p, const wire_prefix&, bytes_view, bytes_view payload) noexcept {
  tagged_pair& pair = p.tagged;
  if (pair.open_total == 0 || payload.empty() || payload.size() > pair.open_total - pair.open_so_far)
    return end_.malformed(p, "a part of no message"), true;
  const std::uint64_t before = pair.open_so_far;
  pair.open_so_far += payload.size();
  const bool last = pair.open_so_far == pair.open_total;
  if (last) pair.open_total = 0;
  if (operation* const o = pair.open_receive) {
    give_payload(*o, before, payload);
    if (last) pair.open_receive = nullptr, finish_receive(*o);
  } else if (kept* const k = pair.open_kept) {
    copy_bytes(k->data + before, payload.data(), payload.size());
    k->so_far = pair.open_so_far;
    if (!last) return true;
    pair.open_kept = nullptr;
    if (k->taker) match(*k->taker, *k);
  }
  return true;
}

bool tagged::take_announcement(peer& p, const wire_prefix&, bytes_view header, bytes_view payload) noexcept {
  wire_envelope envelope;
  wire_announcement body;
  if (!read_from(header, sizeof(wire_prefix), envelope) || !read_from(header, sizeof(wire_prefix) + sizeof envelope, body))
    return end_.malformed(p, "an announcement that is too short"), true;
  if (body.way == 0 || body.way >= ways) return end_.malformed(p, "an announcement of no known way"), true;
  if (body.way == static_cast<std::uint32_t>(way::get) && body.bytes > 0 && (body.ready == 0 || body.ready > body.bytes))
    return end_.malformed(p, "an announcement of more than there is"), true;
  if (body.way == static_cast<std::uint32_t>(way::get) && payload.empty()) return end_.malformed(p, "an announcement without a key"), true;
  if (p.tagged.open_total != 0) return end_.malformed(p, "an announcement before the end of a message"), true;
  tagged_pair& pair = p.tagged;
  if (pair.allowance == 0) return end_.malformed(p, "more than its credit allows"), true;
  operation* const o = matching_receive(envelope.team, p.rank, envelope.tag);
  kept* k = nullptr;
  if (!o && wanted_here(envelope.team)) {
    k = keep(p, envelope.team, envelope.tag, payload.size());
    if (!k) return false;
  }
  charge(p, 1);
  pair.came_any = true, pair.team = envelope.team, pair.tag = envelope.tag;
  const way by = static_cast<way>(body.way);
  if (k) {
    k->cost = 1, k->bytes = body.bytes, k->other = body.sender, k->by = by, k->offset = body.offset, k->lasting = body.lasting, k->ready = body.ready;
    if (!payload.empty()) copy_bytes(k->data, payload.data(), payload.size());
    hold(*k);
    return true;
  }
  release(p, 1);
  if (!o) return acknowledge(p, body.sender), true;  // to a team that was freed: the sender need not wait
  o->tag = envelope.tag;
  if (pair_up(*o, p)) begin_rendezvous(*o, body.bytes, body.sender, by, {payload, body.offset, body.lasting != 0, body.ready});
  return true;
}

// --- what is kept ------------------------------------------------------------------------------------------------

bool tagged::wanted_here(std::uint64_t team) noexcept {
  return team == 0 || job_.teams().find(team) || job_.teams().yet_to_come(team);
}

kept* tagged::keep(peer& p, std::uint64_t team, std::uint64_t tag, std::uint64_t bytes) noexcept {
  if (!matching_.make_room()) return nullptr;
  buffer_pool& pool = end_.buffers();
  std::byte* const memory = pool.take(sizeof(kept));
  if (!memory) return nullptr;
  std::byte* const data = bytes ? pool.take(bytes) : nullptr;
  if (bytes && !data) return pool.give(memory, sizeof(kept)), nullptr;
  auto* const k = new (memory) kept;
  k->team = team, k->tag = tag, k->source = p.rank;
  k->from = &p, k->bytes = bytes;
  k->data = data, k->data_bytes = static_cast<std::uint32_t>(bytes);
  k->after = all_kept_;
  if (all_kept_) all_kept_->before = k;
  all_kept_ = k;
  matching_.enter(*k);
  return k;
}

void tagged::let_go(kept& k) noexcept {
  if (k.waits) matching_.remove(k);
  if (k.from->tagged.open_kept == &k) k.from->tagged.open_kept = nullptr;  // what still comes of it is dropped
  (k.before ? k.before->after : all_kept_) = k.after;
  if (k.after) k.after->before = k.before;
  if (k.in_room) room_ += credits::memory_of(k.data_bytes);
  buffer_pool& pool = end_.buffers();
  if (k.data) pool.give(k.data, k.data_bytes);
  pool.give(reinterpret_cast<std::byte*>(&k), sizeof(kept));
}

void tagged::released(kept& k) noexcept {
  if (std::exchange(k.released, true)) return;
  release(*k.from, k.cost);
}

void tagged::drop(kept& k) noexcept {
  peer& p = *k.from;
  if (k.by != way::none || k.sync) acknowledge(p, k.other);
  released(k);
  let_go(k);
}

// The receive takes what is kept; of one whose fragments still come, as soon as the last is here.
void tagged::match(operation& o, kept& k) noexcept {
  if (k.waits) matching_.remove(k);
  peer& p = *k.from;
  k.taker = &o;
  o.tag = k.tag;
  if (o.at == stage::posted && !pair_up(o, p)) return drop(k);
  if (!o.counted) count(o, p);
  released(k);
  if (k.by != way::none) {
    begin_rendezvous(o, k.bytes, k.other, k.by, {{k.data, k.data_bytes}, k.offset, k.lasting, k.ready});
    return let_go(k);
  }
  if (std::exchange(k.sync, false)) acknowledge(p, k.other);
  o.total = k.bytes;
  if (k.so_far < k.bytes) {
    o.at = stage::coming;
    return;
  }
  give_payload(o, 0, {k.data, k.bytes});
  let_go(k);
  finish_receive(o);
}

// --- rendezvous --------------------------------------------------------------------------------------------------

void tagged::begin_rendezvous(operation& o, std::uint64_t bytes, std::uint64_t sender, way by, const far_memory& there) noexcept {
  if (!o.with->tagged.routes) meet(*o.with);
  o.total = bytes, o.other = sender;
  o.wanted = std::min(bytes, o.room);
  if (o.wanted == 0) {
    acknowledge(*o.with, sender);
    return finish_receive(o);
  }
  if (by == way::stream) return way_stream::start_receiver(*this, o);
  if (by == way::get && o.pieces && o.with->tagged.routes->scatters(o.wanted, o.where->layout().blocks()) && prepare_lists(*this, o, op_kind::get)) {
    if (way_get::start_receiver(*this, o, there)) return;
    o.by_parts->lists = false;
  }
  const bool by_fabric = by != way::staged || !o.with->tagged.staging;
  if (by_fabric && !need_buffer(o, o.wanted, false)) {
    acknowledge(*o.with, sender, true);
    return end(o, no_memory_for_receive());
  }
  if (by == way::get && way_get::start_receiver(*this, o, there)) return;
  if (design_.one_copy && o.with->tagged.staging && !o.pieces && way_put::ask_lasting(*this, o)) return;  // one copy, by the sender
  if (by == way::staged && way_staged::start_receiver(*this, o)) return;
  way_put::ask(*this, o);
}

}  // namespace tutti::messaging

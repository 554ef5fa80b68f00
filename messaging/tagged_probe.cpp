// Probes, and receives of messages that a probe took out of the matching.
#include "messaging/tagged.h"

namespace tutti::messaging {

kept* tagged::find(const receive_arguments& a) noexcept {
  const rank_t source = a.from == operation::any ? no_rank : a.group->rank_of(a.from);
  return static_cast<kept*>(matching_.find_arrival(a.group->id(), source, a.tag, a.mask));
}

envelope tagged::envelope_of(const kept& k, team& group) const noexcept {
  return {group.members().index_of(k.from->rank), 0, k.tag, static_cast<std::size_t>(k.bytes)};
}

// A death is found as that of a receive is, by a receive of no bytes that stands for the probe but takes nothing.
status tagged::probe(const receive_arguments& a, kept*& found) noexcept {
  const rank_t source = a.from == operation::any ? no_rank : a.group->rank_of(a.from);
  status dead;
  const auto ready = [&] {
    end_.poll_one();
    if (active_) step_all();
    return (found = find(a)) != nullptr;
  };
  const auto look = [&]() -> status {
    if (source != no_rank) {
      if (peer* const p = end_.find(source); p && !p->broken)
        if (status s = job_.net().health(source); s.failed()) end_.lose(*p, s);
      if (peer* const p = end_.find(source); p && p->broken) return p->lost;
      return {};
    }
    a.group->look(no_rank);
    const status& s = a.group->health();
    return s.code() == errc::peer_dead ? s : status{};
  };
  // While it waits it awaits all that could bring the message.
  peer* const p = source == no_rank ? nullptr : end_.find(source);
  if (source != no_rank && !p) return no_memory_for_receive();
  (p ? p->tagged.awaited : from_any_) += 1;
  if (p) relieve(*p);
  else if (exhausted_ > 0) end_.each_peer([&](peer& q) { relieve(q); });
  const auto tell = [&] { return "a probe for " + awaited_in_words(a.group->id(), source, a.tag, a.mask); };
  const function_ref<std::string> words(tell);
  const status s = job_.wait(ready, look, wait_note{"a message", source, 0, 1, &words});
  (p ? p->tagged.awaited : from_any_) -= 1;
  return found ? status{} : s;
}

// It goes to the front of the list, where its ticket is found at once.
std::uint64_t tagged::take_out(kept& k, team& group) noexcept {
  matching_.remove(k);
  k.group = &group;
  if (k.before) {
    k.before->after = k.after;
    if (k.after) k.after->before = k.before;
    k.before = nullptr, k.after = all_kept_;
    all_kept_ = all_kept_->before = &k;
  }
  return k.ticket = ++next_ticket_;
}

kept* tagged::with_ticket(std::uint64_t ticket) noexcept {
  kept* k = all_kept_;
  while (k && k->ticket != ticket) k = k->after;
  return ticket ? k : nullptr;
}

status tagged::receive_matched(kept& k, const receive_arguments& a) noexcept {
  completion done;
  const rank_t from = k.from->rank;
  operation* o = nullptr;
  if (status s = start_matched(k, a, done, &o); s.failed()) return s;
  if (!done.idle()) wait_over(done, "a message", from, o);
  return done.outcome();
}

status tagged::start_matched(kept& k, receive_arguments a, completion& done, operation** out) noexcept {
  if (out) *out = nullptr;
  a.group = k.group, a.from = operation::any, a.tag = a.mask = 0;
  operation* const o = new_receive(a, done);
  if (!o) return no_memory_for_receive();
  done.begin();
  k.ticket = 0;
  match(*o, k);
  if (out && !done.idle()) *out = o;
  return {};
}

}  // namespace tutti::messaging

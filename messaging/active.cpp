#include "messaging/active.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "messaging/active_header.h"

namespace tutti::messaging {

active_messages::active_messages(endpoint& e, surroundings& s, std::atomic<bool>& in_handler) noexcept
    : end_(e), around_(s), in_handler_(in_handler) {
  message_.engine = this;
  end_.serve(engine_number::active, this);
}

status active_messages::set_handler(std::uint32_t number, active_handler function, void* context) {
  if (!handlers_) handlers_ = std::make_unique<handler[]>(handlers);
  handler& h = handlers_[number];
  if (function && h.run)
    return {errc::invalid, worded("number ", number, " has a handler; take that away first, by NULL, or use another number")};
  h = {function, context};
  noticed_.reset(number);
  return {};
}

// --- sending ----------------------------------------------------------------------------------------------------------------

void active_messages::asked(peer& p) noexcept {
  if (p.active.requests++ == 0) ++p.interest;
}

bool active_messages::credited(peer& p, std::uint32_t n) noexcept {
  if (n > p.active.requests) return false;
  if (n > 0 && (p.active.requests -= n) == 0) --p.interest;
  return true;
}

status active_messages::ready_for(peer* p) noexcept {
  if (!p) return {errc::no_resource, "out of memory"};
  if (p->active.refused) return take_refusal(*p);
  if (p->broken) return p->lost;
  return {};
}

// With what is owed, which is told when it was taken.
bool active_messages::offer(peer& p, outgoing_message& m) noexcept {
  m.set_credits(p.active.owed);
  if (!end_.send_now(p, m.header(), m.payload())) return false;
  told(p);
  return true;
}

status active_messages::wait_for_room(peer& p, active_kind kind, outgoing_message* m) noexcept {
  if (message_.live)
    return {errc::no_resource, worded("no room towards rank ", p.rank, "; a handler does not wait: leave it to the program"),
                                      p.rank};
  const bool request = kind != active_kind::one_way;
  bool done = false;
  const auto ready = [&] {
    if (done) return true;
    end_.poll_one();
    done = p.broken || ((!request || p.active.requests < most_requests) && (!m || offer(p, *m)));
    if (done && request && !p.broken) asked(p);  // now, since its answer may come before the wait has ended
    return done;
  };
  const auto look = [&] { return end_.look(), status{}; };
  const auto tell = [&] { return "an active message to rank " + std::to_string(p.rank) + ", which takes none now"; };
  const function_ref<std::string> words(tell);
  ++p.interest;
  status s = end_.parent_job().wait(ready, look, wait_note{"room for an active message", p.rank, 0, 0, &words});
  --p.interest;
  return p.broken ? p.lost : s;
}

status active_messages::send(active_kind kind, rank_t to, const contents& c) noexcept {
  peer* const p = end_.find(to);
  if (!p || p->active.refused || p->broken) [[unlikely]] return ready_for(p);
  outgoing_message m(end_.buffers(), kind, c);
  if (!m.whole()) [[unlikely]] return {errc::no_resource, "out of memory"};
  const bool request = kind == active_kind::request;
  if ((request && p->active.requests >= most_requests) || !offer(*p, m)) [[unlikely]] return wait_for_room(*p, kind, &m);
  if (request) asked(*p);
  else if (++p->active.sent % 256 == 0) ask_after(*p);
  return {};
}

// Nothing comes back of one-way messages, and the fabric takes what goes to the dead: so who only sends such asks now and then.
void active_messages::ask_after(peer& p) noexcept {
  transport& net = end_.parent_job().net();
  const time_point t = net.now();
  if (t < next_ask_) return;
  next_ask_ = t + job::look_every;
  if (const status s = net.health(p.rank); s.failed()) end_.lose(p, s);
}

status active_messages::reply(tutti_am& to, const contents& c) noexcept {
  if (!to.live) return {errc::invalid, "the message's handler has returned; reply within it"};
  if (!to.request) return {errc::invalid, "the message is no request; only what tutti_am_request() or _request_long() sent has a reply"};
  if (to.replied) return {errc::invalid, "the message has its reply already; a request has one"};
  peer& p = *to.from;
  outgoing_message m(end_.buffers(), active_kind::reply, c);
  m.set_credits(p.active.owed + 1);
  if (!m.whole() || !end_.send(p, m.header(), m.payload())) return {errc::no_resource, "out of memory for the reply"};
  to.replied = true;
  ++p.active.owed;
  told(p);
  return {};
}

// --- what the program is told later --------------------------------------------------------------------------------------------

status active_messages::take_refusal(peer& p) noexcept {
  const std::uint32_t number = std::exchange(p.active.refused, 0) - 1;
  if (!p.active.unanswered) --troubles_;
  return {errc::invalid, worded("rank ", p.rank, " has no handler for number ", number,
                                ", to which an earlier message went; call tutti_am_register there, then a barrier, before sending"), p.rank};
}

status active_messages::take_trouble() noexcept {
  status found = std::exchange(failed_, {});
  if (found.failed()) return --troubles_, found;
  end_.each_peer([&](peer& p) {
    if (found.failed()) return;
    if (p.active.refused) {
      found = take_refusal(p);
    } else if (std::exchange(p.active.unanswered, false)) {
      --troubles_;
      found = p.lost;
    }
  });
  return found;
}

void active_messages::lost(peer& p) noexcept {
  if (p.active.requests == 0) return;
  --p.interest;
  p.active.requests = 0;
  if (!p.active.refused) ++troubles_;
  p.active.unanswered = true;
}

}  // namespace tutti::messaging

// The queue of events, and which rank runs.
#include <cmath>

#include "providers/sim/net.h"

namespace tutti::sim {

ns to_ns(double us) noexcept { return static_cast<ns>(std::llround(us * 1000.0)); }
ns to_ns(time_point t) noexcept { return t.time_since_epoch().count(); }

link::link(const loggp& c) noexcept
    : latency(to_ns(c.latency_us)), overhead(to_ns(c.overhead_us)), gap(to_ns(c.gap_us)),
      ns_per_byte(c.bytes_per_ns > 0 ? 1.0 / c.bytes_per_ns : 0) {}

tasks::tasks(const hardware& h, const copy_parameters& c) noexcept
    : poll(to_ns(h.poll_us)), reap(to_ns(h.reap_us)), send(to_ns(h.send_us)), receive(to_ns(h.receive_us)), fetch(to_ns(h.fetch_us)),
      transmit(to_ns(h.transmit_us)), take(to_ns(h.take_us)), deliver(to_ns(h.deliver_us)),
      bus_ns_per_byte(h.bus_bytes_per_ns > 0 ? 1 / h.bus_bytes_per_ns : 0), copy_ns_per_byte(c.bytes_per_ns > 0 ? 1 / c.bytes_per_ns : 0) {}

void fabric::push(ns at, std::uint64_t seq, event_kind kind, rank_t who, std::uint64_t arg) {
  queue.push({at, seq, arg, who, kind});
}

void fabric::go_on_at(rank_state& rs, ns at) {
  rs.state = rank_state::queued;
  rs.queued_at = at;
  push(at, draw(), event_kind::run, rank_of(rs), ++rs.ticket);
}

void fabric::wake(rank_t r, ns at) {
  rank_state& rs = ranks[r];
  const bool waits = rs.state == rank_state::blocked || rs.state == rank_state::queued;
  if (par.broken == mutant::lost_wakeup && waits && rng.chance(0.25)) return;
  ++rs.arrivals;
  if (!waits || rs.dead) return;
  rs.called = true;
  ns when = std::max(at, rs.clock);
  if (par.noise_us > 0) when += static_cast<ns>(rng.unit() * par.noise_us * 1000.0);
  if (rs.state == rank_state::blocked || when < rs.queued_at) go_on_at(rs, when);
}

// Between runs nobody waits, and a world of many ranks that is torn down tells each of each: so that is counted once for all.
void fabric::wake_others(rank_t but, ns at) {
  if (mode == mode_t::outside) {
    ++told_to_all;
    return;
  }
  for (rank_t r = 0; r < par.ranks; ++r)
    if (r != but && ranks[r].transport) wake(r, at);
}

void fabric::touch(rank_t r, ns at) {
  rank_state& rs = ranks[r];
  if (!rs.polling || rs.dead) return;
  const ns when = std::max(at, rs.clock);
  rs.called = true;
  if (rs.state == rank_state::blocked || (rs.state == rank_state::queued && when < rs.queued_at)) go_on_at(rs, when);
}

void fabric::block(rank_state& rs, ns until) {
  gives_core(rs);
  rs.state = rank_state::blocked;
  if (until != never) go_on_at(rs, std::max(until, rs.clock));
  run_next(&rs);
}

void fabric::catch_up(rank_state& rs) {
  if (!queue.empty() && queue.top().at <= rs.clock) block(rs, rs.clock);
}

// A world in which ranks only wake by their own timers, over and over, is as dead as one without events. Long sleeps
// are no stall: it takes many wake-ups of each rank and a long virtual time without one message.
bool fabric::stalled(const event& e) noexcept {
  constexpr ns patience = 100'000'000'000;
  return ++idle_runs > 1000 + 200ull * live && e.at - last_active > patience;
}

void fabric::stuck(const char* how) {
  std::string text = how;
  std::uint32_t waiting = 0;
  std::string names;
  for (rank_t r = 0; r < par.ranks; ++r) {
    const rank_state& rs = ranks[r];
    if (rs.dead || rs.done_here) continue;
    if (++waiting > 16) continue;
    names += (names.empty() ? " " : ", ") + std::to_string(r);
    if (const auto n = notes.find(r); n != notes.end()) names += " (" + n->second + ")";
  }
  text += " at " + std::to_string(static_cast<double>(now) / 1000.0) + " us: " + std::to_string(waiting) + " of " +
          std::to_string(par.ranks) + " ranks wait:" + names + (waiting > 16 ? ", ..." : "");
  failure = status(errc::timed_out, std::move(text));
}

// Handles events until it is `me`'s turn. In a run of fibers control may pass to another rank meanwhile, and comes back when it is its turn
// again, which for a rank that died it never is. A null `me` is who called run(), or a rank that has finished, to which control does
// not come back.
void fabric::run_next(rank_state* me) {
  const auto hand_on = [&](fiber& to) {
    fiber& from = *std::exchange(current, &to);
    if (!me && &from != main) from.end_in(to);
    from.pass_to(to);
  };
  for (;;) {
    if (mode == mode_t::fibers && (live == 0 || failure.failed())) return hand_on(*main);
    if (mode == mode_t::steps && (live == 0 || failure.failed())) return;
    if (queue.empty()) {
      if (mode == mode_t::outside) {  // nothing can ever arrive: an early wake-up is all there is to give
        if (me) me->state = rank_state::outside;
        return;
      }
      stuck("deadlock: nothing is on its way");
      continue;
    }
    const event e = queue.take();
    if (e.kind != event_kind::run) {
      now = e.at;
      ++stats.events;
      stats.trace = (std::rotl(stats.trace, 5) ^ static_cast<std::uint64_t>(e.at)) * 0x9e3779b97f4a7c15u +
                    (static_cast<std::uint64_t>(e.kind) << 32) + e.who + e.seq;
      handle(e);
      continue;
    }
    rank_state& rs = ranks[e.who];
    if (e.arg != rs.ticket || rs.dead) continue;  // it was woken earlier, or died
    now = e.at;
    if (mode != mode_t::outside && stalled(e)) {
      stuck("stalled: ranks only wait");
      continue;
    }
    if (mode != mode_t::outside && limit && e.at > limit) {
      stuck("limit_us has passed");
      continue;
    }
    if (mode == mode_t::outside) rs.clock = std::max(rs.clock, e.at);
    else if (has_core(rs, e.at)) goes_on(rs, e.at);
    else continue;
    if (rs.unseen) spend(rs, std::exchange(rs.unseen, 0));
    rs.polling = false;
    rs.state = mode == mode_t::outside ? rank_state::outside : rank_state::running;
    running = e.who;
    if (&rs == me) return;
    if (mode == mode_t::steps) {
      const bool done = (*step)(e.who);
      gives_core(rs);
      if (done) {
        rs.state = rank_state::finished, rs.done_here = true;
        --live;
        active();
      } else if (!rs.dead) {
        rs.transport ? rs.transport->after_step() : void(rs.state = rank_state::blocked);
      }
      continue;
    }
    if (mode == mode_t::fibers) return hand_on(*rs.flow);
  }
}

}  // namespace tutti::sim

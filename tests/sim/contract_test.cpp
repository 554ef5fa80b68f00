// The contract's orders and completions under every freedom, over many seeds; and the same checks against worlds that
// break one clause each, which they must notice. Written from core/transport/transport.h.
#include <boost/test/unit_test.hpp>
#include <set>

#include "tests/sim/ranks.h"

using namespace tutti;
using namespace tutti::test;
using sim::mutant;

namespace {

constexpr std::uint64_t seeds = 500;

struct violation : std::runtime_error {
  using std::runtime_error::runtime_error;
};
void hold(bool yes, const char* clause) {
  if (!yes) throw violation(clause);
}

sim::parameters hostile(std::uint32_t ranks, std::uint64_t seed) {
  sim::parameters p;
  p.ranks = ranks, p.seed = seed;
  p.jitter = static_cast<double>(1 + seed % 7), p.noise_us = static_cast<double>(seed % 3);
  p.refuse = seed % 4 ? 0.15 : 0;
  p.ranks_per_node = 1 + static_cast<std::uint32_t>(seed % 2);
  p.target_must_progress = seed % 5 == 0;
  return p;
}

// Runs a program under a seed. "": all held; else what did not.
using program = void (*)(sim::world&, rank_t, std::vector<rank_memory>&);
std::string outcome(sim::parameters p, program f) {
  sim::world w(p);
  auto m = expose(w, 1 << 16);
  try {
    const status s = w.run([&](rank_t r) { f(w, r, m); });
    return s.ok() ? "" : s.text();
  } catch (const violation& v) {
    return v.what();
  }
}

void sound(const char* what, program f, std::uint32_t ranks) {
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    const std::string seen = outcome(hostile(ranks, seed), f);
    BOOST_REQUIRE_MESSAGE(seen.empty(), what << ", seed " << seed << ": " << seen);
  }
}
void noticed(const char* what, program f, std::uint32_t ranks, mutant broken) {
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    auto p = hostile(ranks, seed);
    p.broken = broken;
    p.target_must_progress = false;
    if (!outcome(p, f).empty()) return;
  }
  BOOST_ERROR(what << ": a world that breaks it was not noticed in " << seeds << " seeds");
}

void fill(std::byte* p, std::size_t n, std::uint64_t round) {
  for (std::size_t i = 0; i < n; ++i) p[i] = std::byte(round * 31 + i);
}
bool filled(const std::byte* p, std::size_t n, std::uint64_t round) {
  for (std::size_t i = 0; i < n; ++i)
    if (p[i] != std::byte(round * 31 + i)) return false;
  return true;
}
void flush(transport& t, rank_t peer) {
  completion c;
  while (!t.flush(peer, &c)) t.progress();
  complete(t, c);
  hold(c.outcome().ok(), "flush succeeds");
}

// Rank 0 sends messages of several sizes with their signal; rank 1 looks when the signal is there.
void payload_before_signal(sim::world& w, rank_t r, std::vector<rank_memory>& m) {
  transport& t = w.net(r);
  for (std::uint64_t round = 1; round <= 12; ++round) {
    const std::uint32_t bytes = static_cast<std::uint32_t>(round * round * 37 % 3000);
    if (r == 0) {
      std::vector<std::byte> from(bytes);
      fill(from.data(), bytes, round);
      completion done;
      rma_op op = put_op(1, m[0].all, from.data(), 64, bytes, &done);
      op.kind = op_kind::put_signal, op.signal = m[0].all, op.signal_offset = 0, op.operand = round;
      send(t, op);
      complete(t, done);
      sleep_until(t, [&] { return m[0].word(1) == round; });
    } else {
      sleep_until(t, [&] { return m[1].word(0) == round; });
      hold(filled(m[1].bytes.data() + 64, bytes, round), "5: payload before its signal");
      send(t, signal_op(0, m[1].all, 1, round));
    }
  }
}

void everything_before_signal(sim::world& w, rank_t r, std::vector<rank_memory>& m) {
  transport& t = w.net(r);
  constexpr std::uint32_t bytes = 500;
  for (std::uint64_t round = 1; round <= 12; ++round) {
    if (r == 0) {
      std::vector<std::byte> from(3 * bytes);
      fill(from.data(), from.size(), round);
      completion done;
      for (std::uint32_t i = 0; i < 3; ++i)
        send(t, put_op(1, m[0].all, from.data() + i * bytes, 64 + i * bytes, bytes, &done));
      rma_op last = put_op(1, m[0].all, from.data(), 4096, 8, &done);  // a put_signal of its own: order by the signal
      last.kind = round % 2 ? op_kind::put_signal : op_kind::signal;
      last.order = not_before::everything, last.signal = m[0].all, last.signal_offset = 0, last.operand = round;
      send(t, last);
      complete(t, done);
      sleep_until(t, [&] { return m[0].word(1) == round; });
    } else {
      sleep_until(t, [&] { return m[1].word(0) == round; });
      hold(filled(m[1].bytes.data() + 64, 3 * bytes, round), "5: everything before its signal");
      send(t, signal_op(0, m[1].all, 1, round));
    }
  }
}

// The others keep the target's adapter busy meanwhile.
void everything_under_load(sim::world& w, rank_t r, std::vector<rank_memory>& m) {
  if (r < 2) return everything_before_signal(w, r, m);
  std::vector<std::byte> from(4000);
  completion done;
  for (int i = 0; i < 40; ++i) send(w.net(r), put_op(1, m[r].all, from.data(), 8192 * r, 4000, &done));
  complete(w.net(r), done);
}

void signals_in_order(sim::world& w, rank_t r, std::vector<rank_memory>& m) {
  transport& t = w.net(r);
  constexpr std::uint64_t last = 60;
  if (r == 0) {
    std::byte payload[200] = {};
    completion done;
    for (std::uint64_t i = 1; i <= last; ++i) {
      rma_op op = signal_op(1, m[0].all, 0, i);
      if (i % 3 == 0) {
        op = put_op(1, m[0].all, payload, 64, i % 2 ? 200 : 8, &done);
        op.kind = op_kind::put_signal, op.signal = m[0].all, op.operand = i;
      }
      send(t, op);
    }
    complete(t, done);
  } else {
    for (std::uint64_t seen = 0, was = 0; seen != last; was = seen) {
      t.progress();
      seen = m[1].word(0);
      hold(seen >= was, "5: signals of one origin to one word in order");
    }
  }
}

// The rank that is only operated upon: it must go on making progress where the fabric says so.
void stand_by(sim::world& w, rank_t r, const rank_memory& mine) {
  sleep_until(w.net(r), [&] { return mine.word(8000) == 1; });
}

void source_free_when_done(sim::world& w, rank_t r, std::vector<rank_memory>& m) {
  if (r) return stand_by(w, r, m[r]);
  transport& t = w.net(0);
  std::vector<std::byte> from(1000), back(1000);
  for (std::uint64_t round = 1; round <= 10; ++round) {
    completion put, get;
    fill(from.data(), from.size(), round);
    send(t, put_op(1, m[0].all, from.data(), 64, 1000, &put));
    complete(t, put);
    fill(from.data(), from.size(), 77);
    flush(t, 1);
    send(t, get_op(1, m[0].all, back.data(), 64, 1000, &get));
    complete(t, get);
    hold(filled(back.data(), 1000, round), "3: the source may be reused, the result has landed");
  }
  send(t, signal_op(1, m[0].all, 8000, 1));
}

void visible_when_flushed(sim::world& w, rank_t r, std::vector<rank_memory>& m) {
  if (r) return stand_by(w, r, m[r]);
  transport& t = w.net(0);
  for (std::uint64_t round = 1; round <= 10; ++round) {
    std::byte from[48];
    fill(from, 48, round);
    for (std::uint32_t i = 0; i < 4; ++i) send(t, put_op(1, m[0].all, from, 64 + 48 * i, 48, nullptr));
    flush(t, round % 2 ? 1 : no_rank);
    for (std::uint32_t i = 0; i < 4; ++i)
      hold(filled(m[1].bytes.data() + 64 + 48 * i, 48, round), "4: visible when flushed");
  }
  send(t, signal_op(1, m[0].all, 8000, 1));
}

void exact_counts(sim::world& w, rank_t r, std::vector<rank_memory>& m) {
  transport& t = w.net(r);
  std::array<std::uint64_t, 30> old{};
  completion done;
  for (std::size_t i = 0; i < old.size(); ++i) {
    send(t, fetch_add_op(0, m[r].all, 0, 1, &old[i], &done));
    send(t, signal_op(0, m[r].all, 1, 1, signal_how::add));
  }
  complete(t, done);
  flush(t, 0);
  std::set<std::uint64_t> distinct(old.begin(), old.end());
  hold(distinct.size() == old.size(), "7: every fetch_add saw another value");
  send(t, signal_op(0, m[r].all, 2, 1, signal_how::add));
  if (r) return;
  sleep_until(t, [&] { return m[0].word(2) == w.size(); });
  hold(m[0].word(0) == old.size() * w.size(), "7: an exact count");
  hold(m[0].word(1) == old.size() * w.size(), "2, 5: added signals, each once");
}

void sleeps_are_woken(sim::world& w, rank_t r, std::vector<rank_memory>& m) {
  for (std::uint64_t round = 1; round <= 30; ++round) {
    send(w.net(r), signal_op((r + 1) % w.size(), m[r].all, 0, round));
    sleep_until(w.net(r), [&] { return m[r].word(0) >= round; });
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(clause_5_payload) {
  sound("payload", payload_before_signal, 2);
  noticed("payload", payload_before_signal, 2, mutant::signal_overtakes_payload);
}
BOOST_AUTO_TEST_CASE(clause_5_everything) {
  sound("everything", everything_before_signal, 2);
  sound("everything under load", everything_under_load, 5);
  noticed("everything", everything_before_signal, 2, mutant::signal_overtakes_earlier);
}
BOOST_AUTO_TEST_CASE(clause_5_one_word) {
  sound("one word", signals_in_order, 2);
  noticed("one word", signals_in_order, 2, mutant::signals_swap);
}
BOOST_AUTO_TEST_CASE(clause_3_local_completion) {
  sound("local completion", source_free_when_done, 2);
  noticed("source", source_free_when_done, 2, mutant::done_before_read);
  noticed("result", source_free_when_done, 2, mutant::done_before_landing);
}
BOOST_AUTO_TEST_CASE(clause_4_flush) {
  sound("flush", visible_when_flushed, 2);
  noticed("flush", visible_when_flushed, 2, mutant::flush_at_once);
}
BOOST_AUTO_TEST_CASE(clauses_2_and_7_exact_counts) {
  sound("counts", exact_counts, 4);
  noticed("counts", exact_counts, 4, mutant::atomic_twice);
  noticed("counts", exact_counts, 4, mutant::refused_leaves_trace);
}
BOOST_AUTO_TEST_CASE(clause_9_sleep) {
  sound("sleep", sleeps_are_woken, 5);
  noticed("sleep", sleeps_are_woken, 5, mutant::lost_wakeup);
}

// The freedom is used: without it the checks above would prove nothing.
BOOST_AUTO_TEST_CASE(messages_do_overtake) {
  bool puts = false, words = false;
  for (std::uint64_t seed = 1; seed <= seeds && !(puts && words); ++seed) {
    sim::parameters p{.ranks = 2, .seed = seed};
    p.jitter = 4;
    sim::world w(p);
    auto m = expose(w, 4096);
    const status s = w.run([&](rank_t r) {
      transport& t = w.net(r);
      if (r == 0) {
        std::uint64_t one = 1;
        send(t, put_op(1, m[0].all, &one, 64, 8, nullptr));
        send(t, signal_op(1, m[0].all, 0, 1));
        send(t, signal_op(1, m[0].all, 1, 1));
      } else {
        while (!m[1].word(0)) {
          words |= m[1].word(1) != 0;
          t.progress();
        }
        puts |= m[1].word(8) == 0;
      }
    });
    BOOST_TEST(s.ok());
  }
  BOOST_TEST(puts);   // a signal of order `payload` before an earlier put
  BOOST_TEST(words);  // a later signal to another word first
}

BOOST_AUTO_TEST_CASE(a_full_queue_refuses_and_drains) {
  sim::parameters p{.ranks = 2};
  p.queue_depth = 4;
  sim::world w(p);
  auto m = expose(w, 4096);
  std::size_t taken = 0;
  BOOST_TEST(w.run([&](rank_t r) {
    if (r) return sleep_until(w.net(1), [&] { return m[1].word(0) == 10; });
    std::vector<rma_op> ops;
    for (std::uint64_t i = 1; i <= 10; ++i) ops.push_back(signal_op(1, m[0].all, 0, i));
    taken = w.net(0).submit(ops);
    for (std::size_t at = taken; at < 10; at += w.net(0).submit(std::span(ops).subspan(at))) w.net(0).progress();
  }).ok());
  BOOST_TEST(taken == 4u);
  BOOST_TEST(w.stats().messages == 10u);
  BOOST_TEST(w.stats().refused > 0u);
}

BOOST_AUTO_TEST_CASE(a_dropped_region_is_not_touched) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    sim::parameters p{.ranks = 2, .seed = seed};
    p.jitter = 3;
    sim::world w(p);
    auto m = expose(w, 4096);
    BOOST_TEST(w.run([&](rank_t r) {
      transport& t = w.net(r);
      if (r == 1) {
        w.compute(1, 1.5), t.progress();
        t.drop(m[1].region);
        return sleep_until(t, [&] { return t.now() > time_point(std::chrono::microseconds(100)); },
                           time_point(std::chrono::microseconds(100)));
      }
      completion c;
      std::span<std::byte> mine;
      const region_id local = need(t.allocate(4096, mine));
      rma_op put = put_op(1, m[0].all, nullptr, 0, 4096, &c), get = put;
      put.local = get.local = local;
      get.kind = op_kind::get;
      for (int i = 0; i < 4; ++i) send(t, put), send(t, get);
      if (seed % 2) t.drop(local);
      complete(t, c);  // somehow
    }).ok());
  }
}

// Clause 10. A rank's own clock runs ahead of what is on its way to it: it dies at 4 us, and the operations that arrive
// before, when it has died already as the program runs, wait for its progress in vain.
BOOST_AUTO_TEST_CASE(what_arrives_just_before_a_death_ends_with_it) {
  sim::parameters p{.ranks = 2};
  p.target_must_progress = true;
  sim::world w(p);
  auto m = expose(w, 4096);
  BOOST_TEST(w.run([&](rank_t r) {
    transport& t = w.net(r);
    if (r == 1) {
      for (std::uint64_t i = 1; i <= 20; ++i) send(t, signal_op(0, m[1].all, 0, i));
      w.kill(1);
    }
    std::uint64_t got = 0;
    completion gets, flushed;
    send(t, get_op(1, m[0].all, &got, 0, 8, &gets));
    send(t, signal_op(1, m[0].all, 0, 1));
    complete(t, gets);
    need(t.flush(1, &flushed), "flush");
    complete(t, flushed);
    need(gets.outcome().code() == errc::peer_dead && flushed.outcome().code() == errc::peer_dead, "told of no death");
  }).ok());
}

// Clause 10: a rank that dies ends what is asked of it with peer_dead, within a second, and nothing else.
#include <array>

#include "tests/conformance/clause.h"
#include "tests/conformance/patterns.h"

namespace tutti::test {
namespace {

using namespace std::chrono_literals;

constexpr rank_t victim = 2;
constexpr auto soon = 1s * time_scale;

void require_peer_dead(const status& s, std::string_view what, where at = where::current()) {
  if (s.ok()) fail(std::string{what} + ": success", at);
  if (s.code() != errc::peer_dead)
    fail(std::string{what} + ": " + std::string{errc_name(s.code())} + ": " + s.text(), at);
  if (s.peer() != victim) fail(std::string{what} + ": names rank " + std::to_string(s.peer()) + ": " + s.text(), at);
}

// Everyone has talked to everyone; then the victim dies. Returns when its process is known to be gone.
void lose_the_victim(rank_env& e, const area& a) {
  for (rank_t r = 0; r < e.size; ++r) e.submit(signal(a.at(r, 2048 + 8 * e.rank), 1));
  for (rank_t r = 0; r < e.size; ++r) e.wait_word(a.word(2048 + 8 * r), 1);
  e.flush();
  e.barrier();
  if (e.rank == victim) e.die();
  const waiting_for w(e.place(), e.rank, "the victim's end");
  while (!e.place().is_gone(victim)) e.pause(50us);
}

void notice(rank_env& e) {
  const time_point begin = e.net().now();
  e.until("health() to tell the death", [&] { return e.net().health(victim).failed(); });
  const auto took = e.net().now() - begin;
  if (took > soon) fail("a death was noticed after " + std::to_string(took / 1ms) + " ms");
  require_peer_dead(e.net().health(victim), "health of the dead rank");
  require(e.net().health(victim).native() != peer_left, "a death is no orderly leave");
}

void health_tells_within_a_second(rank_env& e) {
  const area a = e.allocate(4096);
  for (rank_t r = 0; r < e.size; ++r) require(e.net().health(r), "health of a rank that lives");
  lose_the_victim(e, a);
  notice(e);
  for (rank_t r = 0; r < e.size; ++r)
    if (r != victim) require(e.net().health(r), "health of a rank that lives on");
}

void every_kind_of_operation_ends(rank_env& e) {
  const area a = e.allocate(1 << 18), mine = e.allocate(1 << 18);
  lose_the_victim(e, a);
  notice(e);
  const rma_op ops[] = {put(mine.mine(), a.at(victim), 8),
                        put(mine.mine(), a.at(victim), 1 << 18),
                        get(mine.mine(), a.at(victim), 8),
                        get(mine.mine(), a.at(victim), 1 << 18),
                        signal(a.at(victim), 1),
                        signal(a.at(victim), 1, signal_how::add, not_before::everything),
                        put_signal(mine.mine(), a.at(victim, 64), 100, a.segment, 0, 1),
                        put_signal(mine.mine(), a.at(victim, 64), 1 << 17, a.segment, 0, 1),
                        fetch_add(mine.mine(), a.at(victim), 1, nullptr),
                        compare_swap(mine.mine(), a.at(victim), 1, 2, nullptr),
                        swap(mine.mine(), a.at(victim), 1, nullptr)};
  for (int again = 0; again < 2; ++again)
    for (const rma_op& op : ops) {
      completion done;
      rma_op with = op;
      with.done = &done;
      e.submit(with);
      e.wait_idle(done);
      require_peer_dead(done.outcome(), "operation of kind " + std::to_string(static_cast<int>(op.kind)));
    }
  e.submit(put(mine.mine(), a.at(victim), 8));  // names no completion: the next flush tells
  completion flushed;
  e.until("room for a flush", [&] { return e.net().flush(victim, &flushed); });
  e.wait_idle(flushed);
  require_peer_dead(flushed.outcome(), "a flush of the dead rank");
}

// Operations are on their way when the rank dies: each completes, at worst with peer_dead, and soon only so.
void operations_in_flight(rank_env& e) {
  const area a = e.allocate(1 << 18), mine = e.allocate(1 << 18);
  e.run(put(mine.mine(), a.at(victim), 8));
  e.flush(victim);
  e.barrier();
  if (e.rank == victim) {
    e.pause(3ms);
    e.die();
  }
  time_point began{};  // when the death was certain
  for (std::uint64_t i = 0;; ++i) {
    completion done;
    for (int k = 0; k < 4; ++k) {
      e.submit(put(mine.mine(), a.at(victim), i % 2 ? 64 : 1 << 18, &done));
      e.submit(fetch_add(mine.mine(), a.at(victim, 8), 1, &done));
      e.submit(get(mine.mine(), a.at(victim), i % 2 ? 1 << 18 : 8, &done));
      e.submit(signal(a.at(victim, 16), i, signal_how::set, not_before::payload, &done));
    }
    e.wait_idle(done);
    e.net().progress();
    if (e.place().is_gone(victim) && began == time_point{}) began = e.net().now();
    if (done.outcome().ok()) {
      if (began != time_point{} && e.net().now() - began > 2 * soon) fail("operations towards a dead rank go on succeeding");
      continue;
    }
    require_peer_dead(done.outcome(), "an operation in flight at the death");
    break;
  }
}

// A rank that asks after nobody and does nothing but submit, one kind of operation again and again, is told all the same.
template <op_kind kind>
void operations_alone_tell(rank_env& e) {
  const area a = e.allocate(4096), mine = e.allocate(4096);
  e.run(fetch_add(mine.mine(), a.at(victim, 8), 1, nullptr));
  e.flush(victim);
  e.barrier();
  if (e.rank == victim) e.die();
  time_point began{};  // when the death was certain
  for (;;) {
    completion done;
    rma_op op = make(kind, mine.mine(), a.at(victim), &done);
    if (kind == op_kind::put || kind == op_kind::get) op.bytes = 8;
    if (kind == op_kind::signal) op.signal = a.segment, op.signal_offset = 16;
    while (e.net().submit({&op, 1}) == 0) e.net().progress();
    while (!done.idle()) e.net().progress();
    if (done.outcome().failed()) return require_peer_dead(done.outcome(), "operations and nothing else");
    if (!e.place().is_gone(victim)) continue;
    if (began == time_point{}) began = e.net().now();
    if (e.net().now() - began > soon) fail("operations towards a dead rank go on succeeding");
  }
}

void the_others_are_unaffected(rank_env& e) {
  constexpr std::uint64_t each = 300;
  const area a = e.allocate(1 << 16), mine = e.allocate(1 << 16);
  fill(a.memory.subspan(4096, 60'000), e.rank);
  lose_the_victim(e, a);
  for (std::uint64_t i = 1; i <= each; ++i)
    for (rank_t r = 0; r < e.size; ++r) {
      if (r == victim) {
        if (i % 50 == 0) e.submit(signal(a.at(r), 1));  // to the dead rank: its error is nobody else's
        continue;
      }
      completion done;
      e.submit(signal(a.at(r, 64), 1, signal_how::add, not_before::payload, &done));
      e.submit(fetch_add(mine.mine(), a.at(r, 128), 1, &done));
      if (i % 30 == 0) e.submit(get(mine.mine(4096), a.at(r, 4096), 60'000, &done));
      e.wait(done);
      if (i % 30 == 0) check(mine.memory.subspan(4096, 60'000), r, "what a survivor has");
    }
  for (rank_t r = 0; r < e.size; ++r)
    if (r != victim) e.flush(r);
  e.barrier();
  require_equal(load(a.word(64)), each * (e.size - 1), "signals among the survivors");
  require_equal(load(a.word(128)), each * (e.size - 1), "atomics among the survivors");
}

// Asleep on a word that only the dead rank would have written: the death ends the sleep.
void a_death_ends_a_sleep(rank_env& e) {
  if (!e.net().caps().can_sleep) skip("it cannot sleep");
  const area a = e.allocate(4096);
  for (rank_t r = 0; r < e.size; ++r) e.submit(signal(a.at(r, 2048 + 8 * e.rank), 1));
  for (rank_t r = 0; r < e.size; ++r) e.wait_word(a.word(2048 + 8 * r), 1);
  e.barrier();
  if (e.rank == victim) {
    e.pause(20ms);
    e.die();
  }
  // No pauses, no deadline: were the sleep not ended, the watchdog would end this rank.
  e.until_arrival("a word of the victim, or its death", [&] { return load(a.word()) || e.net().health(victim).failed(); });
  require_peer_dead(e.net().health(victim), "health of the dead rank");
}

// Connections are made lazily: this one never was.
void a_rank_that_was_never_talked_to(rank_env& e) {
  const area a = e.allocate(4096), mine = e.allocate(64);
  e.barrier();
  if (e.rank == victim) e.die();
  while (!e.place().is_gone(victim)) e.pause(50us);
  const time_point begin = e.net().now();
  for (;;) {
    completion done;
    e.submit(put(mine.mine(), a.at(victim), 8, &done));
    e.submit(fetch_add(mine.mine(), a.at(victim), 8, &done));
    e.wait_idle(done);
    if (done.outcome().failed()) {
      require_peer_dead(done.outcome(), "an operation towards a rank that was never talked to");
      break;
    }
    if (e.net().now() - begin > 5 * soon) fail("operations towards a dead rank go on succeeding");
    e.pause(1ms);
  }
}

void teardown_after_a_death(rank_env& e) {
  area a = e.allocate(4096), b = e.allocate(1 << 16);
  lose_the_victim(e, a);
  completion done;
  e.submit(put(b.mine(), b.at(victim), 1 << 16, &done));
  e.submit(get(b.mine(), b.at(victim), 1 << 16, &done));
  e.drop(b);
  e.wait_idle(done);
  e.drop(a);
}

// It dies while all reach for each other's memory. Their own operations go on, more of them than any queue holds.
void the_others_go_on_with_long_transfers(rank_env& e) {
  constexpr std::uint32_t bytes = 1 << 20, at_once = 8;
  const area in = e.allocate(bytes), out = e.allocate(2 * bytes);
  const auto both_ways = [&](rank_t to, completion& done) {
    for (std::uint32_t i = 0; i < at_once; ++i) {
      e.submit(put(out.mine(), in.at(to), bytes, &done));
      e.submit(get(out.mine(bytes), in.at(to), bytes, &done));
    }
  };
  for (bool lives = true; lives;) {
    completion done;
    for (rank_t r = 0; r < e.size; ++r)
      if (r != e.rank) both_ways(r, done);
    if (e.rank == victim) {
      e.pause(20ms);
      e.die();
    }
    e.wait_idle(done);
    lives = e.net().health(victim).ok();
  }
  for (int round = 0; round < 10; ++round)
    for (rank_t r = 0; r < e.size; ++r) {
      if (r == victim || r == e.rank) continue;
      completion done;
      both_ways(r, done);
      e.wait(done);
    }
  e.barrier();
}

constexpr std::array cases{
    conformance_case{"health_tells_within_a_second", 4, health_tells_within_a_second, victim},
    conformance_case{"every_kind_of_operation_ends", 4, every_kind_of_operation_ends, victim},
    conformance_case{"operations_in_flight", 4, operations_in_flight, victim},
    conformance_case{"puts_alone_tell", 4, operations_alone_tell<op_kind::put>, victim},
    conformance_case{"gets_alone_tell", 4, operations_alone_tell<op_kind::get>, victim},
    conformance_case{"signals_alone_tell", 4, operations_alone_tell<op_kind::signal>, victim},
    conformance_case{"atomics_alone_tell", 4, operations_alone_tell<op_kind::fetch_add>, victim},
    conformance_case{"the_others_are_unaffected", 4, the_others_are_unaffected, victim},
    conformance_case{"the_others_go_on_with_long_transfers", 3, the_others_go_on_with_long_transfers, victim},
    conformance_case{"a_death_ends_a_sleep", 4, a_death_ends_a_sleep, victim},
    conformance_case{"a_rank_that_was_never_talked_to", 4, a_rank_that_was_never_talked_to, victim},
    conformance_case{"teardown_after_a_death", 4, teardown_after_a_death, victim},
};

}  // namespace

clause failure_clause() { return {"failure", cases}; }

}  // namespace tutti::test

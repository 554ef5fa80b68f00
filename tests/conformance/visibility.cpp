// Clause 4: what was taken before a flush is visible after it, to its owner's loads and to anyone's gets and atomics.
#include <array>

#include "tests/conformance/clause.h"
#include "tests/conformance/patterns.h"

namespace tutti::test {
namespace {

void the_owner_sees_by_loads(rank_env& e) {
  const area in = e.allocate(300'000), out = e.allocate(300'000);
  for (std::uint64_t round = 0; round < 20; ++round) {
    const std::uint32_t bytes = round % 2 ? 300'000 : 24;
    fill(out.memory.subspan(0, bytes), round * 8 + e.rank);
    e.barrier();
    e.submit(put(out.mine(), in.at(right_of(e)), bytes));
    e.flush(right_of(e));
    e.barrier();
    check(in.memory.subspan(0, bytes), round * 8 + left_of(e), "a flushed put");
  }
}

// The origin flushes and tells a third rank, which asks the owner's memory.
void a_third_rank_sees_by_get_and_atomic(rank_env& e) {
  const area in = e.allocate(70'000), out = e.allocate(70'000);
  constexpr rank_t origin = 0, owner = 1, third = 2;
  for (std::uint64_t round = 1; round <= 20; ++round) {
    const std::uint32_t bytes = round % 2 ? 60'000 : 16;
    if (e.rank == origin) {
      fill(out.memory.subspan(0, bytes), round);
      *out.word(64'000) = round;
      e.submit(put(out.mine(), in.at(owner), bytes));
      e.submit(put(out.mine(64'000), in.at(owner, 64'000), 8));
      e.flush(owner);
      e.submit(signal(in.at(third, 65'536), round));
    } else if (e.rank == third) {
      e.wait_word(in.word(65'536), round);
      e.run(get(out.mine(), in.at(owner), bytes));
      check(out.memory.subspan(0, bytes), round, "a flushed put, as a third rank gets it");
      e.run(fetch_add(out.mine(66'000), in.at(owner, 64'000), 0, nullptr));
      require_equal(*out.word(66'000), round, "a flushed put, as a third rank's atomic sees it");
    }
    e.barrier();
  }
}

void flush_of_everyone(rank_env& e) {
  const area in = e.allocate(e.size * 4096), out = e.allocate(4096);
  for (std::uint64_t round = 0; round < 10; ++round) {
    fill(out.memory, round * 16 + e.rank);
    e.barrier();
    for (rank_t r = 0; r < e.size; ++r) e.submit(put(out.mine(), in.at(r, e.rank * 4096), 4096));
    e.flush(no_rank);
    e.barrier();
    for (rank_t r = 0; r < e.size; ++r) check(in.memory.subspan(r * 4096, 4096), round * 16 + r, "a put flushed to all");
  }
}

void flush_covers_signals_and_atomics(rank_env& e) {
  const area a = e.allocate(4096), old = e.allocate(64);
  const rank_t peer = right_of(e);
  completion done;
  for (std::uint64_t i = 1; i <= 50; ++i) {
    e.submit(signal(a.at(peer, 0), i));
    e.submit(signal(a.at(peer, 64), 1, signal_how::add));
    e.submit(put_signal(old.mine(32), a.at(peer, 256), 8, a.segment, 128, i));
    e.submit(fetch_add(old.mine(), a.at(peer, 192), 2, &done));
    e.flush(peer);
    e.barrier();
    require_equal(load(a.word(0)), i, "a flushed signal");
    require_equal(load(a.word(64)), i, "a flushed added signal");
    require_equal(load(a.word(128)), i, "a flushed put_signal");
    require_equal(load(a.word(192)), 2 * i, "a flushed fetch_add");
    e.barrier();
  }
  e.wait(done);
}

void flushes_of_nothing(rank_env& e) {
  e.allocate(64);
  for (rank_t r = 0; r < e.size; ++r) e.flush(r);  // nothing was ever sent to them
  e.flush();
}

void many_flushes_upon_one_completion(rank_env& e) {
  const area in = e.allocate(64 * 64), out = e.allocate(64 * 64);
  fill(out.memory, e.rank);
  completion done;
  for (std::uint32_t i = 0; i < 64; ++i) {
    e.submit(put(out.mine(i * 64), in.at(right_of(e), i * 64), 64));
    e.until("room for a flush", [&] { return e.net().flush(i % 2 ? right_of(e) : no_rank, &done); });
  }
  e.wait(done);
  e.barrier();
  check(in.memory, left_of(e), "puts under many flushes");
}

constexpr std::array cases{
    conformance_case{"the_owner_sees_by_loads", 3, the_owner_sees_by_loads},
    conformance_case{"a_third_rank_sees_by_get_and_atomic", 3, a_third_rank_sees_by_get_and_atomic},
    conformance_case{"flush_of_everyone", 4, flush_of_everyone},
    conformance_case{"flush_covers_signals_and_atomics", 3, flush_covers_signals_and_atomics},
    conformance_case{"flushes_of_nothing", 3, flushes_of_nothing},
    conformance_case{"many_flushes_upon_one_completion", 3, many_flushes_upon_one_completion},
};

}  // namespace

clause visibility_clause() { return {"visibility", cases}; }

}  // namespace tutti::test

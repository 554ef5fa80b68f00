// Clause 3: local completion means that the source may be reused and the result has landed.
#include <array>

#include "tests/conformance/clause.h"
#include "tests/conformance/patterns.h"

namespace tutti::test {
namespace {

void one_completion_serves_many_operations(rank_env& e) {
  const area in = e.allocate(8192), out = e.allocate(8192);
  completion done;
  require(done.idle() && done.outcome().ok(), "a new completion is idle and a success");
  constexpr std::uint32_t count = 300;
  std::vector<rma_op> ops;
  for (std::uint32_t i = 0; i < count; ++i)
    ops.push_back(i % 2 ? put(out.mine(i * 8), in.at(right_of(e), i * 8), 8, &done)
                        : get(out.mine(4096 + i % 500 * 8), in.at(left_of(e), 4096 + i * 8), 8, &done));
  e.submit(ops);
  require(done.pending() <= count, "a completion counts more than it was given");
  e.wait(done);
  require_equal(done.pending(), 0u, "pending when idle");
  for (int i = 0; i < 100; ++i) e.net().progress();
  require_equal(done.pending(), 0u, "pending long after");
}

// What a completion of its own says holds for that operation alone.
void each_operation_its_own_completion(rank_env& e) {
  const area a = e.allocate(65536), into = e.allocate(65536);
  fill(a.memory, e.rank);
  e.barrier();
  constexpr std::size_t count = 64;
  std::vector<completion> done(count);
  for (std::size_t i = 0; i < count; ++i)
    e.submit(get(into.mine(i * 1024), a.at(right_of(e), i * 1024), 1000, &done[i]));
  std::vector<std::byte> all(65536);
  fill(all, right_of(e));
  for (std::size_t i = count; i-- > 0;) {
    e.wait(done[i]);
    require(std::memcmp(into.memory.data() + i * 1024, all.data() + i * 1024, 1000) == 0, "a get's result has landed");
  }
  e.barrier();
}

void the_source_of_a_put_may_be_reused(rank_env& e) {
  for (std::uint32_t bytes : {8u, 64u, 1000u, 4096u, 9000u, 65536u, 1u << 20}) {
    const area in = e.allocate(bytes), out = e.allocate(bytes);
    for (int round = 0; round < 5; ++round) {
      fill(out.memory, e.seed + round * 10 + e.rank);
      e.run(put(out.mine(), in.at(right_of(e)), bytes));
      paint(out.memory, 0xFF);
      e.flush(right_of(e));
      e.barrier();
      check(in.memory, e.seed + round * 10 + left_of(e), "a put whose source was overwritten after its completion");
      e.barrier();
    }
  }
}

void the_source_of_a_put_signal_may_be_reused(rank_env& e) {
  const area in = e.allocate(1 << 18), out = e.allocate(1 << 18), words = e.allocate(64);
  std::uint64_t round = 0;
  for (std::uint32_t bytes : {8u, 200u, 4096u, 8193u, 1u << 18})
    for (int i = 0; i < 5; ++i) {
      ++round;
      fill(out.memory.subspan(0, bytes), e.seed + round + e.rank);
      e.run(put_signal(out.mine(), in.at(right_of(e)), bytes, words.segment, 0, round));
      paint(out.memory.subspan(0, bytes), 0xFF);
      e.wait_word(words.word(), round);
      check(in.memory.subspan(0, bytes), e.seed + round + left_of(e), "a put_signal whose source was overwritten");
      e.barrier();
    }
}

void operations_without_a_completion(rank_env& e) {
  const area in = e.allocate(4096), out = e.allocate(4096);
  fill(out.memory, e.rank);
  for (std::uint32_t i = 0; i < 64; ++i) e.submit(put(out.mine(i * 64), in.at(right_of(e), i * 64), 64));
  e.flush(right_of(e));
  e.barrier();
  check(in.memory, left_of(e), "puts that named no completion");
  e.barrier();
  e.submit(fetch_add(out.mine(), in.at(right_of(e), 0), 1, nullptr));
  e.submit(swap(out.mine(8), in.at(right_of(e), 8), 5, nullptr));
  e.flush(right_of(e));
  e.barrier();
  require_equal(load(in.word(8)), 5u, "a swap that named no completion");
}

void clear_forgets_and_the_completion_serves_again(rank_env& e) {
  const area in = e.allocate(64), out = e.allocate(64);
  completion done;
  for (std::uint64_t i = 1; i <= 200; ++i) {
    *out.word() = i;
    e.submit(put(out.mine(), in.at(right_of(e)), 8, &done));
    e.wait(done);
    done.clear();
    require(done.idle() && done.outcome().ok(), "cleared");
    e.flush(right_of(e));  // local completion orders nothing
  }
  e.barrier();
  require_equal(*in.word(), 200u, "the last of puts that were flushed one by one");
}

constexpr std::array cases{
    conformance_case{"one_completion_serves_many_operations", 3, one_completion_serves_many_operations},
    conformance_case{"each_operation_its_own_completion", 3, each_operation_its_own_completion},
    conformance_case{"the_source_of_a_put_may_be_reused", 3, the_source_of_a_put_may_be_reused},
    conformance_case{"the_source_of_a_put_signal_may_be_reused", 3, the_source_of_a_put_signal_may_be_reused},
    conformance_case{"operations_without_a_completion", 3, operations_without_a_completion},
    conformance_case{"clear_forgets_and_the_completion_serves_again", 2,
                     clear_forgets_and_the_completion_serves_again},
};

}  // namespace

clause completion_clause() { return {"completion", cases}; }

}  // namespace tutti::test

// Clause 8: progress() drives this rank's own operations, and peers' only where the capabilities say so.
#include <array>

#include "tests/conformance/clause.h"
#include "tests/conformance/patterns.h"

namespace tutti::test {
namespace {

using work_upon = void (*)(rank_env&, const area& in, const area& mine);

// Rank 0 works upon rank 1, which never calls its transport meanwhile.
void upon_a_rank_that_computes(rank_env& e, work_upon work, std::span<std::byte> own = {}) {
  const area in = own.empty() ? e.allocate(200'000) : e.add(own), mine = e.allocate(200'000);
  fill(in.memory.subspan(0, 100'000), e.rank);
  fill(mine.memory.subspan(0, 100'000), 7);
  e.submit(signal(in.at(1 - e.rank, 199'992), 1));  // to connect may need both
  e.wait_word(in.word(199'992), 1);
  e.flush();
  e.barrier();
  if (e.rank == 0) work(e, in, mine);
  e.barrier_without_progress();
}

void put_and_get(rank_env& me, const area& in, const area& mine) {
  for (std::uint32_t bytes : {8u, 5000u, 100'000u}) {
    me.run(put(mine.mine(), in.at(1, 100'000), bytes));
    me.flush(1);
    me.run(get(mine.mine(100'000), in.at(1, 100'000), bytes));
    check(mine.memory.subspan(100'000, bytes), 7, "what was put to and got from a rank that computes");
  }
}

void puts_and_gets_need_no_help(rank_env& e) {
  if (e.net().caps().target_must_progress) skip("the target must progress");
  upon_a_rank_that_computes(e, put_and_get);
}

void the_kernel_copies_added_memory(rank_env& e) {
  if (!e.net().caps().kernel_copies) skip("no copies by the kernel");
  const area a = e.allocate(64);
  if (!e.net().map(a.segment, 1 - e.rank)) skip("a rank of another node");
  std::vector<std::byte> own(200'000);
  upon_a_rank_that_computes(e, put_and_get, own);
}

void signal_and_look(rank_env& me, const area& in, const area& mine) {
  for (std::uint64_t i = 1; i <= 20; ++i) {
    me.submit(signal(in.at(1, 150'000), i));
    me.submit(put_signal(mine.mine(), in.at(1, 160'000), 2000, in.segment, 150'008, i));
    me.flush(1);
    me.run(get(mine.mine(150'000), in.at(1, 150'000), 16));
    require_equal(*mine.word(150'000), i, "a signal to a rank that computes");
    require_equal(*mine.word(150'008), i, "a put_signal to a rank that computes");
  }
}

void add_and_look(rank_env& me, const area& in, const area& mine) {
  for (std::uint64_t i = 0; i < 20; ++i) {
    me.run(fetch_add(mine.mine(150'000), in.at(1, 150'000), 1, nullptr));
    require_equal(*mine.word(150'000), i, "an atomic upon a rank that computes");
  }
}

void signals_need_no_help(rank_env& e) {
  if (!e.net().caps().native_signal && !e.net().caps().progress_thread) skip("signals are done by the target's progress");
  if (e.net().caps().target_must_progress) skip("the target must progress");
  upon_a_rank_that_computes(e, signal_and_look);
}

void atomics_need_no_help(rank_env& e) {
  if (!e.net().caps().native_atomics && !e.net().caps().progress_thread) skip("atomics are done by the target's progress");
  if (e.net().caps().target_must_progress) skip("the target must progress");
  upon_a_rank_that_computes(e, add_and_look);
}

void nor_do_they_upon_added_memory(rank_env& e) {
  const capabilities& c = e.net().caps();
  if (!e.net().native_towards(1 - e.rank) && !c.progress_thread) skip("upon added memory signals and atomics are done by the target's progress");
  if (c.target_must_progress) skip("the target must progress");
  std::vector<std::uint64_t> signalled(25'000), added(25'000);
  if (c.native_signal || c.progress_thread) upon_a_rank_that_computes(e, signal_and_look, std::as_writable_bytes(std::span{signalled}));
  if (c.native_atomics || c.progress_thread) upon_a_rank_that_computes(e, add_and_look, std::as_writable_bytes(std::span{added}));
}

void what_holds_towards_all_holds_towards_each(rank_env& e) {
  if (!e.net().caps().native_when_added) skip("native towards some ranks at the most");
  for (rank_t r = 0; r < e.size; ++r) require(e.net().native_towards(r), "rank " + std::to_string(r));
}

// With nothing to do it says so: a loop that runs progress() until it returns 0 ends.
void an_idle_rank_runs_dry(rank_env& e) {
  const area a = e.allocate(4096);
  for (int i = 0; i < 10; ++i) e.run(put(a.mine(), a.at(right_of(e), 2048), 1000));
  e.flush();
  e.barrier();
  int zeros = 0;
  e.until("progress() to return 0", [&] { return (zeros += e.net().progress() == 0) >= 3; });
}

// Called at any time by anyone, it does no harm and does not block.
void progress_at_any_time(rank_env& e) {
  for (int i = 0; i < 50; ++i) e.net().progress();
  const area a = e.allocate(64);
  for (int i = 0; i < 50; ++i) e.net().progress();
  for (std::uint64_t i = 1; i <= 30; ++i) {
    e.submit(signal(a.at(right_of(e)), i));
    e.net().progress();
    e.wait_word(a.word(), i);
    e.net().progress();
  }
}

constexpr std::array cases{
    conformance_case{"puts_and_gets_need_no_help", 2, puts_and_gets_need_no_help},
    conformance_case{"the_kernel_copies_added_memory", 2, the_kernel_copies_added_memory},
    conformance_case{"signals_need_no_help", 2, signals_need_no_help},
    conformance_case{"atomics_need_no_help", 2, atomics_need_no_help},
    conformance_case{"nor_do_they_upon_added_memory", 2, nor_do_they_upon_added_memory},
    conformance_case{"what_holds_towards_all_holds_towards_each", 3, what_holds_towards_all_holds_towards_each},
    conformance_case{"an_idle_rank_runs_dry", 2, an_idle_rank_runs_dry},
    conformance_case{"progress_at_any_time", 3, progress_at_any_time},
};

}  // namespace

clause progress_clause() { return {"progress", cases}; }

}  // namespace tutti::test

// Clause 7: atomics of all origins upon one word, counted exactly.
#include <array>

#include "tests/conformance/clause.h"
#include "tests/conformance/patterns.h"

namespace tutti::test {
namespace {

using word_list = std::vector<std::uint64_t>;

// Everyone's values, sorted.
word_list gather(rank_env& e, const word_list& mine) {
  word_list all;
  const auto blobs = e.exchange(std::as_bytes(std::span{mine}));
  for (std::size_t r = 0; r < blobs->size(); ++r) {
    word_list part((*blobs)[r].size() / 8);
    if (!part.empty()) std::memcpy(part.data(), (*blobs)[r].data(), part.size() * 8);
    all.insert(all.end(), part.begin(), part.end());
  }
  std::sort(all.begin(), all.end());
  return all;
}

void require_each_once(const word_list& sorted, std::uint64_t step, std::string_view what) {
  for (std::size_t i = 0; i < sorted.size(); ++i) require_equal(sorted[i], step * i, what);
}

// Many in flight at once: every intermediate value is seen by exactly one of them.
void fetch_add_gives_each_value_once(rank_env& e) {
  constexpr std::uint32_t each = 1500;
  const area a = e.allocate(64), olds = e.allocate(each * 8);
  completion done;
  std::vector<rma_op> ops;
  for (std::uint32_t i = 0; i < each; ++i) ops.push_back(fetch_add(olds.mine(i * 8), a.at(0), 3, &done));
  e.submit(ops);
  e.wait(done);
  const word_list mine(olds.word(), olds.word() + each);
  require_each_once(gather(e, mine), 3, "old values of fetch_add");
  e.flush(0);
  e.barrier();
  if (e.rank == 0) require_equal(load(a.word()), 3ull * each * e.size, "the final count");
}

// Every rank owns a counter and adds to everyone's, its own among them, one at a time and many at a time.
void counters_of_all_upon_all(rank_env& e) {
  constexpr std::uint64_t each = 200;
  const area a = e.allocate(64), olds = e.allocate(64 * e.size);
  for (std::uint64_t i = 0; i < each; ++i) {
    completion done;
    for (rank_t r = 0; r < e.size; ++r) e.submit(fetch_add(olds.mine(r * 64), a.at(r), e.rank + 1, &done));
    e.wait(done);
  }
  e.flush();
  e.barrier();
  require_equal(load(a.word()), each * e.size * (e.size + 1) / 2, "a counter to which everyone added");
}

void compare_swap_loop(rank_env& e) {
  constexpr int each = 150;
  const area a = e.allocate(64), old = e.allocate(64);
  std::uint64_t known = 0;
  for (int won = 0; won < each;) {
    e.run(compare_swap(old.mine(), a.at(0, 8), known, known + 1, nullptr));
    if (*old.word() == known) ++won, ++known;
    else known = *old.word();
  }
  e.flush(0);
  e.barrier();
  if (e.rank == 0) require_equal(load(a.word(8)), each * e.size, "increments by compare_swap");
}

void compare_swap_that_fails_changes_nothing(rank_env& e) {
  const area a = e.allocate(64), old = e.allocate(64);
  *a.word() = 10 + e.rank;
  e.barrier();
  e.run(compare_swap(old.mine(), a.at(right_of(e)), 999, 5, nullptr));
  require_equal(*old.word(), 10 + right_of(e), "what a compare_swap found");
  e.flush(right_of(e));
  e.barrier();
  require_equal(load(a.word()), 10 + e.rank, "a word after a compare_swap that failed");
}

// Tokens are neither lost nor doubled.
void swapped_tokens(rank_env& e) {
  constexpr std::uint32_t each = 400;
  const area a = e.allocate(64), old = e.allocate(each * 8);
  completion done;
  for (std::uint32_t i = 0; i < each; ++i) e.submit(swap(old.mine(i * 8), a.at(0), 1 + e.rank + i * e.size, &done));
  e.wait(done);
  e.flush(0);
  e.barrier();
  word_list mine(old.word(), old.word() + each);
  if (e.rank == 0) mine.push_back(load(a.word()));
  require_each_once(gather(e, mine), 1, "tokens");
}

void atomics_and_added_signals_upon_one_word(rank_env& e) {
  constexpr std::uint32_t each = 400;
  const area a = e.allocate(64), old = e.allocate(64);
  completion done;
  for (std::uint32_t i = 0; i < each; ++i) {
    e.submit(signal(a.at(0), 1, signal_how::add, not_before::payload, &done));
    e.submit(fetch_add(old.mine(), a.at(0), 1 << 20, &done));
  }
  e.wait(done);
  e.flush(0);
  e.barrier();
  if (e.rank == 0) require_equal(load(a.word()), std::uint64_t{each} * e.size * ((1 << 20) + 1), "adds of both kinds");
}

// As the capability says. The owner adds by the CPU, others by the fabric, and by the CPU where the word is mapped.
void atomics_of_the_cpu(rank_env& e) {
  if (!e.net().caps().cpu_atomics_agree) skip("CPU atomics and fabric atomics do not agree");
  constexpr std::uint32_t each = 2000;
  const area a = e.allocate(64), old = e.allocate(64);
  auto* mapped = reinterpret_cast<std::uint64_t*>(e.net().map(a.segment, 0));
  completion done;
  for (std::uint32_t i = 0; i < each; ++i) {
    e.submit(fetch_add(old.mine(), a.at(0), 1, &done));
    if (e.rank == 0) std::atomic_ref{*a.word()}.fetch_add(1 << 20);
    else if (mapped) std::atomic_ref{*mapped}.fetch_add(std::uint64_t{1} << 40);
  }
  e.wait(done);
  e.flush(0);
  e.barrier();
  const std::uint64_t others = e.sum(e.rank != 0 && mapped ? 1 : 0);
  if (e.rank == 0)
    require_equal(load(a.word()), each * (e.size + (1ull << 20) + others * (1ull << 40)), "adds by fabric and CPU");
}

void atomics_upon_user_memory(rank_env& e) {
  constexpr std::uint32_t each = 300;
  std::vector<std::uint64_t> own(16), results(16);
  area a = e.add(std::as_writable_bytes(std::span{own}));
  area old = e.add(std::as_writable_bytes(std::span{results}));
  for (std::uint32_t i = 0; i < each; ++i) {
    e.run(fetch_add(old.mine(), a.at(0, 8), 1, nullptr));
    e.run(compare_swap(old.mine(8), a.at(1, 24), results[1], results[1] + 1, nullptr));
  }
  e.flush();
  e.barrier();
  if (e.rank == 0) require_equal(load(&own[1]), each * e.size, "fetch_adds upon user memory");
  for (std::size_t i = 0; i < own.size(); ++i)
    if (i != 1 && i != 3) require_equal(own[i], 0u, "a neighbour of an atomic word");
  e.barrier();
  e.drop(a);
  e.drop(old);
}

void results_land_in_plain_memory(rank_env& e) {
  const area a = e.allocate(64);
  std::uint64_t guard[3] = {1, 2, 3};
  for (std::uint64_t i = 0; i < 50; ++i) {
    e.run(fetch_add(plain(&guard[1]), a.at(e.rank), 1, nullptr));
    require_equal(guard[1], i, "an old value in plain memory");
  }
  require(guard[0] == 1 && guard[2] == 3, "the neighbours of a result");
}

// Of every kind, more at once than a transport keeps places for.
void many_results_in_plain_memory(rank_env& e) {
  constexpr std::uint32_t each = 300;
  const area a = e.allocate(64);
  word_list added(each), swapped(each), compared(each, 77);
  completion done;
  for (std::uint32_t i = 0; i < each; ++i) {
    e.submit(fetch_add(plain(&added[i]), a.at(0), 1, &done));
    e.submit(swap(plain(&swapped[i]), a.at(0, 8), 1 + e.rank + i * e.size, &done));
    e.submit(compare_swap(plain(&compared[i]), a.at(0, 16), 5, 6, &done));
  }
  e.wait(done);
  require_each_once(gather(e, added), 1, "old values of fetch_add");
  for (const std::uint64_t c : compared) require_equal(c, 0u, "what a compare_swap found");
  e.flush(0);
  e.barrier();
  if (e.rank == 0) swapped.push_back(load(a.word(8)));
  require_each_once(gather(e, swapped), 1, "tokens");
}

void adds_wrap_around(rank_env& e) {
  const area a = e.allocate(64), old = e.allocate(64);
  *a.word() = ~std::uint64_t{0};
  e.barrier();
  e.run(fetch_add(old.mine(), a.at(right_of(e)), 2, nullptr));
  require_equal(*old.word(), ~std::uint64_t{0}, "the old value before a wrap");
  e.flush(right_of(e));
  e.barrier();
  require_equal(load(a.word()), 1u, "a word that wrapped");
}

constexpr std::array cases{
    conformance_case{"fetch_add_gives_each_value_once", 4, fetch_add_gives_each_value_once},
    conformance_case{"counters_of_all_upon_all", 4, counters_of_all_upon_all},
    conformance_case{"compare_swap_loop", 4, compare_swap_loop},
    conformance_case{"compare_swap_that_fails_changes_nothing", 2, compare_swap_that_fails_changes_nothing},
    conformance_case{"swapped_tokens", 4, swapped_tokens},
    conformance_case{"atomics_and_added_signals_upon_one_word", 4, atomics_and_added_signals_upon_one_word},
    conformance_case{"atomics_of_the_cpu", 3, atomics_of_the_cpu},
    conformance_case{"atomics_upon_user_memory", 3, atomics_upon_user_memory},
    conformance_case{"results_land_in_plain_memory", 2, results_land_in_plain_memory},
    conformance_case{"many_results_in_plain_memory", 3, many_results_in_plain_memory},
    conformance_case{"adds_wrap_around", 2, adds_wrap_around},
};

}  // namespace

clause atomics_clause() { return {"atomics", cases}; }

}  // namespace tutti::test

// Clause 2: submit() takes a prefix. What it took happens once, what it did not take does not happen.
#include <array>

#include "tests/conformance/clause.h"
#include "tests/conformance/patterns.h"

namespace tutti::test {
namespace {

void an_empty_span_is_nothing(rank_env& e) {
  e.allocate(64);
  require_equal(e.net().submit({}), 0u, "operations taken of none");
}

// Offered without progress until refused (or all taken): exactly the prefix takes effect.
void only_the_prefix_takes_effect(rank_env& e) {
  const area a = e.allocate(4096);
  const rank_t peer = right_of(e);
  constexpr std::size_t offered = 30000;
  std::size_t taken = 0;
  completion done;
  std::vector<rma_op> ops(offered, signal(a.at(peer, 0), 1, signal_how::add, not_before::payload, &done));
  while (taken < offered) {
    const std::size_t n = e.net().submit(std::span{ops}.subspan(taken, std::min<std::size_t>(1000, offered - taken)));
    require(n <= 1000, "more taken than offered");
    taken += n;
    if (n < std::min<std::size_t>(1000, offered - taken + n)) break;
  }
  require(taken > 0, "an empty queue refused everything");
  require(done.pending() <= taken, "a completion counts operations that were not taken");
  e.wait(done);
  e.flush(peer);
  const auto counts = e.exchange(std::as_bytes(std::span{&taken, 1}));
  std::size_t wanted = 0;
  std::memcpy(&wanted, (*counts)[left_of(e)].data(), sizeof wanted);
  require_equal(load(a.word(0)), wanted, "signals added by the operations that were taken");
}

// Refused again and again, in a long span of all kinds towards everyone: each happens once and none is lost.
void long_spans_of_every_kind(rank_env& e) {
  constexpr std::uint32_t each = 600, line = 256;
  const area in = e.allocate(line * e.size * 4), out = e.allocate(each * 8 + 64), olds = e.allocate(each * e.size * 8);
  for (std::uint32_t i = 0; i < each; ++i) *out.word(i * 8) = e.rank * 100000 + i;
  completion done;
  std::vector<rma_op> ops;
  for (std::uint32_t i = 0; i < each; ++i)
    for (rank_t r = 0; r < e.size; ++r) {
      const std::uint64_t mine = line * e.rank;
      ops.push_back(signal(in.at(r, mine), 1, signal_how::add, not_before::payload, &done));
      ops.push_back(fetch_add(olds.mine((i * e.size + r) * 8), in.at(r, mine + 8), 3, &done));
      ops.push_back(put_signal(out.mine(i * 8), in.at(r, mine + 64 + i % 8 * 8), 8, in.segment, mine + 16, i + 1, &done));
      ops.push_back(put(out.mine(i * 8), in.at(r, mine + 128 + i % 16 * 8), 8, &done));
    }
  e.submit(ops);
  e.wait(done);
  e.flush();
  e.barrier();
  for (rank_t r = 0; r < e.size; ++r) {
    const std::uint64_t at = line * r;
    require_equal(load(in.word(at)), each, "added signals");
    require_equal(load(in.word(at + 8)), 3 * each, "fetch_adds");
    require_equal(load(in.word(at + 16)), each, "the last put_signal");
    // Puts of one origin to one place are not ordered among themselves: any of those that went there may be last.
    for (std::uint32_t i = 0; i < 16; ++i) {
      const std::uint64_t v = *in.word(at + 128 + i * 8);
      require(v / 100000 == r && v % 100000 < each && v % 100000 % 16 == i, "a put that nobody submitted");
    }
    std::uint64_t sum = 0;
    for (std::uint32_t i = 0; i < each; ++i) sum += *olds.word((i * e.size + r) * 8);
    require_equal(sum, 3ull * each * (each - 1) / 2, "the old values that fetch_add brought, each once");
  }
}

// Order survives refusals: one word, many sets, offered in pieces of odd sizes.
void order_survives_refusal(rank_env& e) {
  const area a = e.allocate(64);
  constexpr std::uint64_t count = 20000;
  if (e.rank == 0) {
    std::vector<rma_op> ops;
    for (std::uint64_t i = 1; i <= count; ++i) ops.push_back(signal(a.at(1), i));
    e.submit(ops);
  } else {
    std::uint64_t before = 0;
    e.until("the last of many signals", [&] {
      const std::uint64_t now = load(a.word());
      if (now < before) fail("a word went back from " + std::to_string(before) + " to " + std::to_string(now));
      before = now;
      return now == count;
    });
  }
}

void many_large_puts(rank_env& e) {
  constexpr std::uint32_t bytes = 100'000, count = 200;
  const area in = e.allocate(bytes * 8), out = e.allocate(bytes * 8);
  fill(out.memory, e.rank);
  e.barrier();
  completion done;
  std::vector<rma_op> ops;
  for (std::uint32_t i = 0; i < count; ++i)
    ops.push_back(put(out.mine(i % 8 * bytes), in.at(right_of(e), i % 8 * bytes), bytes, &done));
  e.submit(ops);
  e.wait(done);
  e.flush(right_of(e));
  e.barrier();
  check(in.memory, left_of(e), "many large puts");
}

constexpr std::array cases{
    conformance_case{"an_empty_span_is_nothing", 1, an_empty_span_is_nothing},
    conformance_case{"only_the_prefix_takes_effect", 3, only_the_prefix_takes_effect},
    conformance_case{"long_spans_of_every_kind", 3, long_spans_of_every_kind},
    conformance_case{"order_survives_refusal", 2, order_survives_refusal},
    conformance_case{"many_large_puts", 3, many_large_puts},
};

}  // namespace

clause submission_clause() { return {"submission", cases}; }

}  // namespace tutti::test

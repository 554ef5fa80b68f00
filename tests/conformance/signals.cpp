// Clause 5: a signal never overtakes what it follows, signals of one origin to one word keep their order, and who has
// read the word by an acquire load reads the payload by plain loads.
#include <array>

#include "tests/conformance/clause.h"
#include "tests/conformance/patterns.h"

namespace tutti::test {
namespace {

// Everyone sends to the right. The receiver looks at the payload the moment it has seen the word, and answers by a
// signal, so that the next payload may overwrite this one. The payload is first made wrong where it lies, and its last
// and first bytes are looked at before the others: those are what an overtaken signal would show.
void payload_before_signal(rank_env& e) {
  constexpr std::uint32_t most = 1 << 20;
  const area in = e.allocate(most), out = e.allocate(most), words = e.allocate(128);
  const rank_t to = right_of(e), from = left_of(e);
  std::uint64_t round = 0;
  constexpr std::pair<std::uint32_t, int> plan[] = {{8, 300},   {24, 300},   {64, 100},     {1000, 100}, {4096, 100},
                                                    {8200, 60}, {65536, 40}, {300'001, 20}, {most, 20}};
  for (const auto& [bytes, times] : plan) {
    for (int i = 0; i < times; ++i) {
      ++round;
      fill(out.memory.subspan(0, bytes), round * 64 + e.rank);
      completion done;
      e.submit(put_signal(out.mine(), in.at(to), bytes, words.segment, 0, round, &done));
      if (i % 2)
        e.wait_word(words.word(0), round);
      else
        e.until("a signal, polling", [&] { return reached(load(words.word(0)), round); });
      if (in.memory[bytes - 1] != pattern_byte(round * 64 + from, bytes - 1))
        fail("a signal overtook the last byte of its payload of " + std::to_string(bytes));
      check(in.memory.subspan(0, bytes), round * 64 + from, "a signal overtook its payload");
      e.submit(signal(words.at(from, 64), round));
      e.wait(done);
      e.wait_word(words.word(64), round);
    }
  }
}

void everything_before_a_signal(rank_env& e) {
  constexpr std::uint32_t most = 1 << 20;
  const area in = e.allocate(most), out = e.allocate(most), words = e.allocate(256), olds = e.allocate(64);
  const rank_t to = right_of(e), from = left_of(e);
  for (std::uint64_t round = 1; round <= 120; ++round) {
    const std::uint32_t total = round % 10 == 0 ? most : static_cast<std::uint32_t>(64 + round * 331 % 40'000);
    const std::uint32_t parts = 1 + round % 7;
    fill(out.memory.subspan(0, total), round * 64 + e.rank);
    std::vector<rma_op> ops;
    completion done;
    for (std::uint32_t p = 0; p < parts; ++p) {
      const std::uint32_t begin = total / parts * p, end = p + 1 == parts ? total : total / parts * (p + 1);
      ops.push_back(put(out.mine(begin), in.at(to, begin), end - begin, &done));
    }
    ops.push_back(fetch_add(olds.mine(), words.at(to, 64), 1, &done));
    ops.push_back(signal(words.at(to, 128), round));
    ops.push_back(signal(words.at(to, 0), round, signal_how::set, not_before::everything, &done));
    e.submit(ops);
    e.wait_word(words.word(0), round);
    check(in.memory.subspan(0, total), round * 64 + from, "a signal with order everything overtook a put");
    require_equal(load(words.word(64)), round, "a fetch_add that a signal with order everything may not overtake");
    require_equal(load(words.word(128)), round, "a signal that a signal with order everything may not overtake");
    e.submit(signal(words.at(from, 192), round));
    e.wait(done);
    e.wait_word(words.word(192), round);
  }
}

// The puts were taken by earlier calls, and by ones that were locally complete long ago.
void everything_of_earlier_calls(rank_env& e) {
  const area in = e.allocate(1 << 19), out = e.allocate(1 << 19), words = e.allocate(128);
  const rank_t to = right_of(e), from = left_of(e);
  for (std::uint64_t round = 1; round <= 60; ++round) {
    const std::uint32_t bytes = round % 3 ? 4096 : 1 << 18;
    fill(out.memory.subspan(0, 2 * bytes), round * 64 + e.rank);
    e.run(put(out.mine(), in.at(to), bytes));
    completion done;
    e.submit(put(out.mine(bytes), in.at(to, bytes), bytes - 8, &done));
    rma_op last = put_signal(out.mine(2 * bytes - 8), in.at(to, 2 * bytes - 8), 8, words.segment, 0, round, &done);
    last.order = not_before::everything;
    e.submit(last);
    e.wait_word(words.word(0), round);
    check(in.memory.subspan(0, 2 * bytes), round * 64 + from, "a put_signal with order everything overtook a put");
    e.wait(done);
    e.submit(signal(words.at(from, 64), round));
    e.wait_word(words.word(64), round);
  }
}

// More than any queue takes at once, so that some wait where a signal might pass them.
void everything_of_many_long_puts(rank_env& e) {
  constexpr std::uint32_t bytes = 20'000, many = 300;
  const area in = e.allocate(bytes * many), out = e.allocate(bytes * many), words = e.allocate(128);
  const rank_t to = right_of(e), from = left_of(e);
  for (std::uint64_t round = 1; round <= 5; ++round) {
    fill(out.memory, round * 64 + e.rank);
    completion done;
    for (std::uint32_t i = 0; i < many; ++i) e.submit(put(out.mine(i * bytes), in.at(to, i * bytes), bytes, &done));
    e.submit(signal(words.at(to), round, signal_how::set, not_before::everything));
    e.wait_word(words.word(0), round);
    check(in.memory, round * 64 + from, "a signal with order everything overtook one of many puts");
    e.wait(done);
    e.submit(signal(words.at(from, 64), round));
    e.wait_word(words.word(64), round);
  }
}

// Order towards one rank is nobody else's business: signals to a quiet rank arrive while another is flooded.
void everything_is_of_one_rank(rank_env& e) {
  const area in = e.allocate(1 << 20), out = e.allocate(1 << 20), words = e.allocate(64);
  if (e.rank == 0) {
    completion done;
    for (int i = 0; i < 8; ++i) e.submit(put(out.mine(), in.at(1), 1 << 20, &done));
    e.submit(signal(words.at(2), 1, signal_how::set, not_before::everything));
    e.wait(done);
  } else if (e.rank == 2) {
    e.wait_word(words.word(), 1);
  }
}

void one_origin_one_word_in_order(rank_env& e) {
  const area a = e.allocate(64 * e.size), payload = e.allocate(64);
  constexpr std::uint64_t count = 3000;
  const rank_t to = right_of(e);
  std::vector<rma_op> ops;
  for (std::uint64_t i = 1; i <= count; ++i) {
    switch (i % 5) {
      case 0: ops.push_back(signal(a.at(to, 0), 1, signal_how::add)); break;
      case 1: ops.push_back(put_signal(payload.mine(), payload.at(to, 32), 8, a.segment, 0, i)); break;
      case 2: ops.push_back(signal(a.at(to, 0), i, signal_how::set, not_before::everything)); break;
      default: ops.push_back(signal(a.at(to, 0), i)); break;
    }
  }
  std::uint64_t before = 0;
  std::size_t taken = 0;
  e.until("the last signal", [&] {
    taken += e.net().submit(std::span{ops}.subspan(taken, std::min<std::size_t>(ops.size() - taken, 37)));
    const std::uint64_t now = load(a.word());
    if (now < before) fail("a word went back from " + std::to_string(before) + " to " + std::to_string(now));
    before = now;
    return now == count && taken == ops.size();
  });
}

void set_and_add_in_order(rank_env& e) {
  const area a = e.allocate(64);
  for (std::uint64_t round = 1; round <= 200; ++round) {
    if (e.rank == 0) {
      const rma_op ops[] = {signal(a.at(1), 1000 * round), signal(a.at(1), 7, signal_how::add),
                            signal(a.at(1), 2000 * round), signal(a.at(1), 5, signal_how::add),
                            signal(a.at(1), 6, signal_how::add)};
      e.submit(ops);
      e.flush(1);
    }
    e.barrier();
    if (e.rank == 1) require_equal(load(a.word()), 2000 * round + 11, "set, add, set, add, add");
    e.barrier();
  }
}

void added_signals_of_all_origins(rank_env& e) {
  const area a = e.allocate(64 * e.size), payload = e.allocate(4096);
  constexpr std::uint64_t each = 500;
  completion done;
  for (std::uint64_t i = 0; i < each; ++i)
    for (rank_t r = 0; r < e.size; ++r) {
      e.submit(signal(a.at(r, 0), 1 + e.rank, signal_how::add, not_before::payload, &done));
      if (i % 10) continue;
      rma_op op = put_signal(payload.mine(e.rank * 64), payload.at(r, e.rank * 64), 64, a.segment, 64, 3, &done);
      op.how = signal_how::add;
      e.submit(op);
    }
  const std::uint64_t total = each * e.size * (e.size + 1) / 2, puts = 3 * each / 10 * e.size;
  e.wait_word(a.word(0), total);
  e.wait_word(a.word(64), puts);
  e.wait(done);
  e.flush();
  e.barrier();
  require_equal(load(a.word(0)), total, "added signals of all origins");
  require_equal(load(a.word(64)), puts, "added put_signals of all origins");
}

// Half of one value and half of another would be a torn word.
void a_word_is_seen_whole(rank_env& e) {
  const area a = e.allocate(64);
  constexpr std::uint64_t one = 0x1111111111111111u;
  constexpr int count = 20'000;
  if (e.rank == 0) {
    for (int i = 0; i < count; ++i) e.submit(signal(a.at(1), one * (i % 15 + 1)));
    e.submit(signal(a.at(1, 8), 1));
  } else {
    e.until("the end of changing values", [&] {
      if (const std::uint64_t v = load(a.word()); v % one != 0) fail("a torn word: " + std::to_string(v));
      return load(a.word(8)) == 1;
    });
  }
}

void the_word_lies_in_another_segment(rank_env& e) {
  std::vector<std::byte> own(70'000);
  const area in = e.add(own), out = e.allocate(70'000), words = e.allocate(4096);
  for (std::uint64_t round = 1; round <= 60; ++round) {
    const std::uint32_t bytes = round % 2 ? 61'234 : 13;
    fill(out.memory.subspan(0, bytes), round * 16 + e.rank);
    completion done;
    const std::uint64_t word = round * 8 % 4096;
    e.submit(put_signal(out.mine(), in.at(right_of(e), 1), bytes, words.segment, word, round, &done));
    e.wait_word(words.word(word), round);
    check(in.memory.subspan(1, bytes), round * 16 + left_of(e), "a payload in another segment than its signal");
    e.wait(done);
    e.barrier();
  }
  area drop = in;
  e.drop(drop);
}

// A word in memory that the user owns, and its neighbours.
void words_in_user_memory(rank_env& e) {
  std::vector<std::uint64_t> own(64);
  const area a = e.add(std::as_writable_bytes(std::span{own}));
  for (std::uint64_t round = 1; round <= 100; ++round) {
    e.submit(signal(a.at(right_of(e), 8), round));
    e.wait_word(&own[1], round);
    e.submit(signal(a.at(left_of(e), 24), 2, signal_how::add));
    e.wait_word(&own[3], 2 * round);
  }
  e.barrier();
  for (std::size_t i = 0; i < own.size(); ++i)
    if (i != 1 && i != 3) require_equal(own[i], 0u, "a neighbour of a signalled word");
  area drop = a;
  e.drop(drop);
}

void a_put_signal_of_no_bytes(rank_env& e) {
  const area a = e.allocate(4096);
  for (std::uint64_t round = 1; round <= 50; ++round) {
    e.submit(put_signal(a.mine(64), a.at(right_of(e), 128), 0, a.segment, 8, round));
    e.wait_word(a.word(8), round);
    e.barrier();
  }
  check_painted(a.memory.subspan(16), 0, "after put_signals of no bytes");
}

constexpr std::array cases{
    conformance_case{"payload_before_signal", 3, payload_before_signal},
    conformance_case{"everything_before_a_signal", 3, everything_before_a_signal},
    conformance_case{"everything_of_earlier_calls", 2, everything_of_earlier_calls},
    conformance_case{"everything_of_many_long_puts", 2, everything_of_many_long_puts},
    conformance_case{"everything_is_of_one_rank", 3, everything_is_of_one_rank},
    conformance_case{"one_origin_one_word_in_order", 3, one_origin_one_word_in_order},
    conformance_case{"set_and_add_in_order", 2, set_and_add_in_order},
    conformance_case{"added_signals_of_all_origins", 4, added_signals_of_all_origins},
    conformance_case{"a_word_is_seen_whole", 2, a_word_is_seen_whole},
    conformance_case{"the_word_lies_in_another_segment", 3, the_word_lies_in_another_segment},
    conformance_case{"words_in_user_memory", 3, words_in_user_memory},
    conformance_case{"a_put_signal_of_no_bytes", 2, a_put_signal_of_no_bytes},
};

}  // namespace

clause signals_clause() { return {"signals", cases}; }

}  // namespace tutti::test

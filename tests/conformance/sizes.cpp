// Every size around every threshold, at odd places, with guards on both sides: no byte less, no byte more.
#include <array>
#include <memory>

#include "tests/conformance/clause.h"
#include "tests/conformance/patterns.h"

namespace tutti::test {
namespace {

constexpr std::uint32_t largest = 3'200'000;
constexpr std::size_t guard = 64;
constexpr std::size_t room = largest + 2 * guard + 64;
struct odd { std::size_t from, to; };
constexpr odd odds[] = {{0, 0}, {1, 0}, {0, 7}, {3, 5}};

struct boxes {
  area out, in;
};

// Small sizes at every odd place, large ones at two: the total time is in the large ones.
std::span<const odd> places(std::uint32_t bytes) { return std::span{odds}.subspan(0, bytes <= 70'000 ? 4 : 2); }

std::size_t guards_around(const area& in, std::size_t at, std::uint32_t bytes, std::string_view what) {
  check_painted(in.memory.subspan(at - guard, guard), 0xA5, std::string{what} + ", before it");
  check_painted(in.memory.subspan(at + bytes, guard), 0xA5, std::string{what} + ", after it");
  return at;
}

// One operation of each size and place between the boxes. `operate` makes it and completes it.
template <class Operate>
void each_size(rank_env& e, const boxes& b, const char* name, rank_t from, Operate operate) {
  for (std::uint32_t bytes : threshold_sizes(e.net().caps(), largest))
    for (const odd& o : places(bytes)) {
      const std::uint64_t seed = e.seed + bytes * 16 + o.from;
      paint(b.in.memory.subspan(0, bytes + 2 * guard + 16), 0xA5);
      fill(b.out.memory.subspan(o.from, bytes), seed + e.rank);
      e.barrier();
      operate(bytes, o);
      e.barrier();
      const std::string what = std::string(name) + " of " + std::to_string(bytes);
      check(b.in.memory.subspan(guards_around(b.in, guard + o.to, bytes, what), bytes), seed + from, what);
    }
}

void put_all(rank_env& e, const boxes& b) {
  const rank_t peer = right_of(e);
  each_size(e, b, "a put", left_of(e), [&](std::uint32_t bytes, const odd& o) {
    e.run(put(b.out.mine(o.from), b.in.at(peer, guard + o.to), bytes));
    e.flush(peer);
  });
}

void get_all(rank_env& e, const boxes& b) {
  const rank_t peer = right_of(e);
  each_size(e, b, "a get", peer, [&](std::uint32_t bytes, const odd& o) {
    e.run(get(b.in.mine(guard + o.to), b.out.at(peer, o.from), bytes));
  });
}

void put_signal_all(rank_env& e, const boxes& b, const area& words) {
  const rank_t peer = right_of(e);
  std::uint64_t round = 0;
  completion done;
  each_size(e, b, "a put_signal", left_of(e), [&](std::uint32_t bytes, const odd& o) {
    ++round;
    e.submit(put_signal(b.out.mine(o.from), b.in.at(peer, guard + o.to), bytes, words.segment, 8, round, &done));
    e.wait_word(words.word(8), round);
    e.wait(done);
  });
}

boxes own(rank_env& e) { return {e.allocate(room), e.allocate(room)}; }

// The caller's own memory at both ends; its start is at no round address.
template <class Test>
void with_user_memory(rank_env& e, Test test) {
  const auto out = std::make_unique<std::byte[]>(room + 8), in = std::make_unique<std::byte[]>(room + 8);
  boxes b{e.add({out.get() + 8, room}), e.add({in.get() + 8, room})};
  test(b);
  e.barrier();
  e.drop(b.out);
  e.drop(b.in);
}

void puts(rank_env& e) { put_all(e, own(e)); }
void gets(rank_env& e) { get_all(e, own(e)); }
void put_signals(rank_env& e) { put_signal_all(e, own(e), e.allocate(64)); }
void puts_of_user_memory(rank_env& e) { with_user_memory(e, [&](auto& b) { put_all(e, b); }); }
void gets_of_user_memory(rank_env& e) { with_user_memory(e, [&](auto& b) { get_all(e, b); }); }
void put_signals_of_user_memory(rank_env& e) {
  const area words = e.allocate(64);
  with_user_memory(e, [&](auto& b) { put_signal_all(e, b, words); });
}

// Copied before submit() returns: the source is overwritten at once.
void small_puts_from_plain_memory(rank_env& e) {
  const std::uint32_t most = e.net().caps().max_inline;
  const area in = e.allocate(static_cast<std::size_t>(most) + 2 * guard), words = e.allocate(64);
  for (std::uint32_t bytes : threshold_sizes(e.net().caps(), most)) {
    for (bool with_signal : {false, true}) {
      paint(in.memory, 0xA5);
      e.barrier();
      std::vector<std::byte> source(bytes + 1);
      fill({source.data(), bytes}, e.seed + bytes + e.rank);
      rma_op op = put(plain(source.data()), in.at(right_of(e), guard), bytes);
      if (with_signal) op.kind = op_kind::put_signal, op.signal = words.segment, op.operand = 1;
      e.submit(op);
      paint(source, 0xEE);
      e.flush(right_of(e));
      e.barrier();
      check(in.memory.subspan(guards_around(in, guard, bytes, "a small put"), bytes), e.seed + bytes + left_of(e),
            "a small put from plain memory");
    }
  }
}

// No registration at this end, as the capability says.
void plain_memory_of_any_size(rank_env& e) {
  const area in = e.allocate(room);
  for (std::uint32_t bytes : threshold_sizes(e.net().caps(), largest)) {
    std::vector<std::byte> here(bytes + 2 * guard), there(bytes);
    fill(there, e.seed + bytes + e.rank);
    e.run(put(plain(there.data()), in.at(right_of(e), 0), bytes));
    e.flush(right_of(e));
    e.barrier();
    check(in.memory.subspan(0, bytes), e.seed + bytes + left_of(e), "a put from plain memory");
    paint(here, 0xA5);
    e.run(get(plain(here.data() + guard), in.at(right_of(e), 0), bytes));
    check({here.data() + guard, bytes}, e.seed + bytes + e.rank, "a get into plain memory");
    check_painted({here.data(), guard}, 0xA5, "before a get into plain memory");
    check_painted({here.data() + guard + bytes, guard}, 0xA5, "after a get into plain memory");
    e.barrier();
  }
}

// A source that is copied, or not, may be reused when its operation is done, and the signal is not before its payload.
void put_signals_from_plain_memory(rank_env& e) {
  const area in = e.allocate(room), words = e.allocate(64);
  std::uint64_t round = 0;
  for (std::uint32_t bytes : threshold_sizes(e.net().caps(), 70'000)) {
    std::vector<std::byte> source(bytes);
    fill(source, e.seed + bytes + e.rank);
    paint(in.memory.subspan(0, bytes), 0xA5);
    e.barrier();
    completion done;
    e.submit(put_signal(plain(source.data()), in.at(right_of(e), 0), bytes, words.segment, 8, ++round, &done));
    e.wait(done);
    paint(source, 0xEE);
    e.wait_word(words.word(8), round);
    check(in.memory.subspan(0, bytes), e.seed + bytes + left_of(e), "a put_signal from plain memory of " + std::to_string(bytes));
    e.barrier();
  }
}

// More than a transport keeps places for, one behind the other, small and large in turn; nobody asks when the puts are done.
void much_from_and_into_plain_memory(rank_env& e) {
  constexpr std::uint32_t count = 250;
  const auto bytes_of = [](std::uint32_t i) { return i % 3 == 0 ? 8u : i % 3 == 1 ? 5000u : 20'000u; };
  std::uint32_t total = 0;
  for (std::uint32_t i = 0; i < count; ++i) total += bytes_of(i);
  const area in = e.allocate(total);
  std::vector<std::byte> out(total), back(total);
  fill(out, e.seed + e.rank);
  for (std::uint32_t i = 0, at = 0; i < count; at += bytes_of(i++))
    e.submit(put(plain(out.data() + at), in.at(right_of(e), at), bytes_of(i)));
  e.flush(right_of(e));
  e.barrier();
  check(in.memory, e.seed + left_of(e), "many puts from plain memory");
  completion done;
  for (std::uint32_t i = 0, at = 0; i < count; at += bytes_of(i++))
    e.submit(get(plain(back.data() + at), in.at(right_of(e), at), bytes_of(i), &done));
  e.wait(done);
  check(back, e.seed + e.rank, "many gets into plain memory");
  e.barrier();
}

// Here is memory of a region of mine at both ends, and the operation does not say so.
void regions_that_are_not_named(rank_env& e) {
  const area out = e.allocate(room), in = e.allocate(room);
  for (std::uint32_t bytes : {8u, 300u, 8192u, 100'000u}) {
    fill(out.memory.subspan(3, bytes), e.seed + bytes + e.rank);
    paint(in.memory.subspan(0, bytes + 2 * guard), 0xA5);
    e.barrier();
    e.run(put(plain(out.memory.data() + 3), in.at(right_of(e), guard), bytes));
    e.flush(right_of(e));
    e.barrier();
    check(in.memory.subspan(guards_around(in, guard, bytes, "a put"), bytes), e.seed + bytes + left_of(e), "a put");
    e.barrier();
    e.run(get(plain(in.memory.data() + guard), out.at(right_of(e), 3), bytes));
    check(in.memory.subspan(guards_around(in, guard, bytes, "a get"), bytes), e.seed + bytes + right_of(e), "a get");
    e.barrier();
  }
}

void nothing_is_moved_by_zero_bytes(rank_env& e) {
  const area a = e.allocate(4096);
  paint(a.memory, 0x5A);
  e.barrier();
  completion done;
  for (rank_t r = 0; r < e.size; ++r) {
    e.submit(put(a.mine(0), a.at(r, 128), 0, &done));
    e.submit(get(a.mine(256), a.at(r, 0), 0, &done));
    e.submit(put(a.mine(4096), a.at(r, 4096), 0, &done));  // the very end is inside the range
  }
  e.wait(done);
  e.flush();
  e.barrier();
  check_painted(a.memory, 0x5A, "after operations of no bytes");
}

constexpr std::array cases{
    conformance_case{"puts", 2, puts},
    conformance_case{"gets", 2, gets},
    conformance_case{"put_signals", 2, put_signals},
    conformance_case{"puts_of_user_memory", 2, puts_of_user_memory},
    conformance_case{"gets_of_user_memory", 2, gets_of_user_memory},
    conformance_case{"put_signals_of_user_memory", 2, put_signals_of_user_memory},
    conformance_case{"small_puts_from_plain_memory", 2, small_puts_from_plain_memory},
    conformance_case{"plain_memory_of_any_size", 2, plain_memory_of_any_size},
    conformance_case{"put_signals_from_plain_memory", 2, put_signals_from_plain_memory},
    conformance_case{"much_from_and_into_plain_memory", 2, much_from_and_into_plain_memory},
    conformance_case{"regions_that_are_not_named", 2, regions_that_are_not_named},
    conformance_case{"nothing_is_moved_by_zero_bytes", 3, nothing_is_moved_by_zero_bytes},
};

}  // namespace

clause sizes_clause() { return {"sizes", cases}; }

}  // namespace tutti::test

// The router upon real transports: four ranks, of which those of one parity take each other for their node.
#include <algorithm>

#include <boost/test/unit_test.hpp>

#include "tests/harness/composed.h"

using namespace tutti;
using namespace tutti::test;

namespace {

std::byte pattern(rank_t from, rank_t to, std::uint64_t round, std::size_t i) {
  return static_cast<std::byte>(from * 31 + to * 7 + round * 13 + i);
}

// Everyone puts to everyone, itself included, and signals; a round later the peers' data are looked at.
void payload_before_signal_by_both(rank_env& e) {
  constexpr std::size_t bytes = 3000, stride = 4096;
  const area in = e.allocate(stride * e.size), out = e.allocate(stride * e.size), words = e.allocate(64 * e.size);
  for (std::uint64_t round = 1; round <= 50; ++round) {
    std::vector<rma_op> ops;
    completion done;
    for (rank_t to = 0; to < e.size; ++to) {
      for (std::size_t i = 0; i < bytes; ++i) out.memory[to * stride + i] = pattern(e.rank, to, round, i);
      ops.push_back(put_signal(out.mine(to * stride), in.at(to, e.rank * stride), bytes, words.segment, e.rank * 64,
                               round, &done));
    }
    e.submit(ops);
    for (rank_t from = 0; from < e.size; ++from) {
      e.wait_word(words.word(from * 64), round);
      bool same = true;
      for (std::size_t i = 0; i < bytes; ++i) same &= in.memory[from * stride + i] == pattern(from, e.rank, round, i);
      require(same, "the payload from rank " + std::to_string(from) + " in round " + std::to_string(round));
    }
    e.wait(done);
    e.flush();
    e.barrier();  // before the next round overwrites
  }
}

// One word each, added to by ranks of both children: the count is exact only if the two are atomic to each other.
void one_word_added_to_by_both(rank_env& e) {
  constexpr int times = 200;
  const area words = e.allocate(64), olds = e.allocate(64);
  for (int i = 0; i < times; ++i)
    for (rank_t to = 0; to < e.size; ++to) {
      if (i % 2) {
        completion done;
        const rma_op op = fetch_add(olds.mine(), words.at(to), 1, &done);
        e.submit(op);
        e.wait(done);
      } else {
        e.submit(signal(words.at(to), 1, signal_how::add));
      }
    }
  e.flush();
  e.wait_word(words.word(), static_cast<std::uint64_t>(times) * e.size);
  e.barrier();
  require_equal(load(words.word()), static_cast<std::uint64_t>(times) * e.size, "additions");
}

void scatter_from_both(rank_env& e) {
  if (e.net().caps().max_slices < 3) skip("no get_scatter");
  const area far = e.allocate(256), here = e.allocate(4096), there = e.allocate(4096);
  for (std::size_t i = 0; i < far.memory.size(); ++i) far.memory[i] = pattern(e.rank, 0, 0, i);
  e.barrier();
  for (rank_t from = 0; from < e.size; ++from)
    for (int round = 0; round < 40; ++round) {
      const slice into[] = {{here.region, 100, 8}, {there.region, 7, 1001}, {here.region, 93, 2000}};
      completion done;
      e.submit(get_scatter(into, far.at(from, 56), &done));
      e.wait(done);
      bool same = true;
      for (std::size_t i = 0; i < 100; ++i) same &= here.memory[8 + i] == pattern(from, 0, 0, 56 + i);
      for (std::size_t i = 0; i < 7; ++i) same &= there.memory[1001 + i] == pattern(from, 0, 0, 156 + i);
      for (std::size_t i = 0; i < 93; ++i) same &= here.memory[2000 + i] == pattern(from, 0, 0, 163 + i);
      require(same, "the slices from rank " + std::to_string(from));
    }
  e.barrier();
}

// Rank 0 sleeps; its neighbours by shared memory and by the network wake it in turn.
void either_wakes_the_sleeper(rank_env& e) {
  const area words = e.allocate(64 * e.size);  // a word for each waker: one may run ahead of the other
  for (std::uint64_t round = 1; round <= 30; ++round) {
    const rank_t waker = 1 + static_cast<rank_t>(round % 2);
    if (e.rank == 0) {
      e.wait_word(words.word(64 * waker), round);
      e.submit(signal(words.at(waker), round));
      e.flush(waker);
    } else if (e.rank == waker) {
      e.pause(std::chrono::milliseconds{2});  // likely asleep by then
      e.submit(signal(words.at(0, 64 * waker), round));
      e.wait_word(words.word(), round);
    }
  }
  e.barrier();
}

void on_all(const rank_body& body, std::uint32_t ranks = 4) {
  for (const fabric_spec& f : composed_fabrics(fabrics()))
    if (f.name.starts_with("router")) BOOST_TEST_CONTEXT(f.name) BOOST_TEST_MESSAGE(f.name), run_ranks(f, ranks, body);
}

}  // namespace

BOOST_AUTO_TEST_CASE(payload_before_signal) { on_all(payload_before_signal_by_both); }
BOOST_AUTO_TEST_CASE(atomics_agree) { on_all(one_word_added_to_by_both); }
BOOST_AUTO_TEST_CASE(scatter) { on_all(scatter_from_both); }
BOOST_AUTO_TEST_CASE(either_wakes) { on_all(either_wakes_the_sleeper, 3); }

BOOST_AUTO_TEST_CASE(there_is_a_router_to_test) {
  const auto all = composed_fabrics(fabrics());
  BOOST_TEST(std::any_of(all.begin(), all.end(), [](const auto& f) { return f.name.starts_with("router"); }));
}

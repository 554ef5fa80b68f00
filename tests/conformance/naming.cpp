// Clause 1: peers are ranks, memory is (rank, segment, offset), and a rank may name itself.
#include <array>

#include "tests/conformance/clause.h"
#include "tests/conformance/patterns.h"

namespace tutti::test {
namespace {

void every_rank_reaches_every_rank(rank_env& e) {
  for (rank_t r = 0; r < e.size; ++r) require(e.net().reaches(r), "all ranks of this job are on one host");
}

void every_pair_of_ranks(rank_env& e) {
  const area box = e.allocate(e.size * 64), out = e.allocate(e.size * 64);
  completion done;
  for (rank_t r = 0; r < e.size; ++r) {
    *out.word(r * 64) = 1000 * e.rank + r;
    e.submit(put(out.mine(r * 64), box.at(r, e.rank * 64), 8, &done));
  }
  e.wait(done);
  e.flush();
  e.barrier();
  for (rank_t r = 0; r < e.size; ++r) require_equal(*box.word(r * 64), 1000 * r + e.rank, "what a peer put here");
  e.barrier();
  paint(out.memory, 0);
  for (rank_t r = 0; r < e.size; ++r) e.submit(get(out.mine(r * 64), box.at(r, e.rank * 64), 8, &done));
  e.wait(done);
  for (rank_t r = 0; r < e.size; ++r) require_equal(*out.word(r * 64), 1000 * e.rank + r, "what was got back");
}

void operations_towards_oneself(rank_env& e) {
  const area a = e.allocate(65536);
  fill(a.memory.subspan(1000, 3001), 5);
  e.run(put(a.mine(1000), a.at(e.rank, 20003), 3001));
  e.flush(e.rank);
  check(a.memory.subspan(20003, 3001), 5, "a put to oneself");
  e.run(get(a.mine(40001), a.at(e.rank, 20003), 3001));
  check(a.memory.subspan(40001, 3001), 5, "a get from oneself");

  e.submit(signal(a.at(e.rank, 0), 41));
  e.wait_word(a.word(0), 41);
  e.submit(put_signal(a.mine(1000), a.at(e.rank, 50000), 3001, a.segment, 8, 7));
  e.wait_word(a.word(8), 7);
  check(a.memory.subspan(50000, 3001), 5, "the payload of a put_signal to oneself");

  e.run(fetch_add(a.mine(64), a.at(e.rank, 0), 1, nullptr));
  require_equal(*a.word(64), 41u, "old value of fetch_add");
  e.run(compare_swap(a.mine(64), a.at(e.rank, 0), 42, 50, nullptr));
  require_equal(*a.word(64), 42u, "old value of compare_swap");
  e.run(swap(a.mine(64), a.at(e.rank, 0), 60, nullptr));
  require_equal(*a.word(64), 50u, "old value of swap");
  e.flush(e.rank);
  require_equal(load(a.word(0)), 60u, "the word at the end");
}

void a_job_of_one(rank_env& e) { operations_towards_oneself(e); }

// The offset is from the start of that rank's region, whatever its address and size are here.
void offsets_are_of_the_owner(rank_env& e) {
  const area a = e.allocate(4096 * (e.rank + 1));
  const rank_t peer = right_of(e);
  const std::uint64_t last = 4096 * (peer + 1) - 8;
  const area out = e.allocate(64);
  *out.word() = 77 + e.rank;
  e.run(put(out.mine(), a.at(peer, last), 8));
  e.flush(peer);
  e.barrier();
  require_equal(*a.word(a.memory.size() - 8), 77 + left_of(e), "the last word of a region");
}

constexpr std::array cases{
    conformance_case{"every_rank_reaches_every_rank", 4, every_rank_reaches_every_rank},
    conformance_case{"every_pair_of_ranks", 5, every_pair_of_ranks},
    conformance_case{"operations_towards_oneself", 2, operations_towards_oneself},
    conformance_case{"a_job_of_one", 1, a_job_of_one},
    conformance_case{"offsets_are_of_the_owner", 3, offsets_are_of_the_owner},
};

}  // namespace

clause naming_clause() { return {"naming", cases}; }

}  // namespace tutti::test

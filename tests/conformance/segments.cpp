// Segments name one region of each member of a group: many of them, over any group, come and gone.
#include <array>

#include "tests/conformance/clause.h"
#include "tests/conformance/patterns.h"

namespace tutti::test {
namespace {

void many_segments(rank_env& e) {
  constexpr std::uint64_t count = 200;
  std::vector<area> all;
  for (std::uint64_t i = 0; i < count; ++i) all.push_back(e.allocate(256 + i % 3 * 4096));
  for (std::uint64_t i = 0; i < count; ++i) e.submit(signal(all[i].at(right_of(e), 64 + i % 8 * 8), i + 1));
  for (std::uint64_t i = 0; i < count; ++i) {
    e.wait_word(all[i].word(64 + i % 8 * 8), i + 1);
    check_painted(all[i].memory.subspan(0, 64), 0, "another segment's signal");
  }
  e.barrier();
  for (std::uint64_t i = 0; i < count; i += 2) e.drop(all[i]);
  e.barrier();
  for (std::uint64_t i = 1; i < count; i += 2) e.submit(signal(all[i].at(left_of(e), 128), i));
  for (std::uint64_t i = 1; i < count; i += 2) e.wait_word(all[i].word(128), i);
}

void detach_and_attach_again(rank_env& e) {
  const area a = e.allocate(4096);
  segment_id s = a.segment;
  for (std::uint64_t round = 1; round <= 60; ++round) {
    e.submit(signal({right_of(e), s, round * 8}, round));
    e.wait_word(a.word(round * 8), round);
    e.flush();
    e.barrier();
    e.net().drop(s);
    s = e.attach(rank_map::strided(0, e.size), a.region);
  }
}

void over_group(rank_env& e, const rank_map& members) {
  const area a = e.allocate(8192, members);
  const std::uint32_t mine = members.index_of(e.rank);
  if (mine == members.size()) return;
  const rank_t next = members[(mine + 1) % members.size()];
  const rank_t previous = members[(mine + members.size() - 1) % members.size()];
  for (std::uint64_t round = 1; round <= 20; ++round) {
    fill(a.memory.subspan(0, 1000), round * 16 + e.rank);
    completion done;
    e.submit(put_signal(a.mine(), a.at(next, 4096), 1000, a.segment, 2048, round, &done));
    e.wait_word(a.word(2048), round);
    check(a.memory.subspan(4096, 1000), round * 16 + previous, "a payload within a group");
    e.wait(done);
    e.submit(signal(a.at(previous, 2056), round));
    e.wait_word(a.word(2056), round);
  }
}

void of_every_second_rank(rank_env& e) { over_group(e, rank_map::strided(1, 3, 2)); }
void of_listed_ranks(rank_env& e) { over_group(e, rank_map::listed({4, 0, 3})); }
void of_reversed_ranks(rank_env& e) { over_group(e, rank_map::listed({5, 4, 3, 2, 1, 0})); }
void of_one_rank(rank_env& e) { over_group(e, rank_map::listed({2})); }

void of_overlapping_groups(rank_env& e) {
  for (int i = 0; i < 3; ++i) {
    over_group(e, rank_map::strided(0, 3));
    over_group(e, rank_map::strided(2, 3));
    over_group(e, rank_map::listed({3, 1}));
  }
}

// An empty key: that member exposes nothing, and uses the others' memory all the same.
void members_that_expose_nothing(rank_env& e) {
  std::span<std::byte> m;
  region_id r{};
  std::vector<std::byte> key;
  if (e.rank == 1) {
    r = take(e.net().allocate(4096, m), "allocate");
    key = take(e.net().key(r), "key");
  }
  const segment_id s = take(e.net().attach(rank_map::strided(0, e.size), e.exchange(key)), "attach");
  const area out = e.allocate(64);
  e.submit(signal({1, s, 8 * e.rank}, 5 + e.rank));
  e.flush(1);
  e.barrier();
  if (e.rank == 1)
    for (rank_t p = 0; p < e.size; ++p) require_equal(load(reinterpret_cast<std::uint64_t*>(m.data()) + p), 5 + p, "word");
  e.run(get(out.mine(), {1, s, 8 * e.rank}, 8));
  require_equal(*out.word(), 5 + e.rank, "what was got from the one member that exposes memory");
}

// attach() is not collective: who has the keys may attach alone, as often as it likes.
void one_rank_attaches_alone(rank_env& e) {
  std::span<std::byte> m;
  const region_id r = take(e.net().allocate(4096, m), "allocate");
  const auto keys = e.exchange(take(e.net().key(r), "key"));
  if (e.rank == 0)
    for (std::uint64_t i = 1; i <= 10; ++i) {
      const segment_id s = take(e.net().attach(rank_map::strided(0, e.size), keys), "attach");
      for (rank_t p = 0; p < e.size; ++p) e.submit(signal({p, s, 0}, i));
      e.flush();
      e.net().drop(s);
    }
  e.wait_word(reinterpret_cast<std::uint64_t*>(m.data()), 10);
}

void regions_of_different_sizes(rank_env& e) {
  const area a = e.allocate(e.rank == 0 ? 8 : std::size_t{1} << (10 + 2 * e.rank)), out = e.allocate(1 << 20);
  fill(a.memory, e.rank);
  e.barrier();
  for (rank_t p = 0; p < e.size; ++p) {
    const std::uint32_t bytes = p == 0 ? 8 : 1u << (10 + 2 * p);
    e.run(get(out.mine(), a.at(p), bytes));
    check(out.memory.subspan(0, bytes), p, "a whole region");
  }
}

constexpr std::array cases{
    conformance_case{"many_segments", 2, many_segments},
    conformance_case{"detach_and_attach_again", 3, detach_and_attach_again},
    conformance_case{"of_every_second_rank", 6, of_every_second_rank},
    conformance_case{"of_listed_ranks", 5, of_listed_ranks},
    conformance_case{"of_reversed_ranks", 6, of_reversed_ranks},
    conformance_case{"of_one_rank", 4, of_one_rank},
    conformance_case{"of_overlapping_groups", 5, of_overlapping_groups},
    conformance_case{"members_that_expose_nothing", 3, members_that_expose_nothing},
    conformance_case{"one_rank_attaches_alone", 3, one_rank_attaches_alone},
    conformance_case{"regions_of_different_sizes", 4, regions_of_different_sizes},
};

}  // namespace

clause segments_clause() { return {"segments", cases}; }

}  // namespace tutti::test

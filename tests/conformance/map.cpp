// map(): where loads and stores of this process reach a peer's memory, or null.
#include <array>

#include "tests/conformance/clause.h"
#include "tests/conformance/patterns.h"

namespace tutti::test {
namespace {

void loads_and_stores_reach(rank_env& e, const area& a) {
  std::byte* peer = e.net().map(a.segment, right_of(e));
  const std::byte answer{peer != nullptr};
  const auto all = e.exchange({&answer, 1});
  const bool mine_is_mapped = (*all)[left_of(e)][0] != std::byte{0};  // a router maps some peers and not others
  if (e.sum(peer ? 1 : 0) == 0) skip("this memory is not mapped into peers");
  for (std::uint64_t round = 0; round < 10; ++round) {
    if (peer) fill({peer, 3000}, round * 8 + e.rank);  // my stores
    e.barrier();
    if (mine_is_mapped)
      check(a.memory.subspan(0, 3000), round * 8 + left_of(e), "stores of a peer, loaded by the owner");
    e.barrier();
    fill(a.memory.subspan(4000, 3000), round * 8 + e.rank);
    e.barrier();
    if (peer) check({peer + 4000, 3000}, round * 8 + right_of(e), "stores of the owner, loaded by a peer");
    e.barrier();
    e.submit(signal(a.at(right_of(e), 8000), round + 1));  // what arrives by submit() is the same memory
    e.wait_word(a.word(8000), round + 1);
    e.submit(put(a.mine(4000), a.at(left_of(e), 9000), 100));
    e.flush(left_of(e));
    e.barrier();
    if (peer) check({peer + 9000, 100}, round * 8 + (e.rank + 2) % e.size, "a put, loaded by a third rank");
    e.barrier();
  }
}

void allocated_memory(rank_env& e) {
  const area a = e.allocate(16384);
  const bool mapped = e.net().map(a.segment, right_of(e)) != nullptr;
  if (e.sum(mapped ? 1 : 0) == 0 && e.net().caps().maps_node) fail("maps_node is promised, and no mate's memory is mapped");
  loads_and_stores_reach(e, a);
}

void user_memory(rank_env& e) {
  std::vector<std::uint64_t> own(2048);
  area a = e.add(std::as_writable_bytes(std::span{own}));
  loads_and_stores_reach(e, a);
  e.drop(a);
}

// A reader may be late: the owner has gone on, dropped its memory and used what was freed.
void memory_that_its_owner_dropped(rank_env& e) {
  constexpr std::size_t bytes = 4 << 20;  // what an allocator gives back to the system at once
  area a = e.allocate(bytes);
  std::byte* peer = e.net().map(a.segment, right_of(e));
  if (e.sum(peer ? 1 : 0) == 0) skip("this memory is not mapped into peers");
  fill(a.memory, 5 * e.rank + 1);
  e.barrier();
  e.net().drop(a.region);
  const area other = e.allocate(bytes);
  fill(other.memory, 99);
  e.barrier();
  if (peer) check({peer, bytes}, 5 * right_of(e) + 1, "memory that its owner dropped");
  if (peer && e.net().map(a.segment, right_of(e)) != peer) fail("it is mapped elsewhere, or no more");
  e.barrier();
  e.net().drop(a.segment);
  e.net().drop(other.segment), e.net().drop(other.region);
}

void ones_own_memory(rank_env& e) {
  const area a = e.allocate(4096);
  std::byte* mine = e.net().map(a.segment, e.rank);
  if (!mine) skip("one's own memory is not mapped");
  fill({mine, 4096}, 3);
  check(a.memory, 3, "one's own memory through its map");
}

constexpr std::array cases{
    conformance_case{"allocated_memory", 3, allocated_memory},
    conformance_case{"user_memory", 3, user_memory},
    conformance_case{"memory_that_its_owner_dropped", 3, memory_that_its_owner_dropped},
    conformance_case{"ones_own_memory", 2, ones_own_memory},
};

}  // namespace

clause map_clause() { return {"map", cases}; }

}  // namespace tutti::test

// Memory: the fabric's own and the caller's, overlapping, exposed twice, dropped and exposed again.
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <memory>

#include "tests/conformance/clause.h"
#include "tests/conformance/patterns.h"

namespace tutti::test {
namespace {

void allocated_memory_is_zeroed_and_aligned(rank_env& e) {
  for (std::size_t bytes : {1u, 8u, 63u, 64u, 65u, 4096u, 4097u, 65536u, 1048579u}) {
    for (int again = 0; again < 3; ++again) {  // the second time it may be memory that was used before
      std::span<std::byte> m;
      const region_id r = take(e.net().allocate(bytes, m), "allocate");
      require_equal(m.size(), bytes, "size of allocated memory");
      require_equal(reinterpret_cast<std::uintptr_t>(m.data()) % 64, 0u, "alignment of allocated memory");
      check_painted(m, 0, "allocated memory");
      paint(m, 0xFF);
      e.net().drop(r);
    }
  }
}

// Puts and gets both ways between memory of each kind: every pair of source and target.
void memory_of_every_kind(rank_env& e) {
  constexpr std::size_t bytes = 30'000;
  static std::byte fixed[bytes];  // only where each rank has its own
  alignas(64) std::byte stack[bytes] = {};
  const auto heap = std::make_unique<std::byte[]>(bytes + 1);
  void* p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  require(p != MAP_FAILED, "mmap");
  std::vector<area> kinds{e.allocate(bytes), e.add({stack, bytes}), e.add({heap.get() + 1, bytes}),
                          e.add({static_cast<std::byte*>(p), bytes})};
  if (e.own_process) kinds.push_back(e.add({fixed, bytes}));
  std::uint64_t round = e.seed;
  for (const area& from : kinds)
    for (const area& to : kinds) {
      if (&from == &to) continue;
      fill(from.memory.subspan(3, 29'000), ++round * 8 + e.rank);
      e.barrier();
      e.submit(put(from.mine(3), to.at(right_of(e), 17), 29'000));
      e.flush(right_of(e));
      e.barrier();
      check(to.memory.subspan(17, 29'000), round * 8 + left_of(e), "a put between kinds of memory");
      e.barrier();
      e.run(get(to.mine(5), from.at(right_of(e), 3), 29'000));
      check(to.memory.subspan(5, 29'000), round * 8 + right_of(e), "a get between kinds of memory");
      e.barrier();
    }
  for (area& a : kinds) e.drop(a);
  e.barrier();
  munmap(p, bytes);
}

void overlapping_regions(rank_env& e) {
  std::vector<std::byte> own(4096 * 3);
  area low = e.add({own.data(), 8192}), high = e.add({own.data() + 4096, 8192}), out = e.allocate(8192);
  fill(out.memory, e.rank);
  e.barrier();
  e.submit(put(out.mine(), high.at(right_of(e), 0), 4096));  // the middle, by the one name
  e.flush(right_of(e));
  e.barrier();
  check({own.data() + 4096, 4096}, left_of(e), "a put through the upper region");
  e.run(get(out.mine(), low.at(right_of(e), 4096), 4096));   // by the other
  check(out.memory.subspan(0, 4096), e.rank, "a get through the lower region");
  e.barrier();
  e.drop(high);
  e.barrier();
  paint(out.memory, 0x77);
  e.submit(put(out.mine(), low.at(right_of(e), 4000), 100));
  e.flush(right_of(e));
  e.barrier();
  check_painted({own.data() + 4000, 100}, 0x77, "a put through one region after the other was dropped");
  e.barrier();
  e.drop(low);
}

void one_region_attached_twice(rank_env& e) {
  area a = e.allocate(4096);
  const segment_id again = e.attach(rank_map::strided(0, e.size), a.region);
  const area out = e.allocate(64);
  *out.word() = 100 + e.rank;
  e.submit(put(out.mine(), a.at(right_of(e), 0), 8));
  e.submit(put(out.mine(), {right_of(e), again, 64}, 8));
  e.flush(right_of(e));
  e.barrier();
  require_equal(*a.word(0), 100 + left_of(e), "a put through the first segment");
  require_equal(*a.word(64), 100 + left_of(e), "a put through the second segment");
  e.net().drop(a.segment);
  e.barrier();
  e.submit(signal({right_of(e), again, 128}, 9));
  e.wait_word(a.word(128), 9);
  e.barrier();
  e.net().drop(again);
  e.net().drop(a.region);
}

// The very same bytes, exposed twice.
void one_memory_added_twice(rank_env& e) {
  std::vector<std::uint64_t> own(512);
  const auto bytes = std::as_writable_bytes(std::span{own});
  area first = e.add(bytes), second = e.add(bytes);
  e.submit(signal(first.at(right_of(e), 0), 5));
  e.submit(signal(second.at(right_of(e), 8), 6));
  e.wait_word(&own[0], 5);
  e.wait_word(&own[1], 6);
  e.barrier();
  e.drop(first);
  e.barrier();
  e.submit(signal(second.at(right_of(e), 0), 7));
  e.wait_word(&own[0], 7);
  e.barrier();
  e.drop(second);
}

// The address comes back with other contents, and perhaps another size: no key of before may linger.
void memory_freed_and_exposed_again(rank_env& e) {
  const area out = e.allocate(1 << 16);
  for (int round = 0; round < 40; ++round) {
    const std::size_t bytes = round % 4 ? 4096 + 64 * round : 1 << 16;
    const auto own = std::make_unique<std::byte[]>(bytes);
    area a = e.add({own.get(), bytes});
    fill(out.memory, round * 8 + e.rank);
    e.barrier();
    e.submit(put(out.mine(), a.at(right_of(e)), static_cast<std::uint32_t>(bytes)));
    e.flush(right_of(e));
    e.barrier();
    check({own.get(), bytes}, round * 8 + left_of(e), "a put to memory exposed again");
    e.drop(a);
    e.barrier();
  }
}

// The region stays, the memory behind its addresses does not: what lies there now is what peers reach, and what this rank sends.
void memory_mapped_anew(rank_env& e) {
  if (!e.net().caps().follows_mapping) skip("it keeps the pages that it found");
  constexpr std::size_t bytes = 1 << 16;
  constexpr int how = MAP_PRIVATE | MAP_ANONYMOUS;
  void* const p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, how, -1, 0);
  require(p != MAP_FAILED, "mmap");
  area a = e.add({static_cast<std::byte*>(p), bytes});
  area out = e.allocate(bytes);
  for (unsigned round = 0; round < 3; ++round) {
    for (const std::uint32_t size : {64u, 5000u, 60'000u}) {
      const std::uint64_t seed = e.seed + 100 * round + size;
      fill(a.memory.first(size), seed + e.rank);
      e.barrier();
      e.run(get(out.mine(), a.at(right_of(e)), size));
      check(out.memory.first(size), seed + right_of(e), "a get from memory mapped anew");
      e.barrier();
      e.submit(put(a.mine(), out.at(right_of(e)), size));
      e.flush(right_of(e));
      e.barrier();
      check(out.memory.first(size), seed + left_of(e), "a put out of memory mapped anew");
      fill(out.memory.first(size), seed + 7 + e.rank);
      e.barrier();
      e.submit(put(out.mine(), a.at(right_of(e)), size));
      e.flush(right_of(e));
      e.barrier();
      check(a.memory.first(size), seed + 7 + left_of(e), "a put into memory mapped anew");
      e.barrier();
    }
    // The old pages must not be what the new mapping gets.
    void* const kept = mmap(nullptr, bytes, PROT_NONE, how, -1, 0);
    require(kept != MAP_FAILED, "mmap");
    // By the kernel's own call: what UCX 1.13 puts in the place of mremap() loses the new address.
    require(syscall(SYS_mremap, p, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, kept) == reinterpret_cast<long>(kept), "mremap");
    require(mmap(p, bytes, PROT_READ | PROT_WRITE, how | MAP_FIXED_NOREPLACE, -1, 0) == p, "mmap at the same address");
    paint({static_cast<std::byte*>(kept), bytes}, 0x55);
    munmap(kept, bytes);
    e.barrier();
  }
  e.drop(a);
  e.barrier();
  munmap(p, bytes);
}

// Memory that goes before its region does: until then the region is as good as any; after that nothing goes by it.
void unowned_memory_goes_first(rank_env& e) {
  constexpr std::size_t bytes = 100'000;
  const auto map = [](void* at) {
    void* const p = mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | (at ? MAP_FIXED_NOREPLACE : 0), -1, 0);
    require(p != MAP_FAILED && (!at || p == at), "mmap");
    return std::span{static_cast<std::byte*>(p), bytes};
  };
  const area out = e.allocate(bytes);
  const auto mine = map(nullptr);
  for (const std::uint32_t size : {9000u, 100'000u}) {
    const std::uint64_t seed = e.seed + size;
    const region_id region = take(e.net().add_unowned(mine), "add_unowned");
    const segment_id all = e.attach(rank_map::strided(0, e.size), region);
    fill(mine.first(size), seed + e.rank);
    e.submit(put({region, 0}, out.at(right_of(e)), size));
    e.flush(right_of(e));
    e.barrier();
    check(out.memory.first(size), seed + left_of(e), "a put out of unowned memory");
    paint(mine.first(size), 0);
    e.barrier();
    e.submit(put(out.mine(), {right_of(e), all}, size));
    e.flush(right_of(e));
    e.barrier();
    check(mine.first(size), seed + (e.rank + e.size - 2) % e.size, "a put into unowned memory");
    e.barrier();
    e.net().drop(all);
    munmap(mine.data(), bytes);
    map(mine.data());
    fill(mine.first(size), seed + 50 + e.rank);
    e.submit(put(plain(mine.data()), out.at(right_of(e)), size));
    e.flush(right_of(e));
    e.barrier();
    check(out.memory.first(size), seed + 50 + left_of(e), "a put out of what lies there now, by address");
    e.barrier();
    paint(mine.first(size), 0);
    e.run(get(plain(mine.data()), out.at(right_of(e)), size));
    check(mine.first(size), seed + 50 + e.rank, "a get into what lies there now, by address");
    e.barrier();
    e.net().drop(region);
  }
  munmap(mine.data(), bytes);
}

void many_regions_come_and_go(rank_env& e) {
  for (int i = 0; i < 2000; ++i) {
    std::span<std::byte> m;
    const region_id r = take(e.net().allocate(64 + i % 5 * 4096, m), "allocate");
    m[0] = std::byte{1};
    e.net().drop(r);
  }
}

constexpr std::array cases{
    conformance_case{"allocated_memory_is_zeroed_and_aligned", 2, allocated_memory_is_zeroed_and_aligned},
    conformance_case{"memory_of_every_kind", 2, memory_of_every_kind},
    conformance_case{"overlapping_regions", 2, overlapping_regions},
    conformance_case{"one_region_attached_twice", 3, one_region_attached_twice},
    conformance_case{"one_memory_added_twice", 2, one_memory_added_twice},
    conformance_case{"memory_freed_and_exposed_again", 2, memory_freed_and_exposed_again},
    conformance_case{"memory_mapped_anew", 2, memory_mapped_anew},
    conformance_case{"unowned_memory_goes_first", 2, unowned_memory_goes_first},
    conformance_case{"many_regions_come_and_go", 2, many_regions_come_and_go},
};

}  // namespace

clause regions_clause() { return {"regions", cases}; }

}  // namespace tutti::test

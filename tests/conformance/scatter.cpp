// get_scatter: one contiguous range of a peer, spread over a list of places here.
#include <array>

#include "tests/conformance/clause.h"
#include "tests/conformance/patterns.h"

namespace tutti::test {
namespace {

std::uint32_t slices_of(rank_env& e) {
  const std::uint32_t most = e.net().caps().max_slices;
  if (!most) skip("no scatter lists");
  return std::min(most, 255u);
}

void scatter(rank_env& e, std::span<const std::uint32_t> lengths) {
  std::uint32_t total = 0;
  for (std::uint32_t n : lengths) total += n;
  const area from = e.allocate(total + 64), one = e.allocate(total + 64 * lengths.size()), two = e.allocate(total + 64 * lengths.size());
  fill(from.memory.subspan(5, total), e.seed + e.rank);
  paint(one.memory, 0xA5);
  paint(two.memory, 0xA5);
  e.barrier();
  std::vector<slice> list;
  std::vector<std::span<std::byte>> places;
  std::size_t at[2] = {3, 1};
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    const area& into = i % 2 ? two : one;
    list.push_back({into.region, lengths[i], at[i % 2]});
    places.push_back(into.memory.subspan(at[i % 2], lengths[i]));
    at[i % 2] += lengths[i] + 13;
  }
  completion done;
  e.submit(get_scatter(list, from.at(right_of(e), 5), &done));
  e.wait(done);
  std::vector<std::byte> wanted(total);
  fill(wanted, e.seed + right_of(e));
  std::size_t offset = 0;
  for (std::size_t i = 0; i < places.size(); ++i) {
    require(places[i].empty() || std::memcmp(places[i].data(), wanted.data() + offset, places[i].size()) == 0,
            "slice " + std::to_string(i) + " of " + std::to_string(places.size()));
    offset += places[i].size();
    check_painted({places[i].data() + places[i].size(), 13}, 0xA5, "between slices");
  }
  check_painted(one.memory.subspan(0, 3), 0xA5, "before the first slice");
  e.barrier();
}

void lists_of_every_length(rank_env& e) {
  const std::uint32_t most = slices_of(e);
  for (std::uint32_t n : {1u, 2u, 3u, most / 2, most - 1, most}) {
    if (n == 0 || n > most) continue;
    std::vector<std::uint32_t> lengths(n);
    for (std::uint32_t i = 0; i < n; ++i) lengths[i] = 1 + i * 37 % 1500;
    scatter(e, lengths);
  }
}

void slices_of_every_size(rank_env& e) {
  const std::uint32_t most = slices_of(e);
  std::vector<std::uint32_t> lengths{0, 1, 7, 8, 4097, 0, 65'537, 3, 300'000, 64};
  for (std::size_t begin = 0; begin < lengths.size(); begin += most)
    scatter(e, std::span{lengths}.subspan(begin, std::min<std::size_t>(most, lengths.size() - begin)));
}

// Many at once, each with its list, which must live until done and no longer.
void many_lists_at_once(rank_env& e) {
  const std::uint32_t n = std::min(slices_of(e), 4u);
  constexpr std::uint32_t count = 100, part = 200;
  const area from = e.allocate(count * part * n), into = e.allocate(count * part * n);
  fill(from.memory, e.rank);
  e.barrier();
  std::vector<std::vector<slice>> lists(count);
  completion done;
  for (std::uint32_t i = 0; i < count; ++i) {
    for (std::uint32_t k = 0; k < n; ++k) lists[i].push_back({into.region, part, (i * n + k) * part});
    e.submit(get_scatter(lists[i], from.at(left_of(e), i * n * part), &done));
  }
  e.wait(done);
  check(into.memory, left_of(e), "many scattered gets");
  e.barrier();
}

void into_user_memory(rank_env& e) {
  const std::uint32_t n = std::min(slices_of(e), 3u);
  std::vector<std::byte> own(10'000);
  area into = e.add(own);
  const area from = e.allocate(9000);
  fill(from.memory, e.rank);
  e.barrier();
  std::vector<slice> list;
  for (std::uint32_t k = 0; k < n; ++k) list.push_back({into.region, 1000, 1 + k * 1000});
  completion done;
  e.submit(get_scatter(list, from.at(right_of(e)), &done));
  e.wait(done);
  check({own.data() + 1, n * 1000}, right_of(e), "a scattered get into user memory");
  e.barrier();
  e.drop(into);
}

// Some slices name a region, some lie in one, some in neither; of every size.
void into_plain_memory(rank_env& e) {
  const std::uint32_t most = slices_of(e);
  constexpr std::uint32_t sizes[] = {8, 1500, 8192, 8193, 1, 40'000, 4096, 64};
  const std::uint32_t n = std::min<std::uint32_t>(most, 24);
  std::uint32_t total = 0;
  for (std::uint32_t i = 0; i < n; ++i) total += sizes[i % std::size(sizes)];
  const area from = e.allocate(total), into = e.allocate(std::size_t{n} * 41'000);
  fill(from.memory, e.seed + e.rank);
  std::vector<std::byte> own(std::size_t{n} * 41'000, std::byte{0xA5});
  paint(into.memory, 0xA5);
  e.barrier();
  std::vector<slice> list;
  std::vector<std::span<std::byte>> places;
  for (std::uint32_t i = 0; i < n; ++i) {
    const std::uint32_t bytes = sizes[i % std::size(sizes)];
    const std::size_t at = std::size_t{i} * 41'000 + i % 2;
    places.push_back((i % 3 == 0 ? std::span{own} : into.memory).subspan(at, bytes));
    if (i % 3 == 2) list.push_back({into.region, bytes, at});
    else list.push_back({unregistered_memory, bytes, plain(places.back().data()).offset});
  }
  completion done;
  e.submit(get_scatter(list, from.at(right_of(e)), &done));
  e.wait(done);
  std::vector<std::byte> wanted(total);
  fill(wanted, e.seed + right_of(e));
  std::size_t offset = 0;
  for (std::uint32_t i = 0; i < n; ++i) {
    require(std::memcmp(places[i].data(), wanted.data() + offset, places[i].size()) == 0, "slice " + std::to_string(i));
    check_painted({places[i].data() + places[i].size(), 100}, 0xA5, "behind slice " + std::to_string(i));
    offset += places[i].size();
  }
  e.barrier();
}

constexpr std::array cases{
    conformance_case{"lists_of_every_length", 2, lists_of_every_length},
    conformance_case{"slices_of_every_size", 2, slices_of_every_size},
    conformance_case{"many_lists_at_once", 3, many_lists_at_once},
    conformance_case{"into_user_memory", 2, into_user_memory},
    conformance_case{"into_plain_memory", 2, into_plain_memory},
};

}  // namespace

clause scatter_clause() { return {"scatter", cases}; }

}  // namespace tutti::test

// Calls of every collective that moves data, as tests make them: what each member gives, and what it is to get by a sequential model.
#pragma once
#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <vector>

#include "collectives/collective_call.h"
#include "tests/collectives/affine.h"
#include "tests/harness/expect.h"

namespace tutti::test {

// Of an alltoallv.
inline constexpr call_kind names_of_v[] = {call_kind::none, kind_of_gatherv, kind_of_scatterv, kind_of_neighbor_alltoall, kind_of_neighbor_allgather};

// Which bytes a member gives another in a call. What goes to several of them is the same for all.
inline std::byte given(std::uint64_t call, std::uint32_t from, std::uint32_t to, std::size_t i) {
  return static_cast<std::byte>(((call * 131 + from) * 31 + to) * 7 + i * 13 + (i >> 8) * 5);
}
inline constexpr std::byte untouched{0xa5};

// Any grouping of operands gives the same bits; floats are small integers. The last one is not commutative.
struct arithmetic_case {
  datatype type;
  operation op;
};
inline constexpr arithmetic_case arithmetics[] = {
    {datatype::uint64, operation::sum},        {datatype::int32, operation::min},   {datatype::uint8, operation::bitwise_xor},
    {datatype::int16, operation::product},     {datatype::float64, operation::sum}, {datatype::float32, operation::max},
    {datatype::int32_int32, operation::minloc}, {datatype::float16, operation::sum}, {datatype::bytes, operation::user}};

inline reduction reduction_of(const arithmetic_case& a) {
  if (a.op == operation::user) return take(user_reduction(compose, sizeof(affine), false, nullptr), "user's operation");
  return take(find_reduction(a.type, a.op), "operation");
}

inline void put_operand(const arithmetic_case& a, std::uint64_t call, std::uint32_t rank, std::size_t i, std::byte* at) {
  constexpr std::uint16_t small_float16[] = {0, 0x3c00, 0x4000, 0x4200};  // 0 to 3
  const affine map = operand(call, rank, i);
  const std::uint64_t z = map.b;
  const auto put = [&](const auto& v) { std::memcpy(at, &v, sizeof v); };
  switch (a.type) {
    case datatype::bytes: return put(map);
    case datatype::float16: return put(small_float16[z % 4]);
    case datatype::float32: return put(static_cast<float>(z % 1000));
    case datatype::float64: return put(static_cast<double>(z % 1000));
    case datatype::int32_int32: return put(std::array{static_cast<std::int32_t>(z % 3), static_cast<std::int32_t>(z >> 40)});
    default: std::memcpy(at, &z, size_of(a.type));
  }
}

// Who gives whom how much. Lengths are a function of what all members know, so each can tell its own.
struct traffic {
  collective of;
  std::uint64_t call;
  std::uint32_t size, root;
  std::size_t bytes;             // of a block
  call_kind as = call_kind::none;
  bool unlike = false;
  arithmetic_case arithmetic = arithmetics[0];

  std::size_t drawn(std::uint32_t pair, std::size_t usual) const {
    const std::uint64_t z = (call * 1000003 + pair + 1) * 0x9e3779b97f4a7c15u;
    return (z >> 60) < 5 ? 0 : (z >> 33) % (2 * usual + 1);
  }
  std::size_t length(std::uint32_t from, std::uint32_t to) const {
    if (of == collective::gather || as == kind_of_gatherv) { if (to != root) return 0; }
    if (of == collective::scatter || as == kind_of_scatterv) { if (from != root) return 0; }
    if ((as == kind_of_neighbor_alltoall || to_all_neighbors()) && (from + 1) % size != to && (to + 1) % size != from) return 0;
    if (!unlike || to_all_neighbors()) return bytes;
    return drawn(of == collective::allgather ? from : from * size + to, bytes);
  }
  std::size_t elements_to(std::uint32_t to, std::size_t usual) const { return unlike ? drawn(to, usual) : usual; }
  bool to_all_neighbors() const { return as == kind_of_neighbor_allgather; }
  std::uint32_t content_to(std::uint32_t to) const { return of == collective::allgather || to_all_neighbors() ? 0 : to; }
};

struct member_call {
  std::vector<std::byte> in, out, expected;
  collective_call call;
};

inline member_call make_call(const traffic& t, std::uint32_t me, bool in_place) {
  member_call m;
  const bool one_in = t.of == collective::gather || t.of == collective::allgather, one_out = t.of == collective::scatter;
  block_lists lists;
  const auto add = [&](std::vector<std::byte>& to, std::uint32_t a, std::uint32_t b, std::size_t room) {
    const std::size_t n = t.length(a, b), at = to.size();
    to.resize(at + std::max(n, room), untouched);
    for (std::size_t i = 0; i < n; ++i) to[at + i] = given(t.call, a, t.content_to(b), i);
  };
  const std::size_t room = t.unlike || t.of == collective::alltoallv ? 0 : t.bytes;
  if (one_in) {
    add(m.in, me, t.of == collective::gather ? t.root : 0, 0);
  } else if (t.of != collective::scatter || me == t.root) {
    for (std::uint32_t to = 0; to < t.size; ++to) {
      const bool again = t.to_all_neighbors() && !m.in.empty();  // the one block
      lists.in_begins.push_back(again ? 0 : m.in.size()), lists.in_lengths.push_back(t.length(me, to));
      if (!again) add(m.in, me, to, room);
      if (t.unlike && !t.to_all_neighbors()) m.in.resize(m.in.size() + to % 3, untouched);
    }
  }
  if (one_out) add(m.expected, t.root, me, 0);
  else if (t.of != collective::gather || me == t.root)
    for (std::uint32_t from = 0; from < t.size; ++from) {
      lists.out_begins.push_back(m.expected.size()), lists.out_lengths.push_back(t.length(from, me));
      add(m.expected, from, me, room);
      if (t.unlike) m.expected.resize(m.expected.size() + from % 2, untouched);
    }
  m.out.assign(m.expected.size(), untouched);
  m.call = {.of = t.of, .root = t.root, .bytes = t.bytes, .in = m.in.data(), .out = m.out.data(), .as = t.as};
  if (in_place && (one_in || t.as == kind_of_gatherv) && (t.of == collective::allgather || me == t.root)) {
    const std::size_t at = lists.out_begins[me], from = one_in ? 0 : lists.in_begins[me];
    std::copy_n(m.in.begin() + static_cast<std::ptrdiff_t>(from), t.length(me, me), m.out.begin() + static_cast<std::ptrdiff_t>(at));
    m.call.in = m.out.data() + at;
    lists.in_begins.assign(t.size, 0);
  } else if (in_place && (one_out || t.as == kind_of_scatterv) && me == t.root) {
    m.call.out = m.in.data() + lists.in_begins[me];
    m.out = m.expected;
    lists.out_begins.assign(t.size, 0);
  } else if (in_place && t.of == collective::alltoall) {
    m.out = m.in;
    m.call.in = m.out.data();
  }
  if (!t.unlike && t.of != collective::alltoallv) return m;
  if (one_in) lists.in_lengths.clear(), lists.in_begins.clear();
  m.call.bytes = 0;
  for (const auto* list : {&lists.in_lengths, &lists.out_lengths})
    for (const std::uint64_t n : *list) m.call.bytes = std::max(m.call.bytes, n);
  m.call.lists = std::make_shared<const block_lists>(std::move(lists));
  return m;
}

// The result is what the operation makes of the operands, one rank's after the other's.
inline member_call make_reduction(const traffic& t, std::uint32_t me, bool in_place) {
  member_call m;
  const reduction op = reduction_of(t.arithmetic);
  const std::size_t element = op.element_size, count = t.bytes / element;
  const bool scatters = t.of == collective::reduce_scatter;
  block_lists lists;
  std::size_t whole = 0, first = 0, mine = count, longest = 0;
  for (std::uint32_t to = 0; scatters && to < t.size; ++to) {
    const std::size_t n = t.elements_to(to, count);
    lists.in_begins.push_back(whole * element), lists.in_lengths.push_back(n * element);
    longest = std::max(longest, n);
    if (to == me) first = whole, mine = n;
    whole += n + (t.unlike ? to % 2 : 0);
  }
  if (!scatters) whole = longest = count;
  const auto operands = [&](std::uint32_t rank, std::size_t from, std::size_t n) {
    std::vector<std::byte> out(n * element);
    for (std::size_t i = 0; i < n; ++i) put_operand(t.arithmetic, t.call, rank, from + i, &out[i * element]);
    return out;
  };
  const std::uint32_t ranks = t.of == collective::scan ? me + 1 : t.of == collective::exscan ? me : t.size;
  const bool any = ranks > 0 && (t.of != collective::reduce || me == t.root);
  m.in = operands(me, 0, whole);
  if (in_place) m.out = m.in;
  else m.out.assign(mine * element, untouched);
  m.expected = m.out;
  const std::size_t at = in_place ? first * element : 0;
  for (std::uint32_t r = ranks; any && r-- > 0;) {
    const std::vector<std::byte> next = operands(r, first, mine);
    std::byte* const sum = m.expected.data() + at;
    if (r + 1 == ranks) std::ranges::copy(next, sum);
    else op.combine(next.data(), sum, mine);
  }
  m.call = {.of = t.of, .root = t.root, .bytes = longest * element, .in = in_place ? m.out.data() : m.in.data(),
            .out = m.out.data() + at, .op = op};
  if (t.unlike) m.call.lists = std::make_shared<const block_lists>(std::move(lists));
  return m;
}

// The same of what has no blocks, and of what reduces.
inline member_call any_call(const traffic& t, std::uint32_t me, bool in_place) {
  if (reduces(t.of)) return make_reduction(t, me, in_place);
  if (has_block_each(t.of)) return make_call(t, me, in_place);
  member_call m;
  for (std::size_t i = 0; i < t.bytes; ++i) m.expected.push_back(given(t.call, t.root, 0, i));
  m.out = me == t.root ? m.expected : std::vector<std::byte>(t.bytes, untouched);
  m.call = {.root = t.root, .bytes = t.bytes, .out = m.out.data()};
  return m;
}

}  // namespace tutti::test

// Operands whose order shows: x -> ax + b modulo 2^64. Composing them is associative, and not commutative.
#pragma once
#include <cstddef>
#include <cstdint>

namespace tutti::test {

struct affine {
  std::uint64_t a, b;
  bool operator==(const affine&) const = default;
};

inline affine then(const affine& first, const affine& second) { return {first.a * second.a, first.b * second.a + second.b}; }

inline affine plus(const affine& a, const affine& b) { return {a.a + b.a, a.b + b.b}; }

// `in_each`: how many an element has, if not one.
template <affine (*op)(const affine&, const affine&)>
void each_by(const void* in, void* inout, std::size_t count, void* in_each) {
  if (in_each) count *= *static_cast<const std::size_t*>(in_each);
  for (std::size_t i = 0; i < count; ++i)
    static_cast<affine*>(inout)[i] = op(static_cast<const affine*>(in)[i], static_cast<affine*>(inout)[i]);
}
inline constexpr auto compose = each_by<then>, add_up = each_by<plus>;

// A rank's in a call.
inline affine operand(std::uint64_t call, std::uint32_t rank, std::size_t i) {
  const std::uint64_t z = (call * 1000003 + rank * 10007 + i) * 0x9e3779b97f4a7c15u;
  return {z | 1, z >> 7};
}

}  // namespace tutti::test

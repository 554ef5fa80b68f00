// Elements that C++ has no arithmetic type for, and elements at any address. For kernels.h alone, whose rules hold here.
#pragma once
#include <cstdint>
#include <type_traits>

namespace tutti::reductions {
namespace {

template <class T>
struct complex {
  T re, im;
};

template <class Value, class Index>
struct pair {
  Value value;
  Index index;
};

constexpr std::uint32_t bits_of(float f) noexcept { return __builtin_bit_cast(std::uint32_t, f); }
constexpr float float_of(std::uint32_t bits) noexcept { return __builtin_bit_cast(float, bits); }

// IEEE binary16 by integer arithmetic, free of branches (after F. Giesen, "Half to float done quickly", 2012).
struct float16 {
  static constexpr std::uint16_t infinity = 0x7c00;
  std::uint16_t bits;

  constexpr explicit operator float() const noexcept {
    constexpr std::uint32_t exponent = 0x7c00u << 13;
    const std::uint32_t sign = (bits & 0x8000u) << 16, rest = (bits & 0x7fffu) << 13, e = rest & exponent;
    const std::uint32_t number = rest + ((127 - 15) << 23);                                     // the other bias
    const std::uint32_t special = number + ((128 - 16) << 23);                                  // infinities, NaNs
    const std::uint32_t small = bits_of(float_of(number + (1u << 23)) - float_of(113u << 23));  // subnormal here, not there
    return float_of(sign | (e == exponent ? special : e == 0 ? small : number));
  }
  static constexpr float16 rounded(float f) noexcept {
    constexpr std::uint32_t magic = ((127 - 15) + (23 - 10) + 1) << 23;                         // rounds where subnormals end
    const std::uint32_t all = bits_of(f), sign = all & 0x80000000u, rest = all ^ sign;
    const std::uint32_t special = f != f ? 0x7e00u : 0x7c00u;
    const std::uint32_t small = bits_of(float_of(rest) + float_of(magic)) - magic;
    const std::uint32_t number = (rest - ((127u - 15u) << 23) + 0xfff + ((rest >> 13) & 1)) >> 13;
    const std::uint32_t h = rest >= ((127u + 16u) << 23) ? special : rest < (113u << 23) ? small : number;
    return {static_cast<std::uint16_t>(h | sign >> 16)};
  }
};

// The upper half of a float. What is rounded is a sum or product of two: if it is a NaN, its lower half is 0, as theirs are and
// as that of a new NaN is, and rounding leaves it as it is.
struct bfloat16 {
  static constexpr std::uint16_t infinity = 0x7f80;
  std::uint16_t bits;

  constexpr explicit operator float() const noexcept { return float_of(std::uint32_t{bits} << 16); }
  static constexpr bfloat16 rounded(float f) noexcept {
    const std::uint32_t all = bits_of(f);
    return {static_cast<std::uint16_t>((all + 0x7fff + ((all >> 16) & 1)) >> 16)};
  }
};

template <class T>
inline constexpr bool is_short_float = std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>;

// They compare as signed integers do once the negative ones are turned around.
template <class T>
constexpr std::int16_t order(T a) noexcept {
  return static_cast<std::int16_t>(a.bits ^ ((static_cast<std::int16_t>(a.bits) >> 15) & 0x7fff));
}
template <class T>
constexpr bool is_nan(T a) noexcept { return (a.bits & 0x7fff) > T::infinity; }

// Two of them that lie in one word: nothing is left to widen or to pack.
template <class T>
struct two {
  std::uint32_t bits;

  constexpr T low() const noexcept { return {static_cast<std::uint16_t>(bits)}; }
  constexpr T high() const noexcept { return {static_cast<std::uint16_t>(bits >> 16)}; }
  static constexpr two of(T low, T high) noexcept { return {low.bits | std::uint32_t{high.bits} << 16}; }
};

// An element at any address, which may have been written as another type.
template <class T>
struct [[gnu::packed, gnu::may_alias]] element {
  T value;
};

}  // namespace
}  // namespace tutti::reductions

// The loops of the built-in operations, for the compiler to vectorise. Included once by each file that compiles them for some
// kind of processor: all is local to that file, and nothing of the standard library's inline functions is called, since the
// linker might keep the copy that not every processor can run.
#pragma once
#include <cstdint>
#include <type_traits>

#include "collectives/reduction/kernel_table.h"
#include "collectives/reduction/reduction.h"

namespace tutti::reductions {
namespace {

template <class T>
struct complex {
  T re, im;
};

template <class Value, class Index>
struct pair {
  using value_type = Value;
  Value value;
  Index index;
};

constexpr std::uint32_t bits_of(float f) noexcept { return __builtin_bit_cast(std::uint32_t, f); }
constexpr float float_of(std::uint32_t bits) noexcept { return __builtin_bit_cast(float, bits); }

// IEEE binary16 by integer arithmetic, free of branches (after F. Giesen, "Half to float done quickly", 2012): no instructions
// for it are needed, and every processor gives the same bits.
struct float16 {
  std::uint16_t bits;

  constexpr explicit operator float() const noexcept {
    constexpr std::uint32_t exponent = 0x7c00u << 13;
    const std::uint32_t sign = (bits & 0x8000u) << 16, rest = (bits & 0x7fffu) << 13, e = rest & exponent;
    const std::uint32_t number = rest + ((127 - 15) << 23);                        // the other bias
    const std::uint32_t special = number + ((128 - 16) << 23);                     // infinities, NaNs: the greatest exponent
    const std::uint32_t small = bits_of(float_of(number + (1u << 23)) - float_of(113u << 23));  // subnormal here, not there
    return float_of(sign | (e == exponent ? special : e == 0 ? small : number));
  }
  static constexpr float16 rounded(float f) noexcept {
    constexpr std::uint32_t magic = ((127 - 15) + (23 - 10) + 1) << 23;            // adding it rounds at binary16's last place
    const std::uint32_t all = bits_of(f), sign = all & 0x80000000u, rest = all ^ sign;
    const std::uint32_t special = rest > (255u << 23) ? 0x7e00u : 0x7c00u;
    const std::uint32_t small = bits_of(float_of(rest) + float_of(magic)) - magic;
    const std::uint32_t number = (rest - ((127u - 15u) << 23) + 0xfff + ((rest >> 13) & 1)) >> 13;
    const std::uint32_t h = rest >= ((127u + 16u) << 23) ? special : rest < (113u << 23) ? small : number;
    return {static_cast<std::uint16_t>(h | sign >> 16)};
  }
};

// The upper half of a float.
struct bfloat16 {
  std::uint16_t bits;

  constexpr explicit operator float() const noexcept { return float_of(std::uint32_t{bits} << 16); }
  static constexpr bfloat16 rounded(float f) noexcept {
    const std::uint32_t all = bits_of(f), nearest = all + 0x7fff + ((all >> 16) & 1);
    const bool nan = (all & 0x7fffffffu) > (255u << 23);
    return {static_cast<std::uint16_t>((nan ? all | 0x400000u : nearest) >> 16)};
  }
};

template <class T>
inline constexpr bool is_short_float = std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>;

// What compares as the element does.
template <class T>
constexpr auto comparable(T a) noexcept {
  if constexpr (is_short_float<T>) return static_cast<float>(a);
  else return a;
}

// An operation of unsigned integers is that of the signed ones, and does not overflow. Narrow ones are promoted to int, whose
// product could overflow: hence 1u.
struct add {
  template <class T>
  static constexpr T of(T a, T b) noexcept {
    if constexpr (is_short_float<T>) return T::rounded(static_cast<float>(a) + static_cast<float>(b));
    else return static_cast<T>(a + b);
  }
  template <class T>
  static constexpr complex<T> of(complex<T> a, complex<T> b) noexcept { return {a.re + b.re, a.im + b.im}; }
};
struct multiply {
  template <class T>
  static constexpr T of(T a, T b) noexcept {
    if constexpr (is_short_float<T>) return T::rounded(static_cast<float>(a) * static_cast<float>(b));
    else if constexpr (std::is_integral_v<T>) return static_cast<T>(1u * a * b);
    else return a * b;
  }
  template <class T>
  static constexpr complex<T> of(complex<T> a, complex<T> b) noexcept {
    return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
  }
};
struct least {
  template <class T>
  static constexpr bool before(T a, T b) noexcept { return a < b; }
};
struct greatest {
  template <class T>
  static constexpr bool before(T a, T b) noexcept { return a > b; }
};
template <class Order>
struct extreme {
  template <class T>
  static constexpr T of(T a, T b) noexcept {
    const auto x = comparable(a), y = comparable(b);
    return (Order::before(x, y) | (x != x)) ? a : b;
  }
};
template <class Order>
struct extreme_place {
  template <class T>
  static constexpr T of(T a, T b) noexcept {
    const bool a_nan = a.value != a.value, b_nan = b.value != b.value;
    const bool first = Order::before(a.value, b.value) | (a_nan & !b_nan);
    const bool same = (a.value == b.value) | (a_nan & b_nan);
    return (first | (same & (a.index < b.index))) ? a : b;
  }
};
struct both {
  template <class T>
  static constexpr T of(T a, T b) noexcept { return static_cast<T>((a != 0) & (b != 0)); }
};
struct either {
  template <class T>
  static constexpr T of(T a, T b) noexcept { return static_cast<T>((a != 0) | (b != 0)); }
};
struct one_of {
  template <class T>
  static constexpr T of(T a, T b) noexcept { return static_cast<T>((a != 0) ^ (b != 0)); }
};
struct bits_and {
  template <class T>
  static constexpr T of(T a, T b) noexcept { return static_cast<T>(a & b); }
};
struct bits_or {
  template <class T>
  static constexpr T of(T a, T b) noexcept { return static_cast<T>(a | b); }
};
struct bits_xor {
  template <class T>
  static constexpr T of(T a, T b) noexcept { return static_cast<T>(a ^ b); }
};

// An element at any address, which may have been written as another type.
template <class T>
struct [[gnu::packed, gnu::may_alias]] element {
  T value;
};

#ifdef __clang__
#pragma clang diagnostic ignored "-Wpass-failed"  // x87 has no vectors
#endif

// `out` may be an operand: the element that is written is read before, and no other one.
template <class T, class Operation>
void loop(const void* left, const void* right, void* out, std::size_t count) noexcept {
  const auto* a = static_cast<const element<T>*>(left);
  const auto* b = static_cast<const element<T>*>(right);
  auto* o = static_cast<element<T>*>(out);
#ifdef __clang__
#pragma clang loop vectorize(assume_safety)
#else
#pragma GCC ivdep
#endif
  for (std::size_t i = 0; i < count; ++i) o[i].value = Operation::template of<>(T(a[i].value), T(b[i].value));
}

// A row of the table.
using row = std::array<reduction::loop*, operations>;
constexpr void set(row& r, operation op, reduction::loop* l) noexcept { r[static_cast<unsigned>(op)] = l; }

template <class T>
constexpr void set_sums(row& r) noexcept {
  set(r, operation::sum, loop<T, add>), set(r, operation::product, loop<T, multiply>);
}
template <class T>
constexpr void set_extremes(row& r) noexcept {
  set(r, operation::min, loop<T, extreme<least>>), set(r, operation::max, loop<T, extreme<greatest>>);
}
template <class T>
constexpr row integer() noexcept {
  using U = std::make_unsigned_t<T>;
  row r{};
  set_sums<U>(r), set_extremes<T>(r);
  set(r, operation::logical_and, loop<U, both>), set(r, operation::logical_or, loop<U, either>), set(r, operation::logical_xor, loop<U, one_of>);
  set(r, operation::bitwise_and, loop<U, bits_and>), set(r, operation::bitwise_or, loop<U, bits_or>), set(r, operation::bitwise_xor, loop<U, bits_xor>);
  return r;
}
template <class T>
constexpr row floating() noexcept {
  row r{};
  set_sums<T>(r), set_extremes<T>(r);
  return r;
}
template <class T>
constexpr row complex_of() noexcept {
  row r{};
  set_sums<complex<T>>(r);
  return r;
}
template <class Value, class Index>
constexpr row pair_of() noexcept {
  row r{};
  set(r, operation::minloc, loop<pair<Value, Index>, extreme_place<least>>), set(r, operation::maxloc, loop<pair<Value, Index>, extreme_place<greatest>>);
  return r;
}

constexpr kernel_table all_loops() noexcept {
  kernel_table t{};
  const auto at = [&](datatype type) -> row& { return t[static_cast<unsigned>(type)]; };
  at(datatype::int8) = integer<std::int8_t>(), at(datatype::int16) = integer<std::int16_t>();
  at(datatype::int32) = integer<std::int32_t>(), at(datatype::int64) = integer<std::int64_t>();
  at(datatype::uint8) = integer<std::uint8_t>(), at(datatype::uint16) = integer<std::uint16_t>();
  at(datatype::uint32) = integer<std::uint32_t>(), at(datatype::uint64) = integer<std::uint64_t>();
  at(datatype::float32) = floating<float>(), at(datatype::float64) = floating<double>(), at(datatype::long_double) = floating<long double>();
  at(datatype::float32_complex) = complex_of<float>(), at(datatype::float64_complex) = complex_of<double>();
  at(datatype::float16) = floating<float16>(), at(datatype::bfloat16) = floating<bfloat16>();
  at(datatype::float32_int32) = pair_of<float, std::int32_t>(), at(datatype::float64_int32) = pair_of<double, std::int32_t>();
  at(datatype::long_double_int32) = pair_of<long double, std::int32_t>(), at(datatype::int16_int32) = pair_of<std::int16_t, std::int32_t>();
  at(datatype::int32_int32) = pair_of<std::int32_t, std::int32_t>(), at(datatype::int64_int32) = pair_of<std::int64_t, std::int32_t>();
  at(datatype::float32_int64) = pair_of<float, std::int64_t>(), at(datatype::float64_int64) = pair_of<double, std::int64_t>();
  at(datatype::int64_int64) = pair_of<std::int64_t, std::int64_t>();
  return t;
}

}  // namespace
}  // namespace tutti::reductions

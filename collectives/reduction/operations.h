// The operations on two elements, free of branches. For kernels.h alone, whose rules hold here.
#pragma once
#include "collectives/reduction/elements.h"

namespace tutti::reductions {
namespace {

struct add {
  template <class T>
  static constexpr T of(T a, T b) noexcept {
    if constexpr (is_short_float<T>) return T::rounded(static_cast<float>(a) + static_cast<float>(b));
    else return static_cast<T>(a + b);
  }
  template <class T>
  static constexpr two<T> of(two<T> a, two<T> b) noexcept { return two<T>::of(of(a.low(), b.low()), of(a.high(), b.high())); }
  template <class T>
  static constexpr complex<T> of(complex<T> a, complex<T> b) noexcept { return {a.re + b.re, a.im + b.im}; }
};

struct multiply {
  template <class T>
  static constexpr T of(T a, T b) noexcept {
    if constexpr (is_short_float<T>) return T::rounded(static_cast<float>(a) * static_cast<float>(b));
    else if constexpr (std::is_integral_v<T>) return static_cast<T>(1u * a * b);  // not as int, to which narrow ones are promoted
    else return a * b;
  }
  template <class T>
  static constexpr two<T> of(two<T> a, two<T> b) noexcept { return two<T>::of(of(a.low(), b.low()), of(a.high(), b.high())); }
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
    if constexpr (is_short_float<T>) {
      const bool first = Order::before(order(a), order(b)), a_nan = is_nan(a), b_nan = is_nan(b), left = (first | a_nan) & !b_nan;
      return {left ? a.bits : b.bits};
    } else {
      return (Order::before(a, b) | (a != a)) ? a : b;
    }
  }
  template <class Value, class Index>
  static constexpr pair<Value, Index> of(pair<Value, Index> a, pair<Value, Index> b) noexcept {
    const bool a_nan = a.value != a.value, b_nan = b.value != b.value;
    const bool first = Order::before(a.value, b.value) | (a_nan & !b_nan);
    const bool same = (a.value == b.value) | (a_nan & b_nan);
    const bool left = first | (same & (a.index < b.index));
    return {left ? a.value : b.value, left ? a.index : b.index};
  }
};

// Of unsigned integers, whose bits are those of the signed ones.
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

}  // namespace
}  // namespace tutti::reductions

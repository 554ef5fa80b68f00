// What calls of tutti.hpp read and write: contiguous ranges (std::span, std::vector, std::array, ...) of trivially copyable
// elements; and how elements are reduced.
#pragma once
#include <tutti.h>

#include <complex>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <memory>
#include <ranges>
#include <span>
#include <type_traits>
#include <utility>

#include <tutti/result.hpp>

namespace tutti {
inline namespace cpp {

template <class R>
concept readable = std::ranges::contiguous_range<R> && std::ranges::sized_range<R> &&
                   std::is_trivially_copyable_v<std::ranges::range_value_t<R>>;
template <class R>
concept writable = readable<R> && !std::is_const_v<std::remove_reference_t<std::ranges::range_reference_t<R>>>;

template <readable R>
using element = std::ranges::range_value_t<R>;

// One object as a range: send(team, to, tag, one(header)).
template <class T>
std::span<T, 1> one(T& object) noexcept { return std::span<T, 1>(&object, 1); }

namespace detail {

inline char nothing[16];  // stands for the data of an empty range, whose address may be null

template <readable R>
std::size_t bytes_of(const R& r) noexcept { return std::ranges::size(r) * sizeof(element<R>); }
template <readable R>
auto* address_of(R&& r) noexcept {
  using pointer = decltype(std::ranges::data(r));
  return std::ranges::size(r) > 0 ? std::ranges::data(r) : reinterpret_cast<pointer>(nothing);
}

}  // namespace detail

// --- elements of reductions

// A value and where it lies, for op::min_at and op::max_at; laid out as the pairs of tutti.h.
template <class V, class I>
struct located {
  V value;
  I index;
};
enum class float16 : std::uint16_t {};   // their bits
enum class bfloat16 : std::uint16_t {};

namespace detail {

template <class T>
inline constexpr tutti_datatype_t other_type = 0;
template <> inline constexpr tutti_datatype_t other_type<float> = TUTTI_FLOAT32;
template <> inline constexpr tutti_datatype_t other_type<double> = TUTTI_FLOAT64;
template <> inline constexpr tutti_datatype_t other_type<long double> = TUTTI_LONG_DOUBLE;
template <> inline constexpr tutti_datatype_t other_type<std::complex<float>> = TUTTI_FLOAT32_COMPLEX;
template <> inline constexpr tutti_datatype_t other_type<std::complex<double>> = TUTTI_FLOAT64_COMPLEX;
template <> inline constexpr tutti_datatype_t other_type<float16> = TUTTI_FLOAT16;
template <> inline constexpr tutti_datatype_t other_type<bfloat16> = TUTTI_BFLOAT16;
template <> inline constexpr tutti_datatype_t other_type<located<float, std::int32_t>> = TUTTI_FLOAT32_INT32;
template <> inline constexpr tutti_datatype_t other_type<located<double, std::int32_t>> = TUTTI_FLOAT64_INT32;
template <> inline constexpr tutti_datatype_t other_type<located<long double, std::int32_t>> = TUTTI_LONG_DOUBLE_INT32;
template <> inline constexpr tutti_datatype_t other_type<located<std::int16_t, std::int32_t>> = TUTTI_INT16_INT32;
template <> inline constexpr tutti_datatype_t other_type<located<std::int32_t, std::int32_t>> = TUTTI_INT32_INT32;
template <> inline constexpr tutti_datatype_t other_type<located<std::int64_t, std::int32_t>> = TUTTI_INT64_INT32;
template <> inline constexpr tutti_datatype_t other_type<located<float, std::int64_t>> = TUTTI_FLOAT32_INT64;
template <> inline constexpr tutti_datatype_t other_type<located<double, std::int64_t>> = TUTTI_FLOAT64_INT64;
template <> inline constexpr tutti_datatype_t other_type<located<std::int64_t, std::int64_t>> = TUTTI_INT64_INT64;

template <class T>
consteval tutti_datatype_t find_type() {
  if constexpr (std::integral<T> && !std::same_as<T, bool> && sizeof(T) <= 8) {
    constexpr int power = sizeof(T) == 1 ? 0 : sizeof(T) == 2 ? 1 : sizeof(T) == 4 ? 2 : 3;
    return (std::signed_integral<T> ? TUTTI_INT8 : TUTTI_UINT8) + power;
  } else {
    return other_type<T>;
  }
}

}  // namespace detail

// Its number in tutti.h; 0: none.
template <class T>
inline constexpr tutti_datatype_t datatype_of = detail::find_type<std::remove_cv_t<T>>();

// --- operations of reductions

struct operation {
  tutti_operation_t number;
};
namespace op {
inline constexpr operation sum{TUTTI_SUM}, product{TUTTI_PRODUCT}, min{TUTTI_MIN}, max{TUTTI_MAX};
inline constexpr operation logical_and{TUTTI_LOGICAL_AND}, logical_or{TUTTI_LOGICAL_OR}, logical_xor{TUTTI_LOGICAL_XOR};
inline constexpr operation bitwise_and{TUTTI_BITWISE_AND}, bitwise_or{TUTTI_BITWISE_OR}, bitwise_xor{TUTTI_BITWISE_XOR};
inline constexpr operation min_at{TUTTI_MINLOC}, max_at{TUTTI_MAXLOC};
}  // namespace op

// An operation of the program's own: f(a, b) of two T, a from the lower rank (tutti_operation_create()). Freed with this object;
// context::make_operation() makes one.
template <class T, class F>
class own_operation {
 public:
  static result<own_operation> make(tutti_t ctx, F f, bool commutative) {
    own_operation made(ctx, std::make_unique<F>(std::move(f)));
    const auto code = tutti_operation_create(ctx, combine, sizeof(T), commutative, made.f_.get(), &made.number_);
    if (code != TUTTI_OK) return detail::failure_of(code, ctx);
    return made;
  }
  own_operation(own_operation&& other) noexcept : ctx_(other.ctx_), f_(std::move(other.f_)), number_(std::exchange(other.number_, 0)) {}
  own_operation& operator=(own_operation&& other) noexcept {
    std::swap(ctx_, other.ctx_), std::swap(f_, other.f_), std::swap(number_, other.number_);
    return *this;
  }
  ~own_operation() {
    if (number_) (void)tutti_operation_free(ctx_, &number_);
  }
  tutti_operation_t number() const noexcept { return number_; }

 private:
  own_operation(tutti_t ctx, std::unique_ptr<F> f) : ctx_(ctx), f_(std::move(f)) {}
  // The elements may lie at any address.
  static void combine(const void* in, void* inout, std::size_t count, void* self) {
    for (std::size_t i = 0; i < count; ++i) {
      T a, b;
      std::memcpy(&a, static_cast<const char*>(in) + i * sizeof(T), sizeof(T));
      std::memcpy(&b, static_cast<char*>(inout) + i * sizeof(T), sizeof(T));
      const T both = (*static_cast<F*>(self))(a, b);
      std::memcpy(static_cast<char*>(inout) + i * sizeof(T), &both, sizeof(T));
    }
  }

  tutti_t ctx_;
  std::unique_ptr<F> f_;
  tutti_operation_t number_ = 0;
};

namespace detail {

struct typed_operation {
  tutti_datatype_t type;
  tutti_operation_t number;
};
template <class T>
constexpr typed_operation typed(operation o) noexcept {
  static_assert(datatype_of<T> != 0, "tutti has no operations on elements of this type; make_operation() makes one");
  return {datatype_of<T>, o.number};
}
template <class T, class F>
typed_operation typed(const own_operation<T, F>& o) noexcept { return {TUTTI_BYTES, o.number()}; }

}  // namespace detail
}  // namespace cpp
}  // namespace tutti

// The loops of the built-in operations, for the compiler to vectorise. Included once by each file that compiles them for some
// kind of processor: all is local to that file, and no inline function of the standard library is called, since the linker
// might keep the copy that not every processor can run.
#pragma once
#ifdef __F16C__
#include <immintrin.h>
#endif

#include "collectives/reduction/kernel_table.h"
#include "collectives/reduction/operations.h"

namespace tutti::reductions {
namespace {

#ifdef __clang__
#pragma clang diagnostic ignored "-Wpass-failed"  // long double has no vectors
#endif

// `out` may be an operand: what is written has been read before, and no other element of it is.
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
  for (std::size_t i = 0; i < count; ++i) o[i].value = Operation::of(T(a[i].value), T(b[i].value));
}

// Floats of 16 bits: two at once.
template <class T, class Operation>
void short_loop(const void* left, const void* right, void* out, std::size_t count) noexcept {
  loop<two<T>, Operation>(left, right, out, count / 2);
  const std::size_t done = count / 2 * sizeof(two<T>);
  loop<T, Operation>(static_cast<const char*>(left) + done, static_cast<const char*>(right) + done,
                     static_cast<char*>(out) + done, count % 2);
}

// By the conversions of the processor, where it has any: 13 times faster, and GCC 12 does not find them.
#ifdef __F16C__
template <class Operation>
void float16_loop(const void* left, const void* right, void* out, std::size_t count) noexcept {
  const auto *a = static_cast<const char*>(left), *b = static_cast<const char*>(right);
  auto* o = static_cast<char*>(out);
  std::size_t done = 0;
  for (; done + 8 <= count; done += 8, a += 16, b += 16, o += 16) {
    const __m256 x = _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i_u*>(a)));
    const __m256 y = _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i_u*>(b)));
    _mm_storeu_si128(reinterpret_cast<__m128i_u*>(o), _mm256_cvtps_ph(Operation::of(x, y), _MM_FROUND_TO_NEAREST_INT));
  }
  loop<float16, Operation>(a, b, o, count - done);
}
#else
template <class Operation>
void float16_loop(const void* left, const void* right, void* out, std::size_t count) noexcept {
  short_loop<float16, Operation>(left, right, out, count);
}
#endif

struct row {
  reduction::loop* loops[operations];
  constexpr reduction::loop*& operator[](operation op) noexcept { return loops[static_cast<unsigned>(op)]; }
};

template <class T>
constexpr row integer() noexcept {
  using U = std::make_unsigned_t<T>;
  using enum operation;
  row r{};
  r[sum] = loop<U, add>, r[product] = loop<U, multiply>;
  r[min] = loop<T, extreme<least>>, r[max] = loop<T, extreme<greatest>>;
  r[logical_and] = loop<U, both>, r[logical_or] = loop<U, either>, r[logical_xor] = loop<U, one_of>;
  r[bitwise_and] = loop<U, bits_and>, r[bitwise_or] = loop<U, bits_or>, r[bitwise_xor] = loop<U, bits_xor>;
  return r;
}

template <class T>
constexpr row floating() noexcept {
  using enum operation;
  row r{};
  if constexpr (std::is_same_v<T, float16>) r[sum] = float16_loop<add>, r[product] = float16_loop<multiply>;
  else if constexpr (std::is_same_v<T, bfloat16>) r[sum] = short_loop<T, add>, r[product] = short_loop<T, multiply>;
  else r[sum] = loop<T, add>, r[product] = loop<T, multiply>;
  r[min] = loop<T, extreme<least>>, r[max] = loop<T, extreme<greatest>>;
  return r;
}

template <class T>
constexpr row complex_of() noexcept {
  row r{};
  r[operation::sum] = loop<complex<T>, add>, r[operation::product] = loop<complex<T>, multiply>;
  return r;
}

template <class Value, class Index>
constexpr row pair_of() noexcept {
  using T = pair<Value, Index>;
  row r{};
  r[operation::minloc] = loop<T, extreme<least>>, r[operation::maxloc] = loop<T, extreme<greatest>>;
  return r;
}

constexpr kernel_table all_loops() noexcept {
  using enum datatype;
  using i16 = std::int16_t;
  using i32 = std::int32_t;
  using i64 = std::int64_t;
  kernel_table t{};
  const auto set = [&](datatype type, const row& r) {
    for (unsigned op = 0; op < operations; ++op) t.loops[static_cast<unsigned>(type)][op] = r.loops[op];
  };
  set(int8, integer<std::int8_t>()), set(int16, integer<i16>()), set(int32, integer<i32>()), set(int64, integer<i64>());
  set(uint8, integer<std::uint8_t>()), set(uint16, integer<std::uint16_t>());
  set(uint32, integer<std::uint32_t>()), set(uint64, integer<std::uint64_t>());
  set(float32, floating<float>()), set(float64, floating<double>()), set(long_double, floating<long double>());
  set(float32_complex, complex_of<float>()), set(float64_complex, complex_of<double>());
  set(datatype::float16, floating<reductions::float16>()), set(datatype::bfloat16, floating<reductions::bfloat16>());
  set(float32_int32, pair_of<float, i32>()), set(float64_int32, pair_of<double, i32>());
  set(long_double_int32, pair_of<long double, i32>()), set(int16_int32, pair_of<i16, i32>());
  set(int32_int32, pair_of<i32, i32>()), set(int64_int32, pair_of<i64, i32>());
  set(float32_int64, pair_of<float, i64>()), set(float64_int64, pair_of<double, i64>()), set(int64_int64, pair_of<i64, i64>());
  return t;
}

}  // namespace
}  // namespace tutti::reductions

// The arithmetic of reductions against one element at a time, written apart: every type with every operation on every kind of
// processor that this one can be, any count and alignment; what the corners give; what is refused, and in which words.
#include "collectives/reduction/reduction.h"

#include <boost/test/unit_test.hpp>
#include <cfloat>
#include <cmath>
#include <complex>
#include <limits>
#include <random>
#include <vector>

#include "collectives/reduction/kernel_table.h"

using namespace tutti;

namespace {

// A float of 16 bits by its definition: the mantissa has so many bits with the hidden one; exponents of numbers begin here.
template <int mantissa, int least_exponent>
struct short_float {
  std::uint16_t bits;

  static constexpr int most = (1 << (16 - mantissa)) - 1, hidden = 1 << (mantissa - 1);
  float value() const {
    const int e = bits >> (mantissa - 1) & most, m = bits & (hidden - 1);
    const float sign = bits >> 15 ? -1.f : 1.f;
    if (e == most) return m ? NAN : sign * INFINITY;
    const auto digits = static_cast<float>(e ? m + hidden : m);
    return sign * std::ldexp(digits, std::max(e, 1) - 1 + least_exponent - (mantissa - 1));
  }
  static short_float nearest(float f) {
    const std::uint16_t sign = std::signbit(f) ? 0x8000 : 0;
    const auto made = [&](int e, int m) { return short_float{static_cast<std::uint16_t>(sign | e << (mantissa - 1) | m)}; };
    if (std::isnan(f)) return made(most, 1 << (mantissa - 2));
    if (f == 0 || std::isinf(f)) return made(f == 0 ? 0 : most, 0);
    int e = std::max(std::ilogb(f), least_exponent);
    double m = std::nearbyint(std::ldexp(std::fabs(static_cast<double>(f)), mantissa - 1 - e));  // to even
    if (m == 2 * hidden) m /= 2, ++e;
    if (e - least_exponent + 1 >= most) return made(most, 0);
    return m < hidden ? made(0, static_cast<int>(m)) : made(e - least_exponent + 1, static_cast<int>(m) - hidden);
  }
};
using half = short_float<11, -14>;
using brain = short_float<8, -126>;

template <class Value, class Index>
struct placed {
  Value value;
  Index index;
};

// --- the reference ---------------------------------------------------------------------------------------------------

template <class T>
T reference(operation op, T a, T b) {
  using enum operation;
  if constexpr (std::is_integral_v<T>) {
    using wide = unsigned __int128;
    switch (op) {
      case sum: return static_cast<T>(static_cast<wide>(a) + static_cast<wide>(b));
      case product: return static_cast<T>(static_cast<wide>(a) * static_cast<wide>(b));
      case logical_and: return a && b;
      case logical_or: return a || b;
      case logical_xor: return !a != !b;
      case bitwise_and: return static_cast<T>(a & b);
      case bitwise_or: return static_cast<T>(a | b);
      case bitwise_xor: return static_cast<T>(a ^ b);
      default: return op == min ? std::min(a, b) : std::max(a, b);
    }
  } else {
    if (op == sum) return a + b;
    if (op == product) return a * b;
    if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<T>::quiet_NaN();
    return op == min ? std::min(a, b) : std::max(a, b);
  }
}
template <int m, int e>
short_float<m, e> reference(operation op, short_float<m, e> a, short_float<m, e> b) {
  return short_float<m, e>::nearest(reference(op, a.value(), b.value()));
}
template <class T>
std::complex<T> reference(operation op, std::complex<T> a, std::complex<T> b) {
  if (op == operation::sum) return {a.real() + b.real(), a.imag() + b.imag()};
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}
template <class Value, class Index>
placed<Value, Index> reference(operation op, placed<Value, Index> a, placed<Value, Index> b) {
  const auto nan = [](auto p) { return p.value != p.value; };
  if (nan(a) != nan(b)) return nan(a) ? a : b;
  if (nan(a) || a.value == b.value) return a.index < b.index ? a : b;
  return (a.value < b.value) == (op == operation::minloc) ? a : b;
}

template <class T>
bool same(T a, T b) { return a == b || (a != a && b != b); }
template <int m, int e>
bool same(short_float<m, e> a, short_float<m, e> b) { return same(a.value(), b.value()); }
template <class T>
bool same(std::complex<T> a, std::complex<T> b) { return same(a.real(), b.real()) && same(a.imag(), b.imag()); }
template <class Value, class Index>
bool same(placed<Value, Index> a, placed<Value, Index> b) { return same(a.value, b.value) && a.index == b.index; }

// --- operands: corners often -----------------------------------------------------------------------------------------

using source = std::mt19937_64;

template <class T>
void draw(source& random, T& v) {
  using limits = std::numeric_limits<T>;
  if constexpr (std::is_integral_v<T>) {
    const T corners[] = {0, 1, static_cast<T>(-1), limits::min(), limits::max()};
    v = random() % 3 ? static_cast<T>(random()) : corners[random() % 5];
  } else {
    const T corners[] = {0, -T{0}, 1, limits::max(), limits::lowest(), limits::min(), limits::denorm_min(),
                         limits::infinity(), -limits::infinity(), limits::quiet_NaN()};
    const auto digits = static_cast<T>(static_cast<std::int64_t>(random()));
    v = random() % 4 ? std::ldexp(digits, static_cast<int>(random() % 128) - 96) : corners[random() % 10];
  }
}
template <int m, int e>
void draw(source& random, short_float<m, e>& v) {
  v.bits = static_cast<std::uint16_t>(random());  // all there are
}
template <class T>
void draw(source& random, std::complex<T>& v) {
  T re, im;
  draw(random, re), draw(random, im);
  v = {re, im};
}
template <class Value, class Index>
void draw(source& random, placed<Value, Index>& v) {
  std::memset(&v, 0, sizeof v);
  draw(random, v.value), draw(random, v.index);
  if (random() % 2) v.value = static_cast<Value>(random() % 3);  // often equal
}

// --- one loop --------------------------------------------------------------------------------------------------------

// Where the result goes: memory of its own, the right operand, the left one.
enum class place { apart, right, left };

template <class T>
struct buffer {
  std::vector<std::byte> bytes;
  std::size_t offset;

  buffer(std::size_t count, std::size_t off) : bytes(off + count * sizeof(T) + 64, std::byte{0x5a}), offset(off) {}
  std::byte* at(std::size_t i) { return bytes.data() + offset + i * sizeof(T); }
  T get(std::size_t i) {
    T v;
    return std::memcpy(static_cast<void*>(&v), at(i), sizeof v), v;
  }
  void set(std::size_t i, const T& v) { std::memcpy(at(i), static_cast<const void*>(&v), sizeof v); }
};

template <class T>
bool one_call(reduction::loop* loop, operation op, std::size_t count, std::size_t offset, place where, source& random) {
  buffer<T> a(count, offset), b(count, offset ? offset + 1 : 0), apart(count, offset ? offset + 2 : 0);
  std::vector<T> expected(count);
  for (std::size_t i = 0; i < count; ++i) {
    T x, y;
    draw(random, x), draw(random, y);
    a.set(i, x), b.set(i, y);
    expected[i] = reference(op, x, y);
  }
  buffer<T>& out = where == place::apart ? apart : where == place::right ? b : a;
  const auto untouched = [](buffer<T>& of) {
    const auto is_free = [](std::byte v) { return v == std::byte{0x5a}; };
    return std::all_of(of.bytes.data(), of.at(0), is_free) && std::all_of(of.bytes.end() - 64, of.bytes.end(), is_free);
  };
  const auto a_before = a.bytes, b_before = b.bytes;
  loop(a.at(0), b.at(0), out.at(0), count);
  for (std::size_t i = 0; i < count; ++i)
    if (!same(out.get(i), expected[i])) return false;
  return untouched(out) && (&out == &a || a.bytes == a_before) && (&out == &b || b.bytes == b_before);
}

template <class T>
void every_call(datatype type) {
  BOOST_TEST(size_of(type) == sizeof(T), name_of(type));
  unsigned found = 0;
  for (const reductions::kernel_table* table : reductions::usable_tables())
    for (unsigned o = 1; o < operations; ++o) {
      reduction::loop* const loop = table->loops[static_cast<unsigned>(type)][o];
      if (!loop) continue;
      ++found;
      source random{o};
      for (std::size_t count = 0; count <= 34; ++count)
        for (const std::size_t offset : {0, 1, 3, 8})
          for (const place where : {place::apart, place::right, place::left}) {
            const std::size_t n = count == 34 ? 1000 : count;
            if (!one_call<T>(loop, static_cast<operation>(o), n, offset, where, random))
              BOOST_ERROR(name_of(static_cast<operation>(o))
                          << " of " << n << ' ' << name_of(type) << ", offset " << offset << ", place " << static_cast<int>(where)
                          << (table == &reductions::baseline ? ", any processor" : ", this processor"));
          }
    }
  BOOST_TEST(found > 0u, name_of(type));
}

template <class T, class Function>
void each_pair_of_short_floats(datatype type, operation op, Function partner) {
  std::vector<T> a(65536), b(65536), out(65536);
  for (unsigned i = 0; i < 65536; ++i)
    a[i].bits = static_cast<std::uint16_t>(i), b[i].bits = static_cast<std::uint16_t>(partner(i));
  for (const reductions::kernel_table* table : reductions::usable_tables()) {
    table->loops[static_cast<unsigned>(type)][static_cast<unsigned>(op)](a.data(), b.data(), out.data(), a.size());
    unsigned wrong = 0;
    for (unsigned i = 0; i < 65536; ++i) {
      const T expected = reference(op, a[i], b[i]);
      const bool exact = (op == operation::sum || op == operation::product) && !std::isnan(expected.value());
      wrong += exact ? out[i].bits != expected.bits : !same(out[i], expected);
    }
    BOOST_TEST(wrong == 0u, name_of(op) << " of " << name_of(type));
  }
}

constexpr auto type_at = [](unsigned i) { return static_cast<datatype>(i); };
constexpr auto operation_at = [](unsigned i) { return static_cast<operation>(i); };

template <class T>
T combined(datatype type, operation op, T in, T inout) {
  const auto r = find_reduction(type, op);
  BOOST_REQUIRE(r.ok());
  r->combine(&in, &inout, 1);
  return inout;
}

}  // namespace

BOOST_AUTO_TEST_CASE(integers_are_as_one_at_a_time) {
  every_call<std::int8_t>(datatype::int8), every_call<std::int16_t>(datatype::int16);
  every_call<std::int32_t>(datatype::int32), every_call<std::int64_t>(datatype::int64);
  every_call<std::uint8_t>(datatype::uint8), every_call<std::uint16_t>(datatype::uint16);
  every_call<std::uint32_t>(datatype::uint32), every_call<std::uint64_t>(datatype::uint64);
}

BOOST_AUTO_TEST_CASE(floats_are_as_one_at_a_time) {
  every_call<float>(datatype::float32), every_call<double>(datatype::float64), every_call<long double>(datatype::long_double);
  every_call<std::complex<float>>(datatype::float32_complex), every_call<std::complex<double>>(datatype::float64_complex);
  every_call<half>(datatype::float16), every_call<brain>(datatype::bfloat16);
}

BOOST_AUTO_TEST_CASE(pairs_are_as_one_at_a_time) {
  using i16 = std::int16_t;
  using i32 = std::int32_t;
  using i64 = std::int64_t;
  every_call<placed<float, i32>>(datatype::float32_int32), every_call<placed<double, i32>>(datatype::float64_int32);
  every_call<placed<long double, i32>>(datatype::long_double_int32), every_call<placed<i16, i32>>(datatype::int16_int32);
  every_call<placed<i32, i32>>(datatype::int32_int32), every_call<placed<i64, i32>>(datatype::int64_int32);
  every_call<placed<float, i64>>(datatype::float32_int64), every_call<placed<double, i64>>(datatype::float64_int64);
  every_call<placed<i64, i64>>(datatype::int64_int64);
}

// Each of the 65536 with one, with itself, with its neighbour, and with others.
BOOST_AUTO_TEST_CASE(every_float_of_16_bits_is_rounded_to_nearest_even) {
  using enum operation;
  BOOST_TEST(half::nearest(65504).bits == 0x7bffu);
  BOOST_TEST(half::nearest(65520).bits == 0x7c00u);
  BOOST_TEST(brain::nearest(1.f).bits == 0x3f80u);
  for (const operation op : {sum, product, min, max}) {
    const auto all = [&](auto partner) {
      each_pair_of_short_floats<half>(datatype::float16, op, partner);
      each_pair_of_short_floats<brain>(datatype::bfloat16, op, partner);
    };
    all([](unsigned) { return 0x3c00; });
    all([](unsigned) { return 0x3f80; });
    all([](unsigned i) { return i; });
    all([](unsigned i) { return i + 1; });
    for (unsigned turn = 1; turn < 8; ++turn) all([&](unsigned i) { return (i * 40503u + turn * 7919u) >> turn; });
  }
}

BOOST_AUTO_TEST_CASE(corners) {
  using enum operation;
  BOOST_TEST(combined<std::int32_t>(datatype::int32, sum, INT32_MAX, 1) == INT32_MIN);
  BOOST_TEST(combined<std::int64_t>(datatype::int64, product, INT64_MIN, -1) == INT64_MIN);
  BOOST_TEST(combined<std::int16_t>(datatype::int16, product, -32768, -32768) == 0);
  BOOST_TEST(combined<std::uint16_t>(datatype::uint16, product, 65535, 65535) == 1);
  BOOST_TEST(combined<std::int8_t>(datatype::int8, logical_and, -128, 2) == 1);
  BOOST_TEST(combined<std::int8_t>(datatype::int8, logical_xor, -128, 2) == 0);
  for (const operation op : {min, max}) {
    BOOST_TEST(std::isnan(combined<float>(datatype::float32, op, NAN, 1)));
    BOOST_TEST(std::isnan(combined<float>(datatype::float32, op, 1, NAN)));
    BOOST_TEST(std::isnan(combined<long double>(datatype::long_double, op, 1, NAN)));
  }
  using at = placed<double, std::int32_t>;
  BOOST_TEST(combined<at>(datatype::float64_int32, minloc, {1, 7}, {1, 5}).index == 5);
  BOOST_TEST(combined<at>(datatype::float64_int32, maxloc, {1, 5}, {1, 7}).index == 5);
  BOOST_TEST(combined<at>(datatype::float64_int32, maxloc, {NAN, 9}, {1e300, 7}).index == 9);
  BOOST_TEST(combined<at>(datatype::float64_int32, minloc, {NAN, 9}, {NAN, 7}).index == 7);
}

BOOST_AUTO_TEST_CASE(only_integers_do_not_care_for_the_order) {
  BOOST_TEST(find_reduction(datatype::int8, operation::sum)->associative);
  BOOST_TEST(find_reduction(datatype::uint64, operation::max)->associative);
  BOOST_TEST(!find_reduction(datatype::float32, operation::sum)->associative);
  BOOST_TEST(!find_reduction(datatype::float64_int32, operation::minloc)->associative);
  BOOST_TEST(find_reduction(datatype::float32, operation::sum)->commutative);
}

// x -> a x + b, one after the other: the order shows.
BOOST_AUTO_TEST_CASE(a_users_function_gets_the_lower_ranks_on_the_left) {
  struct map {
    std::uint32_t a, b;
  };
  const auto after = [](const void* in, void* inout, std::size_t count, void* context) {
    ++*static_cast<int*>(context);
    for (std::size_t i = 0; i < count; ++i) {
      map l, r;
      std::memcpy(&l, static_cast<const char*>(in) + i * sizeof l, sizeof l);
      std::memcpy(&r, static_cast<char*>(inout) + i * sizeof r, sizeof r);
      r = {l.a * r.a, l.b * r.a + r.b};
      std::memcpy(static_cast<char*>(inout) + i * sizeof r, &r, sizeof r);
    }
  };
  int calls = 0;
  const auto r = user_reduction(after, sizeof(map), false, &calls);
  BOOST_REQUIRE(r.ok());
  BOOST_TEST(!r->commutative);
  BOOST_TEST(!r->associative);
  BOOST_TEST(r->element_size == sizeof(map));
  const map low[] = {{2, 3}, {5, 7}}, high[] = {{11, 13}, {17, 19}};
  map out[2], in_place[] = {high[0], high[1]};
  r->combine(low, high, out, 2);
  r->combine(low, in_place, 2);
  for (const map* got : {out, in_place}) {
    BOOST_TEST(got[0].a == 22u);
    BOOST_TEST(got[0].b == 46u);
    BOOST_TEST(got[1].b == 7u * 17 + 19);
  }
  r->combine(nullptr, nullptr, nullptr, 0);
  BOOST_TEST(calls == 3);
  BOOST_TEST(user_reduction(nullptr, 8, true, nullptr).error().text() == std::string("a user's operation without a function"));
  BOOST_TEST(user_reduction(after, 0, true, nullptr).error().text() == std::string("a user's operation on elements of 0 bytes"));
}

BOOST_AUTO_TEST_CASE(what_makes_no_sense_is_refused_by_name) {
  const auto text = [](datatype t, operation o) {
    const auto r = find_reduction(t, o);
    BOOST_TEST((r.error().code() == errc::invalid), name_of(t) << ' ' << name_of(o));
    return std::string(r.error().text());
  };
  BOOST_TEST(text(datatype::float32, operation::bitwise_and) ==
             "bitwise_and of float32 makes no sense: bitwise_and takes integers");
  BOOST_TEST(text(datatype::float64_complex, operation::min) ==
             "min of float64_complex makes no sense: min takes integers and floats");
  BOOST_TEST(text(datatype::int32, operation::minloc) ==
             "minloc of int32 makes no sense: minloc takes pairs such as float64_int32");
  BOOST_TEST(text(datatype::float64_int32, operation::sum) ==
             "sum of float64_int32 makes no sense: sum takes integers, floats and complex numbers");
  BOOST_TEST(text(datatype::bytes, operation::sum) == "sum of bytes: only a user's operation knows what the bytes mean");
  BOOST_TEST(text(datatype::int32, operation::user) == "user of int32: a user's operation is made from its function");
  BOOST_TEST(text(type_at(200), operation_at(0)) == "unknown operation of unknown datatype: type 200, operation 0");
  BOOST_TEST(text(datatype::int8, operation_at(99)) == "unknown operation of int8: type 1, operation 99");
  unsigned made = 0;
  for (unsigned t = 0; t < datatypes; ++t)
    for (unsigned o = 0; o < operations; ++o) made += find_reduction(type_at(t), operation_at(o)).ok();
  BOOST_TEST(made == 8u * 10 + 5 * 4 + 2 * 2 + 9 * 2);
}

BOOST_AUTO_TEST_CASE(names_are_read_as_they_are_written) {
  for (unsigned i = 1; i < datatypes; ++i) BOOST_TEST((find_datatype(name_of(type_at(i))) == type_at(i)));
  for (unsigned i = 1; i < operations; ++i) BOOST_TEST((find_operation(name_of(operation_at(i))) == operation_at(i)));
  BOOST_TEST(name_of(datatype::float64_int32) == "float64_int32");
  BOOST_TEST(name_of(datatype::bytes) == "bytes");
  BOOST_TEST(name_of(operation::bitwise_xor) == "bitwise_xor");
  BOOST_TEST(name_of(operation::user) == "user");
  BOOST_TEST(size_of(datatype::bytes) == 0u);
  for (const char* unknown : {"", "float", "unknown datatype", "unknown operation"}) {
    BOOST_TEST(!find_datatype(unknown));
    BOOST_TEST(!find_operation(unknown));
  }
}

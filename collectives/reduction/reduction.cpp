#include "collectives/reduction/reduction.h"

#ifdef __x86_64__
#include <cpuid.h>
#endif
#include <string>

#include "collectives/reduction/kernel_table.h"

namespace tutti {
namespace {

struct type_row {
  std::string_view name;
  std::size_t size;
};
template <class Value, class Index>
struct pair {
  Value value;
  Index index;
};
template <class Value, class Index>
constexpr std::size_t pair_size = sizeof(pair<Value, Index>);

// By the enumerators' values.
constexpr type_row types[datatypes] = {
    {"unknown datatype", 0},
    {"int8", 1}, {"int16", 2}, {"int32", 4}, {"int64", 8},
    {"uint8", 1}, {"uint16", 2}, {"uint32", 4}, {"uint64", 8},
    {"float32", 4}, {"float64", 8}, {"long_double", sizeof(long double)},
    {"float32_complex", 8}, {"float64_complex", 16},
    {"float16", 2}, {"bfloat16", 2},
    {"float32_int32", pair_size<float, std::int32_t>}, {"float64_int32", pair_size<double, std::int32_t>},
    {"long_double_int32", pair_size<long double, std::int32_t>}, {"int16_int32", pair_size<std::int16_t, std::int32_t>},
    {"int32_int32", pair_size<std::int32_t, std::int32_t>}, {"int64_int32", pair_size<std::int64_t, std::int32_t>},
    {"float32_int64", pair_size<float, std::int64_t>}, {"float64_int64", pair_size<double, std::int64_t>},
    {"int64_int64", pair_size<std::int64_t, std::int64_t>},
    {"bytes", 0},
};

struct operation_row {
  std::string_view name, takes;
};
constexpr std::string_view integers = "integers", pairs = "pairs such as float64_int32";
constexpr operation_row rows[operations] = {
    {"unknown operation", ""},
    {"sum", "integers, floats and complex numbers"}, {"product", "integers, floats and complex numbers"},
    {"min", "integers and floats"}, {"max", "integers and floats"},
    {"logical_and", integers}, {"logical_or", integers}, {"logical_xor", integers},
    {"bitwise_and", integers}, {"bitwise_or", integers}, {"bitwise_xor", integers},
    {"minloc", pairs}, {"maxloc", pairs},
    {"user", ""},
};

// Of no value that is known: the first row.
template <class Value, class Row, std::size_t n>
const Row& row_in(const Row (&table)[n], Value v) noexcept {
  const auto i = static_cast<std::size_t>(v);
  return table[i < n ? i : 0];
}
const type_row& row_of(datatype t) noexcept { return row_in(types, t); }
const operation_row& row_of(operation o) noexcept { return row_in(rows, o); }

template <class Value, class Row, std::size_t n>
std::optional<Value> named(const Row (&table)[n], std::string_view name) noexcept {
  for (std::size_t i = 1; i < n; ++i)
    if (table[i].name == name) return static_cast<Value>(i);
  return std::nullopt;
}

constexpr bool is_integer(datatype t) noexcept { return t >= datatype::int8 && t <= datatype::uint64; }

status no_sense(datatype type, operation op) {
  const std::string both = std::string(name_of(op)) + " of " + std::string(name_of(type));
  if (&row_of(type) == types || &row_of(op) == rows)
    return {errc::invalid, worded(both, ": type ", static_cast<unsigned>(type), ", operation ", static_cast<unsigned>(op))};
  if (op == operation::user) return {errc::invalid, worded(both, ": a user's operation is made from its function")};
  if (type == datatype::bytes) return {errc::invalid, worded(both, ": only a user's operation knows what the bytes mean")};
  return {errc::invalid, worded(both, " makes no sense: ", row_of(op).name, " takes ", row_of(op).takes)};
}

}  // namespace

std::string_view name_of(datatype t) noexcept { return row_of(t).name; }
std::string_view name_of(operation o) noexcept { return row_of(o).name; }
std::optional<datatype> find_datatype(std::string_view name) noexcept { return named<datatype>(types, name); }
std::optional<operation> find_operation(std::string_view name) noexcept { return named<operation>(rows, name); }
std::size_t size_of(datatype t) noexcept { return row_of(t).size; }

std::span<const reductions::kernel_table* const> reductions::usable_tables() noexcept {
#ifdef __x86_64__
  static constexpr const kernel_table* tables[] = {&baseline, &avx2};
  static const std::size_t usable = [] {
    unsigned a, b, c = 0, d;
    return __builtin_cpu_supports("avx2") && __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C) ? 2 : 1;
  }();
#else
  static constexpr const kernel_table* tables[] = {&baseline};
  constexpr std::size_t usable = 1;
#endif
  return std::span(tables).first(usable);
}

result<reduction> find_reduction(datatype type, operation op) {
  const auto t = static_cast<unsigned>(type), o = static_cast<unsigned>(op);
  reduction::loop* const loop = t < datatypes && o < operations ? reductions::usable_tables().back()->loops[t][o] : nullptr;
  if (!loop) return no_sense(type, op);
  return reduction{.built_in = loop, .element_size = size_of(type), .type = type, .op = op, .associative = is_integer(type)};
}

result<reduction> user_reduction(user_function function, std::size_t element_size, bool commutative, void* context) {
  if (!function) return status{errc::invalid, "a user's operation without a function"};
  if (element_size == 0) return status{errc::invalid, "a user's operation on elements of 0 bytes"};
  return reduction{.user = function, .context = context, .element_size = element_size,
                   .commutative = commutative, .associative = false};
}

}  // namespace tutti

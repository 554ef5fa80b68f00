// `tutti perf reductions`: GB/s of the arithmetic of reductions (collectives/reduction), bytes of the result per second, on one core:
// of operands that fit into its first cache, into its second one, and into none. Beside each stands its share of the rate at which
// memcpy writes as many bytes there. A reduction in place reads two bytes and writes one for each of its result, and a copy reads one
// and writes one; so two thirds is as fast as memory goes where both are bound by it and memcpy bypasses the caches.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>
#include <random>

#include "collectives/reduction/reduction.h"
#include "tools/perf/bare_machine.h"
#include "tools/perf/series.h"
#include "tools/perf/topic.h"
#include "tools/perf/words.h"

namespace tutti::tools {
namespace {

constexpr std::size_t sizes[] = {8 << 10, 256 << 10, 64 << 20};
constexpr int chunks = 7;

struct choices {
  std::vector<std::string> types, operations;  // none: all
  double milliseconds = 1;
};

template <class T>
void fill(std::vector<std::byte>& v, std::mt19937& random) {
  for (std::size_t at = 0; at + sizeof(T) <= v.size(); at += sizeof(T)) {
    const T value = static_cast<T>(random() % 100 + 1);
    std::memcpy(&v[at], &value, sizeof value);
  }
}

// Numbers in each type, drawn at random, lest a branch be foreseen; none becomes subnormal or infinite, which is slow on some processors.
std::vector<std::byte> operand(datatype type, std::size_t bytes, unsigned seed) {
  std::vector<std::byte> v(bytes);
  std::mt19937 random{seed};
  switch (type) {
    case datatype::float32: case datatype::float32_complex: case datatype::float32_int32: case datatype::float32_int64:
      fill<float>(v, random);
      break;
    case datatype::float64: case datatype::float64_complex: case datatype::float64_int32: case datatype::float64_int64:
      fill<double>(v, random);
      break;
    case datatype::long_double: case datatype::long_double_int32: fill<long double>(v, random); break;
    case datatype::float16: case datatype::bfloat16:  // 1 to 4 in the one, 1 to 8 in the other
      for (std::size_t i = 0; i < bytes; ++i) v[i] = std::byte(i % 2 ? 0x3f + random() % 2 : 0x80 | random());
      break;
    default: fill<std::uint8_t>(v, random);  // integers and pairs of them, whose every pattern is a number
  }
  return v;
}

// Each chunk begins with the operands as they were drawn: products would overflow.
double rate_of(const reduction& r, std::size_t bytes, double milliseconds) {
  const auto left = operand(r.type, bytes, 1), right = operand(r.type, bytes, 2);
  auto out = right;
  const std::size_t count = bytes / r.element_size;
  const auto took = [&](int times) {
    std::memcpy(out.data(), right.data(), bytes);
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < times; ++i) {
      r.combine(left.data(), out.data(), count);
      asm volatile("" ::"r"(out.data()) : "memory");
    }
    return seconds_since(start);
  };
  const int times = times_for(milliseconds / 1e3, 1, 1 << 20, took);
  series rates;
  for (int i = 0; i < chunks; ++i) rates.add(static_cast<double>(bytes) * times / (took(times) * 1e9));
  return rates.median();
}

bool wanted(const std::vector<std::string>& names, std::string_view name) {
  return names.empty() || std::ranges::find(names, name) != names.end();
}

int print_rates(const choices& c) {
  std::printf("GB/s of the result, in place, on one core; of a copy: over memcpy's\n\n%-32s", "");
  double copies[std::size(sizes)];
  for (const std::size_t bytes : sizes) std::printf("%10s%11s", short_bytes(static_cast<double>(bytes)).c_str(), "of a copy");
  std::printf("\n  %-30s", "memcpy");
  for (std::size_t i = 0; i < std::size(sizes); ++i) std::printf("%10.1f%11s", copies[i] = copy_rate(sizes[i]) / 1e3, "");
  std::printf("\n");
  bool any = false;
  for (unsigned t = 1; t < datatypes; ++t)
    for (unsigned o = 1; o < operations; ++o) {
      const auto type = static_cast<datatype>(t);
      const auto op = static_cast<operation>(o);
      const auto r = find_reduction(type, op);
      if (!r || !wanted(c.types, name_of(type)) || !wanted(c.operations, name_of(op))) continue;
      any = true;
      std::printf("  %-30s", (std::string(name_of(type)) + " " + std::string(name_of(op))).c_str());
      for (std::size_t i = 0; i < std::size(sizes); ++i) {
        const double rate = rate_of(*r, sizes[i], c.milliseconds);
        std::printf("%10.1f%11.2f", rate, rate / copies[i]);
      }
      std::printf("\n");
      std::fflush(stdout);
    }
  if (any) return 0;
  std::fprintf(stderr, "tutti perf reductions: none of these operations makes sense for any of these types\n");
  return 2;
}

// Of all numbers below `count` but 0 and what only users can give.
template <class Name>
std::vector<std::string> names_below(unsigned count, Name what_users_give) {
  std::vector<std::string> out;
  for (unsigned i = 1; i < count; ++i)
    if (static_cast<Name>(i) != what_users_give) out.emplace_back(name_of(static_cast<Name>(i)));
  return out;
}

}  // namespace

std::function<int()> declare_reductions(options perf) {
  auto c = std::make_shared<choices>();
  options app = perf.subcommand("reductions", "GB/s of the arithmetic of reductions, beside memcpy");
  app.add("--types", c->types, "float64,int32,...; default: all").by_commas().one_of(names_below(datatypes, datatype::bytes));
  app.add("--operations", c->operations, "sum,min,...; default: all").by_commas().one_of(names_below(operations, operation::user));
  app.add("--milliseconds", c->milliseconds, "how long to time each at a time, seven times (default 1)").between(0.01, 1000.0);
  return [c] { return print_rates(*c); };
}

}  // namespace tutti::tools

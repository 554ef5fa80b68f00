// GB/s of each built-in reduction: bytes of the result per second, of operands that fit into the first cache, into the second
// and into neither; beside them memcpy of as many. Random operands, so that a branch would be seen.
#include <benchmark/benchmark.h>

#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "collectives/reduction/reduction.h"

using namespace tutti;

namespace {

// Small integers are numbers in every type; as floats they are made from such.
std::vector<std::byte> operand(datatype type, std::size_t bytes, unsigned seed) {
  std::vector<std::byte> v(bytes);
  std::mt19937 random{seed};
  const auto fill = [&](auto example, std::size_t stride, std::size_t at) {
    for (; at + sizeof example <= bytes; at += stride) {
      example = static_cast<decltype(example)>(random() % 100 + 1);
      std::memcpy(&v[at], &example, sizeof example);
    }
  };
  const std::string name{name_of(type)};
  const std::size_t size = size_of(type);
  if (name.starts_with("float32_complex")) fill(0.f, 4, 0);
  else if (name.starts_with("float64_complex")) fill(0., 8, 0);
  else if (name.starts_with("float32")) fill(0.f, size, 0);
  else if (name.starts_with("float64")) fill(0., size, 0);
  else if (name.starts_with("long_double")) fill(0.L, size, 0);
  else if (name.ends_with("float16"))
    for (std::size_t i = 0; i < bytes; ++i) v[i] = std::byte(i % 2 ? 0x40 : random());
  else fill(std::uint32_t{}, 4, 0);
  return v;
}

void reduce(benchmark::State& state, reduction r, bool in_place) {
  const std::size_t bytes = static_cast<std::size_t>(state.range(0)), count = bytes / r.element_size;
  const auto left = operand(r.type, bytes, 1), right = operand(r.type, bytes, 2);
  auto out = right;
  for (auto _ : state) {
    if (in_place) r.combine(left.data(), out.data(), count);
    else r.combine(left.data(), right.data(), out.data(), count);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(bytes) * state.iterations());
}

void copy(benchmark::State& state) {
  const auto bytes = static_cast<std::size_t>(state.range(0));
  const std::vector<std::byte> from(bytes);
  std::vector<std::byte> to(bytes);
  for (auto _ : state) {
    std::memcpy(to.data(), from.data(), bytes);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(bytes) * state.iterations());
}

void sizes(benchmark::internal::Benchmark* b) {
  for (const std::int64_t bytes : {8 << 10, 256 << 10, 64 << 20}) b->Arg(bytes);
}

}  // namespace

int main(int argc, char** argv) {
  sizes(benchmark::RegisterBenchmark("memcpy", copy));
  for (unsigned t = 1; t < datatypes; ++t)
    for (unsigned o = 1; o < operations; ++o) {
      const auto r = find_reduction(static_cast<datatype>(t), static_cast<operation>(o));
      if (!r) continue;
      const std::string name = std::string(name_of(r->type)) + " " + std::string(name_of(r->op));
      sizes(benchmark::RegisterBenchmark((name + " in place").c_str(), reduce, *r, true));
      sizes(benchmark::RegisterBenchmark((name + " apart").c_str(), reduce, *r, false));
    }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}

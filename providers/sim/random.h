// xoshiro256** (Blackman and Vigna 2018), seeded by splitmix64: the standard library's distributions differ between
// implementations, and a run must be the same everywhere.
#pragma once
#include <bit>
#include <cstdint>

namespace tutti::sim {

class random {
 public:
  explicit random(std::uint64_t seed) noexcept {
    for (auto& w : s_) {
      seed += 0x9e3779b97f4a7c15u;
      std::uint64_t z = seed;
      z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
      z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
      w = z ^ (z >> 31);
    }
  }
  std::uint64_t next() noexcept {
    const std::uint64_t out = std::rotl(s_[1] * 5, 7) * 9, t = s_[1] << 17;
    s_[2] ^= s_[0], s_[3] ^= s_[1], s_[1] ^= s_[2], s_[0] ^= s_[3];
    s_[2] ^= t, s_[3] = std::rotl(s_[3], 45);
    return out;
  }
  double unit() noexcept { return static_cast<double>(next() >> 11) * 0x1p-53; }  // [0, 1)
  // False without drawing when p is 0, so that an unused feature does not shift the run.
  bool chance(double p) noexcept { return p > 0 && unit() < p; }

 private:
  std::uint64_t s_[4];
};

}  // namespace tutti::sim

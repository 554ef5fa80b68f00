// Ranks over fake adapters, all driven by one thread, so that a test says who makes progress when.
#pragma once
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "providers/verbs/transport.h"
#include "tests/harness/ops.h"
#include "tests/verbs/fake/fake.h"

namespace tutti::test {

inline std::vector<fake::adapter_plan> roce(unsigned n) {
  std::vector<fake::adapter_plan> all;
  for (unsigned i = 0; i < n; ++i) all.push_back({.name = "fake" + std::to_string(i)});
  return all;
}

// Whether the adapters' users kept to what libibverbs asks of them: said when it goes.
struct no_breach {
  ~no_breach();
};

inline bool says(std::string_view text, std::string_view words) { return text.find(words) != text.npos; }
inline bool says(const status& s, std::string_view words) { return says(std::string_view{s.text()}, words); }

class party {
 public:
  static constexpr std::size_t bytes = 1 << 16;

  // Rank r opens devices[r], and is on hosts[r]; without any, all are on one. `calls`: they reach each other over TCP.
  explicit party(const std::vector<std::string>& devices, const std::vector<int>& hosts = {}, bool calls = true);
  transport& operator[](rank_t r) noexcept { return *ranks_[r].net; }
  std::uint32_t size() const noexcept { return static_cast<std::uint32_t>(ranks_.size()); }
  std::byte* memory(rank_t r) const noexcept { return ranks_[r].memory.data(); }
  region_id region(rank_t r) const noexcept { return ranks_[r].region; }
  std::uint64_t word(rank_t r, std::size_t offset) const noexcept;
  far_place at(rank_t from, rank_t to, std::uint64_t offset = 0) const noexcept { return {to, ranks_[from].segment, offset}; }
  near_place mine(rank_t r, std::uint64_t offset = 0) const noexcept { return {ranks_[r].region, offset}; }
  void leave(rank_t r) noexcept { ranks_[r].net.reset(); }

  void drive() noexcept;
  // Drives all, or only these, until it holds. False: five seconds were not enough.
  bool until(const std::function<bool()>& holds, std::vector<rank_t> only = {});
  bool submit(rank_t from, const rma_op& op);            // true: it was taken
  status run(rank_t from, rma_op op);                    // submit, and its outcome
  status flush(rank_t from, rank_t to = no_rank);
  void meet();                                           // everyone has a connection to everyone

 private:
  struct member {
    std::unique_ptr<transport> net;
    std::span<std::byte> memory;
    region_id region{};
    segment_id segment{};
  };
  std::vector<member> ranks_;
};

std::vector<std::string> names(unsigned n);

}  // namespace tutti::test

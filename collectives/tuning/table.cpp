#include "collectives/tuning/table.h"

#include <algorithm>
#include <cmath>

namespace tutti::tuning {
namespace {

constexpr std::uint64_t cache_line = 64;

double octaves(double a, double b) noexcept { return std::abs(std::log2(a / b)); }

// Of a size class, as choose.h has them.
int steps(std::uint64_t a, std::uint64_t b) noexcept { return std::abs(static_cast<int>(size_class(a)) - static_cast<int>(size_class(b))); }

bool same_kind(const row& r, const place& p) noexcept {
  return r.of == p.of && r.fabric == p.fabric && (r.nodes > 1) == (p.nodes > 1);
}

bool comparable(const row& r, const place& p) noexcept {
  return same_kind(r, p) && octaves(r.ranks, p.ranks) <= 1 && (r.ranks_per_core > 1) == (p.ranks_per_core > 1) &&
         (p.ranks_per_core <= 1 || octaves(r.ranks_per_core, p.ranks_per_core) <= 1);
}

}  // namespace

const timing* row::of_candidate(const candidate& c) const noexcept {
  for (const timing& t : timings)
    if (is_same(c, of, t.algorithm)) return &t;
  return nullptr;
}

// Nearest in the number of ranks first, for an algorithm's steps depend on it; then in size. Both in doublings. What comes
// earlier in the table wins a tie, so equal tables give equal answers.
const row* table::find(const place& p) const noexcept {
  std::uint32_t fewest = ~0u, most = 0;
  for (const row& r : rows)
    if (same_kind(r, p)) fewest = std::min(fewest, r.ranks), most = std::max(most, r.ranks);
  if (p.ranks < fewest || p.ranks > most) return nullptr;
  const row* nearest = nullptr;
  for (const row& r : rows) {
    if (!comparable(r, p)) continue;
    if (!nearest || octaves(r.ranks, p.ranks) < octaves(nearest->ranks, p.ranks)) nearest = &r;
  }
  if (!nearest) return nullptr;
  const row* found = nullptr;
  std::uint64_t shortest = ~std::uint64_t{0}, longest = 0;
  for (const row& r : rows) {
    if (!comparable(r, p) || r.ranks != nearest->ranks || r.nodes != nearest->nodes) continue;
    shortest = std::min(shortest, r.bytes), longest = std::max(longest, r.bytes);
    if (!found || steps(r.bytes, p.bytes) < steps(found->bytes, p.bytes)) found = &r;
  }
  const bool too_short = size_class(p.bytes) < size_class(shortest) && shortest > cache_line;
  return too_short || size_class(p.bytes) > size_class(longest) ? nullptr : found;
}

const calibration* table::of_fabric(std::string_view fabric) const noexcept {
  for (const calibration& c : fabrics)
    if (c.fabric == fabric) return &c;
  return nullptr;
}

std::string name_of(const wanted_algorithm& w) {
  std::string out = w.name;
  if (!w.inner.empty()) out.append(":").append(w.inner);
  if (w.radix) out.append(":").append(std::to_string(w.radix));
  return out;
}

}  // namespace tutti::tuning

#include "collectives/shared_cores.h"

#include <algorithm>
#include <cmath>

namespace tutti {

shared_cores::shared_cores(std::uint32_t size, std::span<const std::uint32_t> node_of, const costs& c, bool in_blocks) {
  if (c.ranks_per_core <= 1) return;
  const picoseconds turn = in_picoseconds(c.turn_per_rank_us);
  place_.resize(size);
  std::vector<std::uint32_t> order(size);
  for (std::uint32_t r = 0; r < size; ++r) order[r] = r;
  const auto node = [&](std::uint32_t r) { return node_of.empty() ? 0 : node_of[r]; };
  std::ranges::stable_sort(order, {}, node);
  for (std::size_t first = 0, last = 0; first < size; first = last) {
    while (last < size && node(order[last]) == node(order[first])) ++last;
    const auto cores = static_cast<std::size_t>(std::max(1LL, std::llround(static_cast<double>(last - first) / c.ranks_per_core)));
    const std::size_t base = cores_.size();
    cores_.resize(base + cores);
    for (std::size_t i = first; i < last; ++i) {
      const std::size_t on = base + (in_blocks ? (i - first) * cores / (last - first) : (i - first) % cores);
      place_[order[i]] = {static_cast<std::uint32_t>(on), cores_[on].ranks.size()};
      cores_[on].ranks.push_back(order[i]);
    }
    for (std::size_t k = base; k < cores_.size(); ++k) {
      const double others = std::max(0.0, c.ranks_per_core - static_cast<double>(cores_[k].ranks.size()));
      cores_[k].others = std::llround(others * 1000) * turn / 1000;
      if (cores_[k].ranks.size() > 1 || others > 0) cores_[k].turn = turn;
    }
  }
}

std::optional<std::uint32_t> shared_cores::begin(const visit& v) noexcept {
  core& c = cores_[v.core];
  if (v.plan != c.plan) return std::nullopt;
  if (c.idle) c.idle = false, c.at = c.woken, c.fruitless = 0;
  return c.ranks[c.at];
}

std::optional<shared_cores::visit> shared_cores::end(std::uint32_t of_core, bool moved, picoseconds now) noexcept {
  core& c = cores_[of_core];
  if (moved) {
    c.fruitless = 0;
    return visit{now, of_core, c.plan};
  }
  now += c.turn;
  if (++c.at == c.ranks.size()) c.at = 0, now += c.others;
  if (++c.fruitless < c.ranks.size()) return visit{now, of_core, c.plan};
  c.idle = true, c.next = now, c.wakes = never;
  return std::nullopt;
}

std::optional<shared_cores::visit> shared_cores::arrived(std::uint32_t rank, picoseconds now) noexcept {
  const place where = place_[rank];
  core& c = cores_[where.core];
  if (!c.idle) {
    c.fruitless = 0;
    return std::nullopt;
  }
  // All of them look in turn without finding anything, again and again, which takes a round.
  const std::size_t all = c.ranks.size(), distance = (where.at + all - c.at) % all;
  const picoseconds round = static_cast<picoseconds>(all) * c.turn + c.others;
  picoseconds when = c.next + static_cast<picoseconds>(distance) * c.turn + (c.at + distance >= all ? c.others : 0);
  if (when < now) when += round ? (now - when + round - 1) / round * round : now - when;
  if (c.wakes != never && c.wakes <= when) return std::nullopt;
  c.wakes = when, c.woken = where.at;
  return visit{when, where.core, ++c.plan};
}

}  // namespace tutti

#include "messaging/routes.h"

#include <algorithm>

#include "messaging/staging.h"

namespace tutti::messaging {
namespace {

constexpr double bookkeeping_us = 1;       // of a rendezvous, at its two ends
constexpr double slot_us = 2.75;           // of staging memory: to take up at either end what was left
constexpr std::uint64_t page = 4096, longest_looked_at = std::uint64_t{16} << 20;

double wire_us(std::uint64_t bytes, double bytes_per_ns) noexcept { return bytes_per_ns > 0 ? static_cast<double>(bytes) / bytes_per_ns / 1000 : 0; }

}  // namespace

std::string_view name_of(route r) noexcept {
  constexpr std::string_view names[] = {"eager", "in_place", "kernel", "staged", "get", "packed", "stream"};
  return names[static_cast<unsigned>(r)];
}

std::string_view text_of(route r) noexcept {
  constexpr std::string_view texts[] = {
      "envelope and data at once",
      "announced, then one copy from the sender's window",
      "announced, then one copy by the kernel",
      "announced, then two copies at once, through staging memory",
      "announced, then the receiver gets the data",
      "announced, then the receiver gets what the sender has packed",
      "announced, then small messages",
  };
  return texts[static_cast<unsigned>(r)];
}

pair_routes::facts pair_routes::facts_of(job& j, const two_sided::limits& limits, bool near_by) noexcept {
  const transfer_costs costs = j.costs();
  return {.link = near_by ? costs.node : costs.network, .costs = costs, .limits = limits,
          .mapped = near_by && j.facts().maps_node && j.net().caps().maps_node, .design = &design_of(j.options().messaging)};
}

pair_routes::pair_routes(const facts& f) noexcept : facts_(f), eager_(reckon_eager()), kernel_from_(reckon_kernel()) {}

double pair_routes::price_us(route r, const message_load& m) const noexcept {
  const loggp& l = facts_.link;
  const transfer_costs& c = facts_.costs;
  const double message = l.latency_us + 2 * l.overhead_us, wire = wire_us(m.bytes, l.bytes_per_ns), copy = wire_us(m.bytes, c.copied_bytes_per_ns);
  switch (r) {
    case route::eager: return message + wire + copy;
    case route::stream: return 3 * message + bookkeeping_us + wire + copy;
    case route::in_place: return 2 * message + bookkeeping_us + wire;
    case route::kernel: {
      const double in_caches = c.copied_bytes_per_ns > 0 ? std::max(1.0, c.cached_bytes_per_ns / c.copied_bytes_per_ns) : 1;
      return 2 * message + bookkeeping_us + c.fetch_us + wire_us(m.bytes, c.fetched_bytes_per_ns * in_caches);
    }
    case route::staged: {
      const double slots = static_cast<double>(m.bytes) / staging_memory::slot_bytes;
      return 3 * message + bookkeeping_us + wire + slots * (2 * message + slot_us);
    }
    case route::get: return 3 * message + bookkeeping_us + wire;
    case route::packed: return 3 * message + bookkeeping_us + wire + copy;
  }
  return 0;
}

std::uint32_t pair_routes::reckon_eager() const noexcept {
  const message_load nothing{};
  const double more_us = price_us(route::get, nothing) - price_us(route::eager, nothing);  // whatever the data, but for the copy
  const double bytes = std::clamp(more_us * 1000 * facts_.costs.copied_bytes_per_ns, 0.0, double{longest_eager});
  return std::min(longest_eager, std::max(static_cast<std::uint32_t>(bytes + 0.5), facts_.limits.max_payload));
}

// The first page from which on the kernel's copy is cheaper, up to the longest size that is looked at. Both prices are linear in the
// bytes, so there is one such place at most, and halving finds it.
std::uint64_t pair_routes::reckon_kernel() const noexcept {
  const auto cheaper = [&](std::uint64_t bytes) { return price_us(route::kernel, {bytes}) <= price_us(route::staged, {bytes}); };
  if (!cheaper(longest_looked_at)) return ~std::uint64_t{0};
  std::uint64_t dearer = 0, from = longest_looked_at;
  if (cheaper(dearer)) return 0;
  while (from - dearer > page) {
    const std::uint64_t middle = (dearer + from) / 2 / page * page;
    (cheaper(middle) ? from : dearer) = middle;
  }
  return from;
}

bool pair_routes::possible(route r, const message_load& m) const noexcept {
  const design& d = *facts_.design;
  switch (r) {
    case route::eager: return m.bytes <= longest_eager;
    case route::in_place: return d.apart && d.one_copy && facts_.mapped && m.in_window && !m.in_pieces;
    case route::kernel: return d.apart && d.one_copy && facts_.mapped && !m.in_pieces;
    case route::staged: return d.apart && facts_.mapped;
    case route::get: return d.apart && !m.in_pieces;
    case route::packed: return d.apart && m.in_pieces;
    case route::stream: return true;
  }
  return false;
}

route pair_routes::rendezvous(const message_load& m) const noexcept {
  if (possible(route::in_place, m)) return route::in_place;
  if (possible(route::get, m) && m.in_window && facts_.design->one_copy) return route::get;
  if (possible(route::kernel, m) && m.bytes >= kernel_from_) return route::kernel;
  for (const route r : {route::staged, route::get, route::packed})
    if (possible(r, m)) return r;
  return route::stream;
}

route pair_routes::next(route failed, const message_load& m) const noexcept {
  for (const route r : {route::staged, route::get, route::packed})
    if (r > failed && possible(r, m)) return r;
  return route::stream;
}

}  // namespace tutti::messaging

#include "messaging/routes.h"

#include <algorithm>

#include "messaging/staging.h"

namespace tutti::messaging {
namespace {

constexpr double bookkeeping_us = 1;       // of a rendezvous, at its two ends
constexpr double slot_us = 2.75;           // of staging memory: to take up at either end what was left
constexpr double piece_us = 0.005;         // to take up a piece, and copy its first bytes
constexpr double slice_us = 0.04;          // of a list, to the fabric
constexpr std::uint64_t shortest_part = 64 * 1024, most_parts = 256;
constexpr std::uint64_t page = 4096, longest_looked_at = std::uint64_t{16} << 20;

double wire_us(std::uint64_t bytes, double bytes_per_ns) noexcept { return bytes_per_ns > 0 ? static_cast<double>(bytes) / bytes_per_ns / 1000 : 0; }

}  // namespace

std::string_view name_of(route r) noexcept {
  constexpr std::string_view names[] = {"eager", "in_place", "kernel", "staged", "get", "lists", "packed", "stream"};
  return names[static_cast<unsigned>(r)];
}

std::string_view text_of(route r) noexcept {
  constexpr std::string_view texts[] = {
      "envelope and data at once",
      "announced, then one copy from the sender's window",
      "announced, then one copy by the kernel",
      "announced, then two copies at once, through staging memory",
      "announced, then the receiver gets the data",
      "announced, then a put of each piece",
      "announced, then the receiver gets what the sender packs meanwhile",
      "announced, then small messages",
  };
  return texts[static_cast<unsigned>(r)];
}

pair_routes::facts pair_routes::facts_of(job& j, const two_sided::limits& limits, bool near_by) noexcept {
  const transfer_costs costs = j.costs();
  return {.link = near_by ? costs.node : costs.network, .costs = costs, .turn_us = costs.turn_us(j.where().most_ranks_per_core()),
          .limits = limits, .registering = j.net().caps().registering, .max_slices = std::min(j.net().caps().max_slices, 255u),
          .mapped = near_by && j.facts().maps_node && j.net().caps().maps_node,
          .kernel_copies = near_by && j.facts().kernel_copies && j.net().caps().kernel_copies, .design = &design_of(j.options().messaging)};
}

pair_routes::pair_routes(const facts& f) noexcept : facts_(f) {
  if (f.mapped) facts_.registering = {};  // what a router tells is its network's
  short_ = reckon_short(), kernel_from_ = reckon_kernel(), eager_ = reckon_eager();
}

double pair_routes::price_us(route r, const message_load& m) const noexcept {
  const loggp& l = facts_.link;
  const transfer_costs& c = facts_.costs;
  const double message = l.latency_us + 2 * l.overhead_us + facts_.turn_us, wire = wire_us(m.bytes, l.bytes_per_ns), copy = wire_us(m.bytes, c.copied_bytes_per_ns);
  switch (r) {
    case route::eager: {
      const std::uint64_t first = std::min<std::uint64_t>(m.bytes, facts_.limits.max_payload);
      if (!facts_.mapped || facts_.turn_us > 0 || first == 0) return message + wire + copy;
      return message + wire_us(first, l.bytes_per_ns) + wire_us(first, c.copied_bytes_per_ns) +
             wire_us(m.bytes - first, std::min(l.bytes_per_ns, c.copied_bytes_per_ns));
    }
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
    case route::lists: return 5 * message + bookkeeping_us + std::max(wire, static_cast<double>(m.pieces) * std::max(l.overhead_us, l.gap_us));
    case route::packed: {
      const std::uint64_t part = part_of(m.bytes, false, true, m.pieces);
      return 3 * message + bookkeeping_us + in_parts_us(m.bytes, part, false, true, m.pieces);
    }
  }
  return 0;
}

double pair_routes::ready_us(std::uint64_t bytes, bool registers, bool packs, double bytes_of_a_piece) const noexcept {
  double us = 0;
  if (registers) us += facts_.registering.call_us + wire_us(bytes, facts_.registering.bytes_per_ns);
  if (packs) us += wire_us(bytes, facts_.costs.copied_bytes_per_ns) + static_cast<double>(bytes) / bytes_of_a_piece * piece_us;
  return us;
}

double pair_routes::in_parts_us(std::uint64_t bytes, std::uint64_t part, bool registers, bool packs, std::uint64_t pieces) const noexcept {
  if (bytes == 0) return 0;
  const double a_piece = static_cast<double>(bytes) / static_cast<double>(std::max<std::uint64_t>(1, pieces));
  const double ready = ready_us(std::min(part, bytes), registers, packs, a_piece), wire = wire_us(std::min(part, bytes), facts_.link.bytes_per_ns);
  const double others = static_cast<double>((bytes - 1) / part);
  return ready + wire + others * (std::max(ready, wire) + facts_.link.overhead_us + bookkeeping_us);
}

std::uint64_t pair_routes::part_of(std::uint64_t bytes, bool registers, bool packs, std::uint64_t pieces) const noexcept {
  registers = registers && facts_.registering.any();
  if ((!registers && !packs) || !facts_.design->packs_in_chunks || facts_.mapped) return bytes;
  std::uint64_t best = bytes;
  double least = in_parts_us(bytes, std::max<std::uint64_t>(bytes, 1), registers, packs, pieces);
  for (std::uint64_t part = shortest_part; part < bytes; part *= 2) {
    if (bytes / part > most_parts) continue;
    if (const double us = in_parts_us(bytes, part, registers, packs, pieces); us < least) least = us, best = part;
  }
  return best;
}

bool pair_routes::scatters(std::uint64_t bytes, std::uint64_t pieces) const noexcept {
  if (facts_.max_slices == 0 || !facts_.design->packs_in_chunks) return false;
  const double n = static_cast<double>(pieces), operations = static_cast<double>((pieces + facts_.max_slices - 1) / facts_.max_slices);
  return operations * std::max(facts_.link.overhead_us, facts_.link.gap_us) + n * slice_us < wire_us(bytes, facts_.costs.copied_bytes_per_ns) + n * piece_us;
}

bool pair_routes::registers(std::uint64_t bytes) const noexcept {
  return facts_.registering.any() && facts_.registering.call_us < wire_us(bytes, facts_.costs.copied_bytes_per_ns) * 2;
}

std::uint32_t pair_routes::reckon_short() const noexcept {
  const message_load nothing{};
  const double more_us = price_us(route::get, nothing) - price_us(route::eager, nothing);  // whatever the data, but for the copy
  const double bytes = std::clamp(more_us * 1000 * facts_.costs.copied_bytes_per_ns, 0.0, double{longest_eager});
  return std::min(longest_eager, std::max(static_cast<std::uint32_t>(bytes + 0.5), facts_.limits.max_payload));
}

std::uint32_t pair_routes::reckon_eager() const noexcept {
  for (std::uint32_t bytes = longest_eager; bytes > short_; bytes -= std::min<std::uint32_t>(bytes, page))
    if (price_us(route::eager, {bytes}) <= price_us(rendezvous({bytes}), {bytes})) return bytes;
  return short_;
}

// The first page from which on the kernel's copy is cheaper, up to the longest size that is looked at. Both prices are linear in the
// bytes, so there is one such place at most, and halving finds it.
std::uint64_t pair_routes::reckon_kernel() const noexcept {
  const auto cheaper = [&](std::uint64_t bytes) { return price_us(route::kernel, {bytes}) <= price_us(route::staged, {bytes}); };
  if (!facts_.kernel_copies || !cheaper(longest_looked_at)) return ~std::uint64_t{0};
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
    case route::kernel: return d.apart && d.one_copy && facts_.kernel_copies && !m.in_pieces;
    case route::staged: return d.apart && facts_.mapped;
    case route::get: return d.apart && !m.in_pieces;
    case route::lists: return d.apart && d.packs_in_chunks && m.in_pieces && !facts_.mapped;
    case route::packed: return d.apart && m.in_pieces;
    case route::stream: return true;
  }
  return false;
}

route pair_routes::rendezvous(const message_load& m) const noexcept {
  if (possible(route::in_place, m)) return route::in_place;
  if (possible(route::get, m) && m.in_window && facts_.design->one_copy) return route::get;
  if (possible(route::kernel, m) && m.bytes >= kernel_from_) return route::kernel;
  if (possible(route::staged, m)) return route::staged;
  if (possible(route::lists, m) && price_us(route::lists, m) < price_us(route::packed, m)) return route::lists;
  for (const route r : {route::get, route::packed})
    if (possible(r, m)) return r;
  return route::stream;
}

route pair_routes::next(route failed, const message_load& m) const noexcept {
  for (const route r : {route::staged, route::get, route::packed})
    if (r > failed && possible(r, m)) return r;
  return route::stream;
}

}  // namespace tutti::messaging

#include "bsp/bulk_choice.h"

#include <algorithm>

namespace tutti::bsp {
namespace {

constexpr double copy_bytes_per_us = 10e3;  // of a core, both ends of the copy in memory
constexpr double slice_us = 0.1;            // its descriptor: written, told, sorted, read by the adapter

constexpr std::uint64_t pieces(std::uint64_t n, std::uint64_t of) noexcept { return (n + of - 1) / of; }

}  // namespace

double pushed_us(const bulk_load& l, const bulk_way& w) noexcept {
  const double submits = static_cast<double>(pieces(l.bytes, w.slot)) * 2 * std::max(w.cost.overhead_us, w.cost.gap_us);
  const double copies = static_cast<double>(l.bytes) / copy_bytes_per_us;
  return std::max(submits, copies);  // at either end, at the same time
}

double pulled_us(const bulk_load& l, const bulk_way& w) noexcept {
  const std::uint64_t reads = std::max(pieces(l.puts, std::max(1u, w.slices)), pieces(l.bytes, w.most_read));
  return 2 * (w.cost.latency_us + w.cost.overhead_us) +
         static_cast<double>(reads) * std::max(w.cost.overhead_us, w.cost.gap_us) + static_cast<double>(l.puts) * slice_us;
}

std::uint64_t least_bulk() noexcept { return static_cast<std::uint64_t>(slice_us * copy_bytes_per_us); }

}  // namespace tutti::bsp

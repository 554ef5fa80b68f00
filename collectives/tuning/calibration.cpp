#include "collectives/tuning/calibration.h"

namespace tutti::tuning {
namespace {

constexpr parameter table[] = {
    {"node.latency_us", false, [](costs& c, double v) { c.node.latency_us = v; }},
    {"node.overhead_us", false, [](costs& c, double v) { c.node.overhead_us = v; }},
    {"node.gap_us", false, [](costs& c, double v) { c.node.gap_us = v; }},
    {"node.bytes_per_ns", true, [](costs& c, double v) { c.node.bytes_per_ns = v; }},
    {"network.latency_us", false, [](costs& c, double v) { c.network.latency_us = v; }},
    {"network.overhead_us", false, [](costs& c, double v) { c.network.overhead_us = v; }},
    {"network.gap_us", false, [](costs& c, double v) { c.network.gap_us = v; }},
    {"network.bytes_per_ns", true, [](costs& c, double v) { c.network.bytes_per_ns = v; }},
    {"multicast.latency_us", false, [](costs& c, double v) { c.multicast_us = v; }},
    {"multicast.bytes_per_ns", true, [](costs& c, double v) { c.multicast_bytes_per_ns = v; }},
    {"turn_per_rank_us", false, [](costs& c, double v) { c.turn_per_rank_us = v; }},
    {"copied_bytes_per_ns", true, [](costs& c, double v) { c.copied_bytes_per_ns = v; }},
    {"cached_bytes_per_ns", true, [](costs& c, double v) { c.cached_bytes_per_ns = v; }},
    {"reduced_bytes_per_ns", true, [](costs& c, double v) { c.reduced_bytes_per_ns = v; }},
    {"fetch_us", false, [](costs& c, double v) { c.fetch_us = v; }},
    {"fetched_bytes_per_ns", true, [](costs& c, double v) { c.fetched_bytes_per_ns = v; }},
};
static_assert(std::size(table) == parameter_count);

}  // namespace

std::span<const parameter> parameters() noexcept { return table; }

void calibration::apply(costs& c) const {
  for (std::size_t i = 0; i < parameter_count; ++i)
    if (values[i]) table[i].set(c, values[i]->value);
}

bool calibration::knows_links() const noexcept {
  for (std::size_t i = 0; i < parameter_count; ++i)
    if (values[i] && (table[i].name == "node.latency_us" || table[i].name == "network.latency_us")) return true;
  return false;
}

}  // namespace tutti::tuning

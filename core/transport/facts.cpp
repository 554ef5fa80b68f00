#include "core/transport/facts.h"

#include <algorithm>

#include "core/transport/multicast.h"

namespace tutti {
namespace {

void dearer(loggp& a, const loggp& b) noexcept {
  a.latency_us = std::max(a.latency_us, b.latency_us);
  a.overhead_us = std::max(a.overhead_us, b.overhead_us);
  a.gap_us = std::max(a.gap_us, b.gap_us);
  a.bytes_per_ns = std::min(a.bytes_per_ns, b.bytes_per_ns);
}

// 0 is none.
std::uint32_t shorter(std::uint32_t a, std::uint32_t b) noexcept { return a == 0 || b == 0 ? std::max(a, b) : std::min(a, b); }

bool plausible(const loggp& c) noexcept {
  return plausible_us(c.latency_us) && plausible_us(c.overhead_us) && plausible_us(c.gap_us) && plausible_rate(c.bytes_per_ns);
}

// Shared memory asks the kernel for it, which may refuse.
bool exposes_its_own(transport& net) {
  static std::byte memory[64];
  auto region = net.add_unowned(memory);
  if (!region) return false;
  const auto key = net.key(*region);
  net.drop(*region);
  return key.ok() && key->size() <= longest_key;
}

}  // namespace

// Comparisons that no NaN passes.
bool plausible_us(double us) noexcept { return us >= 0 && us <= 1e6; }
bool plausible_rate(double bytes_per_ns) noexcept { return bytes_per_ns == 0 || (bytes_per_ns >= 1e-6 && bytes_per_ns <= 1e6); }
bool plausible(const fabric_facts& f) noexcept {
  return plausible(f.network) && plausible(f.node) && (f.multicast_us == not_known || plausible_us(f.multicast_us)) && f.max_bytes > 0;
}

fabric_facts facts_of(transport& net) {
  const capabilities& c = net.caps();
  fabric_facts out;
  out.network = c.cost;
  out.node = c.node_cost.value_or(c.cost);
  if (net.mcast()) out.multicast_us = net.mcast()->query().latency_us.value_or(not_known);
  out.max_bytes = c.max_bytes;
  out.network_message = c.message_bytes, out.node_message = c.maps_node ? 0 : c.message_bytes;
  out.target_must_progress = c.target_must_progress;
  out.native_atomics = c.native_atomics;
  out.maps_node = c.maps_node, out.kernel_copies = c.kernel_copies;
  out.exposes_any = c.follows_mapping && exposes_its_own(net);
  return out;
}

void agree(fabric_facts& a, const fabric_facts& b) noexcept {
  dearer(a.network, b.network);
  dearer(a.node, b.node);
  a.multicast_us = std::max(a.multicast_us, b.multicast_us);
  a.max_bytes = std::min(a.max_bytes, b.max_bytes);
  a.network_message = shorter(a.network_message, b.network_message), a.node_message = shorter(a.node_message, b.node_message);
  a.target_must_progress |= b.target_must_progress;
  a.native_atomics &= b.native_atomics;
  a.maps_node &= b.maps_node;
  a.kernel_copies &= b.kernel_copies;
  a.exposes_any &= b.exposes_any;
}

}  // namespace tutti

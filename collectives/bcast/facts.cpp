// What a chooser of broadcasts is told: by a transport of what it can do, to people of what that came to.
#include <algorithm>

#include "collectives/bcast/choose.h"
#include "collectives/explain_text.h"
#include "collectives/bcast/broadcast_wire.h"
#include "core/transport/multicast.h"

namespace tutti {
namespace {

// Bytes per ns of a fabric that moves them by the processors of both ends, whatever its wire could do. Measured over
// ucx:tcp on one machine: 0.4 to 1.
constexpr double moved_by_cpus = 1;

}  // namespace

bcast_facts bcast_facts_of(transport& net, bool multicast) {
  bcast_facts out;
  out.piece = std::min(out.piece, std::uint64_t{net.caps().max_bytes});
  out.link = net.caps().cost;
  if (net.caps().target_must_progress) out.link.bytes_per_ns = std::min(out.link.bytes_per_ns, moved_by_cpus);
  if (multicast && net.mcast()) {
    const auto limits = net.mcast()->query();
    out.fragment = limits.max_payload, out.depth = limits.receive_depth;
    out.multicast_us = limits.latency_us, out.multicast_bytes_per_ns = limits.bytes_per_ns;
  }
  return out;
}

bcast_inputs bcast_inputs_of(const bcast_facts& facts, std::uint32_t ranks, double ranks_per_core) {
  bcast_inputs in;
  in.ranks = ranks, in.ranks_per_core = ranks_per_core;
  in.piece = static_cast<std::uint32_t>(facts.piece), in.link = facts.link;
  in.fragment = facts.fragment, in.multicast = facts.fragment > 0;
  in.multicast_us = facts.multicast_us, in.multicast_bytes_per_ns = facts.multicast_bytes_per_ns;
  in.window = broadcast_wire::layout_for(facts.fragment, facts.depth).window;
  return in;
}

result<std::vector<std::string>> explain_bcast(const bcast_inputs& in) {
  auto chosen = choose_bcast(in);
  if (!chosen) return chosen.error();
  std::vector<std::string> lines{"broadcast of " + std::to_string(in.bytes) + " bytes to " + std::to_string(in.ranks) + " ranks, " +
                                 fixed(in.ranks_per_core) + " ranks a core, " +
                                 (in.multicast ? "multicast of " + std::to_string(in.fragment) + " bytes a datagram, " +
                                                     std::to_string(in.window) + " at once"
                                               : "no multicast")};
  lines.push_back(to_string("link", in.link) + ", " + fixed(in.link.bytes_per_ns) + " GB/s, pieces of " + std::to_string(in.piece) + " bytes");
  std::size_t width = 0;
  for (const bcast_candidate& c : *chosen) width = std::max(width, c.algorithm->name.size());
  int place = 0;
  for (const bcast_candidate& c : *chosen)
    lines.push_back(candidate_line(c.runnable ? ++place : 0, std::string(c.algorithm->name), width, c.cost_us, c.why));
  return lines;
}

}  // namespace tutti

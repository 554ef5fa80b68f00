// Each byte crosses the fabric once for all: collectives/bcast/reliable_broadcast.h runs it.
#include <algorithm>

#include "collectives/price.h"

namespace tutti::broadcasts {
namespace {

constexpr std::uint32_t fan_in = 8;  // of the tree by which progress is told

// As fast as the datagrams leave, or as a window of them is taken and that is told: every member has its turn in each,
// which is what makes a small window dear where ranks share cores.
picoseconds form(const form_input& in) {
  if (in.size < 2 || in.bytes == 0) return 0;
  const double rate = in.all.multicast_bytes_per_ns.value_or(in.link.bytes_per_ns);
  const std::uint64_t fragment = std::max(1u, in.all.fragment), window = fragment * std::max(1u, in.all.window);
  const auto fragments = static_cast<picoseconds>((in.bytes + fragment - 1) / fragment);
  const picoseconds arrival = in.all.multicast_us ? in_picoseconds(*in.all.multicast_us) : in.link.message() * 3 / 2;
  picoseconds levels = 0;
  for (std::uint64_t below = in.size - 1, width = fan_in; below > 0; below = below > width ? below - width : 0, width *= fan_in)
    ++levels;
  const picoseconds round_trip = arrival + in.turn + levels * hop(in, 1);
  const picoseconds leaving = fragments * in.link.interval() + for_bytes(in.bytes, rate);
  const picoseconds longest = std::max(leaving, static_cast<picoseconds>(in.bytes / window) * round_trip) + round_trip;
  // The root copies each byte into its slot and into a datagram; every other rank out of a queue and into its buffer.
  const picoseconds each = fragments * in.link.interval() + 2 * for_bytes(in.bytes, in.all.copied_bytes_per_ns) + in.link.message();
  return chain_and_work(longest, in.inside ? shared_work(in.size * each, in.size, in.all.ranks_per_core) : 0);
}

constexpr variant variants[] = {{.reason = "each byte crosses the fabric once for all; the root returns when all have it"}};

}  // namespace

extern const algorithm multicast;
constinit const algorithm multicast{
    .of = collective::broadcast,
    .name = "multicast",
    .summary = "each fragment is multicast once, in a sliding window; what is lost is read at the root",
    .source = "Kini 2003, 5.4; Birk 2006, 3.2",
    .needs = {.multicast = true},
    .variants = variants,
    .form = {form},
};

}  // namespace tutti::broadcasts

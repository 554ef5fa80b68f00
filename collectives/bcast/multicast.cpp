// Each byte crosses the fabric once for all: collectives/bcast/reliable_broadcast.h runs it.
#include <algorithm>

#include "collectives/price.h"

namespace tutti::broadcasts {
namespace {

constexpr std::uint32_t fan_in = 8;  // of the tree by which progress is told

// From the last member's taking of a fragment until member 0 knows that all have: signals that reach a parent at once are a gap
// apart there. Whoever has children tells late; of those there are fewer at each level.
picoseconds telling(const form_input& in) {
  std::uint64_t late = in.size - 1, levels = 1;
  for (std::uint64_t width = fan_in; late > width; width *= fan_in, ++levels) late -= width;
  const picoseconds one = in.link.latency + in.link.overhead * (in.all.target_works ? 2 : 1) + in.turn;
  const picoseconds apart = std::max(in.link.gap, in.all.target_works ? in.link.overhead : 0);
  picoseconds out = 0;
  for (; levels > 0; --levels, late = (late + fan_in - 1) / fan_in)
    out += one + static_cast<picoseconds>(std::min<std::uint64_t>(late, fan_in) - 1) * apart;
  return out;
}

// As fast as the datagrams leave, or as a window of them is taken and that is told: every member has its turn in each,
// which is what makes a small window dear where ranks share cores.
picoseconds form(const form_input& in) {
  if (in.size < 2 || in.bytes == 0) return 0;
  const std::uint64_t fragment = std::max(1u, in.all.fragment), window = fragment * std::max(1u, in.all.window);
  const auto fragments = static_cast<picoseconds>((in.bytes + fragment - 1) / fragment);
  const picoseconds arrival = in.all.multicast_us ? in_picoseconds(*in.all.multicast_us) : in.link.message() * 3 / 2;
  const picoseconds round_trip = arrival + in.turn + in.link.overhead + telling(in);
  const auto& rate = in.all.multicast_bytes_per_ns;  // measured with what comes between two datagrams
  const picoseconds leaving = std::max(fragments * in.link.overhead, rate ? for_bytes(in.bytes, *rate)
                                                                          : (fragments - 1) * in.link.gap + for_bytes(in.bytes, in.link.bytes_per_ns));
  const picoseconds longest = in.link.overhead + std::max(leaving, static_cast<picoseconds>(in.bytes / window) * round_trip) + round_trip;
  // The root copies each byte into its slot and into a datagram; every other rank out of a queue and into its buffer.
  const picoseconds each = fragments * in.link.interval() + 2 * for_bytes(in.bytes, in.all.copied_bytes_per_ns) + in.link.message();
  return longest + (in.inside ? shared_work(in.size * each, in.size, in.all.ranks_per_core) : 0);  // nobody copies while he waits
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

#include "collectives/bcast/choose.h"

#include <algorithm>
#include <cmath>

#include "collectives/cost.h"
#include "core/base/listing.h"

namespace tutti {
namespace {

// 64 KiB at a time: finer numbers would be lost to rounding where bandwidth is high.
picoseconds for_bytes(std::uint64_t bytes, double bytes_per_ns) noexcept {
  if (bytes_per_ns <= 0) return 0;
  const picoseconds unit = std::llround(65536e3 / bytes_per_ns);
  return static_cast<picoseconds>(bytes >> 16) * unit + static_cast<picoseconds>(bytes & 0xffff) * unit / 65536;
}

// By a core, from one place in memory to another: staging costs two of these.
constexpr double copied_bytes_per_ns = 8;
constexpr std::uint32_t fan_in = 8;  // of the tree by which a multicast's progress is told

struct costs : link_cost {
  picoseconds turn;
  explicit costs(const bcast_inputs& in) noexcept
      : link_cost(in_picoseconds(in.link)), turn(in_picoseconds(turn_us(in.ranks_per_core))) {}
};

// `hops` to the last rank, `sends` of each piece at the busiest one. Every run begins with a signal from child to parent,
// which is there already but in the first.
picoseconds by_puts(const bcast_inputs& in, std::uint32_t hops, std::uint32_t sends) {
  const costs c(in);
  const std::uint64_t piece = std::min<std::uint64_t>(in.piece, in.bytes);
  const auto pieces = static_cast<picoseconds>((in.bytes + in.piece - 1) / in.piece);
  const picoseconds runs = (pieces + bcast_pieces_a_run - 1) / bcast_pieces_a_run;
  const picoseconds wire = for_bytes(piece, in.link.bytes_per_ns), copy = for_bytes(piece, copied_bytes_per_ns);
  const picoseconds hop = c.message() + wire + c.turn;
  return c.message() + runs * (hops * hop + 2 * copy) + (pieces - runs) * (sends * (c.interval() + wire) + copy);
}

// As fast as the datagrams leave, or as a window of them is taken and that is told: every member has its turn in each,
// which is what makes a small window dear where ranks share cores.
picoseconds by_multicast(const bcast_inputs& in) {
  const costs c(in);
  const double rate = in.multicast_bytes_per_ns > 0 ? in.multicast_bytes_per_ns : in.link.bytes_per_ns;
  const std::uint64_t fragment = std::max(1u, in.fragment), window = fragment * std::max(1u, in.window);
  const auto fragments = static_cast<picoseconds>((in.bytes + fragment - 1) / fragment);
  const picoseconds arrival = in.multicast_us > 0 ? in_picoseconds(in.multicast_us) : c.message() * 3 / 2;
  picoseconds levels = 0;
  for (std::uint64_t below = in.ranks - 1, width = fan_in; below > 0; below = below > width ? below - width : 0, width *= fan_in)
    ++levels;
  const picoseconds round_trip = arrival + c.turn + levels * (c.message() + c.turn);
  const picoseconds leaving = fragments * c.interval() + for_bytes(in.bytes, rate);
  return std::max(leaving, static_cast<picoseconds>(in.bytes / window) * round_trip) + round_trip;
}

picoseconds cost_of(const bcast_algorithm& a, const bcast_inputs& in) {
  if (in.ranks < 2 || in.bytes == 0) return 0;
  if (a.needs_multicast) return by_multicast(in);
  const std::uint32_t rounds = rounds_of(in.ranks);
  return a.make == bcasts::chain ? by_puts(in, in.ranks - 1, 1) : by_puts(in, rounds, rounds);
}

std::string reason(const bcast_algorithm& a, const bcast_inputs& in) {
  if (a.needs_multicast)
    return "each byte crosses the fabric once for all " + std::to_string(in.ranks) + "; the root returns when all have it";
  if (a.make == bcasts::chain) return "every rank sends each byte once: pays where the message is long and ranks are few";
  return "ceil(log2 n) hops: pays where latency counts";
}

}  // namespace

status check_bcast(std::string_view wanted) {
  if (wanted.empty() || wanted == "auto" || find_bcast(wanted)) return {};
  std::string known;
  for (const bcast_algorithm& a : bcast_algorithms()) add_to_list(known, a.name);
  return {errc::invalid, "there is no broadcast \"" + std::string(wanted) + "\"; known: " + known};
}

result<std::vector<bcast_candidate>> choose_bcast(const bcast_inputs& in) {
  if (status s = check_bcast(in.wanted); !s.ok()) return s;
  std::vector<std::pair<picoseconds, bcast_candidate>> all;
  for (const bcast_algorithm& a : bcast_algorithms()) {
    bcast_candidate c{&a, 0, true, reason(a, in)};
    if (a.needs_multicast && !in.multicast) c.runnable = false, c.why = "the transport of this team has no multicast";
    const picoseconds cost = c.runnable ? cost_of(a, in) : 0;
    c.cost_us = static_cast<double>(cost) / 1e6;
    all.emplace_back(cost, std::move(c));
  }
  const auto rank = [&](const auto& p) {
    return std::make_tuple(p.second.algorithm->name != in.wanted, !p.second.runnable, p.first);
  };
  std::stable_sort(all.begin(), all.end(), [&](const auto& a, const auto& b) { return rank(a) < rank(b); });
  if (!all.front().second.runnable)
    return status(errc::unsupported, "broadcast " + std::string(all.front().second.algorithm->name) + ": " +
                                         all.front().second.why + "; unset TUTTI_BCAST to have another");
  std::vector<bcast_candidate> out;
  for (auto& [cost, c] : all) out.push_back(std::move(c));
  return out;
}

}  // namespace tutti

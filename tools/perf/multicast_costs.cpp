#include "tools/perf/multicast_costs.h"

#include <array>
#include <optional>

#include "collectives/bcast/broadcast_wire.h"
#include "core/engine/multicast_group.h"
#include "core/job/resumable.h"

namespace tutti::tools {
namespace {

constexpr std::size_t most_chunks = 31;
constexpr int bounces = 50;
constexpr auto lost_after = std::chrono::milliseconds(20);

// Tags. A small datagram has its number. A full one has that of its chunk, and so has the answer, with how many were taken.
constexpr std::uint32_t full_bit = 1u << 31, count_bits = 12;
constexpr std::uint32_t chunk_of(std::uint32_t tag) noexcept { return tag >> count_bits; }
constexpr std::uint32_t count_of(std::uint32_t tag) noexcept { return tag & ((1u << count_bits) - 1); }
constexpr std::array<std::byte, 8> small_datagram{};

class multicast_root {
 public:
  multicast_root(job& j, multicast_group& group, rank_t peer) : job_(j), group_(group), peer_(peer), full_(group.limits().max_payload) {}

  // Microseconds. None: something was lost.
  std::optional<double> one_way() {
    const time_point start = now();
    for (int i = 0; i < bounces; ++i) {
      if (!group_.send(++number_, small_datagram)) return {};
      for (const time_point sent = now(); heard() != number_;)
        if (now() > sent + lost_after) return {};
    }
    return nanoseconds(now() - start) / (2e3 * bounces);
  }

  // From the first answer to the last one, when the window is in motion.
  std::optional<double> bytes_per_ns(const broadcast_wire::layout& at) {
    const std::uint32_t chunk = full_bit >> count_bits | ++number_, total = 2 * at.window;
    std::uint32_t sent = 0, taken = 0, taken_first = 0;
    time_point first, latest = now();
    while (taken < total) {
      while (sent < std::min(total, taken + at.window) && group_.send(chunk << count_bits, full_)) ++sent;
      if (const auto tag = heard(); tag && chunk_of(*tag) == chunk) {
        taken = count_of(*tag), latest = now();
        if (taken_first == 0) taken_first = taken, first = latest;
      } else if (now() > latest + lost_after) {
        return {};
      }
    }
    return (total - taken_first) * static_cast<double>(full_.size()) / nanoseconds(latest - first);
  }

 private:
  time_point now() { return job_.net().now(); }
  static double nanoseconds(time_point::duration d) { return static_cast<double>(std::chrono::nanoseconds(d).count()); }
  std::optional<std::uint32_t> heard() {
    multicast::datagram d;
    if (!group_.receive(d)) return job_.progress(), std::nullopt;
    return d.from == peer_ ? std::optional(d.tag) : std::nullopt;
  }

  job& job_;
  multicast_group& group_;
  const rank_t peer_;
  const std::vector<std::byte> full_;
  std::uint32_t number_ = 0;
};

template <class Once>
series series_of(Once once) {
  series out;
  (void)once();  // what comes for the first time
  for (std::size_t k = 0; k < most_chunks; ++k)
    if (const auto value = once()) out.add(*value);
  return out.count() > most_chunks / 2 ? out : series{};
}

// Until the root meets the others.
void answer_multicasts(team& t, multicast_group& group, bool is_peer, std::uint32_t grain) {
  auto met = t.meeting({}, t.parent_job().setup_deadline());
  std::uint32_t chunk = 0, taken = 0;
  const auto reply = [&](std::uint32_t tag) {
    while (!group.send(tag, small_datagram)) t.parent_job().progress();
  };
  while (!met.advance()) {
    for (multicast::datagram d; group.receive(d);) {
      if (!is_peer || d.from != t.rank_of(0)) continue;
      if (!(d.tag & full_bit)) {
        reply(d.tag);
        continue;
      }
      taken = chunk_of(d.tag) == std::exchange(chunk, chunk_of(d.tag)) ? taken + 1 : 1;
      if (taken % grain == 0) reply(d.tag | taken);
    }
    t.parent_job().progress();
  }
}

}  // namespace

multicast_costs measure_multicast(team& t, std::uint32_t peer) {
  multicast_costs out;
  std::vector<std::byte> token;
  multicast_group group(t, 0, token);
  if (group.form(token).failed()) return out;
  const multicast::limits can = group.limits();
  const auto at = broadcast_wire::layout_for(can.max_payload, can.receive_depth);
  if (t.index() != 0) return answer_multicasts(t, group, t.index() == peer, at.grain()), out;
  multicast_root r(t.parent_job(), group, t.rank_of(peer));
  out.one_way_us = series_of([&] { return r.one_way(); });
  out.bytes_per_ns = series_of([&] { return r.bytes_per_ns(at); });
  (void)wait_for(t.parent_job(), t.meeting({}, t.parent_job().setup_deadline()));
  return out;
}

}  // namespace tutti::tools

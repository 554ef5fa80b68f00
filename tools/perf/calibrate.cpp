// The costs of one fabric, measured as the evaluator means them (collectives/price.h), in some ten milliseconds.
#include <sched.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "collectives/reduction/reduction.h"
#include "core/transport/ops.h"
#include "tools/perf/measured_provider.h"
#include "tools/perf/multicast_costs.h"
#include "tools/perf/series.h"

namespace tutti::tools {
namespace {

constexpr int chunks = 15;

// Seconds of one, from `chunks` chunks of `times`.
template <class Once>
series chunks_of(int times, Once once) {
  series out;
  for (int k = 0; k < chunks; ++k) {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < times; ++i) once();
    out.add(seconds_since(start) / times);
  }
  return out;
}

double spread_of(const series& s) { return s.median() > 0 ? (s.quantile(0.75) - s.quantile(0.25)) / s.median() : 0; }

class writer {
 public:
  writer(tuning::calibration& to, std::string when) : to_(to), when_(std::move(when)) {}
  void add(std::string_view name, double value, double spread) {
    const auto p = std::ranges::find(tuning::parameters(), name, &tuning::parameter::name);
    to_.values[static_cast<std::size_t>(p - tuning::parameters().begin())] = {value, spread, "tutti tune", when_};
  }

 private:
  tuning::calibration& to_;
  std::string when_;
};

}  // namespace

rank_t measured_provider::beyond_the_node() const noexcept {
  const auto& node_of = job_->where().node_of;
  const auto other = std::ranges::find_if(node_of, [&](std::uint32_t n) { return n != node_of[0]; });
  return other == node_of.end() ? no_rank : static_cast<rank_t>(other - node_of.begin());
}

// L, o, g and 1/G between rank 0 and another. Both ends' shares are in a one-way trip, and the target's only where it works.
void measured_provider::calibrate_link(tuning::calibration& out, const std::string& name, rank_t peer, const std::string& when) {
  const rank_t me = job_->rank();
  require(world_->barrier().enter());
  if (me != 0 && me != peer) {
    require(world_->barrier().enter());
    return;
  }
  rma_op there = signal_op({me == 0 ? peer : 0, segment_, line_offset(0)}, 0);
  const auto bounce = [&] {
    there.operand = ++ping_;
    if (me == 0) submit(there);
    wait_word(0, ping_, me == 0 ? peer : 0);
    if (me != 0) submit(there);
  };
  (void)chunks_of(20, bounce);
  const series round_trip = chunks_of(50, bounce);
  if (me == 0) {
    constexpr int burst = 8, many = 256;
    rma_op op = signal_op({peer, segment_, line_offset(4)}, 1);
    series submitting, leaving;
    for (int k = 0; k < chunks; ++k) {
      auto start = std::chrono::steady_clock::now();
      for (int i = 0; i < burst; ++i) submit(op);
      submitting.add(seconds_since(start) / burst * 1e6);
      flush(peer);
      start = std::chrono::steady_clock::now();
      for (int i = 0; i < many; ++i) submit(op);
      flush(peer);
      leaving.add(seconds_since(start) / many * 1e6);
    }
    const std::uint32_t longest = std::min(bytes_, mebibyte);
    const series shortly = chunks_of(2, [&] { move_to(peer, op_kind::put, 8, 1, 1); });
    const series longer = chunks_of(2, [&] { move_to(peer, op_kind::put, longest, 1, 1); });
    writer w(out, when);
    // Where the sender's own call delivers (loopback), its time is most of the trip: then L is none, and o what makes up the trip.
    const double half = round_trip.median() / 2 * 1e6, ends = job_->facts().target_must_progress ? 2 : 1;
    const double o = std::min(submitting.quantile(0.25), half / ends);
    w.add(name + ".overhead_us", o, spread_of(submitting));
    w.add(name + ".latency_us", half - o * ends, spread_of(round_trip));
    w.add(name + ".gap_us", leaving.median(), spread_of(leaving));
    w.add(name + ".bytes_per_ns", longest / std::max(1.0, (longer.median() - shortly.median()) * 1e9), spread_of(longer));
  }
  // Rank 0's flushes may need the peer's progress, which a barrier makes.
  require(world_->barrier().enter());
}

// A price adds o at either end of the way; what is left of it is the latency. Members of other hosts, if there are any, are the last ones.
void measured_provider::calibrate_multicast(tuning::calibration& out, const std::string& when) {
  const rank_t far = beyond_the_node();
  const multicast_costs took = measure_multicast(job_->world(), far == no_rank ? job_->size() - 1 : far);
  costs link;
  out.apply(link);
  const double o = (far == no_rank ? link.node : link.network).overhead_us;
  writer w(out, when);
  if (took.one_way_us.count() > 0)
    w.add("multicast.latency_us", std::max(0.0, took.one_way_us.median() - 2 * o), spread_of(took.one_way_us));
  if (took.bytes_per_ns.count() > 0) w.add("multicast.bytes_per_ns", took.bytes_per_ns.median(), spread_of(took.bytes_per_ns));
}

tuning::calibration measured_provider::calibrate(const std::string& when) {
  tuning::calibration out;
  out.fabric = job_->fabric();
  const fabric_facts& facts = job_->facts();
  out.can = {.target_must_progress = facts.target_must_progress != 0, .maps_node = facts.maps_node != 0, .multicasts = job_->net().mcast() != nullptr,
             .message_bytes = facts.network_message};
  const auto& node_of = job_->where().node_of;
  const bool alone = job_->ranks_per_core() <= 1;  // between ranks that share cores a round trip is mostly turns
  if (alone && job_->size() > 1 && node_of[0] == node_of[1]) calibrate_link(out, "node", 1, when);
  if (const rank_t far = beyond_the_node(); alone && far != no_rank) calibrate_link(out, "network", far, when);
  if (alone && job_->size() > 1 && out.can->multicasts) calibrate_multicast(out, when);
  writer w(out, when);
  if (!alone) {
    // A rank that waits looks, yields, and finds its core again when all others have done the same.
    require(world_->barrier().enter());
    const series turns = chunks_of(100, [&] {
      job_->progress();
      sched_yield();
    });
    require(world_->barrier().enter());
    w.add("turn_per_rank_us", turns.median() * 1e6 / job_->ranks_per_core(), spread_of(turns));
  }
  // Out of the nearest cache, and of data that another core may have written.
  constexpr std::size_t some = 64 << 10, all = 8 << 20;
  require(world_->barrier().enter());
  if (job_->rank() == 0) {
    std::vector<std::byte> from(all), to(all);
    std::size_t at = 0;
    const auto series_among = [&](std::size_t bytes, auto move) {
      return chunks_of(32, [&] {
        at = (at + some) % bytes;
        move(from.data() + at, to.data() + at);
      });
    };
    const auto add_rate = [&](const char* name, const series& s) { w.add(name, some / (s.median() * 1e9), spread_of(s)); };
    const auto copy = [](const std::byte* source, std::byte* target) { std::memcpy(target, source, some); };
    add_rate("cached_bytes_per_ns", series_among(2 * some, copy));
    add_rate("copied_bytes_per_ns", series_among(all, copy));
    const reduction sum = *find_reduction(datatype::float64, operation::sum);
    add_rate("reduced_bytes_per_ns", series_among(all, [&](const std::byte* in, std::byte* inout) { sum.combine(in, inout, some / sizeof(double)); }));
    if (facts.kernel_copies) {  // out of any process: this one is at hand
      const auto fetching = [&](std::size_t bytes) {
        return series_among(all, [bytes](std::byte* source, std::byte* target) {
          const iovec here{target, bytes}, there{source, bytes};
          (void)process_vm_readv(getpid(), &here, 1, &there, 1, 0);
        });
      };
      const series call = fetching(8), whole = fetching(some);
      w.add("fetch_us", call.median() * 1e6, spread_of(call));
      w.add("fetched_bytes_per_ns", some / std::max(1.0, (whole.median() - call.median()) * 1e9), spread_of(whole));
    }
  }
  require(world_->barrier().enter());
  return out;
}

}  // namespace tutti::tools

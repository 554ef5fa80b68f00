#include "tools/sim/collective.h"

#include <algorithm>

#include "tools/sim/joined.h"
#include "tools/sim/processor_watch.h"
#include "tools/sim/regret.h"

namespace tutti::tools {

result<sim_figures> measure_collective(const sim::parameters& given, const collective_plan& plan, const progress_fn& progress) {
  if (given.ranks > most_stacks)
    return status(errc::unsupported, "a collective that moves data is simulated with a stack for each rank, at most " + std::to_string(most_stacks) +
                                         " of them; give fewer --ranks");
  if (plan.of == collective::alltoallv) return status(errc::unsupported, "the members of an alltoallv know no size alike: measure alltoall");
  const auto began = std::chrono::steady_clock::now();
  sim::parameters p = given;
  p.queue_depth = std::max(p.queue_depth, 4096u);
  const std::uint64_t all = has_block_each(plan.of) ? plan.bytes * p.ranks : plan.bytes;
  std::vector<std::byte> in(all), out(all);  // of every rank: what the data are plays no part
  const collective_call call{.of = plan.of, .bytes = plan.bytes, .in = in.data(), .out = plan.of == collective::broadcast ? in.data() : out.data(),
                             .op = *find_reduction(datatype::uint64, operation::sum)};
  const tuning::table known = known_of_the_simulator(p);
  communicator_options options;
  options.measured = std::shared_ptr<const tuning::table>(&known, [](const tuning::table*) {});
  options.wanted(plan.of) = plan.algorithm;

  sim::world w(p);
  sim_figures f;
  std::vector<float> samples(static_cast<std::size_t>(p.ranks) * plan.calls);
  time_point start, end, first;
  sim::statistics before;
  std::uint64_t done = 0;
  const processor_watch watch(w);
  const status ran = run_ranks(w, [&](rank_t r) {
    job_options joining;
    joining.world_lines = communicator::world_lines;
    joining.gather = [&w, r](std::span<const std::byte> mine) { return w.boot(r).allgather(mine, time_point::max()); };
    const auto home = join_simulated(w, r, std::move(joining));
    const auto world = need(communicator::world(*home, options));
    for (int i = 0; i < 2; ++i) need(world->run(call));
    const time_point begin = latest_clock(w, r) + std::chrono::milliseconds(1);
    if (r == 0) f.way = to_string(world->data().latest()), start = first = end = begin, before = w.stats();
    w.compute(r, in_us(begin) - in_us(w.clock(r)));
    for (std::uint64_t i = 0; i < plan.calls; ++i) {
      const time_point entered = w.clock(r);
      need(world->run(call));
      const time_point left = w.clock(r);
      samples[i * p.ranks + r] = static_cast<float>(in_us(left) - in_us(entered));
      end = std::max(end, left);
      if (i == 0) first = std::max(first, left);
      if (progress && ++done % 64 == 0) progress(static_cast<double>(done) / static_cast<double>(samples.size()));
    }
    const time_point last = latest_clock(w, r);  // nothing of what follows is counted
    if (r == 0) {
      f.lasted_us = in_us(last);
      f.messages = static_cast<double>(w.stats().messages - before.messages), f.payload = static_cast<double>(w.stats().bytes - before.bytes);
      f.datagrams = static_cast<double>(w.stats().datagrams_sent - before.datagrams_sent);
      f.busiest = w.busiest();
    }
    (void)latest_clock(w, r);
  });
  if (ran.failed()) return ran;
  const auto calls = static_cast<double>(plan.calls);
  f.of = name_of(plan.of), f.ranks = p.ranks, f.bytes = plan.bytes, f.calls = plan.calls;
  f.us = (in_us(end) - in_us(start)) / calls, f.first_us = in_us(first) - in_us(start);
  f.messages /= calls, f.payload /= calls, f.datagrams /= calls;
  f.each = spread_of(samples);
  f.trace = w.stats().trace;
  f.wall_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  return f;
}

}  // namespace tutti::tools

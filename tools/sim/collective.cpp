#include "tools/sim/collective.h"

#include <algorithm>
#include <chrono>

#include "tools/sim/processor_watch.h"
#include "tools/sim/regret.h"
#include "tools/sim/timed_run.h"
#include "tools/sim/virtual_data.h"
#include "tools/sim/virtual_job.h"

namespace tutti::tools {
namespace {

// As long and as free in its grouping as a sum of integers.
reduction sum_of_nothing() {
  reduction r = *find_reduction(datatype::uint64, operation::sum);
  r.built_in = [](const void*, const void*, void*, std::size_t) noexcept {};
  return r;
}

}  // namespace

result<sim_figures> measure_collective(const sim::parameters& given, const collective_plan& plan, const progress_fn& progress) {
  if (given.ranks > most_with_data)
    return status(errc::unsupported, "a collective that moves data is simulated with at most " + std::to_string(most_with_data) + " --ranks");
  if (plan.of == collective::alltoallv) return status(errc::unsupported, "the members of an alltoallv know no size alike: measure alltoall");
  const auto began = std::chrono::steady_clock::now();
  sim::parameters p = given;
  p.queue_depth = std::max(p.queue_depth, 4096u);
  const std::uint64_t blocks = has_block_each(plan.of) ? p.ranks : 1;
  if (plan.bytes > virtual_data::most / blocks)
    return status(errc::invalid, worded(blocks, blocks > 1 ? " blocks" : " buffer", " of ", plan.bytes, " bytes is too much to simulate, at most ",
                                        virtual_data::most, " bytes"));
  auto in = virtual_data::of(plan.bytes * blocks), out = virtual_data::of(plan.bytes * blocks);  // of every rank
  if (!in || !out) return in ? out.error() : in.error();
  std::byte* const result_at = (plan.of == collective::broadcast ? *in : *out).memory().data();
  const collective_call call{.of = plan.of, .bytes = plan.bytes, .in = in->memory().data(), .out = result_at, .op = sum_of_nothing()};
  const tuning::table known = known_of_the_simulator(p);
  communicator_options options;
  options.measured = std::shared_ptr<const tuning::table>(&known, [](const tuning::table*) {});
  options.wanted(plan.of) = plan.algorithm;
  options.common = std::make_shared<common_choices>();

  standing_memory data;
  sim::world w(p);
  for (rank_t r = 0; r < p.ranks; ++r) (void)w.net(r), w.memory_of(r, data);
  const auto picked = virtual_job::pick(w, options);
  if (!picked) return picked.error();
  auto made = virtual_job::open(w, *picked, options);
  if (!made) return made.error();
  virtual_job& v = **made;
  const processor_watch watch(w);
  const auto run = [&](virtual_job::script s) -> status {
    s.call = &call;
    status ran = v.run(s);
    for (rank_t r = 0; ran.ok() && r < p.ranks; ++r)
      if (v.outcome(r).failed()) ran = v.outcome(r).during(worded("rank ", r));
    return ran;
  };
  if (const status s = run({.epochs = 2}); s.failed()) return s;  // makes what it needs

  time_point begin{};
  for (rank_t r = 0; r < p.ranks; ++r) begin = std::max(begin, w.clock(r));
  begin += std::chrono::milliseconds(1);
  timed_run timed(w, plan.calls, begin, progress);
  virtual_job::script s{.epochs = plan.calls};
  s.compute = [&](rank_t r, std::uint64_t epoch) { return epoch == 1 ? in_us(begin) - in_us(w.clock(r)) : 0; };
  timed.watch(s);
  if (const status ran = run(s); ran.failed()) return ran;
  sim_figures f = timed.figures(plan.calls);
  const candidate ran_by = v.world(0).data().latest();
  f.of = name_of(plan.of), f.way = ran_by.row ? to_string(ran_by) : "nothing to move", f.bytes = plan.bytes;
  f.wall_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  return f;
}

}  // namespace tutti::tools

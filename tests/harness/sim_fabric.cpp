#include "tests/harness/sim_fabric.h"

#include <malloc.h>
#include <unistd.h>

#include "tests/harness/coverage.h"

namespace tutti::test {
namespace {

void one_virtual_rank(sim::world& world, meeting& m, rank_t rank, const run_options& o, const rank_body& body) {
  rank_env env(m, rank, o.seed, std::chrono::duration_cast<std::chrono::nanoseconds>(o.timeout) * 9 / 10);
  env.own_process = false;
  env.pass_time = [&] { world.compute(rank, 20); };
  env.on_death = [&] {
    m.finish(rank, rank_state::died, {});
    m.gone(rank);
    world.kill(rank);
  };
  try {
    env.open(take(world.open(rank), "open"));
    body(env);
    env.barrier();
  } catch (const failure& f) {
    m.finish(rank, rank_state::failed, f.text);  // now: what is still in flight may spoil the way out
    throw;
  }
  env.close();
}

// What is freed stays: the kernel would clear each page again. Nothing is registered with an adapter here that might care when
// memory goes.
void keep_memory() noexcept {
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  mallopt(M_TOP_PAD, 1 << 20);
}

}  // namespace

std::vector<fabric_spec> sim_fabrics() { return {{"sim"}, {"sim:wild"}, {"sim:tcp"}, {"sim:node"}}; }

sim::parameters sim_parameters(const fabric_spec& fabric, std::uint32_t ranks, std::uint64_t seed) {
  sim::parameters p;
  p.ranks = ranks, p.seed = seed;
  if (fabric.name == "sim:node") p.ranks_per_node = 16, p.maps_node = true;
  if (fabric.name == "sim:wild" || fabric.name == "sim:tcp") {
    p.jitter = 4, p.noise_us = 3;
    p.refuse = 0.05, p.queue_depth = 24;
    p.mcast_loss = 0.1, p.mcast_duplicate = 0.1, p.mcast_reorder = 0.2;
  }
  if (fabric.name == "sim:tcp") p.target_must_progress = true;
  return p;
}

run_report try_ranks_simulated(const sim::parameters& p, const rank_body& body, const run_options& o) {
  return run_processes(p.ranks, true, o, [&](meeting& m, rank_t, std::uint32_t) {
    keep_memory();
    sim::world world{p};
    const status end = world.run([&](rank_t r) { run_one(m, r, [&] { one_virtual_rank(world, m, r, o, body); }); });
    if (end.ok()) return;
    // A deadlock: the world knows who waits, the ranks have said for what.
    for (rank_t r = 0; r < p.ranks; ++r)
      if (m.state(r) == rank_state::running)
        m.finish(r, rank_state::failed, std::string{end.text()} + "; waiting for " + m.waiting(r));
    std::fflush(nullptr);
    keep_coverage();
    _exit(0);  // parked threads hold on to the world
  });
}

}  // namespace tutti::test

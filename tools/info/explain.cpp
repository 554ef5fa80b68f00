#include "tools/info/explain.h"

#include <sched.h>

#include <algorithm>
#include <cstdio>
#include <span>

#include "collectives/pick.h"
#include "collectives/choose.h"
#include "collectives/communicator.h"
#include "collectives/tuning/table.h"
#include "core/job/bootstrap_alone.h"
#include "core/job/network_choice.h"
#include "core/transport/provider.h"
#include "tools/command.h"
#include "tools/info/explain_message.h"

namespace tutti::tools {
namespace {

constexpr std::uint64_t no_size[] = {0};

int failed(const status& s) {
  std::fprintf(stderr, "tutti info: %s\n", s.text());
  return 1;
}

// As a job counts them: ranks of the fullest node by the cores that they may use.
double ranks_per_core_here(const question& q) {
  cpu_set_t mine;
  const int cores = sched_getaffinity(0, sizeof mine, &mine) == 0 ? std::max(1, CPU_COUNT(&mine)) : 1;
  const std::uint32_t on_node = q.ranks_per_node ? std::min(q.ranks, q.ranks_per_node) : q.ranks;
  const double each = static_cast<double>(on_node) / cores;
  std::printf("ranks per core: %g, as %u ranks of a node have on the %d core%s here; --ranks-per-core for other machines\n\n",
              each, on_node, cores, cores == 1 ? "" : "s");
  return each;
}

// What TUTTI_PROVIDER would have to say for a job over several nodes that has said nothing.
result<std::string> fabric_of(const question& q, const config& settings, bootstrap& boot, bool several_nodes) {
  if (!q.provider.empty()) return q.provider;
  if (const auto named = settings.text(knob::provider); named != "auto" && !named.empty()) return std::string(named);
  if (!several_nodes) return std::string("shm");
  auto network = agree_on_network(boot, time_point::max());
  return network ? result<std::string>("shm+" + *network) : network;
}

// A job of one rank over that fabric: what it has agreed on, a larger one on machines like this would as well.
struct small_job {
  communicator_options engines;
  std::unique_ptr<job> one;
};

result<small_job> open_small_job(const question& q, bool several_nodes) {
  const auto settings = config::load();
  if (!settings) return settings.error();
  set_provider_path(std::string(settings->text(knob::provider_path)));
  auto boot = make_alone_bootstrap();
  auto fabric = fabric_of(q, *settings, *boot, several_nodes);
  if (!fabric) return fabric.error();
  const config_option over{"provider", *fabric};
  const auto with = config::load({&over, 1});
  if (!with) return with.error();
  small_job out{communicator_options_from(*with), nullptr};
  job_options options = options_from(*with);
  options.world_lines = communicator::world_lines;
  choose_by_settings(*with, options, out.engines);
  auto j = job::open(std::move(boot), *with, std::move(options));
  if (!j) return j.error();
  out.one = std::move(*j);
  return out;
}

std::string costs_from(const tuning::table* measured) {
  return !measured ? "no tuning table: predicted costs decide" : "tuning table " + measured->file;
}

// The world's control memory is made before anyone knows which barrier is chosen: some do not fit into it.
void leave_out_what_does_not_fit(std::vector<candidate>& all, const choice_inputs& in) {
  if (!in.wanted.name.empty()) return;  // who asks by name gets the memory
  const std::uint32_t most = communicator::world_lines(in.ranks);
  for (candidate& c : all)
    if (c.runnable && team_barrier::lines_for(c, in.node_of, in.ranks) > most)
      c.runnable = false, c.why = "by name only: it needs more control memory than a job of so many ranks has";
  std::ranges::stable_partition(all, &candidate::runnable);
}

int explain_over(small_job& over, collective of, const question& q) {
  job& j = *over.one;
  const std::vector<std::uint32_t> nodes = nodes_of(q.ranks, q.ranks_per_node);
  choice_inputs in = inputs_from(j.facts(), j.net().mcast() != nullptr, nodes);
  in.ranks_per_core = q.ranks_per_core;
  auto wanted = parse_wanted(of, over.engines.wanted(of));
  if (!wanted) return failed(wanted.error());
  in.wanted = std::move(*wanted);
  if (of == collective::barrier && over.engines.radix) in.wanted.radix = over.engines.radix;
  if (of != collective::barrier) add_payload(in, payload_facts_of(j.net(), true));
  choose_by(in, over.engines.measured.get(), j.fabric());
  std::printf("over %s, %s\n\n", j.fabric().c_str(), costs_from(in.measured).c_str());
  const std::span<const std::uint64_t> sizes = of == collective::barrier ? std::span(no_size)
                                               : q.bytes.empty()         ? std::span(sizes_to_explain)
                                                                         : std::span(q.bytes);
  for (const std::uint64_t& bytes : sizes) {
    in.bytes = bytes;
    if (&bytes != sizes.data()) std::printf("\n");
    auto all = choose(of, in);
    if (!all) return failed(all.error());
    if (of == collective::barrier) leave_out_what_does_not_fit(*all, in);
    for (const std::string& line : explain(of, in, *all)) std::printf("%s\n", line.c_str());
  }
  return 0;
}

}  // namespace

std::vector<std::uint32_t> nodes_of(std::uint32_t ranks, std::uint32_t ranks_per_node) {
  std::vector<std::uint32_t> nodes;
  for (std::uint32_t i = 0; i < ranks; ++i) nodes.push_back(ranks_per_node ? i / ranks_per_node : 0);
  return nodes;
}

int explain(question q) {
  const auto of = find_collective(q.topic);
  const bool messages = q.topic == "message", several_nodes = q.ranks_per_node != 0 && q.ranks_per_node < q.ranks;
  if (!of && !messages) {
    std::fprintf(stderr, "tutti info: --explain knows %s and message, not \"%s\"\n", known_collectives().c_str(), q.topic.c_str());
    return usage_error;
  }
  if (q.ranks_per_core <= 0) q.ranks_per_core = ranks_per_core_here(q);
  if (messages) {
    auto over = open_small_job(q, several_nodes);
    return over ? explain_messages(*over->one, q, several_nodes, costs_from(over->engines.measured.get())) : failed(over.error());
  }
  auto over = open_small_job(q, several_nodes);
  if (!over) return failed(over.error());
  return explain_over(*over, *of, q);
}

}  // namespace tutti::tools

#include "tools/info/explain.h"

#include <sched.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <span>

#include "collectives/communicator.h"
#include "collectives/pick.h"
#include "collectives/tuning/table.h"
#include "core/job/bootstrap_alone.h"
#include "core/job/network_choice.h"
#include "core/transport/provider.h"
#include "tools/command.h"
#include "tools/info/explain_message.h"

namespace tutti::tools {
namespace {

constexpr std::uint64_t no_size[] = {0};

// What is called by another name than that of the collective which carries it out; of unlike lengths, all of them.
constexpr std::pair<std::string_view, collective> other_names[] = {
    {"gatherv", collective::alltoallv}, {"scatterv", collective::alltoallv}, {"alltoallw", collective::alltoallv},
    {"neighbor_allgather", collective::alltoallv}, {"neighbor_alltoall", collective::alltoallv}, {"allgatherv", collective::allgather}};

std::optional<collective> collective_of(std::string_view topic) {
  const auto other = std::ranges::find(other_names, topic, &std::pair<std::string_view, collective>::first);
  return other != std::end(other_names) ? other->second : find_collective(topic);
}

result<reduction> reduction_of(const question& q) {
  const auto op = find_operation(q.operation);
  if (op == operation::user) return user_reduction([](const void*, void*, std::size_t, void*) {}, q.element, !q.ordered, nullptr);
  if (q.ordered) return status(errc::invalid, "--ordered is of --operation user: every other operation is commutative");
  const auto type = find_datatype(q.type);
  if (!op) return status(errc::invalid, "--operation " + q.operation + " is unknown; tutti.h lists what there is");
  if (!type) return status(errc::invalid, "--type " + q.type + " is unknown; tutti.h lists what there is");
  return find_reduction(*type, *op);
}

// A call as a job makes it, of no bytes yet.
result<collective_call> call_of(collective of, const question& q) {
  collective_call c{.of = of};
  if (reduces(of)) {
    auto op = reduction_of(q);
    if (!op) return op.error();
    c.op = *op;
  }
  if (q.unlike || of == collective::alltoallv || q.topic != name_of(of)) c.lists = std::make_shared<block_lists>();
  return c;
}

std::string operation_text(const question& q, const reduction& op) {
  if (op.built_in) return q.operation + " of " + q.type;
  return std::string("a user's operation") + (op.commutative ? "" : ", not commutative") + ", on elements of " + std::to_string(op.element_size) + " bytes";
}

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
  std::stable_partition(all.begin(), all.end(), std::mem_fn(&candidate::runnable));
}

int explain_barrier(small_job& over, std::span<const std::uint32_t> nodes, const question& q) {
  job& j = *over.one;
  const auto in = barrier_inputs(j.facts(), j.fabric(), j.net().mcast() != nullptr, nodes, q.ranks_per_core, over.engines);
  if (!in) return failed(in.error());
  auto all = choose(collective::barrier, *in);
  if (!all) return failed(all.error());
  leave_out_what_does_not_fit(*all, *in);
  std::printf("over %s, %s\n\n", j.fabric().c_str(), costs_from(in->measured).c_str());
  for (const std::string& line : explain(collective::barrier, *in, *all)) std::printf("%s\n", line.c_str());
  return 0;
}

int explain_data(small_job& over, std::span<const std::uint32_t> nodes, collective_call call, const question& q) {
  job& j = *over.one;
  const auto with = choice_settings_from(over.engines);
  if (!with) return failed(with.error());
  const choice_inputs team = inputs_of_team(j, nodes, q.ranks_per_core, payload_facts_of(j.net(), with->multicast), *with);
  std::printf("over %s, %s%s\n", j.fabric().c_str(), costs_from(team.measured).c_str(),
              reduces(call.of) ? (", " + operation_text(q, call.op)).c_str() : "");
  const bool any_size = call.of == collective::alltoallv;
  if (any_size) std::printf("two members alone know how much goes between them, so one choice serves all sizes\n");
  for (const std::uint64_t bytes : any_size ? std::span(no_size) : q.bytes.empty() ? std::span(sizes_to_explain) : std::span(q.bytes)) {
    call.bytes = bytes;
    const choice_inputs in = inputs_of_call(team, call, *with);
    const auto all = choose(call.of, in);
    if (!all) return failed(all.error());
    std::printf("\n");
    for (const std::string& line : explain(call.of, in, *all)) std::printf("%s\n", line.c_str());
    if (const std::uint64_t beyond = direct_beyond(in, *all->front().row); beyond != never_direct)
      std::printf("blocks of more than %llu bytes go by direct\n", static_cast<unsigned long long>(beyond));
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
  const auto of = collective_of(q.topic);
  const bool messages = q.topic == "message", several_nodes = q.ranks_per_node != 0 && q.ranks_per_node < q.ranks;
  if (!of && !messages) {
    std::fprintf(stderr, "tutti info: --explain knows %s and message, not \"%s\"\n", known_collectives().c_str(), q.topic.c_str());
    return usage_error;
  }
  const auto call = call_of(of.value_or(collective::barrier), q);
  if (!call) {
    std::fprintf(stderr, "tutti info: %s\n", call.error().text());
    return usage_error;
  }
  if (q.ranks_per_core <= 0) q.ranks_per_core = ranks_per_core_here(q);
  auto over = open_small_job(q, several_nodes);
  if (!over) return failed(over.error());
  if (messages) return explain_messages(*over->one, q, several_nodes, costs_from(over->engines.measured.get()));
  const std::vector<std::uint32_t> nodes = nodes_of(q.ranks, q.ranks_per_node);
  return of == collective::barrier ? explain_barrier(*over, nodes, q) : explain_data(*over, nodes, *call, q);
}

}  // namespace tutti::tools

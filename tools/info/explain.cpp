#include "tools/info/explain.h"

#include <sched.h>

#include <algorithm>
#include <cstdio>
#include <span>

#include "collectives/pick.h"
#include "collectives/choose.h"
#include "core/transport/provider.h"
#include "tools/command.h"

namespace tutti::tools {
namespace {

int failed(const status& s) {
  std::fprintf(stderr, "tutti info: %s\n", s.text());
  return 1;
}

int print(const result<std::vector<std::string>>& lines) {
  if (!lines) return failed(lines.error());
  for (const std::string& line : *lines) std::printf("%s\n", line.c_str());
  return 0;
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

int explain_over(transport& net, collective of, const question& q) {
  const std::vector<std::uint32_t> nodes = nodes_of(q.ranks, q.ranks_per_node);
  choice_inputs in = inputs_from(facts_of(net), net.mcast() != nullptr, nodes);
  in.ranks_per_core = q.ranks_per_core;
  if (of == collective::barrier) return print(explain(of, in));
  add_payload(in, payload_facts_of(net, true));
  const std::span<const std::uint64_t> sizes = q.bytes.empty() ? std::span(sizes_to_explain) : std::span(q.bytes);
  for (const std::uint64_t& bytes : sizes) {
    in.bytes = bytes;
    if (&bytes != sizes.data()) std::printf("\n");
    if (const int e = print(explain(of, in)); e != 0) return e;
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
  if (!of) {
    std::fprintf(stderr, "tutti info: --explain knows %s, not \"%s\"\n", known_collectives().c_str(), q.topic.c_str());
    return usage_error;
  }
  const auto over = find_provider(q.provider.empty() ? "shm" : q.provider);
  if (!over) return failed(over.error());
  const auto opened = over->impl->open({over->device, "tutti-info", 0, 1});
  if (!opened) return failed(opened.error());
  if (q.ranks_per_core <= 0) q.ranks_per_core = ranks_per_core_here(q);
  return explain_over(**opened, *of, q);
}

}  // namespace tutti::tools

// The phases of what runs on nodes first, a table each, and its rows. How they are carried out, and why that is safe:
// collectives/hierarchy.h.
#include "collectives/hierarchy.h"

namespace tutti::hierarchical {
namespace {

using enum collective;
using enum phase::level;
using enum phase::preparation;
using enum phase::reach;
using extent = phase::extent;
using memory = phase::memory;

// A root that is no leader gives to its node, and so to its leader, first.
constexpr phase broadcasting[] = {
    {.of = collective::broadcast, .where = at_root, .from = phase::giver::root, .out = {memory::out}},
    {.of = collective::broadcast, .on = leaders, .out = {memory::out}},
    {.of = collective::broadcast, .where = elsewhere, .out = {memory::out}},
};

constexpr phase reducing[] = {
    {.of = collective::reduce, .in = {memory::in}, .out = {memory::out_at_root}},
    {.of = collective::reduce, .on = leaders, .in = {memory::out_at_root}, .out = {memory::out_at_root}},
    {.of = alltoallv, .where = at_root, .in = {memory::between}, .out = {memory::out}},
};

constexpr phase reducing_for_all[] = {
    {.of = collective::reduce, .in = {memory::in}, .out = {memory::out}},
    {.of = collective::allreduce, .on = leaders, .in = {memory::out}, .out = {memory::out}},
    {.of = collective::broadcast, .out = {memory::out}},
};

constexpr phase gathering_for_all[] = {
    {.of = collective::gather, .in = {memory::in}, .out = {memory::out, true}},
    {.of = collective::allgather, .on = leaders, .bytes = extent::node, .in = {memory::out, true}, .out = {memory::out}},
    {.of = collective::broadcast, .bytes = extent::team, .out = {memory::out}},
};

constexpr phase gathering[] = {
    {.of = collective::gather, .in = {memory::in}, .out = {memory::out_at_root, true}},
    {.of = collective::gather, .on = leaders, .bytes = extent::node, .in = {memory::out_at_root, true}, .out = {memory::out_at_root}},
    {.of = alltoallv, .where = at_root, .bytes = extent::team, .in = {memory::between}, .out = {memory::out}},
};

constexpr phase scattering[] = {
    {.of = alltoallv, .where = at_root, .from = phase::giver::root, .bytes = extent::team, .in = {memory::in}, .out = {memory::between}},
    {.of = collective::scatter, .on = leaders, .bytes = extent::node, .in = {memory::in_at_root}, .out = {memory::in_at_root, true}},
    {.of = collective::scatter, .in = {memory::in_at_root, true}, .out = {memory::out}},
};

constexpr phase reducing_blocks[] = {
    {.of = collective::reduce, .bytes = extent::team, .in = {memory::in}, .out = {memory::between}},
    {.of = collective::reduce_scatter, .on = leaders, .bytes = extent::node, .in = {memory::between}, .out = {memory::between, true}},
    {.of = collective::scatter, .in = {memory::between, true}, .out = {memory::out}},
};

// Each leader has the rows of its ranks, a block for every rank of the team, which become a block for every node.
constexpr phase exchanging[] = {
    {.of = collective::gather, .bytes = extent::team, .in = {memory::in}, .out = {memory::between}},
    {.of = collective::alltoall, .on = leaders, .bytes = extent::pair, .in = {memory::aside}, .out = {memory::between}, .before = to_nodes},
    {.of = collective::scatter, .bytes = extent::team, .in = {memory::aside}, .out = {memory::out}, .before = to_ranks},
};

// A leader whose operand has the sum of all nodes before in it passes that on by its node's scan. The ranks of a node follow each
// other, or this sum would not be of the ranks before.
constexpr phase scanning[] = {
    {.of = collective::reduce, .in = {memory::in}, .out = {memory::between}},
    {.of = collective::exscan, .on = leaders, .in = {memory::between}, .out = {memory::aside}},
    {.of = collective::scan, .in = {memory::carried}, .out = {memory::out}, .before = carry},
};
constexpr phase scanning_exclusively[] = {
    scanning[0], scanning[1], {.of = collective::exscan, .in = {memory::carried}, .out = {memory::out}, .before = carry}};

// An alltoallv, which is a gatherv and a scatterv as well, has no such table. Only the two ranks of a pair know how much goes between
// them: leaders would have to be told first, and no member knows whether there is so little that this pays.
constexpr composition of_broadcast{.phases = broadcasting, .in_segments = true, .mixed_nodes = true, .nodes_overlap = true, .leaders_overlap = true},
    of_reduce{.phases = reducing, .in_segments = true, .mixed_nodes = true, .nodes_overlap = true, .leaders_overlap = true},
    of_allreduce{.phases = reducing_for_all, .in_segments = true, .mixed_nodes = true},
    of_gather{.phases = gathering, .nodes_overlap = true, .leaders_overlap = true},
    of_scatter{.phases = scattering, .nodes_overlap = true, .leaders_overlap = true}, of_allgather{.phases = gathering_for_all},
    of_alltoall{.phases = exchanging, .mixed_nodes = true}, of_reduce_scatter{.phases = reducing_blocks},
    of_scan{.phases = scanning, .in_segments = true, .leaders_overlap = true},
    of_exscan{.phases = scanning_exclusively, .in_segments = true, .leaders_overlap = true};

constexpr variant variants[] = {{.considered = [](const placement& p) { return p.nodes > 1 && p.largest > 1; },
                                 .reason = "only leaders use the network"}};

constexpr algorithm row(collective of, const composition& phases, std::string_view summary) {
  return {.of = of,
          .name = "hierarchical",
          .summary = summary,
          .source = "Gupta 2002, 5.3",
          .needs = {.nodes = true},
          .variants = variants,
          .phases = &phases};
}

}  // namespace

extern const algorithm broadcast, reduce, allreduce, gather, scatter, allgather, alltoall, reduce_scatter, scan, exscan;
constinit const algorithm broadcast = row(collective::broadcast, of_broadcast, "among the nodes' leaders, then inside each node");
constinit const algorithm reduce = row(collective::reduce, of_reduce, "inside each node, then among the nodes' leaders");
constinit const algorithm allreduce =
    row(collective::allreduce, of_allreduce, "a reduce inside each node, an allreduce among the leaders, a broadcast inside each node");
constinit const algorithm gather = row(collective::gather, of_gather, "inside each node, then among the nodes' leaders");
constinit const algorithm scatter = row(collective::scatter, of_scatter, "among the nodes' leaders, then inside each node");
constinit const algorithm reduce_scatter = row(collective::reduce_scatter, of_reduce_scatter,
                                               "a reduce inside each node, a reduce_scatter among the leaders, a scatter inside each node");
constinit const algorithm allgather =
    row(collective::allgather, of_allgather, "a gather inside each node, an allgather among the leaders, a broadcast inside each node");
constinit const algorithm alltoall =
    row(collective::alltoall, of_alltoall, "a gather inside each node, an alltoall among the leaders, a scatter inside each node");
constinit const algorithm scan =
    row(collective::scan, of_scan, "a reduce inside each node, an exscan among the leaders, a scan inside each node");
constinit const algorithm exscan =
    row(collective::exscan, of_exscan, "a reduce inside each node, an exscan among the leaders, an exscan inside each node");

}  // namespace tutti::hierarchical

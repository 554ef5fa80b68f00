#include "tools/sim/calibrated.h"

#include <algorithm>
#include <cmath>

namespace tutti::tools {
namespace {

// Parameters of a table that a machine has by another name.
constexpr std::pair<std::string_view, std::string_view> other_names[] = {
    {"turn_per_rank_us", "node.turn_us"}, {"copied_bytes_per_ns", "node.copied_bytes_per_ns"}, {"reduced_bytes_per_ns", "node.added_bytes_per_ns"}};

std::string_view in_machine(std::string_view tuned) {
  const auto other = std::ranges::find(other_names, tuned, &std::pair<std::string_view, std::string_view>::first);
  return other == std::end(other_names) ? tuned : other->second;
}

std::string source_text(const tuning::measured_value& v) {
  char spread[40];
  std::snprintf(spread, sizeof spread, ", quartiles %.0f %% apart", 100 * v.spread);
  return v.source + ", " + v.when + spread;
}

std::uint32_t cores_of(const tuning::row& r) {
  return r.ranks_per_core > 1 ? static_cast<std::uint32_t>(std::max(1.0, std::round(r.ranks / r.nodes / r.ranks_per_core))) : 0;
}

machine machine_of(const tuning::table& t, const tuning::calibration& c) {
  machine m;
  m.name = c.fabric;
  const auto host = std::ranges::find(t.machine, "host", &std::pair<std::string, std::string>::first);
  m.about = "as `tutti tune` measured it" + (host == t.machine.end() ? "" : " on " + host->second);
  const tuning::abilities can = c.can.value_or(tuning::abilities{});
  m.par.multicast = can.multicasts, m.par.target_must_progress = can.target_must_progress, m.par.maps_node = can.maps_node;
  m.par.message_bytes = can.message_bytes;
  if (c.can)
    for (const char* said : {"fabric.message_bytes", "fabric.target_must_progress", "node.maps", "multicast.available"})
      m.sources[said] = "what the fabric said of itself";
  bool node = false, network = false;
  for (std::size_t i = 0; i < tuning::parameter_count; ++i) {
    if (!c.values[i]) continue;
    const std::string_view name = in_machine(tuning::parameters()[i].name);
    const machine_parameter* const p = find_machine_parameter(name);
    if (!p) continue;  // a rate that depends on what fits into caches
    std::get<double& (*)(sim::parameters&)>(p->field)(m.par) = c.values[i]->value;
    m.sources[std::string(name)] = source_text(*c.values[i]);
    node = node || name == "node.latency_us", network = network || name == "network.latency_us";
  }
  if (!network) m.par.cost = m.par.node_cost, m.sources["network"] = "not measured: as inside a node";
  if (!node) m.par.node_cost = m.par.cost, m.sources["node"] = "not measured: as between nodes";
  m.par.ranks_per_node = 1;
  for (const tuning::row& r : t.rows) {
    if (r.fabric != c.fabric) continue;
    m.par.ranks_per_node = std::max(m.par.ranks_per_node, r.nodes == 1 ? 1024 : r.ranks / r.nodes);
    m.par.cores.per_node = std::max(m.par.cores.per_node, cores_of(r));
  }
  m.sources["node.ranks"] = m.par.ranks_per_node == 1024 ? "all on one host" : "as measured";
  return m;
}

std::string names_of(std::span<const machine> all) {
  std::string out;
  for (const machine& m : all) out += (out.empty() ? "" : ", ") + m.name;
  return out;
}

}  // namespace

result<std::vector<machine>> machines_of(const tuning::table& t, std::string_view fabric) {
  std::vector<machine> all;
  for (const tuning::calibration& c : t.fabrics)
    if (c.knows_links()) all.push_back(machine_of(t, c));
  if (all.empty())
    return status(errc::invalid, "it has no fabric whose links were measured: `tutti tune` measures them between two ranks that have a core each");
  if (fabric.empty()) return all;
  const std::string known = names_of(all);
  std::erase_if(all, [&](const machine& m) { return m.name != fabric; });
  if (all.empty()) return status(errc::invalid, "it has no fabric \"" + std::string(fabric) + "\" whose links were measured: name one of " + known + " by --fabric");
  return all;
}

result<machine> machine_of(const tuning::table& t, std::string_view fabric) {
  auto all = machines_of(t, fabric);
  if (!all) return all.error();
  if (all->size() > 1) return status(errc::invalid, "it has several fabrics: name one of " + names_of(*all) + " by --fabric");
  return std::move(all->front());
}

sim::parameters machine_of(const machine& m, const tuning::table& t, const tuning::row& r) {
  sim::parameters p = m.par;
  p.ranks = r.ranks, p.ranks_per_node = (r.ranks + r.nodes - 1) / r.nodes;
  p.cores.per_node = cores_of(r);
  costs c;
  t.of_fabric(r.fabric)->apply(c);
  c.node = p.node_cost, c.mapped = p.maps_node;
  const double of_a_rank = 2.0 * static_cast<double>(has_block_each(r.of) ? r.bytes * r.ranks : r.bytes);
  c = for_data_of(c, static_cast<std::uint64_t>(std::max(1.0, r.ranks_per_core) * of_a_rank));
  p.node_cost = c.node, p.copies = {c.copied_bytes_per_ns, c.reduced_bytes_per_ns};
  return p;
}

}  // namespace tutti::tools

// The world's public face: opening ranks, and running them.
#include "providers/sim/net.h"

namespace tutti::sim {

namespace {

std::uint32_t nodes_of(const parameters& p) noexcept {
  const std::uint32_t each = std::max(p.ranks_per_node, 1u);
  return (std::max(p.ranks, 1u) + each - 1) / each;
}

}  // namespace

fabric::fabric(parameters p)
    : par(std::move(p)), net_link(par.cost), node_link(par.node_cost), beside(par.beside, par.copies), rng(par.seed), ranks(std::max(par.ranks, 1u)),
      job("sim-" + std::to_string(par.seed)), owned(ranks.size()), boots(ranks.size()) {
  par.ranks = static_cast<std::uint32_t>(ranks.size());
  par.ranks_per_node = std::max(par.ranks_per_node, 1u);
  caps.max_bytes = par.max_bytes;
  caps.max_inline = par.max_inline;
  caps.message_bytes = par.message_bytes;
  caps.max_slices = par.max_slices;
  caps.native_signal = caps.native_atomics = caps.native_when_added = !par.target_must_progress;
  caps.maps_node = caps.kernel_copies = par.maps_node;
  caps.follows_mapping = true;
  caps.cpu_atomics_agree = par.cpu_atomics_agree;
  caps.target_must_progress = par.target_must_progress;
  caps.can_sleep = true;
  caps.virtual_clock = true;
  caps.cost = par.cost;
  caps.node_cost = par.node_cost;
  if (auto made = topology::make(par.topology, nodes_of(par))) wires = std::move(*made);
  links.resize(wires.links());
  hop_time = to_ns(par.topology.hop_us);
  // What a measurement of this fabric would say, by which the engines choose: with the links between two nodes, on average.
  caps.cost.latency_us += par.topology.hop_us * wires.mean_hops();
  if (!wires.flat() && par.topology.link_bytes_per_ns > 0) caps.cost.bytes_per_ns = std::min(caps.cost.bytes_per_ns, par.topology.link_bytes_per_ns);
  ns_per_link_byte = par.topology.link_bytes_per_ns > 0 ? 1 / par.topology.link_bytes_per_ns : net_link.ns_per_byte;
  if (par.cores.per_node && par.cores.per_node < par.ranks_per_node)
    cores.resize(std::size_t{nodes_of(par)} * par.cores.per_node), turn = to_ns(par.cores.turn_us);
  if (par.noise.every_us > 0 || par.noise.stragglers > 0)
    for (rank_t r = 0; r < par.ranks; ++r) disturbances.emplace_back(par.noise, par.seed, r);
  for (const death& d : par.deaths)
    if (d.rank < par.ranks) push(to_ns(d.at_us), draw(), event_kind::dies, d.rank, 0);
}

fabric::~fabric() { owned.clear(); }

world::world(parameters p) : f_(std::make_unique<fabric>(std::move(p))) {}
world::~world() = default;

std::uint32_t world::size() const noexcept { return f_->par.ranks; }
const parameters& world::params() const noexcept { return f_->par; }
const statistics& world::stats() const noexcept { return f_->stats; }

std::optional<link_use> world::busiest() const {
  const auto most = std::ranges::max_element(f_->links, {}, &link_state::used);
  if (most == f_->links.end() || !most->messages) return std::nullopt;
  const auto us = [](ns t) { return static_cast<double>(t) / 1000; };
  return link_use{f_->wires.name(static_cast<std::uint32_t>(most - f_->links.begin())), most->messages, most->bytes, us(most->used), us(most->waited)};
}

status world::check(const parameters& p) {
  const auto made = topology::make(p.topology, nodes_of(p));
  return made ? status{} : made.error();
}

bool world::alive(rank_t r) const noexcept { return !f_->ranks[r].dead; }
time_point world::clock(rank_t r) const noexcept { return time_point(std::chrono::nanoseconds(f_->ranks[r].clock)); }

void world::compute(rank_t r, double us) {
  rank_state& rs = f_->ranks[r];
  f_->spend(rs, to_ns(us));
  if (f_->mode == fabric::mode_t::fibers && rs.state == rank_state::running) f_->catch_up(rs);
}

void world::work(rank_t r, double us) { f_->spend(f_->ranks[r], to_ns(us)); }
rank_t world::running() const noexcept { return f_->running; }

void world::note(rank_t r, std::string_view waits_for) {
  if (waits_for.empty()) f_->notes.erase(r);
  else f_->notes[r] = waits_for;
}

transport& world::net(rank_t r) {
  rank_state& rs = f_->ranks[r];
  if (!rs.transport && !f_->owned[r]) f_->owned[r] = std::make_unique<rank_transport>(*f_, r);
  return *rs.transport;
}

result<std::unique_ptr<transport>> world::open(rank_t r) {
  if (r >= size()) return status(errc::invalid, worded("no rank ", r));
  const rank_state& rs = f_->ranks[r];
  if (rs.transport || rs.left)
    return status(errc::invalid, worded("rank ", r, " has opened its transport before: a simulated rank joins one job"));
  return std::unique_ptr<transport>(std::make_unique<rank_transport>(*f_, r));
}

void world::memory_of(rank_t r, far_memory& m) {
  auto& extra = f_->ranks[r].transport->extra_;
  if (!extra) extra = std::make_unique<rank_transport::beyond_loggp>();
  extra->memory = &m;
}

bootstrap& world::boot(rank_t r) {
  auto& b = f_->boots[r];
  if (!b) b = std::make_unique<rank_bootstrap>(*f_, r);
  return *b;
}

status world::exchange(const std::function<result<std::vector<std::byte>>(rank_t)>& give,
                       const std::function<status(rank_t, const shared_blobs&)>& take) {
  auto table = std::make_shared<blob_table>();
  for (rank_t r = 0; r < size(); ++r) {
    if (!alive(r)) {
      table->push_back({});
      continue;
    }
    auto blob = give(r);
    if (!blob.ok()) return blob.error().during(worded("rank ", r));
    table->push_back(*blob);
  }
  const shared_blobs all = std::move(table);
  for (rank_t r = 0; r < size(); ++r)
    if (alive(r))
      if (status s = take(r, all); s.failed()) return s.during(worded("rank ", r));
  return {};
}

void world::kill(rank_t r) {
  fabric& f = *f_;
  rank_state& rs = f.ranks[r];
  if (f.mode == fabric::mode_t::outside || rs.state == rank_state::running) {
    f.die(r, std::max(f.now, rs.clock));
    if (f.mode == fabric::mode_t::fibers) f.run_next(&rs);  // does not come back
  } else {
    f.push(f.now, f.draw(), event_kind::dies, r, 0);
  }
}

}  // namespace tutti::sim

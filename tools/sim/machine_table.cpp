// The parameters of a simulated machine, a row each.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>

#include "tools/sim/machine.h"

namespace tutti::tools {
namespace {

using sim::parameters;

constexpr double most_us = 1e6, least_rate = 1e-6, most_rate = 1e6, most_ranks = 1e6;

// The place of a member of sim::parameters.
template <auto Member>
auto& of(parameters& p) { return p.*Member; }
template <auto Member>
double& network(parameters& p) { return p.cost.*Member; }
template <auto Member>
double& node(parameters& p) { return p.node_cost.*Member; }

template <auto Member>
double& beside(parameters& p) { return p.beside.*Member; }
template <auto Member>
auto& cores(parameters& p) { return p.cores.*Member; }
template <auto Member>
auto& noise(parameters& p) { return p.noise.*Member; }
template <auto Member>
auto& copies(parameters& p) { return p.copies.*Member; }
using net = sim::topology_parameters;
template <auto Member>
auto& wires(parameters& p) { return p.topology.*Member; }

constexpr choice_field wiring{sim::wiring_names, [](const parameters& p) { return static_cast<unsigned>(p.topology.kind); },
                              [](parameters& p, unsigned i) { p.topology.kind = static_cast<sim::wiring>(i); }};
constexpr choice_field shape{sim::distribution_names, [](const parameters& p) { return static_cast<unsigned>(p.noise.kind); },
                             [](parameters& p, unsigned i) { p.noise.kind = static_cast<sim::distribution>(i); }};

const machine_parameter table[] = {
    {"network.latency_us", "--latency", "L between nodes, us", 0, most_us, network<&loggp::latency_us>},
    {"network.overhead_us", "--overhead", "o between nodes, us of a rank's processor a message", 0, most_us, network<&loggp::overhead_us>},
    {"network.gap_us", "--gap", "g between nodes, us between two messages of an adapter", 0, most_us, network<&loggp::gap_us>},
    {"network.bytes_per_ns", "--gbytes-per-s", "bandwidth between nodes, GB/s", least_rate, most_rate, network<&loggp::bytes_per_ns>},
    {"node.latency_us", "--node-latency", "L inside a node, us", 0, most_us, node<&loggp::latency_us>},
    {"node.overhead_us", "--node-overhead", "o inside a node, us", 0, most_us, node<&loggp::overhead_us>},
    {"node.gap_us", "--node-gap", "g inside a node, us", 0, most_us, node<&loggp::gap_us>},
    {"node.bytes_per_ns", "--node-gbytes-per-s", "bandwidth inside a node, GB/s", least_rate, most_rate, node<&loggp::bytes_per_ns>},
    {"node.ranks", "--ranks-per-node", "consecutive ranks share a node", 1, most_ranks, of<&parameters::ranks_per_node>},
    {"node.maps", "--node-maps", "ranks of a node reach each other's memory by load and store", 0, 1, of<&parameters::maps_node>},
    {"node.shared_adapter", "--shared-adapter", "the ranks of a node have one adapter to the network", 0, 1, of<&parameters::shared_adapters>},
    {"node.cores", "--cores", "of a node, which its ranks share; 0: one for each", 0, most_ranks, cores<&sim::core_parameters::per_node>},
    {"node.turn_us", "--turn", "a look of a rank that waits for its core's turn, us", 0, most_us, cores<&sim::core_parameters::turn_us>},
    {"node.copied_bytes_per_ns", "--copied-gbytes-per-s", "a processor copies in memory, GB/s; 0: in no time", 0, most_rate, copies<&sim::copy_parameters::bytes_per_ns>},
    {"node.added_bytes_per_ns", "--added-gbytes-per-s", "a processor adds one buffer to another, GB/s; 0: in no time", 0, most_rate, copies<&sim::copy_parameters::added_bytes_per_ns>},
    {"processor.poll_us", "--poll", "of a processor to see a signal, which its adapter wrote, us", 0, most_us, beside<&sim::hardware::poll_us>},
    {"processor.reap_us", "--reap", "of a processor to take an operation's completion, us", 0, most_us, beside<&sim::hardware::reap_us>},
    {"processor.send_us", "--send", "of a two-sided message's sender, beside o, us", 0, most_us, beside<&sim::hardware::send_us>},
    {"processor.receive_us", "--receive", "of its receiver, which matches it, beside o, us", 0, most_us, beside<&sim::hardware::receive_us>},
    {"adapter.fetch_us", "--adapter-fetch", "of the adapter's processor to fetch a message from its host, us", 0, most_us, beside<&sim::hardware::fetch_us>},
    {"adapter.transmit_us", "--adapter-transmit", "to send one, us", 0, most_us, beside<&sim::hardware::transmit_us>},
    {"adapter.take_us", "--adapter-take", "to take one in, us", 0, most_us, beside<&sim::hardware::take_us>},
    {"adapter.deliver_us", "--adapter-deliver", "to deliver one to its host, us", 0, most_us, beside<&sim::hardware::deliver_us>},
    {"adapter.bus_bytes_per_ns", "--bus-gbytes-per-s", "of the node's bus, out and in together; 0: no limit", 0, most_rate, beside<&sim::hardware::bus_bytes_per_ns>},
    {"topology.kind", "--topology", "how the nodes are wired", 0, 0, wiring},
    {"topology.hop_us", "--hop", "of each link and the switch behind it, us; L is what comes beside them", 0, most_us, wires<&net::hop_us>},
    {"topology.link_bytes_per_ns", "--link-gbytes-per-s", "of a link; 0: as an adapter's", 0, most_rate, wires<&net::link_bytes_per_ns>},
    {"topology.down", "--fat-tree-down", "nodes below a switch of a fat tree's lowest level, and switches below one of each other", 2, 1 << 16, wires<&net::down>},
    {"topology.up", "--fat-tree-up", "cables up from each of its switches", 1, 1 << 16, wires<&net::up>},
    {"topology.x", "--torus-x", "nodes along x; 0: chosen", 0, most_ranks, wires<&net::x>},
    {"topology.y", "--torus-y", "nodes along y", 0, most_ranks, wires<&net::y>},
    {"topology.z", "--torus-z", "nodes along z", 0, most_ranks, wires<&net::z>},
    {"topology.nodes", "--dragonfly-nodes", "of a router", 1, 1 << 16, wires<&net::nodes>},
    {"topology.routers", "--dragonfly-routers", "of a group", 1, 1 << 16, wires<&net::routers>},
    {"topology.globals", "--dragonfly-globals", "cables of a router to other groups", 1, 1 << 16, wires<&net::globals>},
    {"multicast.available", "--multicast", "the fabric has multicast", 0, 1, of<&parameters::multicast>},
    {"multicast.latency_us", "--multicast-latency", "of a datagram, us", 0, most_us, of<&parameters::mcast_latency_us>},
    {"multicast.bytes_per_ns", "--multicast-gbytes-per-s", "of one sender's full datagrams, GB/s; 0: as fast as its adapter sends", 0, most_rate, of<&parameters::mcast_bytes_per_ns>},
    {"multicast.payload", "--multicast-payload", "the most bytes of a datagram", 64, 1 << 20, of<&parameters::mcast_payload>},
    {"multicast.depth", "--multicast-depth", "datagrams that a receiver keeps", 1, 1 << 20, of<&parameters::mcast_depth>},
    {"multicast.level_us", "--multicast-level", "of each level of the switches' tree that has all members, us", 0, most_us, of<&parameters::mcast_level_us>},
    {"multicast.branches", "--multicast-branches", "of that tree's switches", 2, 1 << 16, of<&parameters::mcast_branches>},
    {"multicast.member_us", "--multicast-member", "of each member, us", 0, most_us, of<&parameters::mcast_member_us>},
    {"multicast.loss", "--loss", "probability that a receiver loses a datagram", 0, 0.9, of<&parameters::mcast_loss>},
    {"multicast.duplicate", "--duplicate", "probability that a receiver gets a datagram twice", 0, 0.9, of<&parameters::mcast_duplicate>},
    {"multicast.reorder", "--reorder", "probability that a datagram is late", 0, 0.9, of<&parameters::mcast_reorder>},
    {"fabric.queue_depth", "--queue-depth", "operations of one rank on their way; beyond it they are refused", 1, 1 << 20, of<&parameters::queue_depth>},
    {"fabric.max_inline", "--max-inline", "bytes of a put that needs no registered source", 0, 1 << 20, of<&parameters::max_inline>},
    {"fabric.max_slices", "--max-slices", "places that one get may scatter to; 0: none", 0, 1024, of<&parameters::max_slices>},
    {"fabric.max_bytes", "--max-bytes", "the most bytes of one operation", 64, 0x1p40, of<&parameters::max_bytes>},
    {"fabric.message_bytes", "--message-bytes", "a longer put goes as several messages, by which algorithms choose their pieces; 0: none does", 0,
     1 << 30, of<&parameters::message_bytes>},
    {"fabric.packet_payload", "--packet-payload", "the most bytes of a two-sided message", 64, 1 << 20, of<&parameters::packet_payload>},
    {"fabric.packet_window", "--packet-window", "two-sided messages of one rank that one target keeps", 1, 1 << 20, of<&parameters::packet_window>},
    {"fabric.target_must_progress", "--target-must-progress", "operations wait for their target's progress", 0, 1, of<&parameters::target_must_progress>},
    {"fabric.cpu_atomics_agree", "--cpu-atomics-agree", "the fabric's atomics and the processor's see each other", 0, 1, of<&parameters::cpu_atomics_agree>},
    {"fabric.connect_us", "--connect", "of a rank's processor before its first message to another, us", 0, most_us, of<&parameters::connect_us>},
    {"fabric.notice_us", "--notice", "from a rank's death until the fabric notices it, us", 0, 1e9, of<&parameters::notice_us>},
    {"noise.every_us", "--noise-every", "between two detours of a rank's processor, us on average; 0: none", 0, 1e9, noise<&sim::noise_parameters::every_us>},
    {"noise.lasts_us", "--noise-lasts", "one detour, us on average", 0, most_us, noise<&sim::noise_parameters::lasts_us>},
    {"noise.distribution", "--noise-distribution", "of how long they last", 0, 0, shape},
    {"noise.shape", "--noise-shape", "the exponent of a Pareto distribution", 1.01, 100, noise<&sim::noise_parameters::shape>},
    {"noise.stragglers", "--stragglers", "the part of the ranks whose processor is slow", 0, 1, noise<&sim::noise_parameters::stragglers>},
    {"noise.straggler_factor", "--straggler-factor", "how many times as long it takes", 1, 1e6, noise<&sim::noise_parameters::factor>},
    {"disorder.jitter", "--jitter", "messages take up to this many latencies longer, and overtake each other", 0, 1000, of<&parameters::jitter>},
    {"disorder.noise_us", "--noise", "a rank that waited goes on up to this much late, us", 0, most_us, of<&parameters::noise_us>},
    {"disorder.refuse", "--refuse", "probability that an operation is refused", 0, 0.9, of<&parameters::refuse>},
};

std::string brief(double v) {
  char text[32];
  std::snprintf(text, sizeof text, "%.10g", v);
  return text;
}

bool parse(const std::string& text, double& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc{} && end == text.data() + text.size() && std::isfinite(out);
}

}  // namespace

std::span<const machine_parameter> machine_parameters() { return table; }

const machine_parameter* find_machine_parameter(std::string_view name) {
  const auto found = std::ranges::find(table, name, &machine_parameter::name);
  return found != std::end(table) ? &*found : nullptr;
}

std::string range_of(const machine_parameter& m) {
  if (const auto* c = std::get_if<choice_field>(&m.field)) {
    std::string out;
    for (std::size_t i = 0; i < c->words.size(); ++i)
      out += (i == 0 ? "" : i + 1 == c->words.size() ? " or " : ", ") + std::string(c->words[i]);
    return out;
  }
  if (std::holds_alternative<bool& (*)(parameters&)>(m.field)) return "on or off";
  return brief(m.least) + " to " + brief(m.most);
}

status set(parameters& p, const machine_parameter& m, const std::string& text) {
  const auto wrong = [&](const char* what) { return status(errc::invalid, "\"" + text.substr(0, 60) + "\" is " + what + ": " + range_of(m)); };
  if (const auto* c = std::get_if<choice_field>(&m.field)) {
    const auto at = std::ranges::find(c->words, text);
    if (at == c->words.end()) return wrong("none of the words");
    c->set(p, static_cast<unsigned>(at - c->words.begin()));
    return {};
  }
  if (const auto* flag = std::get_if<bool& (*)(parameters&)>(&m.field)) {
    if (text != "on" && text != "off") return wrong("neither word");
    (*flag)(p) = text == "on";
    return {};
  }
  double v = 0;
  if (!parse(text, v)) return wrong("no number");
  if (!(v >= m.least && v <= m.most)) return wrong("not in the range");
  if (const auto* real = std::get_if<double& (*)(parameters&)>(&m.field)) {
    (*real)(p) = v;
    return {};
  }
  if (v != std::floor(v)) return wrong("no whole number");
  if (const auto* small = std::get_if<std::uint32_t& (*)(parameters&)>(&m.field)) (*small)(p) = static_cast<std::uint32_t>(v);
  if (const auto* large = std::get_if<std::uint64_t& (*)(parameters&)>(&m.field)) (*large)(p) = static_cast<std::uint64_t>(v);
  return {};
}

std::string text_of(const machine_parameter& m, const parameters& const_p) {
  parameters& p = const_cast<parameters&>(const_p);  // only read
  if (const auto* c = std::get_if<choice_field>(&m.field)) return std::string(c->words[c->get(p)]);
  if (const auto* flag = std::get_if<bool& (*)(parameters&)>(&m.field)) return (*flag)(p) ? "on" : "off";
  if (const auto* small = std::get_if<std::uint32_t& (*)(parameters&)>(&m.field)) return std::to_string((*small)(p));
  if (const auto* large = std::get_if<std::uint64_t& (*)(parameters&)>(&m.field)) return std::to_string((*large)(p));
  char text[40];
  const auto end = std::to_chars(text, text + sizeof text, std::get<double& (*)(parameters&)>(m.field)(p)).ptr;  // reads back the same
  return {text, end};
}

}  // namespace tutti::tools

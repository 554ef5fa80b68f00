// The chooser for people: reading an override, and showing a choice.
#include <algorithm>
#include <charconv>

#include "collectives/barrier/choose.h"
#include "collectives/barrier/price.h"
#include "collectives/explain_text.h"
#include "core/base/listing.h"

namespace tutti {

result<barrier_override> parse_barrier_override(std::string_view text) {
  barrier_override out;
  if (text.empty() || text == "auto") return out;
  const std::string whole(text);
  std::vector<std::string_view> parts;
  for (std::size_t colon; (colon = text.find(':')) != text.npos; text.remove_prefix(colon + 1))
    parts.push_back(text.substr(0, colon));
  parts.push_back(text);

  const auto refuse = [&](std::string why) { return status(errc::invalid, "barrier \"" + whole + "\": " + why); };
  const barrier_algorithm* row = find_barrier(parts[0]);
  if (!row) {
    std::string known;
    for (const barrier_algorithm& r : barrier_algorithms()) add_to_list(known, r.name);
    return refuse("unknown; known: " + known);
  }
  out.name = row->name;
  std::size_t next = 1;
  if ((row->on_nodes || row->offloaded) && parts.size() > 1) out.leaders = parts[next++];
  if (next < parts.size()) {
    const std::string_view digits = parts[next++];
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), out.radix);
    if (error != std::errc{} || end != digits.data() + digits.size() || out.radix == 0)
      return refuse("\"" + std::string(digits) + "\" is no radix; a whole number above 0 is");
  }
  if (next < parts.size()) return refuse("too many parts; name:radix or hierarchical:leaders:radix");
  return out;
}

std::string to_string(const barrier_candidate& c) {
  std::string out(c.algorithm->name);
  if (!c.leaders.empty()) out.append(c.algorithm->offloaded ? ", " : ", leaders ").append(c.leaders);
  if (c.radix) out.append(", radix ").append(std::to_string(c.radix));
  return out;
}

result<std::vector<std::string>> explain_barrier(const barrier_inputs& in) {
  result<std::vector<barrier_candidate>> chosen = choose_barrier(in);
  if (!chosen) return chosen.error();
  const node_summary where = summarize_nodes(in.ranks, in.node_of);
  std::vector<std::string> lines;
  lines.push_back("barrier among " + std::to_string(in.ranks) + " ranks on " + std::to_string(where.nodes) +
                  (where.nodes == 1 ? " node, " : " nodes, at most " + std::to_string(where.largest) + " on one, ") +
                  fixed(in.ranks_per_core) + " ranks a core, " + (in.multicast ? "multicast" : "no multicast") + ", " +
                  (in.native_atomics ? "native atomics" : "atomics by progress"));
  std::string& parameters = lines.emplace_back(to_string("node", in.node));
  if (where.nodes > 1) parameters.append(", ").append(to_string("network", in.network));
  parameters.append(in.ranks > evaluated_up_to ? "; closed forms" : "; schedules evaluated");
  std::size_t width = 0;
  for (const barrier_candidate& c : *chosen) width = std::max(width, to_string(c).size());
  int place = 0;
  for (const barrier_candidate& c : *chosen)
    lines.push_back(candidate_line(c.runnable ? ++place : 0, to_string(c), width, c.cost_us, c.why));
  return lines;
}

}  // namespace tutti

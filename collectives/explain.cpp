// The chooser for people: reading what is wanted, and showing a choice.
#include <algorithm>
#include <charconv>

#include "collectives/choose.h"
#include "collectives/explain_text.h"
#include "collectives/price.h"

namespace tutti {

result<wanted_algorithm> parse_wanted(collective of, std::string_view text) {
  wanted_algorithm out;
  if (text.empty() || text == "auto") return out;
  const std::string whole(text);
  std::vector<std::string_view> parts;
  for (std::size_t colon; (colon = text.find(':')) != text.npos; text.remove_prefix(colon + 1))
    parts.push_back(text.substr(0, colon));
  parts.push_back(text);

  const auto refuse = [&](std::string why) {
    return status(errc::invalid, worded(name_of(of), " \"", whole, "\": ", why));
  };
  const algorithm* row = find_algorithm(of, parts[0]);
  if (!row) return refuse("unknown; known: " + known_algorithms(of));
  out.name = row->name;
  std::size_t next = 1;
  if ((row->needs.nodes || row->needs.offload) && parts.size() > 1) out.inner = parts[next++];
  if (next < parts.size()) {
    const std::string_view digits = parts[next++];
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), out.radix);
    if (error != std::errc{} || end != digits.data() + digits.size() || out.radix == 0)
      return refuse("\"" + std::string(digits) + "\" is no radix; a whole number above 0 is");
  }
  if (next < parts.size()) return refuse("too many parts; name:radix or hierarchical:leaders:radix");
  return out;
}

std::string to_string(const candidate& c) {
  std::string out(c.row->name);
  if (!c.inner.empty()) out.append(c.row->needs.offload ? ", " : ", leaders ").append(c.inner);
  if (c.radix) out.append(", radix ").append(std::to_string(c.radix));
  return out;
}

std::string as_wanted(const candidate& c) {
  std::string out(c.row->name);
  if (!c.inner.empty()) out.append(":").append(c.inner);
  if (c.radix) out.append(":").append(std::to_string(c.radix));
  return out;
}

std::vector<std::string> explain(collective of, const choice_inputs& in, std::span<const candidate> chosen) {
  const node_summary where = summarize_nodes(in.ranks, in.node_of);
  std::vector<std::string> lines;
  lines.push_back(std::string(name_of(of)) + (in.bytes ? " of " + std::to_string(in.bytes) + " bytes" : "") + " among " +
                  std::to_string(in.ranks) + " ranks on " + std::to_string(where.nodes) +
                  (where.nodes == 1 ? " node, " : " nodes, at most " + std::to_string(where.largest) + " on one, ") +
                  fixed(in.ranks_per_core) + " ranks a core, " + (in.multicast ? "multicast" : "no multicast") + ", " +
                  (in.native_atomics ? "native atomics" : "atomics by progress"));
  std::string& parameters = lines.emplace_back(to_string("node", in.node));
  if (where.nodes > 1) parameters.append(", ").append(to_string("network", in.network));
  if (in.bytes) {
    parameters.append(", ").append(fixed((where.nodes > 1 ? in.network : in.node).bytes_per_ns)).append(" GB/s");
    if (in.multicast)
      parameters.append(", datagrams of ").append(std::to_string(in.fragment)).append(", ").append(std::to_string(in.window)).append(" at once");
  }
  parameters.append(in.ranks > evaluated_up_to ? "; closed forms" : "; schedules evaluated");
  std::size_t width = 0;
  for (const candidate& c : chosen) width = std::max(width, to_string(c).size());
  int place = 0;
  for (const candidate& c : chosen)
    lines.push_back(candidate_line(c.runnable ? ++place : 0, to_string(c), width, c.measured_us.value_or(c.cost_us), c.why));
  return lines;
}

}  // namespace tutti

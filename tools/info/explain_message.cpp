#include "tools/info/explain_message.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <span>
#include <vector>

#include "collectives/explain_text.h"
#include "messaging/routes.h"

namespace tutti::tools {
namespace {

using messaging::message_load;
using messaging::pair_routes;
using messaging::route;

std::string bytes_text(std::uint64_t bytes) {
  return bytes % 1024 == 0 && bytes > 0 ? std::to_string(bytes / 1024) + " KiB" : std::to_string(bytes) + " bytes";
}

std::string header_of(const pair_routes& routes, const char* where) {
  const auto& about = routes.about();
  std::string out = std::string("between two ranks ") + where + ": " + to_string("link", about.link) + ", " + fixed(about.link.bytes_per_ns) +
                    " bytes/ns; copies " + fixed(about.costs.copied_bytes_per_ns) + " bytes/ns; design " + std::string(about.design->name) + "\nshort up to " +
                    bytes_text(routes.short_limit()) + ", eager up to " + bytes_text(routes.eager_limit()) + ", " +
                    bytes_text(about.limits.max_payload) + " in one message of the fabric";
  if (about.turn_us > 0) out += "; a turn of a shared core " + fixed(about.turn_us) + " us";
  if (routes.possible(route::kernel, {}))
    out += routes.kernel_from() == ~std::uint64_t{0} ? "; never copied by the kernel"
           : routes.kernel_from() == 0                ? "; copied by the kernel"
                                                      : "; copied by the kernel from " + bytes_text(routes.kernel_from());
  return out;
}

// The one that is taken first; then the others that may be, by price.
void explain_size(const pair_routes& routes, const message_load& m) {
  const route taken = routes.of(m);
  std::vector<route> others;
  for (const route r : messaging::all_routes)
    if (r != taken && routes.possible(r, m)) others.push_back(r);
  std::ranges::sort(others, {}, [&](route r) { return routes.price_us(r, m); });
  std::printf("%s%s\n", bytes_text(m.bytes).c_str(), m.in_window ? ", in a window" : m.in_pieces ? ", in pieces of 1 KiB" : "");
  int place = 1;
  const auto line = [&](route r) {
    std::printf("%s\n", candidate_line(place++, std::string(name_of(r)), 10, routes.price_us(r, m), std::string(text_of(r))).c_str());
  };
  line(taken);
  for (const route r : others) line(r);
}

}  // namespace

int explain_messages(job& j, const question& q, bool several_nodes, const std::string& costs) {
  two_sided* const calls = j.net().sendrecv();
  if (!calls) {
    std::fprintf(stderr, "tutti info: %s has no two-sided messages, so it carries none of these\n", j.fabric().c_str());
    return 1;
  }
  std::printf("over %s, %s\n", j.fabric().c_str(), costs.c_str());
  const std::span<const std::uint64_t> sizes = q.bytes.empty() ? std::span(sizes_to_explain) : std::span(q.bytes);
  for (const bool near_by : {true, false}) {
    if (near_by != !several_nodes && !(near_by && q.ranks_per_node > 1)) continue;
    auto facts = pair_routes::facts_of(j, calls->query(), near_by);
    facts.turn_us = facts.costs.turn_us(q.ranks_per_core);
    const pair_routes routes(facts);
    std::printf("\n%s\n", header_of(routes, near_by ? "of a node" : "of two nodes").c_str());
    for (const std::uint64_t bytes : sizes) {
      explain_size(routes, {bytes});
      if (bytes <= routes.short_limit()) continue;
      explain_size(routes, {bytes, true, false});
      explain_size(routes, {bytes, false, true, (bytes + 1023) / 1024});
    }
  }
  return 0;
}

}  // namespace tutti::tools

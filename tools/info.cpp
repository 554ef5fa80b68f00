// `tutti info`: what works here and why the rest does not; what is configured; how an algorithm is chosen and what it
// does; what would keep a job from starting.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "collectives/algorithm.h"
#include "core/job/config.h"
#include "tools/command.h"
#include "tools/info/explain.h"
#include "tools/info/report.h"

namespace tutti::tools {
namespace {

struct choices {
  bool config = false, doctor = false, json = false;
  std::string schedule;
  std::uint32_t rank = 0, radix = 0;
  question about;
};

// JSON has a byte that is not UTF-8, which a setting may have, as U+FFFD.
template <class Report>
void print(const Report& report, bool json) {
  if (json)
    std::printf("%s\n", to_json(report).dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace).c_str());
  else
    std::fputs(to_text(report).c_str(), stdout);
}

int print_config(bool json) {
  const auto settings = config::load();
  if (!settings) {
    std::fprintf(stderr, "tutti info: %s\n", settings.error().text());
    return 1;
  }
  print(*settings, json);
  return 0;
}

int doctor(bool json) {
  const std::vector<finding> found = examine();
  print(found, json);
  return std::any_of(found.begin(), found.end(), [](const finding& f) { return !f.well; });
}

int print_schedule(const choices& c) {
  const std::size_t colon = c.schedule.find(':');
  const bool named = colon != std::string::npos;
  const auto of = named ? find_collective(c.schedule.substr(0, colon)) : collective::barrier;
  const algorithm* const a = of ? find_algorithm(*of, named ? c.schedule.substr(colon + 1) : c.schedule) : nullptr;
  if (!a || !a->make || c.rank >= c.about.ranks) {
    const std::string what = of ? std::string(name_of(*of)) : "collective";
    const std::string why = !a ? "there is no " + what + " \"" + c.schedule + "\"; known: " + (of ? known_algorithms(*of) : known_collectives())
                            : !a->make ? "the " + what + " " + std::string(a->name) + " has no schedule: what is sent depends on what is lost"
                                       : "--rank must be below --ranks";
    std::fprintf(stderr, "tutti info: %s\n", why.c_str());
    return usage_error;
  }
  const std::vector<std::uint32_t> nodes = nodes_of(c.about.ranks, c.about.ranks_per_node);
  const shape shape{.rank = c.rank, .size = c.about.ranks, .radix = c.radix, .node_of = nodes};
  std::printf("%s of %u ranks, as rank %u runs it (%s); %u control words\n%s", std::string(a->name).c_str(),
              c.about.ranks, c.rank, std::string(a->source).c_str(), a->words(shape), to_string(a->make(shape)).c_str());
  return 0;
}

std::function<int()> declare(options app) {
  auto c = std::make_shared<choices>();
  app.add("--config", c->config, "every setting, its value and where that came from");
  app.add("--doctor", c->doctor, "what would keep a job from starting, with the remedy");
  const option json = app.add("--json", c->json, "the providers, --config or --doctor as JSON");
  app.add("--explain", c->about.topic, ("how the algorithm of a collective is chosen, or the route of a message: " + known_collectives() + ", message").c_str()).not_with(json);
  app.add("--schedule", c->schedule, "the steps of an algorithm: of a barrier, by name, or of another collective, as allreduce:ring").not_with(json);
  app.add("--ranks", c->about.ranks, "for --explain and --schedule (default 8)").between(1, 1000000);
  app.add("--ranks-per-node", c->about.ranks_per_node, "the same; default: all on one node");
  app.add("--provider", c->about.provider, "for --explain: over which provider, as shm+ucx:tcp; default: what a job of these ranks would take");
  app.add("--ranks-per-core", c->about.ranks_per_core, "for --explain; default: as a job of so many ranks would have here")
      .above_zero();
  app.add("--bytes", c->about.bytes, "for --explain of what moves data: sizes; default 8 B, 64 KiB, 1 MiB, 16 MiB")
      .by_commas().sizes();
  app.add("--operation", c->about.operation, "for --explain of what reduces: sum, min ..., or user, a program's own").shows_default();
  app.add("--type", c->about.type, "for --explain of what reduces: float64, int32 ...").shows_default();
  app.add("--element", c->about.element, "with --operation user: bytes of an element").sizes();
  app.add("--ordered", c->about.ordered, "with --operation user: it is not commutative");
  app.add("--unlike", c->about.unlike, "for --explain of allgather and reduce_scatter: blocks are of unlike lengths");
  app.add("--rank", c->rank, "for --schedule: whose steps");
  app.add("--radix", c->radix, "for --schedule: radix or fan-in");
  return [c] {
    if (c->config) return print_config(c->json);
    if (c->doctor) return doctor(c->json);
    if (!c->about.topic.empty()) return explain(c->about);
    if (!c->schedule.empty()) return print_schedule(*c);
    print(look_at_providers(), c->json);
    return 0;
  };
}

}  // namespace

const command info_command{"info", "What works here, what is configured, how algorithms are chosen", declare};

}  // namespace tutti::tools

#include "tools/sim/results_json.h"

#include <nlohmann/json.hpp>

namespace tutti::tools {
namespace {

using json = nlohmann::ordered_json;

json of(const spread& s) {
  return {{"samples", s.samples}, {"mean", s.mean}, {"least", s.least}, {"p25", s.p25}, {"p50", s.p50},
          {"p75", s.p75}, {"p90", s.p90}, {"p99", s.p99}, {"most", s.most}};
}

json of(const sim_figures& f) {
  char trace[20];
  std::snprintf(trace, sizeof trace, "%016llx", static_cast<unsigned long long>(f.trace));
  json out = {{"of", f.of},           {"way", f.way},         {"ranks", f.ranks},         {"bytes", f.bytes},   {"calls", f.calls},
              {"us", f.us},           {"first_us", f.first_us}, {"spread", of(f.each)},   {"messages", f.messages}, {"payload", f.payload},
              {"datagrams", f.datagrams}, {"lasted_us", f.lasted_us}, {"trace", trace},   {"wall_s", f.wall_s}};
  if (f.busiest)
    out["busiest"] = {{"link", f.busiest->name}, {"messages", f.busiest->messages}, {"bytes", f.busiest->bytes},
                      {"busy_us", f.busiest->busy_us}, {"waited_us", f.busiest->waited_us}};
  if (f.of == "barrier")
    out.update({{"queries", f.queries}, {"repairs", f.repairs}, {"control_words", f.words}, {"control_bytes", f.control_bytes}, {"memory_bytes", f.memory_bytes}});
  if (f.told || f.unaware) out.update({{"survivors_told", f.told}, {"survivors_unaware", f.unaware}, {"told_us", f.told_us}});
  return out;
}

}  // namespace

std::string to_json(const machine& m, std::span<const sim_figures> all) {
  json out = {{"tutti_sim", 1}, {"machine", json::parse(to_text(m))}, {"seed", m.par.seed}, {"results", json::array()}};
  for (const sim_figures& f : all) out["results"].push_back(of(f));
  return out.dump(1, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace tutti::tools

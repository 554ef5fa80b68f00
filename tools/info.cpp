// `tutti info`: what works here and why the rest does not; what is configured; how an algorithm is chosen and what it
// does; what would keep a job from starting.
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <memory>

#include "collectives/barrier/barrier.h"
#include "core/config.h"
#include "core/dev_shm.h"
#include "core/provider.h"
#include "tools/command.h"
#include "tools/info/explain.h"

namespace tutti::tools {
namespace {

struct choices {
  bool config = false, doctor = false;
  std::string schedule;
  std::uint32_t rank = 0, radix = 0;
  question about;
};

// A device that TUTTI_PROVIDER names is shown though no probe offers it: some are taken only when named.
void add_named(std::string_view provider, std::vector<std::string>& devices) {
  const auto settings = config::load();
  if (!settings) return;
  const std::string_view spec = settings->text(knob::provider);
  if (!spec.starts_with(provider) || spec.size() <= provider.size() + 1 || spec[provider.size()] != ':') return;
  const std::string device{spec.substr(provider.size() + 1)};
  if (std::find(devices.begin(), devices.end(), device) == devices.end()) devices.push_back(device);
}

void print_providers() {
  for (const provider_entry& e : providers()) {
    if (!e.impl) {
      std::printf("%-6s not loaded: %s\n", std::string(e.name).c_str(), e.why_not.c_str());
      continue;
    }
    std::string why;
    auto devices = e.impl->probe(why);
    add_named(e.name, devices);
    std::printf("%-6s %s%s%s\n", std::string(e.name).c_str(), std::string(e.impl->summary).c_str(),
                e.impl->version ? ", version " : "", e.impl->version ? e.impl->version() : "");
    if (!why.empty()) std::printf("       %s: %s\n", devices.empty() ? "cannot run here" : "not taken", why.c_str());
    for (const auto& device : devices) {
      const std::string spec = device.empty() ? std::string(e.name) : std::string(e.name) + ":" + device;
      auto opened = e.impl->open({device, "tutti-info", 0, 1});
      if (!opened) {
        std::printf("       %-10s cannot be opened: %s\n", spec.c_str(), opened.error().text());
        continue;
      }
      const capabilities& c = (*opened)->caps();
      std::printf("       %-10s %s%s%s%s%s%s%s\n", spec.c_str(), c.native_signal ? "native signals" : "signals by the target's progress",
                  c.native_atomics ? ", native atomics" : ", atomics by the target's progress",
                  (*opened)->mcast() ? ", multicast" : "", (*opened)->offloader() ? ", offload" : "",
                  c.target_must_progress ? ", target must progress" : ", truly one-sided", c.can_sleep ? ", sleeps" : ", naps",
                  c.detects_death ? ", detects death" : "");
    }
  }
}

int print_config() {
  auto settings = config::load();
  if (!settings) {
    std::fprintf(stderr, "tutti info: %s\n", settings.error().text());
    return 1;
  }
  for (const knob_row& k : knobs()) {
    const std::string value{settings->text(k.id)};
    std::printf("%-16s %-12s %-12s %s\n", std::string(k.name).c_str(), value.empty() ? "-" : value.c_str(),
                std::string(knob_source_name(settings->source(k.id))).c_str(), std::string(k.meaning).c_str());
  }
  return 0;
}

// Each line: what was looked at, and the mend if it is not well.
int examine() {
  int ills = 0;
  auto say = [&](bool well, const std::string& what, const std::string& mend) {
    std::printf("%s %s%s%s\n", well ? "ok  " : "ILL ", what.c_str(), well ? "" : ": ", well ? "" : mend.c_str());
    ills += !well;
  };
  const std::uint64_t room = room_in_dev_shm(), wished = 64 << 20;
  say(room >= wished, "/dev/shm has " + in_binary_units(room) + " free",
      dev_shm_too_small("shared memory by UCX or libfabric, with its windows,", wished, room).text());
  rlimit limit{};
  getrlimit(RLIMIT_MEMLOCK, &limit);
  const bool much = limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur >= 64u << 20;
  say(true, "memlock is " + (limit.rlim_cur == RLIM_INFINITY ? std::string("unlimited") : std::to_string(limit.rlim_cur >> 10) + " KiB") +
                (much ? "" : " (enough for tcp and shared memory; RDMA adapters want `ulimit -l unlimited`)"), "");
  getrlimit(RLIMIT_NOFILE, &limit);
  say(limit.rlim_cur >= 1024, std::to_string(limit.rlim_cur) + " open files allowed", "raise it with `ulimit -n 4096`");
  auto settings = config::load();
  say(settings.ok(), "the configuration", settings.error().text());
  if (settings) {
    const auto& l = settings->launcher();
    say(l.other.empty(), l.pmix ? "started by a PMIx launcher" : "no launcher: a job of one", l.other + "; " + l.mend);
  }
  // No machine has all fabrics. One that is missing keeps nobody from starting, unless it was asked for by name.
  const std::string wanted = settings ? std::string(settings->text(knob::provider)) : "auto";
  for (const provider_entry& e : providers()) {
    std::string why = e.why_not;
    bool usable = e.impl && !e.impl->probe(why).empty();
    const bool named = e.name == wanted.substr(0, wanted.find(':'));
    const bool needed = e.name == "shm" || named;
    // Some other device of it may be usable, which helps nobody who named one.
    if (named && e.impl && wanted.size() > e.name.size() + 1) {
      const auto opened = e.impl->open({wanted.substr(e.name.size() + 1), "tutti-info", 0, 1});
      usable = opened.ok(), why = opened.error().text();
    }
    say(usable || !needed, "provider " + (named ? wanted : std::string(e.name)) + (usable || needed ? "" : " cannot run here: " + why), why);
  }
  return ills ? 1 : 0;
}

int print_schedule(const choices& c) {
  const barrier_algorithm* a = find_barrier(c.schedule);
  if (!a || c.rank >= c.about.ranks) {
    std::fprintf(stderr, "tutti info: %s\n", a ? "--rank must be below --ranks" : ("there is no barrier \"" + c.schedule + "\"").c_str());
    return usage_error;
  }
  const std::vector<std::uint32_t> nodes = nodes_of(c.about.ranks, c.about.ranks_per_node);
  const barrier_shape shape{.rank = c.rank, .size = c.about.ranks, .radix = c.radix, .node_of = nodes};
  std::printf("%s of %u ranks, as rank %u runs it (%s); %u control words\n%s", std::string(a->name).c_str(),
              c.about.ranks, c.rank, std::string(a->source).c_str(), a->words(shape), to_string(a->make(shape)).c_str());
  return 0;
}

std::function<int()> declare(options app) {
  auto c = std::make_shared<choices>();
  app.add("--config", c->config, "every setting, its value and where that came from");
  app.add("--doctor", c->doctor, "what would keep a job from starting, with the mend");
  app.add("--explain", c->about.topic, "how an algorithm is chosen: `barrier` or `broadcast`");
  app.add("--schedule", c->schedule, "the steps of a barrier algorithm, by name");
  app.add("--ranks", c->about.ranks, "for --explain and --schedule").between(1, 1000000);
  app.add("--ranks-per-node", c->about.ranks_per_node, "the same; default: all on one node");
  app.add("--provider", c->about.provider, "for --explain: over which provider; default shm");
  app.add("--ranks-per-core", c->about.ranks_per_core, "for --explain; default: as a job of so many ranks would have here")
      .above_zero();
  app.add("--bytes", c->about.bytes, "for --explain broadcast: sizes; default 8 B, 64 KiB, 1 MiB, 16 MiB")
      .by_commas().sizes();
  app.add("--rank", c->rank, "for --schedule: whose steps");
  app.add("--radix", c->radix, "for --schedule: radix or fan-in");
  return [c] {
    if (c->config) return print_config();
    if (c->doctor) return examine();
    if (!c->about.topic.empty()) return explain(c->about);
    if (!c->schedule.empty()) return print_schedule(*c);
    print_providers();
    return 0;
  };
}

}  // namespace

const command info_command{"info", "What works here, what is configured, how algorithms are chosen", declare};

}  // namespace tutti::tools

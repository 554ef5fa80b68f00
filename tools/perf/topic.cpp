#include "tools/perf/topic.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <sstream>
#include <stdexcept>

#include "core/transport/provider.h"
#include "tools/process.h"

namespace tutti::tools {
namespace {

int complain(const perf_topic& t, const std::string& text, int code = 1) {
  std::fprintf(stderr, "tutti perf %s: %s\n", t.name.c_str(), text.c_str());
  return code;
}

int take_part(const perf_topic& t, const config& settings) {
  if (t.take_part) {
    try {
      return t.take_part(), 0;
    } catch (const std::exception& e) {
      return complain(t, e.what());
    }
  }
  job_options options = options_from(settings);
  if (t.prepare) t.prepare(options, settings);
  auto j = job::open(settings, std::move(options));
  if (!j) return complain(t, j.error().text());
  try {
    t.measure(**j, settings);
    return 0;
  } catch (const std::exception& e) {
    return complain(t, "rank " + std::to_string((*j)->rank()) + ": " + e.what());
  }
}

int start(const perf_topic& t) {
  std::vector<std::string> words{own_path(), "run", "-n", std::to_string(t.ranks), own_path(), "perf", t.name,
                                 "--seconds", std::to_string(t.seconds)};
  for (const auto& p : t.parts) words.insert(words.end(), {"--parts", p});
  words.insert(words.end(), t.arguments.begin(), t.arguments.end());
  execv(words[0].c_str(), arguments_of(words).data());
  return complain(t, "cannot start the launcher " + words[0]);
}

}  // namespace

bool perf_topic::wants(const char* part) const { return std::ranges::find(parts, part) != parts.end(); }

void perf_topic::declare(options app, const char* seconds_meaning, const char* parts_meaning) {
  app.add("-n,--ranks", ranks, "ranks to start, when not inside a job already (default 4)").between(1, 1024);
  app.add("--parts", parts, parts_meaning).by_commas().one_of(parts);
  app.add("--seconds", seconds, seconds_meaning).between(0.001, 3600.0);
}

int run_topic(const perf_topic& t) {
  auto settings = config::load();
  if (!settings) return complain(t, settings.error().text(), 2);
  return !settings->launcher().pmix && t.ranks > 1 ? start(t) : take_part(t, *settings);
}

std::vector<int> numbers(const std::string& text, const char* option, int least, int most) {
  std::vector<int> out;
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, ',');) {
    int first = 0, last = 0;
    char rest;
    bool good = std::sscanf(part.c_str(), "%d..%d%c", &first, &last, &rest) == 2;
    if (!good && std::sscanf(part.c_str(), "%d%c", &first, &rest) == 1) last = first, good = true;
    if (!good || first < least || last > most || last < first)
      throw std::runtime_error(std::string(option) + " " + text + ": write numbers from " + std::to_string(least) + " to " +
                               std::to_string(most) + ", as in 2,4,8 or 1..15");
    for (int n = first; n <= last; ++n) out.push_back(n);
  }
  return out;
}

std::vector<std::string> every_provider(bool several_nodes) {
  std::vector<std::string> out;
  for (const provider_entry& e : providers()) {
    std::string why;
    if (!e.impl || e.name == "sim") continue;  // the simulated fabric has no speed of its own
    if (several_nodes && !e.impl->is_network) continue;
    for (const auto& device : e.impl->probe(why)) {
      if (several_nodes && device == "shm") continue;
      out.push_back(device.empty() ? std::string(e.name) : std::string(e.name) + ":" + device);
      if (several_nodes) out.push_back("shm+" + out.back());
    }
  }
  return out;
}

}  // namespace tutti::tools

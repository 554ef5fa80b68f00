#include "tools/perf/topic.h"

#include <unistd.h>

#include <climits>
#include <cstdio>
#include <stdexcept>

namespace tutti::tools {
namespace {

int complain(const perf_topic& t, const std::string& text, int code = 1) {
  std::fprintf(stderr, "tutti perf %s: %s\n", t.name.c_str(), text.c_str());
  return code;
}

int take_part(const perf_topic& t, const config& settings) {
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
  const std::string self = own_path();
  std::vector<std::string> words{self, "run", "-n", std::to_string(t.ranks), self, "perf", t.name};
  words.insert(words.end(), t.arguments.begin(), t.arguments.end());
  std::vector<char*> argv;
  for (auto& w : words) argv.push_back(w.data());
  argv.push_back(nullptr);
  execv(argv[0], argv.data());
  return complain(t, "cannot start the launcher " + self);
}

}  // namespace

std::string own_path() {
  char path[PATH_MAX];
  const auto n = readlink("/proc/self/exe", path, sizeof path - 1);
  return n > 0 ? std::string(path, static_cast<std::size_t>(n)) : "tutti";
}

int run_topic(const perf_topic& t) {
  auto settings = config::load();
  if (!settings) return complain(t, settings.error().text(), 2);
  return !settings->launcher().pmix && t.ranks > 1 ? start(t) : take_part(t, *settings);
}

}  // namespace tutti::tools

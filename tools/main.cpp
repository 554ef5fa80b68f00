// The command `tutti`: a table of subcommands.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <vector>

#include "tools/command.h"

namespace {

using namespace tutti::tools;

constexpr const command* commands[] = {&run_command, &perf_command, &info_command, &sim_command, &bsp_report_command};

struct parsed {
  CLI::App* app;
  std::function<int()> run;
};

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"tutti: communication among the ranks of a parallel program", "tutti"};
  app.set_version_flag("--version", TUTTI_VERSION);
  app.require_subcommand(1);
  std::vector<parsed> all;
  for (const command* c : commands) {
    CLI::App* sub = app.add_subcommand(c->name, c->summary);
    all.push_back({sub, c->declare(*sub)});
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& e) {  // --help, --version
    return app.exit(e);
  } catch (const CLI::ParseError& e) {
    std::fprintf(stderr, "tutti: %s; `tutti --help` tells more\n", e.what());
    return usage_error;
  }
  for (const parsed& p : all)
    if (p.app->parsed()) return p.run();
  return usage_error;
}

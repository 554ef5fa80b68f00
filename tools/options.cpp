#include "tools/options.h"

#include <CLI/CLI.hpp>
#include <cstdint>
#include <cstdio>
#include <type_traits>
#include <utility>

#include "tools/command.h"

namespace tutti::tools {

option option::between(int least, int most) { return option(o_->check(CLI::Range(least, most))); }
option option::between(double least, double most) { return option(o_->check(CLI::Range(least, most))); }
option option::above_zero() { return option(o_->check(CLI::PositiveNumber)); }
option option::one_of(std::vector<std::string> words) { return option(o_->check(CLI::IsMember(std::move(words)))); }
option option::sizes() { return option(o_->transform(CLI::AsSizeValue(false))); }
option option::by_commas() { return option(o_->delimiter(',')); }
option option::one_each() { return option(o_->allow_extra_args(false)); }
option option::required() { return option(o_->required()); }
option option::hidden() { return option(o_->group("")); }
option option::shows_default() { return option(o_->capture_default_str()); }

template <class T>
option options::add(const char* names, T& value, const char* meaning) {
  if constexpr (std::is_same_v<T, bool>)
    return option(app_->add_flag(names, value, meaning));
  else
    return option(app_->add_option(names, value, meaning));
}
template option options::add(const char*, bool&, const char*);
template option options::add(const char*, int&, const char*);
template option options::add(const char*, long&, const char*);
template option options::add(const char*, std::uint32_t&, const char*);
template option options::add(const char*, std::uint64_t&, const char*);
template option options::add(const char*, double&, const char*);
template option options::add(const char*, std::string&, const char*);
template option options::add(const char*, std::vector<std::string>&, const char*);
template option options::add(const char*, std::vector<std::uint64_t>&, const char*);

options options::subcommand(const char* name, const char* meaning) { return options(app_->add_subcommand(name, meaning)); }
bool options::chose(const char* subcommand) const { return app_->get_subcommand(subcommand)->parsed(); }
void options::footer(const char* text) { app_->footer(text); }
void options::program_follows() { app_->prefix_command(); }
std::vector<std::string> options::program() const { return app_->remaining(); }

int parse_and_run(std::span<const command* const> commands, const char* version, int argc, char** argv) {
  CLI::App app{"tutti: communication among the ranks of a parallel program", "tutti"};
  app.set_version_flag("--version", version);
  app.require_subcommand(1);
  std::vector<std::function<int()>> runs;
  for (const command* c : commands) runs.push_back(c->declare(options(app.add_subcommand(c->name, c->summary))));
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& e) {  // --help, --version
    return app.exit(e);
  } catch (const CLI::ParseError& e) {
    std::fprintf(stderr, "tutti: %s; `tutti --help` tells more\n", e.what());
    return usage_error;
  }
  for (std::size_t i = 0; i < runs.size(); ++i)
    if (app.got_subcommand(commands[i]->name)) return runs[i]();
  return usage_error;
}

}  // namespace tutti::tools
